package storeless

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// script is what the API server answers to the watches of owners, one after another; a watch beyond
// them stays open. Lists are empty, the first at version 5, each next one 10 later.
type script []string

// server plays a script and tells the resourceVersion of every watch of owners that is opened.
func (s script) server(t *testing.T) (operator *Operator, opened <-chan string) {
	watches := make(chan string, 16)
	lists, next := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isOwners := strings.HasSuffix(r.URL.Path, "/edgeapps")
		query := r.URL.Query()
		switch {
		case query.Get("watch") == "" && isOwners:
			lists++
			fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"},"items":[]}`, 10*lists-5)
		case query.Get("watch") == "":
			io.WriteString(w, `{"metadata":{"resourceVersion":"5"},"items":null}`)
		case isOwners && next < len(s):
			next++
			watches <- query.Get("resourceVersion")
			io.WriteString(w, s[next-1])
		default:
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			if isOwners {
				watches <- query.Get("resourceVersion")
			}
			<-r.Context().Done()
		}
	}))
	operator = New(&Config{Server: server.URL})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		operator.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		server.CloseClientConnections()
		server.Close()
	})
	return operator, watches
}

func TestAWatchIsOpenedAnewWhereItMust(t *testing.T) {
	for name, test := range map[string]struct {
		script
		opened []string
	}{
		"a stream that ends goes on where it was": {
			script{`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}` + "\n"},
			[]string{"5", "7"},
		},
		"an expired place is found anew by a join": {
			script{`{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}` + "\n"},
			[]string{"5", "15"},
		},
		"what cannot be decoded is passed over": {
			script{`{"type":"ADDED","object":{"metadata":{"name":"web","resourceVersion":"8"},"spec":{"replicas":"many"}}}` + "\n"},
			[]string{"5", "8"},
		},
		"a line that is cut off is no event": {
			script{`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6"}}}` + "\n" + `{"type":"ADDED","obj`},
			[]string{"5", "6"},
		},
		"revisions that go backwards are joined anew": {
			script{`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"3"}}}` + "\n"},
			[]string{"5", "15"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, opened := test.script.server(t)
			for _, want := range test.opened {
				select {
				case got := <-opened:
					if got != want {
						t.Fatalf("opened at %s, want %s", got, want)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("not opened at %s", want)
				}
			}
		})
	}
}

func TestAnEventThatIsTooLargeIsAnErrorAndNotMemory(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"type":"`), strings.NewReader(strings.Repeat("x", lineBytes+2*readBytes)))
	_, err := readLine(newLines(endless))
	if err != errTooLarge {
		t.Errorf("got %v", err)
	}
}
