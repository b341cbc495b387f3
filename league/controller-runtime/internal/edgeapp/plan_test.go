package edgeapp_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/fixture"
)

// What the Rust operator plans (tests/repository/plan_fixtures.rs writes it down) is what is planned here.
func TestThePlanIsThatOfTare(t *testing.T) {
	for _, fixture := range fixture.All(t) {
		t.Run(fixture.Name, func(t *testing.T) {
			spec := fixture.Spec
			equal(t, "Deployment", withoutIdentity(t, edgeapp.DeploymentBody("web", &spec)), fixture.Deployment)
			equal(t, "Service", withoutIdentity(t, edgeapp.ServiceBody("web", &spec)), fixture.Service)
			status := edgeapp.Observed(fixture.Owner, &spec, fixture.Seen)
			if failure := fixture.Failure; failure != nil {
				status = edgeapp.Degraded(fixture.Owner, &spec, fixture.Seen, failure.Reason, failure.Message)
			}
			equal(t, "status", reread(t, status), fixture.Status)
		})
	}
}

func TestATransitionTimeMovesOnlyWithItsStatus(t *testing.T) {
	spec := edgeapp.Spec{Image: "web:1", Replicas: 1}
	owner := edgeapp.Owner{Namespace: "shop", Name: "web", Generation: 1}
	waiting := edgeapp.Observed(owner, &spec, edgeapp.DeploymentState{})
	if !waiting.Stamp(&edgeapp.Status{}, time.Unix(1, 0)) {
		t.Error("a first status is no change")
	}
	again := edgeapp.Observed(owner, &spec, edgeapp.DeploymentState{})
	if again.Stamp(&waiting, time.Unix(2, 0)) || !reflect.DeepEqual(again, waiting) {
		t.Errorf("nothing changed, and yet %+v became %+v", waiting, again)
	}
	running := edgeapp.Observed(owner, &spec, edgeapp.DeploymentState{Exists: true, UpdatedReplicas: 1, ReadyReplicas: 1})
	if !running.Stamp(&waiting, time.Unix(3, 0)) {
		t.Error("becoming ready is no change")
	}
	var got []string
	for _, condition := range running.Conditions {
		got = append(got, condition.Type+" "+condition.LastTransitionTime)
	}
	want := "Ready 1970-01-01T00:00:03Z, Progressing 1970-01-01T00:00:03Z, Degraded 1970-01-01T00:00:01Z"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestQuantitiesMayBeNumbers(t *testing.T) {
	var resources edgeapp.Resources
	if err := json.Unmarshal([]byte(`{"limits": {"cpu": 1, "memory": "64Mi", "half": 0.5}}`), &resources); err != nil {
		t.Fatal(err)
	}
	want := map[string]edgeapp.Quantity{"cpu": "1", "memory": "64Mi", "half": "0.5"}
	if !reflect.DeepEqual(resources.Limits, want) {
		t.Errorf("got %v, want %v", resources.Limits, want)
	}
	if err := json.Unmarshal([]byte(`{"limits": {"cpu": true}}`), &resources); err == nil {
		t.Error("true is taken for a quantity")
	}
}

// withoutIdentity takes away the labels that Tare's runtime adds to what its plan says.
func withoutIdentity(t *testing.T, body edgeapp.Body) any {
	if body == nil {
		return nil
	}
	labels := body["metadata"].(edgeapp.Body)["labels"].(edgeapp.Body)
	if labels[edgeapp.OwnerLabel] != "web" || labels[edgeapp.ManagedByLabel] != "tare" {
		t.Errorf("the labels are %v", labels)
	}
	delete(labels, edgeapp.OwnerLabel)
	delete(labels, edgeapp.ManagedByLabel)
	if len(labels) == 0 {
		delete(body, "metadata")
	}
	return reread(t, body)
}

func reread(t *testing.T, value any) (out any) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		have, _ := json.MarshalIndent(got, "", " ")
		wish, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("%s is\n%s\nwant\n%s", what, have, wish)
	}
}
