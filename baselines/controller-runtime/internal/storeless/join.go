package storeless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"tare.dev/baselines/controller-runtime/internal/edgeapp"
)

const (
	// pageObjects are asked for at once, pageBytes the largest page that is read.
	pageObjects = 100
	pageBytes   = 2 << 20
)

// extent is how much a join looks at.
type extent int

const (
	// ownersOnly: after events of owners found no room.
	ownersOnly extent = iota
	// everything: owners and children.
	everything
)

// pages are the objects of one collection in the order of the server (namespace/name), one page held
// at a time.
type pages struct {
	api    *api
	kind   int
	limit  int
	resume string
	items  []json.RawMessage
	last   string
}

func (p *pages) fetch(ctx context.Context) (version, error) {
	for {
		path := fmt.Sprintf("%s?limit=%d%s", collectionPath(p.kind), p.limit, collections[p.kind].selector)
		if p.resume != "" {
			path += "&continue=" + url.QueryEscape(p.resume)
		}
		bound := int64(pageBytes)
		if p.limit == 1 {
			bound = objectBytes
		}
		raw, err := p.api.call(ctx, http.MethodGet, path, "", nil, jsonType, bound)
		var refused *apiError
		switch {
		case errors.Is(err, errTooLarge) && p.limit > 1:
			p.limit = max(p.limit/4, 1)
			continue
		case errors.As(err, &refused) && refused.Code == http.StatusGone && refused.Metadata.Continue != "":
			// The token has expired: the error brings one that goes on from there.
			p.resume = refused.Metadata.Continue
			continue
		case err != nil:
			return 0, err
		}
		var page struct {
			Metadata struct {
				ResourceVersion version `json:"resourceVersion"`
				Continue        string  `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := unmarshal(raw, &page); err != nil {
			return 0, fmt.Errorf("a page of %s cannot be decoded: %w", collections[p.kind].plural, err)
		}
		p.items, p.resume = page.Items, page.Metadata.Continue
		return page.Metadata.ResourceVersion, nil
	}
}

// current is the object at hand, nil at the end.
func (p *pages) current(ctx context.Context) (json.RawMessage, error) {
	for len(p.items) == 0 {
		if p.resume == "" {
			return nil, nil
		}
		if _, err := p.fetch(ctx); err != nil {
			return nil, err
		}
	}
	return p.items[0], nil
}

func (p *pages) advance() { p.items = p.items[1:] }

// join merges owners and children, each page by page, and hands on what has work: what restart,
// resync and lost events rest on. It writes nothing. The watch of a kind that is not open is opened
// where its first page was read.
func (o *Operator) join(ctx context.Context, how extent) error {
	last := deployments
	if how == ownersOnly {
		last = owners
	}
	var lists [kinds]*pages
	for kind := owners; kind <= last; kind++ {
		lists[kind] = &pages{api: o.api, kind: kind, limit: pageObjects}
		at, err := lists[kind].fetch(ctx)
		if err != nil {
			return fmt.Errorf("listing %s: %w", collections[kind].plural, err)
		}
		o.follow(ctx, kind, at)
	}
	ordered := true
	for {
		o.queue.waitForRoom(ctx)
		raw, err := lists[owners].current(ctx)
		if raw == nil || err != nil || ctx.Err() != nil {
			return err
		}
		var app owner
		if err := unmarshal(raw, &app); err != nil {
			log.Printf("skipped an EdgeApp that cannot be decoded: %v", err)
			o.skipped.Add(1)
			lists[owners].advance()
			continue
		}
		key := app.Metadata.key()
		if key < lists[owners].last && ordered {
			ordered = false
			log.Print("lists do not come in order of namespace/name: every owner is read by itself")
		}
		lists[owners].last = key
		if app.Metadata.deleting() {
			// Its children are the garbage collector's.
			lists[owners].advance()
			continue
		}
		check := how == everything && !ordered
		if how == everything && ordered {
			if check, err = differsFrom(ctx, &app, lists[services:]); err != nil {
				return err
			}
		}
		lists[owners].advance()
		switch {
		case app.needsWork() && app.fresh():
			o.queue.see(&app)
		case app.needsWork() || check:
			// A page may be old: the worker reads the owner first.
			o.queue.checkLater(key, 0)
		}
	}
}

// differsFrom moves the children's pages up to an owner and says whether they differ from its plan,
// or its status from what follows of them.
func differsFrom(ctx context.Context, app *owner, lists []*pages) (bool, error) {
	key := app.Metadata.key()
	var state edgeapp.DeploymentState
	drifted := false
	for _, list := range lists {
		found, err := list.upTo(ctx, key)
		if err != nil {
			return false, err
		}
		body := plan(list.kind, app)
		switch {
		case found == nil:
			drifted = drifted || body != nil
			continue
		case body == nil:
			controller := found.Metadata.controller()
			drifted = drifted || controller != nil && controller.UID == app.Metadata.UID
			continue
		}
		controller := found.Metadata.controller()
		drifted = drifted || controller == nil || controller.UID != app.Metadata.UID || differs(body, found.body)
		if list.kind == deployments {
			state = found.state()
		}
	}
	status := edgeapp.Observed(app.identity(), &app.Spec, state)
	return drifted || status.Stamp(&app.Status, epoch), nil
}

// upTo is the child with this key; nil when there is none. A child without its owner is the garbage
// collector's business.
func (p *pages) upTo(ctx context.Context, key string) (*actual, error) {
	for {
		raw, err := p.current(ctx)
		if raw == nil || err != nil {
			return nil, err
		}
		var found named
		if err := unmarshal(raw, &found); err != nil {
			return nil, err
		}
		switch here := found.Metadata.key(); {
		case here > key:
			return nil, nil
		case here == key:
			return decodeActual(raw)
		}
		p.advance()
	}
}
