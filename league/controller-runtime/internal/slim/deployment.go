// Package slim has a Deployment of which only what the tuned operator reads is decoded: the identity,
// the counters of the status, and a digest in place of all that a plan speaks of. Registered in a
// scheme for apps/v1, it takes the place of the typed Deployment in watches, lists and answers, as the
// types of Cilium's pkg/k8s/slim do.
//
// Guarantees: equal Deployments have equal digests, in protobuf and in JSON; what is skipped is
// never allocated. Leaves to others: the plan (package children) and what a difference means.
package slim

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// Deployment is a Deployment as it is read; one that is sent has a Plan.
type Deployment struct {
	metav1.TypeMeta
	// ObjectMeta has neither labels nor finalizers nor managedFields nor annotations, but for the one
	// that ends the initial events of a watch.
	metav1.ObjectMeta

	Status Status
	// Digest is that of the planned fields, 0 for an object that did not come from the server.
	Digest uint64
	// Plan is what a create sends; nil in an object that was decoded.
	Plan *appsv1.Deployment
}

// Status is what a status of an EdgeApp follows from.
type Status struct {
	ObservedGeneration int64
	Replicas           int32
	UpdatedReplicas    int32
	ReadyReplicas      int32
	Stalled            bool
}

// DeploymentList is a list of them.
type DeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Deployment `json:"items"`
}

var errNoPlan = errors.New("a Deployment that was read cannot be sent: it has no plan")

// AddToScheme registers both types as those of apps/v1.
func AddToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(appsv1.SchemeGroupVersion, &Deployment{}, &DeploymentList{})
	metav1.AddToGroupVersion(scheme, appsv1.SchemeGroupVersion)
}

// Planned is a Deployment that can be created.
func Planned(plan *appsv1.Deployment) *Deployment {
	return &Deployment{ObjectMeta: plan.ObjectMeta, Plan: plan}
}

// State is what a Deployment tells about its progress.
func (d *Deployment) State() edgeapp.DeploymentState {
	return edgeapp.DeploymentState{
		Exists:             true,
		Generation:         d.Generation,
		ObservedGeneration: d.Status.ObservedGeneration,
		Replicas:           d.Status.Replicas,
		UpdatedReplicas:    d.Status.UpdatedReplicas,
		ReadyReplicas:      d.Status.ReadyReplicas,
		Stalled:            d.Status.Stalled,
	}
}

// DeepCopyObject is what a client.Object has to have.
func (d *Deployment) DeepCopyObject() runtime.Object {
	copied := *d
	d.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Plan = d.Plan.DeepCopy()
	return &copied
}

// DeepCopyObject is what a client.ObjectList has to have.
func (l *DeploymentList) DeepCopyObject() runtime.Object {
	copied := &DeploymentList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Deployment))
	}
	return copied
}

func isStalled(condition appsv1.DeploymentCondition) bool {
	return condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
}
