package tuned

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/slim"
)

// CacheOptions keep of each kind what a reconcile reads and nothing else.
//
// Nothing is copied on the way out of the cache: what Get returns shares its maps and slices with
// the cache and is only read; every write is a patch that is made from the plan.
func CacheOptions() cache.Options {
	ours := labels.SelectorFromSet(labels.Set{edgeapp.ManagedByLabel: edgeapp.Name})
	return cache.Options{
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		// A forgotten kind must not bring a whole informer along.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.EdgeApp{}: {Transform: stripEdgeApp},
			&slim.Deployment{}:  {Transform: shareDeployment, Label: ours},
			&corev1.Service{}:   {Transform: stripMetadata, Label: ours},
		},
	}
}

func stripEdgeApp(in any) (any, error) {
	app, ok := in.(*v1alpha1.EdgeApp)
	if !ok {
		return in, nil
	}
	strip(&app.ObjectMeta)
	app.TypeMeta = metav1.TypeMeta{}
	for i := range app.Spec.Env {
		share(&app.Spec.Env[i].Name)
	}
	for i := range app.Status.Conditions {
		condition := &app.Status.Conditions[i]
		share(&condition.Type)
		share(&condition.Reason)
		share(&condition.Message)
		condition.Status = metav1.ConditionStatus(shared(string(condition.Status)))
	}
	app.Status.Phase = edgeapp.Phase(shared(string(app.Status.Phase)))
	return app, nil
}

// shareDeployment has nothing to drop: only what is needed was decoded (package slim).
func shareDeployment(in any) (any, error) {
	if deployment, ok := in.(*slim.Deployment); ok {
		strip(&deployment.ObjectMeta)
	}
	return in, nil
}

// stripMetadata is for Services, of which only metadata are watched.
func stripMetadata(in any) (any, error) {
	if object, ok := in.(*metav1.PartialObjectMetadata); ok {
		strip(&object.ObjectMeta)
		// Kept, since what comes out of the cache without a copy gets no kind anew.
		share(&object.APIVersion)
		share(&object.Kind)
	}
	return in, nil
}

// strip drops what no reconcile reads: managedFields are most of an object.
func strip(meta *metav1.ObjectMeta) {
	meta.ManagedFields = nil
	meta.Annotations = nil
	meta.Finalizers = nil
	// Children were selected by their labels on the server; the digest covers them.
	meta.Labels = nil
	meta.CreationTimestamp = metav1.Time{}
	for i := range meta.OwnerReferences {
		owner := &meta.OwnerReferences[i]
		share(&owner.APIVersion)
		share(&owner.Kind)
		if owner.Name == meta.Name {
			owner.Name = meta.Name
		}
		owner.Controller = sharedBool(owner.Controller)
		owner.BlockOwnerDeletion = sharedBool(owner.BlockOwnerDeletion)
	}
	share(&meta.Namespace)
}

// share makes equal strings of thousands of objects one string.
func share(text *string) {
	*text = shared(*text)
}

func shared(text string) string {
	return unique.Make(text).Value()
}

var yes, no = true, false

func sharedBool(value *bool) *bool {
	switch {
	case value == nil:
		return nil
	case *value:
		return &yes
	default:
		return &no
	}
}
