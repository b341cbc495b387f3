package storeless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"time"
)

const (
	// firstObjects are on the first page, which is held: a watch begins at its version, and that may stand at its end.
	firstObjects = 100
	// laterObjects are on each later page, which is read as its objects are compared. Large pages cost kube-apiserver
	// less CPU for each object.
	laterObjects = 500
	// pageBytes is the largest first page.
	pageBytes = 2 << 20
	// pageTimeout is how long a later page may take; kube-apiserver itself ends it after a minute.
	pageTimeout = 90 * time.Second
)

// pages are the objects of one collection in the order of the server (namespace/name).
type pages struct {
	api  *api
	kind int
	// limit is the number of objects that the next page is asked for.
	limit int
	// resume is the token of the page at hand, or of the next one; items are what was read of it and not handed on.
	resume string
	items  []json.RawMessage
	page   *page
	// done objects of the page at hand were handed on. It broke off after brokeAt of them, -1 if it did not.
	done, brokeAt int
	last          string
}

func newPages(api *api, kind int) *pages {
	return &pages{api: api, kind: kind, limit: firstObjects, brokeAt: -1}
}

type listMeta struct {
	ResourceVersion version `json:"resourceVersion"`
	Continue        string  `json:"continue"`
}

// first reads the first page and returns the version of the list.
func (p *pages) first(ctx context.Context) (version, error) {
	for {
		bound := int64(pageBytes)
		if p.limit == 1 {
			bound = objectBytes
		}
		raw, err := p.api.call(ctx, http.MethodGet, p.path(), "", nil, jsonType, bound)
		if errors.Is(err, errTooLarge) && p.limit > 1 {
			p.limit = max(p.limit/4, 1)
			continue
		}
		if err != nil {
			return 0, err
		}
		var answer struct {
			Metadata listMeta          `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := unmarshal(raw, &answer); err != nil {
			return 0, fmt.Errorf("a page of %s cannot be decoded: %w", collections[p.kind].plural, err)
		}
		p.items, p.resume = answer.Items, answer.Metadata.Continue
		p.limit = laterObjects
		return answer.Metadata.ResourceVersion, nil
	}
}

func (p *pages) path() string {
	path := fmt.Sprintf("%s?limit=%d%s", collectionPath(p.kind), p.limit, collections[p.kind].selector)
	if p.resume != "" {
		path += "&continue=" + url.QueryEscape(p.resume)
	}
	return path
}

// current is the object at hand, nil at the end.
func (p *pages) current(ctx context.Context) (json.RawMessage, error) {
	for len(p.items) == 0 {
		if p.page == nil && p.resume == "" {
			return nil, nil
		}
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
	return p.items[0], nil
}

// read takes one object from the page at hand, or opens the next one, or ends it. A page that breaks off is asked for
// again, smaller: its token stands for one version of the list, so what was read of it is passed over.
func (p *pages) read(ctx context.Context) error {
	if p.page == nil {
		return p.open(ctx)
	}
	item, err := p.page.next()
	switch {
	case err != nil:
		p.close()
		if p.done == p.brokeAt || ctx.Err() != nil {
			return err
		}
		p.brokeAt, p.limit = p.done, max(p.limit/4, 1)
		log.Printf("a page of %s broke off: %v; asking for %d objects", collections[p.kind].plural, err, p.limit)
	case item == nil:
		p.resume, p.done, p.brokeAt = p.page.meta.Continue, p.page.skip, -1
		p.close()
	case p.page.skip > 0:
		p.page.skip--
	default:
		p.done++
		p.items = append(p.items, item)
	}
	return nil
}

func (p *pages) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	body, err := p.api.open(ctx, p.path())
	var refused *apiError
	if errors.As(err, &refused) && refused.Code == http.StatusGone && refused.Metadata.Continue != "" && p.done == 0 {
		// The token has expired: the error brings one that goes on from there, at a later version. What was read of a page
		// that broke off cannot be counted off there.
		cancel()
		p.resume = refused.Metadata.Continue
		return nil
	}
	if err != nil {
		cancel()
		return err
	}
	p.page = newPage(body, cancel, p.done)
	return nil
}

// close ends a page that is open.
func (p *pages) close() {
	if p.page != nil {
		p.page.body.Close()
		p.page.cancel()
		p.page = nil
	}
}

func (p *pages) advance() { p.items = p.items[1:] }

// page is the answer to one list, read object by object.
type page struct {
	body    io.ReadCloser
	cancel  context.CancelFunc
	bounded *bounded
	decoder *json.Decoder
	inItems bool
	meta    listMeta
	// skip objects were read before the page broke off.
	skip int
}

func newPage(body io.ReadCloser, cancel context.CancelFunc, skip int) *page {
	reader := &bounded{reader: body, left: objectBytes}
	return &page{body: body, cancel: cancel, bounded: reader, decoder: json.NewDecoder(reader), skip: skip}
}

// next is one object, nil at the end of the page.
func (p *page) next() (json.RawMessage, error) {
	for {
		p.bounded.left = objectBytes
		if p.inItems && p.decoder.More() {
			var item json.RawMessage
			err := p.decoder.Decode(&item)
			return item, err
		}
		token, err := p.decoder.Token()
		if err != nil {
			return nil, err
		}
		switch token {
		case json.Delim('{'):
		case json.Delim(']'):
			p.inItems = false
		case json.Delim('}'):
			return nil, nil
		case "items":
			token, err = p.decoder.Token()
			p.inItems = token == json.Delim('[')
		case "metadata":
			err = p.decoder.Decode(&p.meta)
		default:
			var passed json.RawMessage
			err = p.decoder.Decode(&passed)
		}
		if err != nil {
			return nil, err
		}
	}
}

// bounded fails once more than left bytes were read; left is set anew for each object.
type bounded struct {
	reader io.Reader
	left   int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.reader.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}
