// Package deleting has the client of tests about EdgeApps that are being deleted.
package deleting

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/league/controller-runtime/api/v1alpha1"
)

// Client answers a Get with an EdgeApp that is being deleted; every other request panics.
type Client struct{ client.Client }

// Get is of whatever name is asked for.
func (Client) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*v1alpha1.EdgeApp).ObjectMeta = metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: ptr.To(metav1.Now()),
	}
	return nil
}
