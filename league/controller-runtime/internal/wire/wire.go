// Package wire finds out how the API server likes to be spoken to.
//
// controller-runtime writes built-in types as protobuf without asking, which every kube-apiserver
// understands; the testbed's embedded server speaks JSON alone and refuses such a body with 415.
package wire

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Negotiate asks once, before anything is built on config, and falls back to JSON for a server that
// does not speak protobuf.
func Negotiate(config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodGet, base.JoinPath("/api").String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", runtime.ContentTypeProtobuf+", "+runtime.ContentTypeJSON)
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	defer response.Body.Close()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		config.ContentType = runtime.ContentTypeJSON
	}
	return nil
}
