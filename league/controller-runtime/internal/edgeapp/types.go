// Package edgeapp is what an EdgeApp is and what it becomes: the pure core that all three Go
// operators share, equal to that of the Rust ones (plan_test.go holds it to the same fixtures).
//
// Guarantees: no I/O, no clock, the standard library alone, so that the storeless operator links
// nothing of Kubernetes. Leaves to others: how a plan is brought about, and the schema, which the
// API server holds objects to (deploy/base/crd.yaml).
//
// +kubebuilder:object:generate=true
package edgeapp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Spec is what the application should be.
type Spec struct {
	Image string `json:"image"`
	// Replicas is 1 unless said: the API server fills it in.
	Replicas    int32        `json:"replicas"`
	Port        *int32       `json:"port,omitempty"`
	Headless    *bool        `json:"headless,omitempty"`
	Env         []EnvVar     `json:"env,omitempty"`
	Resources   *Resources   `json:"resources,omitempty"`
	Accelerator *Accelerator `json:"accelerator,omitempty"`
}

// EnvVar is one variable of the container's environment.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Resources are quantities by resource name.
type Resources struct {
	Requests map[string]Quantity `json:"requests,omitempty"`
	Limits   map[string]Quantity `json:"limits,omitempty"`
}

// Accelerator is an extended resource that each pod needs, and how many of it.
type Accelerator struct {
	Resource string `json:"resource"`
	Count    int32  `json:"count"`
}

// Quantity is a quantity as it was written; the schema allows 1 as well as "1".
type Quantity string

// UnmarshalJSON takes a string or a number.
func (q *Quantity) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		*q = Quantity(text)
		return nil
	}
	var number json.Number
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&number); err != nil {
		return fmt.Errorf("a quantity is a string or a number, not %s", raw)
	}
	*q = Quantity(number)
	return nil
}

// Status is what was last observed.
type Status struct {
	Phase              Phase       `json:"phase,omitempty"`
	Replicas           int32       `json:"replicas"`
	ReadyReplicas      int32       `json:"readyReplicas"`
	Selector           string      `json:"selector,omitempty"`
	Endpoint           string      `json:"endpoint,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
}

// Phase is where an EdgeApp stands, in one word.
type Phase string

// The phases that an operator writes.
const (
	Progressing Phase = "Progressing"
	Running     Phase = "Running"
	Failed      Phase = "Failed"
)

// Condition is a condition as the Kubernetes API conventions define it. A plan has no clock: the
// transition time is filled in by whoever writes it.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}
