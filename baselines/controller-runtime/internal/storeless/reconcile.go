package storeless

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"tare.dev/baselines/controller-runtime/internal/edgeapp"
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
	// errGone: there is no such owner any more.
	errGone = errors.New("the owner is gone")
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
		return verdict{}
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
		before := w.written
		if writeErr := o.writeStatus(ctx, w, planned); writeErr != nil {
			w.owner = nil
		} else if w.written != before {
			log.Printf("EdgeApp %s: %v", w.key, err)
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
	if app.Metadata.deleting() {
		return o.takeDown(ctx, w)
	}
	fresh := app.fresh() && !w.check
	if !app.hasFinalizer() {
		if err := o.addFinalizer(ctx, w); err != nil {
			return err
		}
	}
	if w.check || app.Status.ObservedGeneration != app.Metadata.Generation {
		for _, kind := range []int{deployments, services} {
			if err := o.ensure(ctx, w, kind, fresh); err != nil {
				return err
			}
		}
	}
	return o.writeStatus(ctx, w, edgeapp.Observed(app.identity(), &app.Spec, w.slots[deployments].state))
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
	if w.uid != "" && w.uid != read.Metadata.UID {
		w.slots, w.written = [kinds]slot{}, 0
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

func (o *Operator) addFinalizer(ctx context.Context, w *work) error {
	meta := &w.owner.Metadata
	add := operation{"add", "/metadata/finalizers/-", edgeapp.Finalizer}
	if len(meta.Finalizers) == 0 {
		add = operation{"add", "/metadata/finalizers", []string{edgeapp.Finalizer}}
	}
	if err := o.patchOwner(ctx, w, "", add); err != nil {
		return err
	}
	meta.Finalizers = append(meta.Finalizers, edgeapp.Finalizer)
	return nil
}

// writeStatus replaces the status if it differs from the one that is known.
func (o *Operator) writeStatus(ctx context.Context, w *work, status edgeapp.Status) error {
	if !status.Stamp(&w.owner.Status, time.Now()) {
		return nil
	}
	if err := o.patchOwner(ctx, w, "/status", operation{"add", "/status", status}); err != nil {
		return err
	}
	w.owner.Status = status
	return nil
}

// patchOwner patches the owner if it is still as we know it: the uid is tested, and a resourceVersion
// that is part of the object makes the server refuse the write where a newer one exists.
func (o *Operator) patchOwner(ctx context.Context, w *work, subresource string, change operation) error {
	meta := &w.owner.Metadata
	patch := []operation{
		{"test", "/metadata/uid", meta.UID},
		{"replace", "/metadata/resourceVersion", meta.ResourceVersion.String()},
		change,
	}
	path := objectPath(owners, meta.Namespace, meta.Name) + subresource + "?fieldManager=" + edgeapp.Name
	raw, err := o.api.call(ctx, http.MethodPatch, path, jsonPatchType, patch, metadataType, objectBytes)
	switch code(err) {
	case http.StatusNotFound:
		return errGone
	case http.StatusConflict, http.StatusUnprocessableEntity:
		// 422: the test failed, so it is another object by now.
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("patching the EdgeApp: %w", err)
	}
	var answer named
	if err := unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	meta.ResourceVersion = answer.Metadata.ResourceVersion
	w.written = meta.ResourceVersion
	return nil
}

// takeDown deletes the children in order, the Service first so that traffic drains, then our
// finalizer. Children of an owner that is deleted with --cascade=orphan stay.
func (o *Operator) takeDown(ctx context.Context, w *work) error {
	meta := &w.owner.Metadata
	if !w.owner.hasFinalizer() {
		return errGone
	}
	if !slices.Contains(meta.Finalizers, edgeapp.OrphanFinalizer) {
		for _, kind := range []int{services, deployments} {
			found, err := o.readChild(ctx, kind, meta.Namespace, meta.Name)
			if err != nil {
				return err
			}
			if found == nil || !o.ours(w, found) {
				continue
			}
			if err := o.deleteChild(ctx, kind, found); err != nil {
				return err
			}
			if len(found.Metadata.Finalizers) > 0 {
				status := edgeapp.Observed(w.owner.identity(), &w.owner.Spec, found.state())
				return errors.Join(o.writeStatus(ctx, w, status), errWait)
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(meta.Finalizers), func(one string) bool { return one == edgeapp.Finalizer })
	if err := o.patchOwner(ctx, w, "", operation{"replace", "/metadata/finalizers", rest}); err != nil {
		return err
	}
	return errGone
}
