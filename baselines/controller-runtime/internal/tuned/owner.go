package tuned

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/baselines/controller-runtime/api/v1alpha1"
	"tare.dev/baselines/controller-runtime/internal/edgeapp"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func (r *Reconciler) addFinalizer(ctx context.Context, app *v1alpha1.EdgeApp) error {
	add := operation{"add", "/metadata/finalizers/-", edgeapp.Finalizer}
	if len(app.Finalizers) == 0 {
		add = operation{"add", "/metadata/finalizers", []string{edgeapp.Finalizer}}
	}
	return r.patchOwner(ctx, app, false, add)
}

func (r *Reconciler) removeFinalizer(ctx context.Context, app *v1alpha1.EdgeApp) error {
	// A copy: the list is the cache's.
	rest := slices.DeleteFunc(slices.Clone(app.Finalizers), func(one string) bool { return one == edgeapp.Finalizer })
	return r.patchOwner(ctx, app, false, operation{"replace", "/metadata/finalizers", rest})
}

// writeStatus replaces the status if it differs from the one in hand.
func (r *Reconciler) writeStatus(ctx context.Context, app *v1alpha1.EdgeApp, planned edgeapp.Status) error {
	status := app.Status
	if !status.Set(planned, time.Now()) {
		return nil
	}
	return r.patchOwner(ctx, app, true, operation{"add", "/status", status})
}

// patchOwner patches the app if it is still as it was read: the uid is tested, and a resourceVersion
// that is part of the object makes the server refuse the write where a newer one exists. The answer
// is metadata only; its resourceVersion goes on in app.
func (r *Reconciler) patchOwner(ctx context.Context, app *v1alpha1.EdgeApp, status bool, change operation) error {
	body, err := json.Marshal([]operation{
		{"test", "/metadata/uid", app.UID},
		{"replace", "/metadata/resourceVersion", app.ResourceVersion},
		change,
	})
	if err != nil {
		return err
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	answer.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EdgeApp"))
	patch := client.RawPatch(types.JSONPatchType, body)
	if status {
		err = r.Status().Patch(ctx, answer, patch, client.FieldOwner(edgeapp.Name))
	} else {
		err = r.Patch(ctx, answer, patch, client.FieldOwner(edgeapp.Name))
	}
	if err == nil {
		app.ResourceVersion = answer.ResourceVersion
	}
	return err
}
