package storeless

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

const (
	// deadline is how long one reconcile may take.
	deadline = 30 * time.Second
	// attemptsAtOnce is how often a write that met a newer object starts over before it backs off.
	attemptsAtOnce = 4
	// terminating is how long something that is being deleted is given.
	terminating = time.Second
)

var (
	// errAgain: something is newer than what was known.
	errAgain = errors.New("the object kept changing while it was written")
	// errGone: there is no such owner any more, or it is being deleted: its children are the garbage
	// collector's.
	errGone = errors.New("the owner is gone")
	// errYields: the children are written, and the status yields to the work of others.
	errYields = errors.New("the status yields")
	// errWait: something has to pass by first; nothing is wrong.
	errWait = errors.New("waiting for an object that is being deleted")
)

// failure is what the user can do something about: it becomes a condition.
type failure struct{ reason, message string }

func (f *failure) Error() string { return f.message }

// reconcile brings one owner as far as it gets and says how far that was.
func (o *Operator) reconcile(ctx context.Context, w *work) verdict {
	defer o.Durations.Since(time.Now())
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := errAgain
	for attempt := 0; attempt < attemptsAtOnce && errors.Is(err, errAgain); attempt++ {
		if attempt > 0 {
			w.owner, w.check = nil, true
		}
		err = o.once(ctx, w)
	}
	var failed *failure
	switch {
	case err == nil:
		w.yielded = 0
		return verdict{}
	case errors.Is(err, errYields):
		return verdict{yields: true}
	case errors.Is(err, errGone):
		return verdict{gone: true}
	case errors.Is(err, errWait):
		w.check = true
		return verdict{err: err, after: terminating}
	case errors.Is(err, errAgain):
		w.owner, w.check = nil, true
		return verdict{err: err}
	}
	o.Errors.Add(1)
	w.check = true
	if errors.As(err, &failed) && w.owner != nil {
		planned := edgeapp.Degraded(w.owner.identity(), &w.owner.Spec, w.slots[deployments].state, failed.reason, failed.message)
		if planned.Stamp(&w.owner.Status, time.Now()) {
			if writeErr := o.writeStatus(ctx, w, planned); writeErr != nil {
				w.owner = nil
			} else {
				log.Printf("EdgeApp %s: %v", w.key, err)
			}
		}
	} else {
		log.Printf("EdgeApp %s: %v", w.key, err)
	}
	return verdict{err: err}
}

func (o *Operator) once(ctx context.Context, w *work) error {
	if w.owner == nil {
		if err := o.readOwner(ctx, w); err != nil {
			return err
		}
	}
	app := w.owner
	fresh := app.fresh() && !w.check
	written := w.yielded == app.Metadata.Generation
	if w.check || app.needsWork() && !written {
		for _, kind := range []int{deployments, services} {
			if err := o.ensure(ctx, w, kind, fresh); err != nil {
				return err
			}
		}
	}
	status := edgeapp.Observed(app.identity(), &app.Spec, w.slots[deployments].state)
	if !status.Stamp(&app.Status, time.Now()) {
		return nil
	}
	if status.Phase == edgeapp.Progressing && !written && o.queue.mayYield() {
		w.yielded = app.Metadata.Generation
		return errYields
	}
	return o.writeStatus(ctx, w, status)
}

func (o *Operator) readOwner(ctx context.Context, w *work) error {
	namespace, name, _ := strings.Cut(w.key, "/")
	raw, err := o.api.get(ctx, objectPath(owners, namespace, name))
	if err != nil {
		if code(err) == http.StatusNotFound {
			return errGone
		}
		return fmt.Errorf("reading the EdgeApp: %w", err)
	}
	var read owner
	if err := unmarshal(raw, &read); err != nil {
		return fmt.Errorf("the EdgeApp cannot be decoded: %w", err)
	}
	if read.Metadata.deleting() {
		return errGone
	}
	if w.uid != "" && w.uid != read.Metadata.UID {
		w.slots, w.written, w.yielded = [kinds]slot{}, 0, 0
	}
	w.owner, w.uid = &read, read.Metadata.UID
	return nil
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// writeStatus replaces the status if the owner is still as we know it: the uid is tested, and a resourceVersion that is
// part of the object makes the server refuse the write where a newer one exists.
func (o *Operator) writeStatus(ctx context.Context, w *work, status edgeapp.Status) error {
	meta := &w.owner.Metadata
	patch := []operation{
		{"test", "/metadata/uid", meta.UID},
		{"replace", "/metadata/resourceVersion", meta.ResourceVersion.String()},
		{"add", "/status", status},
	}
	path := objectPath(owners, meta.Namespace, meta.Name) + "/status?fieldManager=" + edgeapp.Name
	raw, err := o.api.call(ctx, http.MethodPatch, path, jsonPatchType, patch, metadataType, objectBytes)
	switch code(err) {
	case http.StatusNotFound:
		return errGone
	case http.StatusConflict, http.StatusUnprocessableEntity:
		// 422: the test failed, so it is another object by now.
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	var answer named
	if err := unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	meta.ResourceVersion = answer.Metadata.ResourceVersion
	w.written = meta.ResourceVersion
	w.owner.Status = status
	return nil
}
