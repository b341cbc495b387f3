package storeless

import (
	"context"
	"fmt"
	"log"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// extent is how much a join looks at.
type extent int

const (
	// ownersOnly: after events of owners found no room.
	ownersOnly extent = iota
	// everything: owners and children.
	everything
)

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
		lists[kind] = newPages(o.api, kind)
		defer lists[kind].close()
		at, err := lists[kind].first(ctx)
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
