// Package vanilla is the EdgeApp operator as kubebuilder scaffolds a project and its book goes on
// from there: the manager's defaults, a typed cache of everything, CreateOrUpdate for each child,
// Status().Update at the end of every reconcile. The garbage collector deletes the children.
//
// Guarantees: idempotent; a child that is not ours is neither changed nor deleted.
// Leaves watches, queue, back-off and retries to controller-runtime.
package vanilla

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/measure"
)

// EdgeAppReconciler reconciles an EdgeApp object.
type EdgeAppReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// foreign is a child of the right name that is not ours.
type foreign struct{ message string }

func (f *foreign) Error() string { return f.message }

// +kubebuilder:rbac:groups=tare.dev,resources=edgeapps,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=tare.dev,resources=edgeapps/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=tare.dev,resources=edgeapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=core,resources=services,verbs=get;list;watch;create;update;patch;delete

// Reconcile is part of the main kubernetes reconciliation loop which aims to
// move the current state of the cluster closer to the desired state.
func (r *EdgeAppReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	defer measure.Reconcile(time.Now(), &err)

	app := &v1alpha1.EdgeApp{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		// It was deleted: nothing is left to do.
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	if !app.DeletionTimestamp.IsZero() {
		// The garbage collector deletes the children.
		return ctrl.Result{}, nil
	}

	deployment, err := r.reconcileChildren(ctx, app)
	if err != nil {
		if reason := degradedReason(err); reason != "" {
			planned := edgeapp.Degraded(app.Owner(), &app.Spec, children.State(deployment), reason, err.Error())
			app.Status.Set(planned, time.Now())
			return ctrl.Result{}, errors.Join(err, r.Status().Update(ctx, app))
		}
		return ctrl.Result{}, err
	}
	app.Status.Set(edgeapp.Observed(app.Owner(), &app.Spec, children.State(deployment)), time.Now())
	return ctrl.Result{}, r.Status().Update(ctx, app)
}

// SetupWithManager sets up the controller with the Manager.
func (r *EdgeAppReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.EdgeApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Named("edgeapp").
		Complete(r)
}

// reconcileChildren returns the Deployment as it now is; nil where that is not known.
func (r *EdgeAppReconciler) reconcileChildren(ctx context.Context, app *v1alpha1.EdgeApp) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	operation, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		if err := r.checkOurs(app, deployment, "Deployment"); err != nil {
			return err
		}
		if err := children.WriteDeployment(app, deployment); err != nil {
			return err
		}
		return ctrl.SetControllerReference(app, deployment, r.Scheme)
	})
	if err != nil {
		return nil, fmt.Errorf("reconciling the Deployment: %w", err)
	}
	say(ctx, "Deployment", operation)
	return deployment, r.reconcileService(ctx, app)
}

func (r *EdgeAppReconciler) reconcileService(ctx context.Context, app *v1alpha1.EdgeApp) error {
	if app.Spec.Port == nil {
		return r.deleteService(ctx, app)
	}
	if err := r.replaceService(ctx, app); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	operation, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		if err := r.checkOurs(app, service, "Service"); err != nil {
			return err
		}
		children.WriteService(app, service)
		return ctrl.SetControllerReference(app, service, r.Scheme)
	})
	if err != nil {
		return fmt.Errorf("reconciling the Service: %w", err)
	}
	say(ctx, "Service", operation)
	return nil
}

// replaceService deletes a Service whose cluster IP is not what the spec asks for. Until the cache
// shows that it is gone, creating the next one fails and is tried again.
func (r *EdgeAppReconciler) replaceService(ctx context.Context, app *v1alpha1.EdgeApp) error {
	service := &corev1.Service{}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), service)
	if err != nil || !metav1.IsControlledBy(service, app) || !children.MustBeReplaced(app, service) {
		return client.IgnoreNotFound(err)
	}
	logf.FromContext(ctx).Info("Replacing the Service: its cluster IP cannot be changed")
	return client.IgnoreNotFound(r.Delete(ctx, service, client.Preconditions{UID: &service.UID}))
}

// deleteService deletes the Service if it is ours, and only the very object that was looked at.
func (r *EdgeAppReconciler) deleteService(ctx context.Context, app *v1alpha1.EdgeApp) error {
	service := &corev1.Service{}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), service)
	if err != nil || !metav1.IsControlledBy(service, app) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(r.Delete(ctx, service, client.Preconditions{UID: &service.UID}))
}

// checkOurs refuses an object that exists and is controlled by somebody else or by nobody.
func (r *EdgeAppReconciler) checkOurs(app *v1alpha1.EdgeApp, child client.Object, kind string) error {
	if child.GetResourceVersion() == "" || metav1.IsControlledBy(child, app) {
		return nil
	}
	if owner := metav1.GetControllerOf(child); owner != nil && owner.Kind == "EdgeApp" && owner.Name == app.Name {
		// No failure of the EdgeApp: the child's end brings another reconcile.
		return fmt.Errorf("%s %q belongs to an earlier EdgeApp of that name; the garbage collector deletes it",
			kind, child.GetName())
	}
	return &foreign{edgeapp.Collision(kind, child.GetName(), children.Controller(child))}
}

// degradedReason is the reason of the condition for an error that the user can do something about.
func degradedReason(err error) string {
	var collision *foreign
	switch {
	case errors.As(err, &collision):
		return "Collision"
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return "Rejected"
	case apierrors.IsForbidden(err):
		return "Forbidden"
	}
	return ""
}

func say(ctx context.Context, kind string, operation controllerutil.OperationResult) {
	if operation != controllerutil.OperationResultNone {
		logf.FromContext(ctx).Info("Reconciled "+kind, "operation", operation)
	}
}
