package slim

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/edgeapp"
)

func ofWeb(t *testing.T) (*appsv1.Deployment, *corev1.Service) {
	app := &v1alpha1.EdgeApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: edgeapp.Spec{
			Image: "web:1", Replicas: 2, Port: ptr.To(int32(8080)), Headless: ptr.To(true),
			Env:       []edgeapp.EnvVar{{Name: "A", Value: "1"}},
			Resources: &edgeapp.Resources{Requests: map[string]edgeapp.Quantity{"cpu": "0.5"}},
		},
	}
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	if err := children.WriteDeployment(app, deployment); err != nil {
		t.Fatal(err)
	}
	children.WriteService(app, service)
	return deployment, service
}

func TestADigestSeesThePlanAndNothingElse(t *testing.T) {
	container := func(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		same   bool
	}{
		"defaults of the server": {func(d *appsv1.Deployment) {
			d.Spec.RevisionHistoryLimit = ptr.To(int32(10))
			container(d).ImagePullPolicy = corev1.PullIfNotPresent
		}, true},
		"an annotation of somebody's": {func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, true},
		"a quantity in another form":  {func(d *appsv1.Deployment) { container(d).Resources.Requests["cpu"] = resource.MustParse("500m") }, true},
		"another quantity":            {func(d *appsv1.Deployment) { container(d).Resources.Requests["cpu"] = resource.MustParse("501m") }, false},
		"other replicas":              {func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(7)) }, false},
		"another image":               {func(d *appsv1.Deployment) { container(d).Image = "web:2" }, false},
		"another port":                {func(d *appsv1.Deployment) { container(d).Ports[0].ContainerPort = 1 }, false},
		"another env value":           {func(d *appsv1.Deployment) { container(d).Env[0].Value = "2" }, false},
		"one env more":                {func(d *appsv1.Deployment) { container(d).Env = append(container(d).Env, corev1.EnvVar{}) }, false},
		"a limit":                     {func(d *appsv1.Deployment) { container(d).Resources.Limits = container(d).Resources.Requests }, false},
		"a container that was added": {func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{})
		}, false},
		"the label of the owner is gone": {func(d *appsv1.Deployment) { delete(d.Labels, edgeapp.OwnerLabel) }, false},
		"the label of the pods is gone":  {func(d *appsv1.Deployment) { d.Spec.Template.Labels = nil }, false},
	} {
		deployment, _ := ofWeb(t)
		before := DigestOfPlan(deployment)
		test.change(deployment)
		if same := DigestOfPlan(deployment) == before; same != test.same {
			t.Errorf("%s: equal digests is %v, want %v", name, same, test.same)
		}
	}
}

func TestADigestOfAServiceSeesItsPlan(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		same   bool
	}{
		"defaults of the server": {func(s *corev1.Service) { s.Spec.ClusterIPs, s.Spec.SessionAffinity = []string{"None"}, "None" }, true},
		"a cluster IP":           {func(s *corev1.Service) { s.Spec.ClusterIP = "10.0.0.7" }, false},
		"another target":         {func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(1) }, false},
		"a target by name":       {func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("http") }, false},
		"another selector":       {func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }, false},
		"one port more":          {func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{}) }, false},
		"no headless label":      {func(s *corev1.Service) { delete(s.Labels, edgeapp.HeadlessLabel) }, false},
	} {
		_, service := ofWeb(t)
		before := DigestOfService(service)
		test.change(service)
		if same := DigestOfService(service) == before; same != test.same {
			t.Errorf("%s: equal digests is %v, want %v", name, same, test.same)
		}
	}
}
