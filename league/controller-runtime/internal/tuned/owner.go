package tuned

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// writeStatus replaces the status if it differs from the one in hand, and if the app is still as it was
// read: the uid is tested, and a resourceVersion that is part of the object makes the server refuse the
// write where a newer one exists. The answer is metadata only.
func (r *Reconciler) writeStatus(ctx context.Context, app *v1alpha1.EdgeApp, planned edgeapp.Status) error {
	status := app.Status
	if !status.Set(planned, time.Now()) {
		return nil
	}
	body, err := json.Marshal([]operation{
		{"test", "/metadata/uid", app.UID},
		{"replace", "/metadata/resourceVersion", app.ResourceVersion},
		{"add", "/status", status},
	})
	if err != nil {
		return err
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	answer.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("EdgeApp"))
	return r.Status().Patch(ctx, answer, client.RawPatch(types.JSONPatchType, body), client.FieldOwner(edgeapp.Name))
}
