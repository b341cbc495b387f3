package slim

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields in generated.proto of k8s.io/api and k8s.io/apimachinery; they never change.
const (
	metadataField, specField, statusField = 1, 2, 3

	listItemsField = 2

	metaCreationField, metaLabelsField, metaAnnotationsField, metaFinalizersField, metaManagedField = 8, 11, 12, 14, 17

	replicasField, templateField = 1, 3

	podContainersField = 2

	nameField, imageField, portsField, envField, resourcesField = 1, 2, 6, 7, 8

	mapKeyField, mapValueField = 1, 2
)

// Reset empties it: a decoder begins with it.
func (d *Deployment) Reset() { *d = Deployment{} }

// Unmarshal decodes what is needed; the rest is stepped over.
func (d *Deployment) Unmarshal(raw []byte) error {
	var found planned
	var status appsv1.DeploymentStatus
	err := fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case metadataField:
			return d.metadata(value, &found)
		case specField:
			return found.spec(value)
		case statusField:
			return status.Unmarshal(value)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("decoding a Deployment: %w", err)
	}
	d.Status = Status{
		ObservedGeneration: status.ObservedGeneration,
		Replicas:           status.Replicas,
		UpdatedReplicas:    status.UpdatedReplicas,
		ReadyReplicas:      status.ReadyReplicas,
	}
	for _, condition := range status.Conditions {
		d.Status.Stalled = d.Status.Stalled || isStalled(condition)
	}
	d.Digest = found.digest()
	return nil
}

// Marshal is the plan of a Deployment that is created.
func (d *Deployment) Marshal() ([]byte, error) {
	if d.Plan == nil {
		return nil, errNoPlan
	}
	return d.Plan.Marshal()
}

// Reset empties it: a decoder begins with it.
func (l *DeploymentList) Reset() { *l = DeploymentList{} }

// Unmarshal decodes each Deployment as one by itself.
func (l *DeploymentList) Unmarshal(raw []byte) error {
	return fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case metadataField:
			return l.ListMeta.Unmarshal(value)
		case listItemsField:
			l.Items = append(l.Items, Deployment{})
			return l.Items[len(l.Items)-1].Unmarshal(value)
		}
		return nil
	})
}

// metadata decodes all but what no reconcile reads: managedFields are most of an object.
func (d *Deployment) metadata(raw []byte, found *planned) error {
	kept := make([]byte, 0, 512)
	err := tagged(raw, func(number protowire.Number, value, whole []byte, _ uint64) error {
		switch number {
		case metaCreationField, metaFinalizersField, metaManagedField:
		case metaLabelsField:
			return entry(value, &found.labels)
		case metaAnnotationsField:
			// On a bookmark it says that the initial events are over.
			if bytes.Contains(value, []byte(metav1.InitialEventsAnnotationKey)) {
				return entry(value, &d.Annotations)
			}
		default:
			kept = append(kept, whole...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.ObjectMeta.Unmarshal(kept)
}

func (p *planned) spec(raw []byte) error {
	return fields(raw, func(number protowire.Number, value []byte, plain uint64) error {
		switch number {
		case replicasField:
			replicas := int32(plain)
			p.replicas = &replicas
		case templateField:
			return p.template(value)
		}
		return nil
	})
}

func (p *planned) template(raw []byte) error {
	return fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case metadataField:
			return fields(value, func(number protowire.Number, value []byte, _ uint64) error {
				if number == metaLabelsField {
					return entry(value, &p.podLabels)
				}
				return nil
			})
		case specField:
			return fields(value, func(number protowire.Number, value []byte, _ uint64) error {
				if number == podContainersField {
					return p.container(value)
				}
				return nil
			})
		}
		return nil
	})
}

func (p *planned) container(raw []byte) error {
	var c container
	err := fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case nameField:
			c.Name = string(value)
		case imageField:
			c.Image = string(value)
		case portsField:
			var port corev1.ContainerPort
			if err := port.Unmarshal(value); err != nil {
				return err
			}
			c.Ports = append(c.Ports, port)
		case envField:
			var variable corev1.EnvVar
			if err := variable.Unmarshal(value); err != nil {
				return err
			}
			c.Env = append(c.Env, variable)
		case resourcesField:
			return c.Resources.Unmarshal(value)
		}
		return nil
	})
	p.containers = append(p.containers, c)
	return err
}

// entry adds one entry of a map of strings.
func entry(raw []byte, to *map[string]string) error {
	var key, content string
	err := fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case mapKeyField:
			key = string(value)
		case mapValueField:
			content = string(value)
		}
		return nil
	})
	if *to == nil {
		*to = make(map[string]string, 3)
	}
	(*to)[key] = content
	return err
}

// fields calls visit with each field of a message: value of a length-delimited one, plain of a varint.
func fields(raw []byte, visit func(number protowire.Number, value []byte, plain uint64) error) error {
	return tagged(raw, func(number protowire.Number, value, _ []byte, plain uint64) error {
		return visit(number, value, plain)
	})
}

// tagged is fields, with the bytes of the whole field, its tag among them.
func tagged(raw []byte, visit func(number protowire.Number, value, whole []byte, plain uint64) error) error {
	for len(raw) > 0 {
		number, kind, tag := protowire.ConsumeTag(raw)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		size := protowire.ConsumeFieldValue(number, kind, raw[tag:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		var value []byte
		var plain uint64
		switch kind {
		case protowire.BytesType:
			value, _ = protowire.ConsumeBytes(raw[tag:])
		case protowire.VarintType:
			plain, _ = protowire.ConsumeVarint(raw[tag:])
		}
		if err := visit(number, value, raw[:tag+size], plain); err != nil {
			return err
		}
		raw = raw[tag+size:]
	}
	return nil
}
