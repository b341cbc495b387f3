// Package tuned is the EdgeApp operator on controller-runtime with every published trick that keeps
// its behaviour: what a Go expert ships where memory and requests count. The README lists them.
//
// Guarantees: an object without a difference costs no request; a new one costs three (Deployment,
// Service, status) and a fourth when it becomes ready; a child that is not ours is neither changed nor
// deleted, and every write names the uid it is meant for.
// Leaves watches, queue, back-off and retries to controller-runtime, and the children of a deleted
// EdgeApp to the garbage collector.
package tuned

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/measure"
	"tare.dev/league/controller-runtime/internal/slim"
)

// Reconciler reconciles EdgeApps.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Scheme   *runtime.Scheme
	services *services
	release  *release
}

// failure is what the user can do something about: it becomes a condition.
type failure struct{ reason, message string }

func (f *failure) Error() string { return f.message }

// errAgain: the cache is behind; its event is on the way, or a retry soon does better.
var errAgain = errors.New("the cache is behind the server")

// againAfter is when an object is looked at again whose event may have come before our own write.
const againAfter = 500 * time.Millisecond

// SetupWithManager reads what the cache will not show and sets up the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.services, r.release = newServices(), newRelease()
	// An expired list (410) only means that the rest is read one by one.
	if err := r.services.prime(ctx, r.Live); err != nil && !apierrors.IsResourceExpired(err) {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.EdgeApp{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&slim.Deployment{}, builder.WithPredicates(deploymentChanged())).
		Owns(&corev1.Service{}, builder.OnlyMetadata, builder.WithPredicates(serviceChanged(r.services))).
		Named("edgeapp").
		Complete(r)
}

// Reconcile brings one EdgeApp as far as it gets.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	defer measure.Reconcile(time.Now(), &err)
	defer r.release.worked()
	app := &v1alpha1.EdgeApp{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		// The garbage collector deletes the children.
		return ctrl.Result{}, nil
	}
	err = r.reconcile(ctx, app)
	var failed *failure
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case errors.Is(err, errAgain) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		// No failure, and nothing to log: a newer object is on its way here.
		return ctrl.Result{RequeueAfter: againAfter}, nil
	case errors.As(err, &failed):
		planned := edgeapp.Degraded(app.Owner(), &app.Spec, r.cachedState(ctx, app), failed.reason, failed.message)
		return ctrl.Result{}, errors.Join(err, r.writeStatus(ctx, app, planned))
	default:
		return ctrl.Result{}, err
	}
}

func (r *Reconciler) reconcile(ctx context.Context, app *v1alpha1.EdgeApp) error {
	state, err := r.ensureDeployment(ctx, app)
	if err != nil {
		return explain(err, "Deployment", app.Name)
	}
	if err := r.ensureService(ctx, app); err != nil {
		return explain(err, "Service", app.Name)
	}
	return r.writeStatus(ctx, app, edgeapp.Observed(app.Owner(), &app.Spec, state))
}

// explain turns a refusal of the API server into a failure that the status tells.
func explain(err error, kind, name string) error {
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return &failure{"Rejected", "the API server refuses " + kind + " \"" + name + "\": " + err.Error()}
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &failure{"Forbidden", "may not write " + kind + " \"" + name + "\": " + err.Error()}
	}
	return err
}
