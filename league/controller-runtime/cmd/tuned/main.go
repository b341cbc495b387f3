// The EdgeApp operator on controller-runtime, tuned: see internal/tuned and the README. The garbage
// collector is set from outside, by GOGC and GOMEMLIMIT.
package main

import (
	"flag"
	"fmt"
	"os"

	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/measure"
	"tare.dev/league/controller-runtime/internal/slim"
	"tare.dev/league/controller-runtime/internal/tuned"
	"tare.dev/league/controller-runtime/internal/version"
	"tare.dev/league/controller-runtime/internal/wire"
)

// concurrency is that of every tuned operator here.
const concurrency = 16

func main() {
	admin := flag.String("admin", ":8080", "address of metrics and probes; 0 for none")
	pprof := flag.String("pprof", "", "address of Go's profiles; empty for none")
	showVersion := flag.Bool("version", false, "print version and commit")
	flag.Parse()
	if *showVersion {
		fmt.Println(version.Line("controller-runtime-tuned"))
		return
	}
	// Nothing is logged on the way of an object that is well.
	ctrl.SetLogger(zap.New(zap.Level(zapcore.ErrorLevel)))
	if err := run(*admin, *pprof); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(admin, pprof string) error {
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find a cluster; set KUBECONFIG: %w", err)
	}
	if err := wire.Negotiate(restConfig); err != nil {
		return err
	}
	// Priority and fairness on the server does it better.
	restConfig.QPS = -1
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                 leastScheme(),
		Cache:                  tuned.CacheOptions(),
		Controller:             config.Controller{MaxConcurrentReconciles: concurrency},
		Metrics:                metricsserver.Options{BindAddress: admin},
		HealthProbeBindAddress: "0",
		PprofBindAddress:       pprof,
	})
	if err != nil {
		return fmt.Errorf("cannot set up: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	reconciler := &tuned.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Scheme: mgr.GetScheme()}
	if err := reconciler.SetupWithManager(ctx, mgr); err != nil {
		return fmt.Errorf("cannot set up the controller: %w", err)
	}
	if admin != "0" {
		probes := map[string]healthz.Checker{"/healthz": healthz.Ping, "/readyz": healthz.Ping}
		if err := measure.ServeProbes(mgr, probes); err != nil {
			return fmt.Errorf("cannot serve probes: %w", err)
		}
	}
	return mgr.Start(ctx)
}

// leastScheme knows the types that are read and written, and no others.
func leastScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	slim.AddToScheme(scheme)
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return scheme
}
