package tuned

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"tare.dev/baselines/controller-runtime/internal/edgeapp"
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

func deploymentDigest(deployment *appsv1.Deployment) uint64 {
	d := newDigest()
	d.labels(deployment.Labels)
	spec := &deployment.Spec
	if spec.Replicas != nil {
		d.number(int64(*spec.Replicas))
	}
	d.text(spec.Template.Labels[edgeapp.OwnerLabel])
	d.number(int64(len(spec.Template.Spec.Containers)))
	for i := range spec.Template.Spec.Containers {
		container := &spec.Template.Spec.Containers[i]
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

func serviceDigest(service *corev1.Service) uint64 {
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

// keepDigest puts a digest where it costs least. An annotation would be a map of 300 bytes for one
// entry; selfLink is a string that no server has filled in since Kubernetes 1.24, and the object is
// never sent anywhere.
func keepDigest(deployment *appsv1.Deployment, digest uint64) {
	deployment.SelfLink = strconv.FormatUint(digest, 36)
}

// cachedDigest is 0 for an object that did not come from the cache.
func cachedDigest(deployment *appsv1.Deployment) uint64 {
	digest, err := strconv.ParseUint(deployment.SelfLink, 36, 64)
	if err != nil {
		return 0
	}
	return digest
}
