package edgeapp

import (
	"fmt"
	"strconv"
	"time"
)

// Owner is the identity of an EdgeApp as far as its status speaks of it.
type Owner struct {
	Namespace, Name string
	Generation      int64
	// ObservedGeneration is the generation that the status written before speaks of.
	ObservedGeneration int64
}

// DeploymentState is what a Deployment tells about its progress; zero while there is none.
type DeploymentState struct {
	Exists             bool
	Generation         int64
	ObservedGeneration int64
	Replicas           int32
	UpdatedReplicas    int32
	ReadyReplicas      int32
	// Stalled: its controller gave up waiting (its condition Progressing is False).
	Stalled bool
}

// Observed is the status that follows from the Deployment as it was last seen.
func Observed(owner Owner, spec *Spec, seen DeploymentState) Status {
	// A Deployment tells of its own newest spec only once its controller has seen it.
	current := seen.Exists && seen.ObservedGeneration >= seen.Generation
	// While a Pod of the old template is left, nothing tells which of them are ready.
	ready := current && seen.UpdatedReplicas >= spec.Replicas && seen.Replicas <= seen.UpdatedReplicas &&
		seen.ReadyReplicas >= seen.UpdatedReplicas
	stalled := current && !ready && seen.Stalled

	var phase Phase
	var reason, message string
	switch {
	case ready:
		phase, reason = Running, "AllReplicasReady"
	case stalled:
		phase, reason = Failed, "ProgressDeadlineExceeded"
		message = fmt.Sprintf("Deployment %q made no progress within its deadline; see its pods", owner.Name)
	default:
		phase, reason = Progressing, "WaitingForReplicas"
		message = fmt.Sprintf("waiting for %d ready replicas", spec.Replicas)
	}
	degraded := ""
	if stalled {
		degraded = message
	}
	status := base(owner, spec, seen)
	status.Phase = phase
	status.ObservedGeneration = owner.Generation
	status.Conditions = []Condition{
		condition("Ready", phase == Running, reason, message, owner.Generation),
		condition("Progressing", phase == Progressing, reason, "", owner.Generation),
		condition("Degraded", stalled, reason, degraded, owner.Generation),
	}
	return status
}

// Degraded is the status of an EdgeApp that cannot be brought about. Its spec is not observed: the
// generation stays what it was.
func Degraded(owner Owner, spec *Spec, seen DeploymentState, reason, message string) Status {
	status := base(owner, spec, seen)
	status.Phase = Failed
	status.ObservedGeneration = owner.ObservedGeneration
	status.Conditions = []Condition{
		condition("Ready", false, reason, message, owner.Generation),
		condition("Progressing", false, reason, "", owner.Generation),
		condition("Degraded", true, reason, message, owner.Generation),
	}
	return status
}

// Collision says whose a child is that is not ours, and what to do about it.
func Collision(kind, name, owner string) string {
	belongs := "was not made by this operator"
	if owner != "" {
		belongs = "belongs to " + owner
	}
	return fmt.Sprintf("%s %q %s; rename the EdgeApp or remove that %s", kind, name, belongs, kind)
}

// Stamp fills the transition times in: an unchanged condition keeps its own, a changed one gets
// now. It says whether status differs from before in anything else.
func (s *Status) Stamp(before *Status, now time.Time) (changed bool) {
	changed = s.Phase != before.Phase || s.Replicas != before.Replicas ||
		s.ReadyReplicas != before.ReadyReplicas || s.Selector != before.Selector ||
		s.Endpoint != before.Endpoint || s.ObservedGeneration != before.ObservedGeneration ||
		len(s.Conditions) != len(before.Conditions)
	for i := range s.Conditions {
		condition := &s.Conditions[i]
		condition.LastTransitionTime = now.UTC().Format(time.RFC3339)
		same := false
		for _, old := range before.Conditions {
			if old.Type == condition.Type && old.Status == condition.Status {
				condition.LastTransitionTime = old.LastTransitionTime
				same = old == *condition
			}
		}
		changed = changed || !same
	}
	return changed
}

func base(owner Owner, spec *Spec, seen DeploymentState) Status {
	status := Status{
		Replicas:      seen.Replicas,
		ReadyReplicas: seen.ReadyReplicas,
		Selector:      OwnerLabel + "=" + owner.Name,
	}
	if spec.Port != nil {
		port := int32(ServicePort)
		if spec.Headless != nil && *spec.Headless {
			// A headless Service maps no ports.
			port = *spec.Port
		}
		status.Endpoint = fmt.Sprintf("%s.%s.svc:%d", owner.Name, owner.Namespace, port)
	}
	return status
}

func condition(kind string, holds bool, reason, message string, generation int64) Condition {
	status := "False"
	if holds {
		status = "True"
	}
	return Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation}
}

func count(n int32) Quantity {
	return Quantity(strconv.FormatInt(int64(n), 10))
}
