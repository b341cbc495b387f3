package children_test

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/fixture"
)

func app(spec edgeapp.Spec) *v1alpha1.EdgeApp {
	return &v1alpha1.EdgeApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: spec}
}

// The typed children say what the plan of Tare says, from nothing and over everything.
func TestTypedChildrenAreThePlanOfTare(t *testing.T) {
	fixtures := fixture.All(t)
	for _, one := range fixtures {
		t.Run(one.Name, func(t *testing.T) {
			fresh := &appsv1.Deployment{}
			before := &appsv1.Deployment{}
			for _, deployment := range []*appsv1.Deployment{fresh, before} {
				if deployment == before {
					write(t, app(full), deployment)
				}
				write(t, app(one.Spec), deployment)
				contains(t, "Deployment", toJSON(t, deployment), one.Deployment)
				once := deployment.DeepCopy()
				write(t, app(one.Spec), deployment)
				if !reflect.DeepEqual(once, deployment) {
					t.Error("written twice, it is another Deployment")
				}
			}
			if one.Service == nil {
				return
			}
			service := &corev1.Service{}
			children.WriteService(app(one.Spec), service)
			contains(t, "Service", toJSON(t, service), one.Service)
		})
	}
}

func TestWhatOthersSetStays(t *testing.T) {
	deployment := &appsv1.Deployment{}
	write(t, app(full), deployment)
	deployment.Annotations = map[string]string{"theirs": "stays"}
	deployment.Labels["theirs"] = "stays"
	deployment.Spec.RevisionHistoryLimit = ptr.To(int32(3))
	deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
	deployment.Spec.Template.Spec.Containers = append(deployment.Spec.Template.Spec.Containers, corev1.Container{Name: "injected"})
	want := deployment.DeepCopy()
	want.Spec.Template.Spec.Containers = want.Spec.Template.Spec.Containers[:1]
	want.Spec.Replicas = ptr.To(int32(1))
	deployment.Spec.Replicas = ptr.To(int32(9))
	write(t, app(full), deployment)
	if !reflect.DeepEqual(deployment, want) {
		t.Errorf("got %+v\nwant %+v", deployment, want)
	}
}

func TestABadQuantityIsRefused(t *testing.T) {
	bad := full
	bad.Resources = &edgeapp.Resources{Limits: map[string]edgeapp.Quantity{"cpu": "1.2.3"}}
	if err := children.WriteDeployment(app(bad), &appsv1.Deployment{}); err == nil {
		t.Error("1.2.3 is taken for a quantity")
	}
}

var full = edgeapp.Spec{
	Image: "old:1", Replicas: 1, Port: ptr.To(int32(1)),
	Env:         []edgeapp.EnvVar{{Name: "OLD", Value: "1"}},
	Resources:   &edgeapp.Resources{Requests: map[string]edgeapp.Quantity{"old.example/x": "1"}},
	Accelerator: &edgeapp.Accelerator{Resource: "old.example/y", Count: 1},
}

func write(t *testing.T, app *v1alpha1.EdgeApp, deployment *appsv1.Deployment) {
	t.Helper()
	if err := children.WriteDeployment(app, deployment); err != nil {
		t.Fatal(err)
	}
}

func toJSON(t *testing.T, object any) (out map[string]any) {
	t.Helper()
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// contains says that all of plan is in actual, that what is null in it is not there, and that lists
// are equal item by item.
func contains(t *testing.T, path string, actual, plan any) {
	t.Helper()
	switch plan := plan.(type) {
	case nil:
		if actual != nil {
			t.Errorf("%s is %v, want nothing", path, actual)
		}
	case map[string]any:
		found, _ := actual.(map[string]any)
		for key, value := range plan {
			contains(t, path+"/"+key, found[key], value)
		}
	case []any:
		found, _ := actual.([]any)
		if len(found) != len(plan) {
			t.Errorf("%s is %v, want %v", path, actual, plan)
			return
		}
		for i := range plan {
			contains(t, path, found[i], plan[i])
		}
	default:
		// An empty env value is left out, which the server takes for "".
		if empty := plan == "" && actual == nil; !empty && !reflect.DeepEqual(actual, plan) {
			t.Errorf("%s is %v, want %v", path, actual, plan)
		}
	}
}
