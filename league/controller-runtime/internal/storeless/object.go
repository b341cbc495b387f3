package storeless

import (
	"net/url"
	"strconv"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// The kinds: the owners first, then the children.
const (
	owners = iota
	services
	deployments
	kinds
)

// collections are where the kinds live.
var collections = [kinds]struct{ root, plural, kind, apiVersion, selector string }{
	owners:      {"/apis/tare.dev/v1alpha1", "edgeapps", "EdgeApp", "tare.dev/v1alpha1", ""},
	services:    {"/api/v1", "services", "Service", "v1", managed},
	deployments: {"/apis/apps/v1", "deployments", "Deployment", "apps/v1", managed},
}

var managed = "&labelSelector=" + url.QueryEscape(edgeapp.ManagedByLabel+"="+edgeapp.Name)

func collectionPath(kind int) string {
	return collections[kind].root + "/" + collections[kind].plural
}

func objectPath(kind int, namespace, name string) string {
	path := collections[kind].root + "/namespaces/" + url.PathEscape(namespace) + "/" + collections[kind].plural
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// metadata is what is ever read of it: managedFields, annotations and finalizers are skipped, not stored.
type metadata struct {
	Name              string           `json:"name"`
	Namespace         string           `json:"namespace"`
	UID               string           `json:"uid"`
	ResourceVersion   version          `json:"resourceVersion"`
	Generation        int64            `json:"generation"`
	DeletionTimestamp *string          `json:"deletionTimestamp"`
	OwnerReferences   []ownerReference `json:"ownerReferences"`
	Labels            struct {
		Owner string `json:"tare.dev/owner"`
	} `json:"labels"`
}

type ownerReference struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// version is a resourceVersion; they count up (KEP-5504).
type version uint64

func (v *version) UnmarshalJSON(raw []byte) error {
	text, err := strconv.Unquote(string(raw))
	if err != nil || text == "" {
		return err
	}
	number, err := strconv.ParseUint(text, 10, 64)
	*v = version(number)
	return err
}

func (v version) String() string { return strconv.FormatUint(uint64(v), 10) }

func (m *metadata) key() string { return m.Namespace + "/" + m.Name }

func (m *metadata) deleting() bool { return m.DeletionTimestamp != nil }

func (m *metadata) controller() *ownerReference {
	for i := range m.OwnerReferences {
		if m.OwnerReferences[i].Controller {
			return &m.OwnerReferences[i]
		}
	}
	return nil
}

// ownerKey is the key of the EdgeApp a child belongs to: by its controller, else by its label.
func (m *metadata) ownerKey() (key string, ok bool) {
	name := m.Labels.Owner
	if owner := m.controller(); owner != nil {
		if owner.Kind != collections[owners].kind {
			return "", false
		}
		name = owner.Name
	}
	return m.Namespace + "/" + name, name != ""
}

// owner is an EdgeApp as far as it is read.
type owner struct {
	Metadata metadata       `json:"metadata"`
	Spec     edgeapp.Spec   `json:"spec"`
	Status   edgeapp.Status `json:"status"`
}

// fresh: nothing was ever written to its status, so nothing of ours can exist yet.
func (o *owner) fresh() bool { return o.Status.Phase == "" }

// needsWork is what shows on an owner that is not being deleted.
func (o *owner) needsWork() bool {
	return o.Status.ObservedGeneration != o.Metadata.Generation
}

// settled: nothing more is awaited.
func (o *owner) settled() bool {
	return !o.needsWork() && o.Status.Phase == edgeapp.Running
}

func (o *owner) identity() edgeapp.Owner {
	return edgeapp.Owner{
		Namespace:          o.Metadata.Namespace,
		Name:               o.Metadata.Name,
		Generation:         o.Metadata.Generation,
		ObservedGeneration: o.Status.ObservedGeneration,
	}
}

// child is a child as a watch shows it: identity and counters.
type child struct {
	Metadata metadata `json:"metadata"`
	Status   struct {
		ObservedGeneration int64       `json:"observedGeneration"`
		Replicas           int32       `json:"replicas"`
		UpdatedReplicas    int32       `json:"updatedReplicas"`
		ReadyReplicas      int32       `json:"readyReplicas"`
		Conditions         []condition `json:"conditions"`
	} `json:"status"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// named is an object of which only the metadata are decoded.
type named struct {
	Metadata metadata `json:"metadata"`
}

func (c *child) state() edgeapp.DeploymentState {
	state := edgeapp.DeploymentState{
		Exists:             true,
		Generation:         c.Metadata.Generation,
		ObservedGeneration: c.Status.ObservedGeneration,
		Replicas:           c.Status.Replicas,
		UpdatedReplicas:    c.Status.UpdatedReplicas,
		ReadyReplicas:      c.Status.ReadyReplicas,
	}
	for _, condition := range c.Status.Conditions {
		state.Stalled = state.Stalled || condition.Type == "Progressing" && condition.Status == "False"
	}
	return state
}

// actual is a child with all that a plan speaks of.
type actual struct {
	child
	// body is its labels and its spec.
	body map[string]any
	// outlives: a finalizer of somebody's holds it beyond its deletion.
	outlives bool
}

func decodeActual(raw []byte) (*actual, error) {
	var found actual
	if err := unmarshal(raw, &found.child); err != nil {
		return nil, err
	}
	var rest struct {
		Metadata struct {
			Labels     map[string]any `json:"labels"`
			Finalizers []string       `json:"finalizers"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	if err := unmarshal(raw, &rest); err != nil {
		return nil, err
	}
	found.body = map[string]any{
		"metadata": map[string]any{"labels": rest.Metadata.Labels},
		"spec":     rest.Spec,
	}
	found.outlives = len(rest.Metadata.Finalizers) > 0
	return &found, nil
}
