package storeless

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"
)

const (
	// watchSeconds is how long the server keeps one watch open; beyond that and watchGrace the
	// connection is dead.
	watchSeconds = 290
	watchGrace   = 10 * time.Second
	// lineBytes bounds one event.
	lineBytes = objectBytes
	// readBytes is the buffer of a watch.
	readBytes = 16 << 10
)

// errExpired: the server does not have this place any more (410).
var errExpired = errors.New("the watch has expired")

// watch follows one kind from a version on and opens the stream anew where it was, until the place
// is gone or ctx is done.
func (o *Operator) watch(ctx context.Context, kind int, from version) error {
	for failures := 0; ; {
		opened := time.Now()
		at, err := o.watchOnce(ctx, kind, from)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errExpired):
			return err
		case err != nil:
			failures++
			log.Printf("watching %s: %v; opening it again", collections[kind].plural, err)
		case time.Since(opened) < time.Second:
			// A server that ends every watch at once must not be asked in a loop.
			failures++
		default:
			failures = 0
		}
		if at > from {
			from, failures = at, 0
		}
		if failures > 0 {
			o.restarts.Add(1)
			sleep(ctx, min(backoff(failures), 30*time.Second))
		}
	}
}

// watchOnce reads one stream to its end; it returns the place where it stands.
func (o *Operator) watchOnce(ctx context.Context, kind int, at version) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, watchSeconds*time.Second+watchGrace)
	defer cancel()
	body, err := o.api.open(ctx, fmt.Sprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%d%s",
		collectionPath(kind), at, watchSeconds, collections[kind].selector))
	if err != nil {
		if code(err) == http.StatusGone {
			err = errExpired
		}
		return at, err
	}
	defer body.Close()
	o.opened(kind)
	lines := newLines(body)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		seen, err := o.event(kind, line)
		if err != nil {
			return at, err
		}
		if seen < at && seen > 0 {
			// The server was restored from a backup: nothing older compares.
			return at, errExpired
		}
		if seen > at {
			at = seen
			o.queue.show(kind, at)
		}
	}
}

func newLines(stream io.Reader) *bufio.Reader { return bufio.NewReaderSize(stream, readBytes) }

// readLine is one line, bounded. Most fit the buffer and are not copied.
func readLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	var whole bytes.Buffer
	for errors.Is(err, bufio.ErrBufferFull) {
		if whole.Len()+len(line) > lineBytes {
			return nil, errTooLarge
		}
		whole.Write(line)
		line, err = lines.ReadSlice('\n')
	}
	whole.Write(line)
	return whole.Bytes(), err
}

type event[T any] struct {
	Type   string `json:"type"`
	Object T      `json:"object"`
}

// event acts on one line and returns its version, 0 for none. One that cannot be decoded is skipped
// and said so.
func (o *Operator) event(kind int, line []byte) (version, error) {
	if bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)) {
		return 0, errorEvent(line)
	}
	if kind == owners {
		var seen event[owner]
		if err := unmarshal(line, &seen); err != nil {
			return o.undecodable(kind, line, err), nil
		}
		meta := &seen.Object.Metadata
		switch seen.Type {
		case "ADDED", "MODIFIED":
			o.queue.show(kind, meta.ResourceVersion)
			o.queue.see(&seen.Object)
		case "DELETED":
			o.queue.forget(meta.key(), meta.UID)
			o.tidyLater()
		case "ERROR":
			return 0, errorEvent(line)
		}
		return meta.ResourceVersion, nil
	}
	var seen event[child]
	if err := unmarshal(line, &seen); err != nil {
		return o.undecodable(kind, line, err), nil
	}
	meta := &seen.Object.Metadata
	switch seen.Type {
	case "ADDED", "MODIFIED", "DELETED":
		key, ok := meta.ownerKey()
		if !ok {
			break
		}
		news := &childNews{kind: kind, version: meta.ResourceVersion, deleted: seen.Type == "DELETED"}
		if kind == deployments {
			news.state = seen.Object.state()
		}
		if owner := meta.controller(); owner != nil {
			news.uid = owner.UID
		}
		o.queue.show(kind, meta.ResourceVersion)
		o.queue.hear(key, news)
	case "ERROR":
		return 0, errorEvent(line)
	}
	return meta.ResourceVersion, nil
}

func errorEvent(line []byte) error {
	var failed event[apiError]
	if err := unmarshal(line, &failed); err != nil {
		return fmt.Errorf("an error event that cannot be decoded: %w", err)
	}
	if failed.Object.Code == http.StatusGone {
		return errExpired
	}
	return &failed.Object
}

// undecodable skips an event; the place moves on, or it would come again with the next opening.
func (o *Operator) undecodable(kind int, line []byte, cause error) version {
	var found event[named]
	// What else is wrong with it does not matter here.
	_ = unmarshal(line, &found)
	log.Printf("skipped an event of %s %s that cannot be decoded: %v",
		collections[kind].plural, found.Object.Metadata.key(), cause)
	o.skipped.Add(1)
	return found.Object.Metadata.ResourceVersion
}

func sleep(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}
