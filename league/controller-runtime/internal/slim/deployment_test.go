package slim

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/fixture"
)

var contentTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

func codecs(t *testing.T, add func(*runtime.Scheme)) serializer.CodecFactory {
	scheme := runtime.NewScheme()
	add(scheme)
	return serializer.NewCodecFactory(scheme)
}

func whole(scheme *runtime.Scheme) {
	if err := appsv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
}

// asServer encodes a typed object as the API server does.
func asServer(t *testing.T, contentType string, object runtime.Object) []byte {
	factory := codecs(t, whole)
	info, _ := runtime.SerializerInfoForMediaType(factory.SupportedMediaTypes(), contentType)
	raw, err := runtime.Encode(factory.EncoderForVersion(info.Serializer, appsv1.SchemeGroupVersion), object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// decoded is what a client with the slim types makes of it.
func decoded(t *testing.T, contentType string, raw []byte) runtime.Object {
	factory := codecs(t, AddToScheme).WithoutConversion()
	info, _ := runtime.SerializerInfoForMediaType(factory.SupportedMediaTypes(), contentType)
	object, err := runtime.Decode(factory.DecoderToVersion(info.Serializer, appsv1.SchemeGroupVersion), raw)
	if err != nil {
		t.Fatalf("%s: %v", contentType, err)
	}
	return object
}

// asCreated is a Deployment of the plan as an API server answers it: with defaults, managedFields
// and a status.
func asCreated(plan *appsv1.Deployment) *appsv1.Deployment {
	full := plan.DeepCopy()
	full.UID, full.ResourceVersion, full.Generation = "11111111-1111-1111-1111-111111111111", "42", 3
	full.CreationTimestamp = metav1.Unix(1_700_000_000, 0)
	full.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_100, 0)}
	full.DeletionGracePeriodSeconds = ptr.To(int64(30))
	full.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	full.Finalizers = []string{"somebody/holds-it"}
	full.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "tare.dev/v1alpha1", Kind: "EdgeApp", Name: full.Name, UID: "u-1",
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "edgeapp", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:replicas":{}}}`)},
	}}
	full.Spec.RevisionHistoryLimit = ptr.To(int32(10))
	full.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	full.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{}
	for i := range full.Spec.Template.Spec.Containers {
		full.Spec.Template.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
	}
	full.Status = appsv1.DeploymentStatus{
		ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "long"},
		},
	}
	return full
}

func TestWhatIsDecodedIsWhatIsReadOfTheTypedDeployment(t *testing.T) {
	for _, one := range fixture.All(t) {
		app := &v1alpha1.EdgeApp{ObjectMeta: metav1.ObjectMeta{Namespace: one.Owner.Namespace, Name: one.Owner.Name}, Spec: one.Spec}
		plan := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
		if err := children.WriteDeployment(app, plan); err != nil {
			t.Fatal(err)
		}
		full := asCreated(plan)
		for _, contentType := range contentTypes {
			found, ok := decoded(t, contentType, asServer(t, contentType, full)).(*Deployment)
			if !ok {
				t.Fatalf("%s, %s: no slim Deployment", one.Name, contentType)
			}
			if found.Digest != DigestOfPlan(plan) {
				t.Errorf("%s, %s: another digest than the plan's", one.Name, contentType)
			}
			if found.State() != children.State(full) {
				t.Errorf("%s, %s: state %+v, want %+v", one.Name, contentType, found.State(), children.State(full))
			}
			want := full.ObjectMeta
			want.Labels, want.Annotations, want.Finalizers, want.ManagedFields = nil, nil, nil, nil
			want.CreationTimestamp = metav1.Time{}
			if !found.DeletionTimestamp.Equal(want.DeletionTimestamp) {
				t.Errorf("%s, %s: another time of deletion", one.Name, contentType)
			}
			want.DeletionTimestamp, found.DeletionTimestamp = nil, nil
			if !reflect.DeepEqual(found.ObjectMeta, want) {
				t.Errorf("%s, %s: metadata %+v, want %+v", one.Name, contentType, found.ObjectMeta, want)
			}
		}
	}
}

