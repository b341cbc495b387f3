// Package measure is what the operators on controller-runtime count besides its own metrics, under
// the names and in the buckets of every other baseline. The Go runtime's own metrics, garbage
// collector pauses among them, are on the page already: controller-runtime registers them all.
package measure

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"tare.dev/league/controller-runtime/internal/histogram"
)

var (
	duration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    histogram.Name,
		Help:    histogram.Help,
		Buckets: histogram.Bounds(),
	})
	failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: histogram.ErrorsName,
		Help: histogram.ErrorsHelp,
	})
)

func init() {
	metrics.Registry.MustRegister(duration, failures)
}

// Reconcile records one call of the reconcile function: deferred, with the address of its error.
func Reconcile(start time.Time, err *error) {
	duration.Observe(time.Since(start).Seconds())
	if *err != nil {
		failures.Inc()
	}
}

// ServeProbes puts /healthz and /readyz on the metrics server, for when one address is all there is.
func ServeProbes(mgr ctrl.Manager, checks map[string]healthz.Checker) error {
	for path, check := range checks {
		if err := mgr.AddMetricsServerExtraHandler(path, http.StripPrefix(path, &healthz.Handler{
			Checks: map[string]healthz.Checker{path[1:]: check},
		})); err != nil {
			return err
		}
	}
	return nil
}
