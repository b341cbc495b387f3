package edgeapp

// Names that every operator for EdgeApps writes.
const (
	// Name is the field manager, and the value of ManagedByLabel.
	Name = "tare"
	// OwnerLabel names a child's owner.
	OwnerLabel = "tare.dev/owner"
	// ManagedByLabel says which operator manages a child.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// HeadlessLabel tells a Service that was made headless from one that was not: the cluster IP
	// cannot, since the server fills it in where nothing is asked for.
	HeadlessLabel = "tare.dev/headless"
	// ContainerName is the one container of the pods.
	ContainerName = "app"
	// ServicePort is what the Service listens on.
	ServicePort = 80
)

// Body is a child as JSON: the fields that are ours. A nil must be absent (in a merge patch it
// removes the field), a list is ours as a whole, what is not named belongs to others.
type Body = map[string]any

// DeploymentBody is the Deployment of the EdgeApp name.
func DeploymentBody(name string, spec *Spec) Body {
	container := Body{
		"name":      ContainerName,
		"image":     spec.Image,
		"ports":     nil,
		"env":       nil,
		"resources": Body{"requests": quantities(Requests(spec)), "limits": quantities(Limits(spec))},
	}
	if spec.Port != nil {
		container["ports"] = []any{Body{"containerPort": *spec.Port, "protocol": "TCP"}}
	}
	if len(spec.Env) > 0 {
		env := make([]any, len(spec.Env))
		for i, variable := range spec.Env {
			env[i] = Body{"name": variable.Name, "value": variable.Value}
		}
		container["env"] = env
	}
	return Body{
		"metadata": Body{"labels": Body{OwnerLabel: name, ManagedByLabel: Name}},
		"spec": Body{
			"replicas": spec.Replicas,
			"selector": Body{"matchLabels": Body{OwnerLabel: name}},
			"template": Body{
				"metadata": Body{"labels": Body{OwnerLabel: name}},
				"spec":     Body{"containers": []any{container}},
			},
		},
	}
}

// ServiceBody is the Service of the EdgeApp name; nil without a port.
func ServiceBody(name string, spec *Spec) Body {
	if spec.Port == nil {
		return nil
	}
	labels := Body{OwnerLabel: name, ManagedByLabel: Name, HeadlessLabel: nil}
	body := Body{
		"metadata": Body{"labels": labels},
		"spec": Body{
			"selector": Body{OwnerLabel: name},
			"ports":    []any{Body{"port": ServicePort, "targetPort": *spec.Port, "protocol": "TCP"}},
		},
	}
	if spec.IsHeadless() {
		labels[HeadlessLabel] = "true"
		body["spec"].(Body)["clusterIP"] = "None"
	}
	return body
}

// IsHeadless says whether the Service has no cluster IP.
func (s *Spec) IsHeadless() bool {
	return s.Headless != nil && *s.Headless
}

// Requests are what is set aside for the container.
func Requests(spec *Spec) map[string]Quantity {
	if spec.Resources == nil {
		return nil
	}
	return spec.Resources.Requests
}

// Limits are what the container may use at most, with the accelerator among them: an extended
// resource is not overcommitted, so its request follows from the limit.
func Limits(spec *Spec) map[string]Quantity {
	var asked map[string]Quantity
	if spec.Resources != nil {
		asked = spec.Resources.Limits
	}
	if spec.Accelerator == nil {
		return asked
	}
	limits := make(map[string]Quantity, len(asked)+1)
	for name, quantity := range asked {
		limits[name] = quantity
	}
	limits[spec.Accelerator.Resource] = count(spec.Accelerator.Count)
	return limits
}

// quantities is nil (an untyped one, which is JSON's null) for an empty map.
func quantities(of map[string]Quantity) any {
	if len(of) == 0 {
		return nil
	}
	body := make(Body, len(of))
	for name, quantity := range of {
		body[name] = string(quantity)
	}
	return body
}
