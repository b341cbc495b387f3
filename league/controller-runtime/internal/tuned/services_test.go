package tuned

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/slim"
)

func serviceOfWeb() *corev1.Service {
	app := &v1alpha1.EdgeApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       edgeapp.Spec{Image: "web:1", Port: ptr.To(int32(8080))},
	}
	service := &corev1.Service{}
	children.WriteService(app, service)
	return service
}

func TestAServiceIsKnownAtOneVersionOnly(t *testing.T) {
	known := newServices()
	service := serviceOfWeb()
	service.UID, service.ResourceVersion = "11111111-1111-1111-1111-111111111111", "5"
	known.see(service)
	meta := service.ObjectMeta
	if known.digestOf(&meta) != slim.DigestOfService(service) {
		t.Error("a Service that was just seen is not known")
	}
	meta.ResourceVersion = "6"
	if known.digestOf(&meta) != 0 {
		t.Error("a Service that changed since is taken for known")
	}
	known.forget(service.UID)
	if len(known.known) != 0 {
		t.Error("a Service that is gone is remembered")
	}
}
