package slim

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// text is a Deployment in JSON, as far as it is decoded.
type text struct {
	Metadata struct {
		Name                       string       `json:"name"`
		Namespace                  string       `json:"namespace"`
		UID                        types.UID    `json:"uid"`
		ResourceVersion            string       `json:"resourceVersion"`
		Generation                 int64        `json:"generation"`
		DeletionTimestamp          *metav1.Time `json:"deletionTimestamp"`
		DeletionGracePeriodSeconds *int64       `json:"deletionGracePeriodSeconds"`
		Annotations                struct {
			InitialEventsEnd string `json:"k8s.io/initial-events-end"`
		} `json:"annotations"`
		Labels          map[string]string       `json:"labels"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int32 `json:"replicas"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec struct {
				Containers []container `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64                        `json:"observedGeneration"`
		Replicas           int32                        `json:"replicas"`
		UpdatedReplicas    int32                        `json:"updatedReplicas"`
		ReadyReplicas      int32                        `json:"readyReplicas"`
		Conditions         []appsv1.DeploymentCondition `json:"conditions"`
	} `json:"status"`
}

// UnmarshalJSON decodes what is needed.
func (d *Deployment) UnmarshalJSON(raw []byte) error {
	var found text
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	meta := &found.Metadata
	*d = Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:                       meta.Name,
			Namespace:                  meta.Namespace,
			UID:                        meta.UID,
			ResourceVersion:            meta.ResourceVersion,
			Generation:                 meta.Generation,
			DeletionTimestamp:          meta.DeletionTimestamp,
			DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds,
			OwnerReferences:            meta.OwnerReferences,
		},
		Status: Status{
			ObservedGeneration: found.Status.ObservedGeneration,
			Replicas:           found.Status.Replicas,
			UpdatedReplicas:    found.Status.UpdatedReplicas,
			ReadyReplicas:      found.Status.ReadyReplicas,
		},
		Digest: planned{
			labels:     meta.Labels,
			replicas:   found.Spec.Replicas,
			podLabels:  found.Spec.Template.Metadata.Labels,
			containers: found.Spec.Template.Spec.Containers,
		}.digest(),
	}
	if end := meta.Annotations.InitialEventsEnd; end != "" {
		d.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: end}
	}
	for _, condition := range found.Status.Conditions {
		d.Status.Stalled = d.Status.Stalled || isStalled(condition)
	}
	return nil
}

// MarshalJSON is the plan of a Deployment that is created.
func (d *Deployment) MarshalJSON() ([]byte, error) {
	if d.Plan == nil {
		return nil, errNoPlan
	}
	whole := *d.Plan
	whole.TypeMeta = d.TypeMeta
	return json.Marshal(&whole)
}
