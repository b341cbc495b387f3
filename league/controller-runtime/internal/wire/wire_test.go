package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAServerWithoutProtobufIsSpokenToInJSON(t *testing.T) {
	for answer, want := range map[string]string{
		"application/vnd.kubernetes.protobuf": "",
		"application/json":                    "application/json",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.Header().Set("Content-Type", answer)
		}))
		config := &rest.Config{Host: server.URL}
		if err := Negotiate(config); err != nil || config.ContentType != want {
			t.Errorf("%s: content type %q, want %q (%v)", answer, config.ContentType, want, err)
		}
		server.Close()
		if err := Negotiate(&rest.Config{Host: server.URL}); err == nil {
			t.Error("a server that is gone is no error")
		}
	}
}
