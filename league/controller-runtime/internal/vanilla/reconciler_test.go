package vanilla

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"tare.dev/league/controller-runtime/internal/deleting"
)

func TestAnEdgeAppThatIsBeingDeletedIsNotTouched(t *testing.T) {
	reconciler := &EdgeAppReconciler{Client: deleting.Client{}}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	result, err := reconciler.Reconcile(context.Background(), request)
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
