package storeless

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tare.dev/league/controller-runtime/internal/histogram"
)

// Admin serves /healthz, /readyz and /metrics.
func (o *Operator) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		o.render(w)
	})
	return mux
}

func (o *Operator) render(out io.Writer) {
	o.Durations.Render(out, histogram.Name, histogram.Help)
	counter(out, histogram.ErrorsName, histogram.ErrorsHelp, float64(o.Errors.Load()))
	counter(out, "edgeapp_watch_restarts_total", "Watches opened anew after trouble.", float64(o.restarts.Load()))
	counter(out, "edgeapp_skipped_total", "Objects and events that could not be decoded.", float64(o.skipped.Load()))
	counter(out, "edgeapp_joins_total", "Joins that ran to their end.", float64(o.joins.Load()))
	goRuntime(out)
	process(out)
}

// goRuntime writes the few metrics of the runtime that a comparison needs, under the names that
// Prometheus' own collector gives them.
func goRuntime(out io.Writer) {
	samples := []metrics.Sample{
		{Name: "/sched/pauses/total/gc:seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(samples)
	for _, sample := range samples {
		name := "go" + strings.NewReplacer("/", "_", ":", "_", "-", "_").Replace(sample.Name)
		switch sample.Value.Kind() {
		case metrics.KindUint64:
			kind := "gauge"
			if strings.Contains(name, "cycles") {
				name, kind = name+"_total", "counter"
			}
			fmt.Fprintf(out, "# TYPE %s %s\n%s %d\n", name, kind, name, sample.Value.Uint64())
		case metrics.KindFloat64Histogram:
			runtimeHistogram(out, name, sample.Value.Float64Histogram())
		}
	}
}

// runtimeHistogram shows the buckets that hold something. The runtime keeps no sum: it is taken from
// the lower bounds, as Prometheus' collector does.
func runtimeHistogram(out io.Writer, name string, h *metrics.Float64Histogram) {
	fmt.Fprintf(out, "# TYPE %s histogram\n", name)
	var count uint64
	var sum float64
	for i, here := range h.Counts {
		lower, upper := h.Buckets[i], h.Buckets[i+1]
		count += here
		if here == 0 || math.IsInf(upper, 1) {
			continue
		}
		if !math.IsInf(lower, -1) {
			sum += lower * float64(here)
		}
		fmt.Fprintf(out, "%s_bucket{le=%q} %d\n", name, strconv.FormatFloat(upper, 'g', -1, 64), count)
	}
	fmt.Fprintf(out, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, count, name, sum, name, count)
}

// process is left out where there is no /proc: a missing value is not 0.
func process(out io.Writer) {
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			if pages, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				fmt.Fprintf(out, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %d\n",
					pages*uint64(os.Getpagesize()))
			}
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		counter(out, "process_cpu_seconds_total", "CPU time, user and system.", spent.Seconds())
	}
}

func counter(out io.Writer, name, help string, value float64) {
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s counter\n%s %g\n", name, help, name, name, value)
}
