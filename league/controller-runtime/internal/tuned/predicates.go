package tuned

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"tare.dev/league/controller-runtime/internal/slim"
)

// deploymentChanged lets through a change of what a status follows from, or of what the plan says.
func deploymentChanged() predicate.Predicate {
	return predicate.Funcs{
		// At the start every owner is looked at anyway; later an addition is news only if somebody
		// has begun to work on it.
		CreateFunc: func(e event.CreateEvent) bool {
			deployment, ok := e.Object.(*slim.Deployment)
			return ok && deployment.Status.ObservedGeneration > 0
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*slim.Deployment)
			after, also := e.ObjectNew.(*slim.Deployment)
			return ok && also && (before.State() != after.State() ||
				before.Digest != after.Digest || ownershipChanged(before, after))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// serviceChanged lets through versions that are not the result of our own writes.
func serviceChanged(known *services) predicate.Predicate {
	news := func(object client.Object) bool {
		meta, ok := object.(*metav1.PartialObjectMetadata)
		return ok && known.digestOf(&meta.ObjectMeta) == 0
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return news(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return news(e.ObjectNew) || ownershipChanged(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			known.forget(e.Object.GetUID())
			return true
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func ownershipChanged(before, after client.Object) bool {
	owner, next := metav1.GetControllerOfNoCopy(before), metav1.GetControllerOfNoCopy(after)
	same := (owner == nil) == (next == nil) && (owner == nil || owner.UID == next.UID)
	return !same || before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero()
}
