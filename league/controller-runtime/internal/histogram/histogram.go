// Package histogram counts durations in the same buckets as every other baseline
// (src/histogram.rs): four per power of two from 2^-16 s (15 µs) to 64 s, so a bound is at most
// 1.25 times the bound below it.
//
// Guarantees: the standard library alone; fixed size; recording takes two atomic additions and no
// lock. A scrape during recording is off by what is being recorded, but its +Inf bucket always
// equals its _count.
package histogram

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	octaves   = 22 // powers of two between 2^-16 s and 2^6 s
	perOctave = 4
	// The first bucket holds all up to 2^-16 s, the last all above 64 s.
	buckets = 1 + octaves*perOctave + 1
	// Bounds are whole multiples of 2^-18 s: a quarter of the first bound.
	unitsPerSecond = 1 << 18
)

// Name and Help are those of every baseline.
const (
	Name       = "reconcile_duration_seconds"
	Help       = "Duration of one call of the reconcile function."
	ErrorsName = "reconcile_errors_total"
	ErrorsHelp = "Calls of the reconcile function that failed."
)

// Histogram counts durations by bucket.
type Histogram struct {
	counts [buckets]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

// Bounds are the inclusive upper bounds in seconds; above the last there is one bucket more.
func Bounds() []float64 {
	bounds := make([]float64, buckets-1)
	for i := range bounds {
		bounds[i] = float64(units(i)) / unitsPerSecond
	}
	return bounds
}

// Record counts one duration.
func (h *Histogram) Record(d time.Duration) {
	h.counts[bucket(d)].Add(1)
	h.sum.Add(int64(d))
}

// Since records the time since start: for `defer`, so that no path forgets.
func (h *Histogram) Since(start time.Time) {
	h.Record(time.Since(start))
}

// Render writes it in Prometheus' text format: cumulative buckets where the count changes.
func (h *Histogram) Render(out io.Writer, name, help string) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	var count uint64
	for i := range h.counts {
		here := h.counts[i].Load()
		count += here
		if here > 0 && i < buckets-1 {
			bound := strconv.FormatFloat(float64(units(i))/unitsPerSecond, 'g', -1, 64)
			fmt.Fprintf(out, "%s_bucket{le=%q} %d\n", name, bound, count)
		}
	}
	fmt.Fprintf(out, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n",
		name, count, name, time.Duration(h.sum.Load()).Seconds(), name, count)
}

// bucket is the one whose bounds hold the duration: above the lower, at most the upper.
func bucket(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), unitsPerSecond)
	lo, carry := bits.Add64(lo, uint64(time.Second)-1, 0)
	units, _ := bits.Div64(hi+carry, lo, uint64(time.Second))
	// Upper bounds are inclusive: one less makes them exclusive, as shifting wants them.
	below := units - 1
	if below < perOctave {
		return 0
	}
	octave := bits.Len64(below) - 3
	quarter := int(below>>octave) - perOctave
	return min(1+octave*perOctave+quarter, buckets-1)
}

// units is the upper bound of a bucket in units.
func units(index int) int {
	if index == 0 {
		return perOctave
	}
	octave, quarter := (index-1)/perOctave, (index-1)%perOctave
	return (perOctave + quarter + 1) << octave
}
