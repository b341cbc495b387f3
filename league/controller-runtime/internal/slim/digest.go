package slim

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// digest is a hash of all fields of a child that a plan speaks of, never 0. It is taken the same way
// from a child as the server has it and from one as the plan wants it: equal digests, nothing to do.
type digest struct {
	hash interface {
		Write([]byte) (int, error)
		Sum64() uint64
	}
}

func newDigest() digest { return digest{fnv.New64a()} }

// planned are the fields of a Deployment that a plan speaks of.
type planned struct {
	labels     map[string]string
	replicas   *int32
	podLabels  map[string]string
	containers []container
}

// container is a container as far as a plan speaks of it.
type container struct {
	Name      string                      `json:"name"`
	Image     string                      `json:"image"`
	Ports     []corev1.ContainerPort      `json:"ports"`
	Env       []corev1.EnvVar             `json:"env"`
	Resources corev1.ResourceRequirements `json:"resources"`
}

// DigestOfPlan is the digest that a Deployment has once it is as deployment says.
func DigestOfPlan(deployment *appsv1.Deployment) uint64 {
	template := &deployment.Spec.Template
	plan := planned{labels: deployment.Labels, replicas: deployment.Spec.Replicas, podLabels: template.Labels}
	for i := range template.Spec.Containers {
		one := &template.Spec.Containers[i]
		plan.containers = append(plan.containers, container{one.Name, one.Image, one.Ports, one.Env, one.Resources})
	}
	return plan.digest()
}

func (p planned) digest() uint64 {
	d := newDigest()
	d.labels(p.labels)
	if p.replicas != nil {
		d.number(int64(*p.replicas))
	}
	d.text(p.podLabels[edgeapp.OwnerLabel])
	d.number(int64(len(p.containers)))
	for i := range p.containers {
		container := &p.containers[i]
		d.text(container.Name)
		d.text(container.Image)
		d.number(int64(len(container.Ports)))
		for _, port := range container.Ports {
			d.number(int64(port.ContainerPort))
			d.text(string(port.Protocol))
		}
		d.number(int64(len(container.Env)))
		for _, variable := range container.Env {
			d.text(variable.Name)
			d.text(variable.Value)
		}
		d.resources(container.Resources.Requests)
		d.resources(container.Resources.Limits)
	}
	return d.sum()
}

// DigestOfService is that of a Service, as it is or as it is planned.
func DigestOfService(service *corev1.Service) uint64 {
	d := newDigest()
	d.labels(service.Labels)
	d.text(service.Labels[edgeapp.HeadlessLabel])
	d.strings(service.Spec.Selector)
	d.number(int64(len(service.Spec.Ports)))
	for _, port := range service.Spec.Ports {
		d.number(int64(port.Port))
		d.text(port.TargetPort.String())
		d.text(string(port.Protocol))
	}
	headless := int64(0)
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		headless = 1
	}
	d.number(headless)
	return d.sum()
}

func (d digest) labels(labels map[string]string) {
	d.text(labels[edgeapp.OwnerLabel])
	d.text(labels[edgeapp.ManagedByLabel])
}

func (d digest) strings(of map[string]string) {
	d.number(int64(len(of)))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		d.text(key)
		d.text(of[key])
	}
}

// resources are hashed by value: the canonical form of 0.5 is 500m.
func (d digest) resources(list corev1.ResourceList) {
	d.number(int64(len(list)))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		d.text(string(name))
		d.text(quantity.String())
	}
}

func (d digest) text(text string) {
	d.number(int64(len(text)))
	_, _ = d.hash.Write([]byte(text)) // A hash never fails.
}

func (d digest) number(n int64) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(n))
	_, _ = d.hash.Write(bytes[:])
}

func (d digest) sum() uint64 {
	return max(d.hash.Sum64(), 1)
}
