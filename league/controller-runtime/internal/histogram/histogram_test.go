package histogram

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestEveryBoundIsInclusiveAndANanosecondMoreIsTheNextBucket(t *testing.T) {
	bounds := Bounds()
	for index, bound := range bounds {
		at := time.Duration(math.Floor(bound * 1e9))
		if got := bucket(at); got != index {
			t.Errorf("%v s is in bucket %d, want %d", bound, got, index)
		}
		if got := bucket(at + 1); got != index+1 {
			t.Errorf("above %v s is in bucket %d, want %d", bound, got, index+1)
		}
	}
	if last := bounds[len(bounds)-1]; last != 64 {
		t.Errorf("the last bound is %v s, want 64", last)
	}
	if bucket(0) != 0 || bucket(math.MaxInt64) != buckets-1 {
		t.Error("the ends are in the wrong buckets")
	}
}

// The page of src/histogram.rs for the same durations.
func TestAScrapeShowsTheBucketsThatHoldSomething(t *testing.T) {
	var histogram Histogram
	for _, ms := range []int{1, 1, 250, 70_000} {
		histogram.Record(time.Duration(ms) * time.Millisecond)
	}
	var out strings.Builder
	histogram.Render(&out, "reconcile_duration_seconds", "One reconcile.")
	want := `# HELP reconcile_duration_seconds One reconcile.
# TYPE reconcile_duration_seconds histogram
reconcile_duration_seconds_bucket{le="0.001220703125"} 2
reconcile_duration_seconds_bucket{le="0.25"} 3
reconcile_duration_seconds_bucket{le="+Inf"} 4
reconcile_duration_seconds_sum 70.252
reconcile_duration_seconds_count 4
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
