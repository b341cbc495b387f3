package storeless

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// requests are what one reconcile sends to a server that answers everything with answer.
func requests(t *testing.T, answer string, w *work) (sent []string, how verdict) {
	t.Helper()
	seen := make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.URL.Path
		io.WriteString(out, answer)
	}))
	how = New(&Config{Server: server.URL}).reconcile(context.Background(), w)
	server.CloseClientConnections()
	server.Close()
	close(seen)
	for one := range seen {
		sent = append(sent, one)
	}
	return sent, how
}

func TestANewOwnerCostsThreeWritesAndNoRead(t *testing.T) {
	fresh, port := app("web", 5, 1, 0), int32(8080)
	fresh.Spec = edgeapp.Spec{Image: "web:1", Replicas: 1, Port: &port}
	w := &work{key: "shop/web", uid: fresh.Metadata.UID, owner: fresh}
	sent, how := requests(t, `{"metadata":{"resourceVersion":"8","generation":1}}`, w)
	want := []string{
		"POST /apis/apps/v1/namespaces/shop/deployments",
		"POST /api/v1/namespaces/shop/services",
		"PATCH /apis/tare.dev/v1alpha1/namespaces/shop/edgeapps/web/status",
	}
	if how.err != nil || !slices.Equal(sent, want) {
		t.Errorf("%v, sent %v", how.err, sent)
	}
}

func TestAnOwnerThatIsBeingDeletedIsReadAndLeftAlone(t *testing.T) {
	deleting := `{"metadata":{"name":"web","namespace":"shop","uid":"uid-web","resourceVersion":"7","generation":2,
		"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"]},"spec":{"image":"web:1"}}`
	sent, how := requests(t, deleting, &work{key: "shop/web", check: true})
	want := []string{"GET /apis/tare.dev/v1alpha1/namespaces/shop/edgeapps/web"}
	if !how.gone || !slices.Equal(sent, want) {
		t.Errorf("%+v, sent %v", how, sent)
	}
}
