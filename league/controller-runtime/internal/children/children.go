// Package children writes a plan into typed objects: what the operators with a typed client create,
// update and compare.
//
// Guarantees: pure; a field that the spec no longer asks for is emptied, a field that is not in the
// plan is left alone, and writing the same plan twice changes nothing, defaults of the server
// included. Leaves owner references and every request to the operators.
package children

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// WriteDeployment writes the plan for app into deployment, which may be new or as it was read.
func WriteDeployment(app *v1alpha1.EdgeApp, deployment *appsv1.Deployment) error {
	requests, err := resourceList(edgeapp.Requests(&app.Spec))
	if err != nil {
		return err
	}
	limits, err := resourceList(edgeapp.Limits(&app.Spec))
	if err != nil {
		return err
	}
	label(&deployment.ObjectMeta, app.Name)
	spec := &deployment.Spec
	spec.Replicas = ptr.To(app.Spec.Replicas)
	if spec.Selector == nil {
		// It never changes.
		spec.Selector = &metav1.LabelSelector{MatchLabels: Selector(app.Name)}
	}
	set(&spec.Template.Labels, edgeapp.OwnerLabel, app.Name)

	// The list is ours as a whole: a container that somebody added goes.
	containers := spec.Template.Spec.Containers
	container := corev1.Container{Name: edgeapp.ContainerName}
	for i := range containers {
		if containers[i].Name == edgeapp.ContainerName {
			container = containers[i]
		}
	}
	container.Image = app.Spec.Image
	container.Ports = nil
	if app.Spec.Port != nil {
		container.Ports = []corev1.ContainerPort{{ContainerPort: *app.Spec.Port, Protocol: corev1.ProtocolTCP}}
	}
	container.Env = make([]corev1.EnvVar, len(app.Spec.Env))
	for i, variable := range app.Spec.Env {
		container.Env[i] = corev1.EnvVar{Name: variable.Name, Value: variable.Value}
	}
	container.Resources.Requests, container.Resources.Limits = requests, limits
	spec.Template.Spec.Containers = []corev1.Container{container}
	return nil
}

// WriteService writes the plan for app, which has a port, into service.
func WriteService(app *v1alpha1.EdgeApp, service *corev1.Service) {
	label(&service.ObjectMeta, app.Name)
	if app.Spec.IsHeadless() {
		set(&service.Labels, edgeapp.HeadlessLabel, "true")
		if service.ResourceVersion == "" {
			// It never changes: see MustBeReplaced.
			service.Spec.ClusterIP = corev1.ClusterIPNone
		}
	} else {
		delete(service.Labels, edgeapp.HeadlessLabel)
	}
	service.Spec.Selector = Selector(app.Name)
	port := corev1.ServicePort{Port: edgeapp.ServicePort}
	if ports := service.Spec.Ports; len(ports) > 0 && ports[0].Port == port.Port {
		port = ports[0]
	}
	port.Protocol = corev1.ProtocolTCP
	port.TargetPort = intstr.FromInt32(*app.Spec.Port)
	service.Spec.Ports = []corev1.ServicePort{port}
}

// MustBeReplaced says that a Service has a cluster IP and must not, or the other way round: neither
// can be changed on the object that is there.
func MustBeReplaced(app *v1alpha1.EdgeApp, service *corev1.Service) bool {
	return (service.Spec.ClusterIP == corev1.ClusterIPNone) != app.Spec.IsHeadless()
}

// Selector is what pods and children of an app are found by.
func Selector(name string) map[string]string {
	return map[string]string{edgeapp.OwnerLabel: name}
}

// State is what a Deployment tells about its progress; nil tells nothing.
func State(deployment *appsv1.Deployment) edgeapp.DeploymentState {
	if deployment == nil {
		return edgeapp.DeploymentState{}
	}
	status := &deployment.Status
	stalled := false
	for _, condition := range status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse {
			stalled = true
		}
	}
	return edgeapp.DeploymentState{
		Exists:             true,
		Generation:         deployment.Generation,
		ObservedGeneration: status.ObservedGeneration,
		Replicas:           status.Replicas,
		UpdatedReplicas:    status.UpdatedReplicas,
		ReadyReplicas:      status.ReadyReplicas,
		Stalled:            stalled,
	}
}

// Controller names who controls an object, "" for nobody.
func Controller(object metav1.Object) string {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return ""
	}
	return fmt.Sprintf("%s %q", owner.Kind, owner.Name)
}

func label(object *metav1.ObjectMeta, name string) {
	set(&object.Labels, edgeapp.OwnerLabel, name)
	set(&object.Labels, edgeapp.ManagedByLabel, edgeapp.Name)
}

func set(labels *map[string]string, key, value string) {
	if *labels == nil {
		*labels = make(map[string]string, 2)
	}
	(*labels)[key] = value
}

func resourceList(of map[string]edgeapp.Quantity) (corev1.ResourceList, error) {
	if len(of) == 0 {
		return nil, nil
	}
	list := make(corev1.ResourceList, len(of))
	for name, text := range of {
		quantity, err := resource.ParseQuantity(string(text))
		if err != nil {
			return nil, fmt.Errorf("spec.resources: %s %q: %w", name, text, err)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}
