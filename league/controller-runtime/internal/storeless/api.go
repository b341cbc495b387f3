package storeless

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// objectBytes bounds one object: etcd takes 1.5 MB, and a status comes on top.
	objectBytes = 4 << 20
	// requestTimeout is how long one request may take; watches are bounded by the server.
	requestTimeout = 30 * time.Second
	// idleTimeout closes the connections of a burst soon after it.
	idleTimeout = 5 * time.Second

	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
	jsonPatchType  = "application/json-patch+json"
	metadataType   = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// api sends requests over HTTP/1.1: one connection for each watch, as many as there are workers for
// the rest.
type api struct {
	config *Config
	client *http.Client
}

// apiError is a refusal of the API server.
type apiError struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Metadata.Continue goes on with a list whose token has expired.
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
}

func (e *apiError) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Code) }

var errTooLarge = errors.New("the answer is larger than its bound")

func newAPI(config *Config) *api {
	return &api{config: config, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig:     config.TLS,
		MaxIdleConnsPerHost: workers,
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true,
		// An empty map keeps HTTP/2 off: its windows would hold megabytes of a watch.
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		ResponseHeaderTimeout: requestTimeout,
	}}}
}

// call sends one request and reads the whole answer.
func (a *api) call(ctx context.Context, method, path, contentType string, body any, accept string, bound int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := a.send(ctx, method, path, contentType, body, accept)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, bound+1))
	if err == nil && int64(len(answer)) > bound {
		err = errTooLarge
	}
	return answer, err
}

func (a *api) get(ctx context.Context, path string) ([]byte, error) {
	return a.call(ctx, http.MethodGet, path, "", nil, jsonType, objectBytes)
}

// open sends one request and leaves the answer to be read as it comes.
func (a *api) open(ctx context.Context, path string) (io.ReadCloser, error) {
	response, err := a.send(ctx, http.MethodGet, path, "", nil, jsonType)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (a *api) send(ctx context.Context, method, path, contentType string, body any, accept string) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, a.config.Server+path, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "edgeapp-storeless-go")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response, nil
}

func (a *api) token() (string, error) {
	if a.config.TokenFile == "" {
		return a.config.Token, nil
	}
	raw, err := os.ReadFile(a.config.TokenFile)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func refusal(response *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	refused := &apiError{}
	// What is no Status is shown as it is.
	if unmarshal(raw, refused) != nil || refused.Message == "" {
		refused.Message = strings.TrimSpace(string(raw))
	}
	refused.Code = response.StatusCode
	return refused
}

// code is the HTTP status of a refusal, 0 for any other error.
func code(err error) int {
	var refused *apiError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}
