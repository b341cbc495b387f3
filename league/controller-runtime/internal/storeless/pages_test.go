package storeless

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// collection serves a list of numbered objects; the continue token is the number of the next one. An answer in which an
// object of breaks is due ends before it, as many times as it says.
// The token of the request with the number expires, from 1 on, is answered with 410 and another one.
type collection struct {
	objects int
	breaks  map[int]int
	expires int
	limits  []int
}

func (c *collection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	token := r.URL.Query().Get("continue")
	c.limits = append(c.limits, limit)
	if len(c.limits) == c.expires {
		w.WriteHeader(http.StatusGone)
		fmt.Fprintf(w, `{"message":"expired","metadata":{"continue":"0%s"}}`, token)
		return
	}
	from, _ := strconv.Atoi(token)
	to, resume := min(from+limit, c.objects), ""
	if to < c.objects {
		resume = strconv.Itoa(to)
	}
	fmt.Fprintf(w, `{"kind":"List","metadata":{"resourceVersion":"7","continue":%q},"items":[`, resume)
	for index := from; index < to; index++ {
		if c.breaks[index] > 0 {
			c.breaks[index]--
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if index > from {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, `{"n":%d}`, index)
	}
	fmt.Fprint(w, "]}")
}

func TestEveryObjectOfACollectionIsReadOnceAndInOrder(t *testing.T) {
	cases := map[string]struct {
		collection collection
		limits     []int
		broken     bool
	}{
		"nothing is there":                       {collection{objects: 0}, []int{100}, false},
		"one page":                               {collection{objects: 100}, []int{100}, false},
		"later pages are larger":                 {collection{objects: 700}, []int{100, 500, 500}, false},
		"a page breaks off and is read again":    {collection{objects: 700, breaks: map[int]int{110: 1}}, []int{100, 500, 125, 125, 125, 125, 125}, false},
		"a smaller page ends before the break":   {collection{objects: 700, breaks: map[int]int{400: 1}}, []int{100, 500, 125, 125, 125, 125, 125}, false},
		"it breaks off again without an advance": {collection{objects: 700, breaks: map[int]int{110: 2}}, []int{100, 500, 125}, true},
		"a token expires":                        {collection{objects: 700, expires: 2}, []int{100, 500, 500, 500}, false},
		"one expires after its page broke off":   {collection{objects: 700, breaks: map[int]int{110: 1}, expires: 3}, []int{100, 500, 125}, true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&test.collection)
			defer server.Close()
			pages := newPages(newAPI(&Config{Server: server.URL}), owners)
			defer pages.close()
			at, err := pages.first(context.Background())
			if err != nil || at != 7 {
				t.Fatalf("the first page: version %v, %v", at, err)
			}
			var read []int
			for {
				raw, err := pages.current(context.Background())
				if raw == nil {
					if (err != nil) != test.broken {
						t.Fatalf("after %d objects: %v", len(read), err)
					}
					break
				}
				var object struct{ N int }
				if err := json.Unmarshal(raw, &object); err != nil {
					t.Fatal(err)
				}
				read = append(read, object.N)
				pages.advance()
			}
			want := test.collection.objects
			if test.broken {
				want = 110
			}
			for index, n := range read {
				if index != n {
					t.Fatalf("object %d came as number %d", n, index)
				}
			}
			if len(read) != want {
				t.Errorf("%d objects, want %d", len(read), want)
			}
			if !slices.Equal(test.collection.limits, test.limits) {
				t.Errorf("pages of %v, want %v", test.collection.limits, test.limits)
			}
		})
	}
}

func TestAnObjectBeyondItsBoundEndsAPage(t *testing.T) {
	list := `{"metadata":{},"items":[{"a":"` + strings.Repeat("x", objectBytes+64<<10) + `"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, list) }))
	defer server.Close()
	pages := newPages(newAPI(&Config{Server: server.URL}), owners)
	pages.resume = "later"
	defer pages.close()
	if raw, err := pages.current(context.Background()); raw != nil || err == nil {
		t.Errorf("%d bytes, %v: want an error", len(raw), err)
	}
}
