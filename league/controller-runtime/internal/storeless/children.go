package storeless

import (
	"context"
	"fmt"
	"net/http"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// plan is what the child of a kind must look like; nil when it must not exist.
func plan(kind int, app *owner) edgeapp.Body {
	if kind == deployments {
		return edgeapp.DeploymentBody(app.Metadata.Name, &app.Spec)
	}
	return edgeapp.ServiceBody(app.Metadata.Name, &app.Spec)
}

// ensure makes one child what its plan says. fresh: nothing of ours can exist yet, and a POST finds
// out at once.
func (o *Operator) ensure(ctx context.Context, w *work, kind int, fresh bool) error {
	body := plan(kind, w.owner)
	if fresh && body == nil {
		return nil
	}
	if fresh && w.slots[kind].version == 0 {
		err := o.create(ctx, w, kind, body)
		if code(err) != http.StatusConflict {
			return o.explain(err, kind, w)
		}
	}
	meta := &w.owner.Metadata
	found, err := o.readChild(ctx, kind, meta.Namespace, meta.Name)
	if err != nil {
		return o.explain(err, kind, w)
	}
	switch {
	case found == nil && body == nil:
		w.slots[kind] = slot{version: w.slots[kind].version}
		return nil
	case found == nil:
		err = o.create(ctx, w, kind, body)
	case body == nil:
		if !o.ours(w, found) || found.Metadata.deleting() {
			return nil
		}
		err = o.deleteChild(ctx, kind, found)
	default:
		err = o.align(ctx, w, kind, body, found)
	}
	if code(err) == http.StatusConflict {
		return errAgain
	}
	return o.explain(err, kind, w)
}

// align brings an existing child to its plan, if it is ours.
func (o *Operator) align(ctx context.Context, w *work, kind int, body edgeapp.Body, found *actual) error {
	meta := &w.owner.Metadata
	controller := found.Metadata.controller()
	switch {
	case found.Metadata.deleting():
		return errWait
	case o.ours(w, found):
	case controller != nil && controller.Kind == collections[owners].kind && controller.Name == meta.Name:
		// It belongs to an earlier owner of that name and will be collected.
		return errWait
	default:
		belongs := ""
		if controller != nil {
			belongs = fmt.Sprintf("%s %q", controller.Kind, controller.Name)
		}
		return &failure{"Collision", edgeapp.Collision(collections[kind].kind, meta.Name, belongs)}
	}
	if kind == services && mustBeReplaced(w.owner, found) {
		if err := o.deleteChild(ctx, kind, found); err != nil {
			return err
		}
		if found.outlives {
			return errWait
		}
		return o.create(ctx, w, kind, body)
	}
	if !differs(body, found.body) {
		w.slots[kind] = slot{found.Metadata.ResourceVersion, found.state()}
		return nil
	}
	patch := asMergePatch(body).(edgeapp.Body)
	identity := patch["metadata"].(edgeapp.Body)
	identity["uid"] = found.Metadata.UID
	identity["resourceVersion"] = found.Metadata.ResourceVersion.String()
	path := objectPath(kind, meta.Namespace, meta.Name) + "?fieldManager=" + edgeapp.Name
	raw, err := o.api.call(ctx, http.MethodPatch, path, mergePatchType, patch, jsonType, objectBytes)
	if err != nil {
		return err
	}
	after, err := decodeActual(raw)
	if err != nil {
		return err
	}
	w.slots[kind] = slot{after.Metadata.ResourceVersion, after.state()}
	return nil
}

func (o *Operator) create(ctx context.Context, w *work, kind int, body edgeapp.Body) error {
	meta := &w.owner.Metadata
	object := withoutNulls(body).(edgeapp.Body)
	object["apiVersion"], object["kind"] = collections[kind].apiVersion, collections[kind].kind
	identity := object["metadata"].(edgeapp.Body)
	identity["name"], identity["namespace"] = meta.Name, meta.Namespace
	identity["ownerReferences"] = []any{edgeapp.Body{
		"apiVersion": collections[owners].apiVersion,
		"kind":       collections[owners].kind,
		"name":       meta.Name,
		"uid":        meta.UID,
		"controller": true, "blockOwnerDeletion": true,
	}}
	accept := jsonType
	if kind == services {
		// Of a Service the answer's metadata are enough.
		accept = metadataType
	}
	path := objectPath(kind, meta.Namespace, "") + "?fieldManager=" + edgeapp.Name
	raw, err := o.api.call(ctx, http.MethodPost, path, jsonType, object, accept, objectBytes)
	if err != nil {
		return err
	}
	made, err := decodeActual(raw)
	if err != nil {
		return err
	}
	w.slots[kind] = slot{made.Metadata.ResourceVersion, made.state()}
	return nil
}

// readChild is nil for a child that does not exist.
func (o *Operator) readChild(ctx context.Context, kind int, namespace, name string) (*actual, error) {
	raw, err := o.api.get(ctx, objectPath(kind, namespace, name))
	if err != nil {
		if code(err) == http.StatusNotFound {
			return nil, nil
		}
		return nil, err
	}
	return decodeActual(raw)
}

// deleteChild deletes exactly the object that was read.
func (o *Operator) deleteChild(ctx context.Context, kind int, found *actual) error {
	options := map[string]any{
		"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
		"preconditions": map[string]string{"uid": found.Metadata.UID},
	}
	path := objectPath(kind, found.Metadata.Namespace, found.Metadata.Name)
	_, err := o.api.call(ctx, http.MethodDelete, path, jsonType, options, metadataType, objectBytes)
	switch code(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusConflict:
		return errAgain
	}
	return err
}

func (o *Operator) ours(w *work, found *actual) bool {
	controller := found.Metadata.controller()
	return controller != nil && controller.UID == w.uid
}

// mustBeReplaced: a cluster IP can be neither given up nor gained.
func mustBeReplaced(app *owner, found *actual) bool {
	spec, _ := found.body["spec"].(map[string]any)
	return (spec["clusterIP"] == "None") != app.Spec.IsHeadless()
}

// explain turns a refusal of the API server into a failure that the status tells.
func (o *Operator) explain(err error, kind int, w *work) error {
	child := fmt.Sprintf("%s %q", collections[kind].kind, w.owner.Metadata.Name)
	switch code(err) {
	case http.StatusForbidden:
		return &failure{"Forbidden", fmt.Sprintf("may not write %s: %v", child, err)}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return &failure{"Rejected", fmt.Sprintf("the API server refuses %s: %v", child, err)}
	case http.StatusNotFound:
		// The namespace is gone, and with it, soon, the owner.
		return errWait
	}
	return err
}