func TestAChangeByOthersIsAnotherDigest(t *testing.T) {
	plan, _ := ofWeb(t)
	full := asCreated(plan)
	full.Spec.Template.Spec.Containers[0].Image = "other:2"
	for _, contentType := range contentTypes {
		found := decoded(t, contentType, asServer(t, contentType, full)).(*Deployment)
		if found.Digest == DigestOfPlan(plan) {
			t.Errorf("%s: the other image is not seen", contentType)
		}
	}
}

func TestAListIsDecodedObjectByObject(t *testing.T) {
	plan, _ := ofWeb(t)
	web, other := asCreated(plan), asCreated(plan)
	web.Name, other.Name = "web", "other"
	list := &appsv1.DeploymentList{
		ListMeta: metav1.ListMeta{ResourceVersion: "77", Continue: "next"},
		Items:    []appsv1.Deployment{*web, *other},
	}
	for _, contentType := range contentTypes {
		found := decoded(t, contentType, asServer(t, contentType, list)).(*DeploymentList)
		if found.ResourceVersion != "77" || found.Continue != "next" {
			t.Errorf("%s: %+v", contentType, found.ListMeta)
		}
		items, err := meta.ExtractList(found)
		if err != nil || len(items) != 2 {
			t.Fatalf("%s: %d items, %v", contentType, len(items), err)
		}
		for i, name := range []string{"web", "other"} {
			one := items[i].(*Deployment)
			if one.Name != name || one.Digest != DigestOfPlan(plan) {
				t.Errorf("%s: %s has digest %d", contentType, one.Name, one.Digest)
			}
		}
	}
}

func TestTheBookmarkThatEndsTheInitialEventsIsSeen(t *testing.T) {
	bookmark := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	for _, contentType := range contentTypes {
		found := decoded(t, contentType, asServer(t, contentType, bookmark)).(*Deployment)
		if found.Annotations[metav1.InitialEventsAnnotationKey] != "true" || found.ResourceVersion != "9" {
			t.Errorf("%s: %+v", contentType, found.ObjectMeta)
		}
	}
}

func TestAPlanIsSentWhole(t *testing.T) {
	plan, _ := ofWeb(t)
	factory := codecs(t, AddToScheme)
	for _, contentType := range contentTypes {
		info, _ := runtime.SerializerInfoForMediaType(factory.SupportedMediaTypes(), contentType)
		encoder := factory.WithoutConversion().EncoderForVersion(info.Serializer, appsv1.SchemeGroupVersion)
		raw, err := runtime.Encode(encoder, Planned(plan))
		if err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
		typed := codecs(t, whole)
		object, err := runtime.Decode(typed.UniversalDeserializer(), raw)
		if err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
		sent := object.(*appsv1.Deployment)
		if DigestOfPlan(sent) != DigestOfPlan(plan) || !reflect.DeepEqual(sent.Spec.Selector, plan.Spec.Selector) {
			t.Errorf("%s: sent %+v", contentType, sent)
		}
		if _, err := runtime.Encode(encoder, &Deployment{}); err == nil {
			t.Errorf("%s: a Deployment without a plan was sent", contentType)
		}
	}
}

func TestACopyIsIndependent(t *testing.T) {
	plan, _ := ofWeb(t)
	var one Deployment
	raw, err := json.Marshal(asCreated(plan))
	if err != nil {
		t.Fatal(err)
	}
	if err := one.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	copied := (&DeploymentList{Items: []Deployment{one}}).DeepCopyObject().(*DeploymentList).Items[0]
	copied.OwnerReferences[0].Name = "another"
	if one.OwnerReferences[0].Name == "another" || copied.Digest != one.Digest || copied.State() != one.State() {
		t.Errorf("%+v and %+v", one, copied)
	}
}

func TestBytesThatAreNoDeploymentAreRefused(t *testing.T) {
	plan, _ := ofWeb(t)
	raw, err := asCreated(plan).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if (&Deployment{}).Unmarshal(raw[:len(raw)-1]) == nil {
		t.Error("a Deployment without its last byte was decoded")
	}
	if (&Deployment{}).Unmarshal([]byte{0x0a, 0xff}) == nil || (&Deployment{}).UnmarshalJSON([]byte(`{"metadata":3}`)) == nil {
		t.Error("nonsense was decoded")
	}
}
