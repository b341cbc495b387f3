package storeless

import (
	"encoding/json"
	"reflect"
	"testing"

	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/fixture"
)

// reread is a plan as it comes back from the server, as JSON decodes it.
func reread(t *testing.T, value any) (out map[string]any) {
	t.Helper()
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatWasJustWrittenDoesNotDiffer(t *testing.T) {
	for _, one := range fixture.All(t) {
		spec := one.Spec
		for _, body := range []edgeapp.Body{edgeapp.DeploymentBody("web", &spec), edgeapp.ServiceBody("web", &spec)} {
			if body != nil && differs(body, reread(t, withoutNulls(body))) {
				t.Errorf("%s: %v differs from itself", one.Name, body)
			}
		}
	}
}

func TestDifferences(t *testing.T) {
	plan := edgeapp.Body{
		"replicas": int32(2), "text": "a", "gone": nil, "empty": "",
		"limits": edgeapp.Body{"cpu": "0.5", "memory": "1Ki"},
		"ports":  []any{edgeapp.Body{"port": int32(80)}},
	}
	same := `{"replicas":2,"text":"a","limits":{"cpu":"500m","memory":"1024"},"ports":[{"port":80,"protocol":"TCP"}]`
	for name, test := range map[string]struct {
		actual string
		want   bool
	}{
		"equal":                         {same + `}`, false},
		"fields of others":              {same + `,"more":1}`, false},
		"an empty list where none is":   {same + `,"gone":[]}`, false},
		"a field that should be gone":   {same + `,"gone":{"a":1}}`, true},
		"an empty text that is not":     {same + `,"empty":"x"}`, true},
		"another number":                {`{"replicas":3,"text":"a","limits":{"cpu":"500m","memory":"1024"},"ports":[{"port":80}]}`, true},
		"another text":                  {`{"replicas":2,"text":"b","limits":{"cpu":"500m","memory":"1024"},"ports":[{"port":80}]}`, true},
		"another quantity":              {`{"replicas":2,"text":"a","limits":{"cpu":"501m","memory":"1024"},"ports":[{"port":80}]}`, true},
		"a quantity that is a number":   {`{"replicas":2,"text":"a","limits":{"cpu":0.5,"memory":1024},"ports":[{"port":80}]}`, false},
		"one item more":                 {`{"replicas":2,"text":"a","limits":{"cpu":"500m","memory":"1Ki"},"ports":[{"port":80},{"port":81}]}`, true},
		"a list that is not there":      {`{"replicas":2,"text":"a","limits":{"cpu":"500m","memory":"1Ki"}}`, true},
		"nothing at all":                {`{}`, true},
		"a text where a number belongs": {`{"replicas":"2","text":"a","limits":{"cpu":"500m","memory":"1Ki"},"ports":[{"port":80}]}`, true},
	} {
		var actual map[string]any
		if err := json.Unmarshal([]byte(test.actual), &actual); err != nil {
			t.Fatal(name, err)
		}
		if got := differs(plan, actual); got != test.want {
			t.Errorf("%s: differs is %v, want %v", name, got, test.want)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, equal := range [][2]string{{"0.5", "500m"}, {"1", "1000m"}, {"1Ki", "1024"}, {"1e3", "1k"}, {"2E", "2000P"}} {
		if !sameQuantity(equal[0], equal[1]) {
			t.Errorf("%s is not %s", equal[0], equal[1])
		}
	}
	for _, bad := range []string{"", "x", "1.2.3", "1Zi", "e", "1e9999999"} {
		if quantity(bad) != nil {
			t.Errorf("%q is taken for a quantity", bad)
		}
	}
}

func TestNullsLeaveMapsAndLists(t *testing.T) {
	body := edgeapp.Body{"a": nil, "b": edgeapp.Body{"c": nil}, "d": []any{edgeapp.Body{"e": nil, "f": "1"}}}
	created := edgeapp.Body{"b": edgeapp.Body{}, "d": []any{edgeapp.Body{"f": "1"}}}
	if got := withoutNulls(body); !reflect.DeepEqual(got, created) {
		t.Errorf("created from %v, want %v", got, created)
	}
	patch := edgeapp.Body{"a": nil, "b": edgeapp.Body{"c": nil}, "d": []any{edgeapp.Body{"f": "1"}}}
	if got := asMergePatch(body); !reflect.DeepEqual(got, patch) {
		t.Errorf("patched with %v, want %v", got, patch)
	}
}
