package vanilla

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/baselines/controller-runtime/api/v1alpha1"
)

// deleting answers a Get with an EdgeApp that is being deleted; every other request panics.
type deleting struct{ client.Client }

func (deleting) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*v1alpha1.EdgeApp).ObjectMeta = metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: ptr.To(metav1.Now()),
	}
	return nil
}

func TestAnEdgeAppThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	reconciler := &EdgeAppReconciler{Client: deleting{}}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	result, err := reconciler.Reconcile(context.Background(), request)
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
