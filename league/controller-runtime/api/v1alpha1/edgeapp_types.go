package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// EdgeAppStatus defines the observed state of EdgeApp.
type EdgeAppStatus struct {
	Phase              edgeapp.Phase `json:"phase,omitempty"`
	Replicas           int32         `json:"replicas"`
	ReadyReplicas      int32         `json:"readyReplicas"`
	Selector           string        `json:"selector,omitempty"`
	Endpoint           string        `json:"endpoint,omitempty"`
	ObservedGeneration int64         `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EdgeApp is the Schema for the edgeapps API. The CRD itself is deploy/base/crd.yaml.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ea
type EdgeApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   edgeapp.Spec  `json:"spec"`
	Status EdgeAppStatus `json:"status,omitempty"`
}

// EdgeAppList contains a list of EdgeApp.
//
// +kubebuilder:object:root=true
type EdgeAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EdgeApp `json:"items"`
}

// Owner is the identity that a status speaks of.
func (app *EdgeApp) Owner() edgeapp.Owner {
	return edgeapp.Owner{
		Namespace:          app.Namespace,
		Name:               app.Name,
		Generation:         app.Generation,
		ObservedGeneration: app.Status.ObservedGeneration,
	}
}

// Set takes over a planned status and says whether that changed anything. A transition time moves
// only when the status of its condition does.
func (s *EdgeAppStatus) Set(planned edgeapp.Status, now time.Time) (changed bool) {
	next := EdgeAppStatus{
		Phase:              planned.Phase,
		Replicas:           planned.Replicas,
		ReadyReplicas:      planned.ReadyReplicas,
		Selector:           planned.Selector,
		Endpoint:           planned.Endpoint,
		ObservedGeneration: planned.ObservedGeneration,
	}
	changed = s.Phase != next.Phase || s.Replicas != next.Replicas ||
		s.ReadyReplicas != next.ReadyReplicas || s.Selector != next.Selector ||
		s.Endpoint != next.Endpoint || s.ObservedGeneration != next.ObservedGeneration
	// Copied: the list may be that of an object in a cache.
	next.Conditions = append(make([]metav1.Condition, 0, len(planned.Conditions)), s.Conditions...)
	for _, condition := range planned.Conditions {
		if meta.SetStatusCondition(&next.Conditions, metav1.Condition{
			Type:               condition.Type,
			Status:             metav1.ConditionStatus(condition.Status),
			Reason:             condition.Reason,
			Message:            condition.Message,
			ObservedGeneration: condition.ObservedGeneration,
			LastTransitionTime: metav1.NewTime(now),
		}) {
			changed = true
		}
	}
	*s = next
	return changed
}
