package tuned

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"tare.dev/league/controller-runtime/api/v1alpha1"
	"tare.dev/league/controller-runtime/internal/children"
	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/slim"
)

// ensureDeployment makes the Deployment what the plan says and tells its progress.
func (r *Reconciler) ensureDeployment(ctx context.Context, app *v1alpha1.EdgeApp) (edgeapp.DeploymentState, error) {
	wanted := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	if err := children.WriteDeployment(app, wanted); err != nil {
		return edgeapp.DeploymentState{}, &failure{"Rejected", err.Error()}
	}
	want := slim.DigestOfPlan(wanted)
	found := &slim.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), found)
	if apierrors.IsNotFound(err) {
		created, createErr := r.createDeployment(ctx, app, wanted)
		if !apierrors.IsAlreadyExists(createErr) {
			return created, createErr
		}
		// Foreign, or ours without its label, or the cache is behind.
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(app), found)
	}
	if err != nil {
		return edgeapp.DeploymentState{}, err
	}
	if err := checkOurs(app, found, "Deployment"); err != nil || found.Digest == want {
		return found.State(), err
	}
	changed := &slim.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	err = r.patchChild(ctx, changed, found.UID, edgeapp.DeploymentBody(app.Name, &app.Spec))
	return changed.State(), err
}

func (r *Reconciler) createDeployment(ctx context.Context, app *v1alpha1.EdgeApp, wanted *appsv1.Deployment) (edgeapp.DeploymentState, error) {
	if err := controllerutil.SetControllerReference(app, wanted, r.Scheme); err != nil {
		return edgeapp.DeploymentState{}, err
	}
	created := slim.Planned(wanted)
	if err := r.Create(ctx, created, client.FieldOwner(edgeapp.Name)); err != nil {
		return edgeapp.DeploymentState{}, err
	}
	return created.State(), nil
}

func (r *Reconciler) ensureService(ctx context.Context, app *v1alpha1.EdgeApp) error {
	meta := serviceMetadata()
	err := r.Get(ctx, client.ObjectKeyFromObject(app), meta)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if app.Spec.Port == nil {
		if err == nil && metav1.IsControlledBy(meta, app) {
			return r.deleteChild(ctx, meta)
		}
		return nil
	}
	wanted := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	children.WriteService(app, wanted)
	want := slim.DigestOfService(wanted)
	if err == nil && r.services.digestOf(&meta.ObjectMeta) == want {
		return checkOurs(app, meta, "Service")
	}
	if err != nil {
		if err = r.createService(ctx, app, wanted); err == nil {
			r.services.see(wanted)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	found := &corev1.Service{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(app), found); err != nil {
		return err
	}
	if err := checkOurs(app, found, "Service"); err != nil {
		return err
	}
	r.services.see(found)
	switch {
	case slim.DigestOfService(found) == want:
		return nil
	case children.MustBeReplaced(app, found):
		if err := r.deleteChild(ctx, found); err != nil {
			return err
		}
		if len(found.Finalizers) > 0 {
			return errAgain
		}
		err = r.createService(ctx, app, wanted)
	default:
		wanted = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
		err = r.patchChild(ctx, wanted, found.UID, edgeapp.ServiceBody(app.Name, &app.Spec))
	}
	if err == nil {
		r.services.see(wanted)
	}
	return err
}

func (r *Reconciler) createService(ctx context.Context, app *v1alpha1.EdgeApp, wanted *corev1.Service) error {
	if err := controllerutil.SetControllerReference(app, wanted, r.Scheme); err != nil {
		return err
	}
	return r.Create(ctx, wanted, client.FieldOwner(edgeapp.Name))
}

// patchChild sends the whole plan as a merge patch: a field that the plan no longer has is null in
// it, and lists are whole. (A later server-side apply would be another field manager than the POST,
// and what the POST has set would stay for ever: kubernetes/kubernetes#99003.)
func (r *Reconciler) patchChild(ctx context.Context, into client.Object, uid types.UID, body edgeapp.Body) error {
	body["metadata"].(edgeapp.Body)["uid"] = uid
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return r.Patch(ctx, into, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(edgeapp.Name))
}

// deleteChild deletes exactly the object that was read.
func (r *Reconciler) deleteChild(ctx context.Context, child client.Object) error {
	uid := child.GetUID()
	err := r.Delete(ctx, child, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsConflict(err) {
		// Another object by now.
		return errAgain
	}
	return client.IgnoreNotFound(err)
}

// cachedState is the progress of the Deployment if that is ours.
func (r *Reconciler) cachedState(ctx context.Context, app *v1alpha1.EdgeApp) edgeapp.DeploymentState {
	found := &slim.Deployment{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(app), found); err != nil || !metav1.IsControlledBy(found, app) {
		return edgeapp.DeploymentState{}
	}
	return found.State()
}

// checkOurs refuses an object that is controlled by somebody else or by nobody.
func checkOurs(app *v1alpha1.EdgeApp, child client.Object, kind string) error {
	switch owner := metav1.GetControllerOfNoCopy(child); {
	case !child.GetDeletionTimestamp().IsZero():
		return errAgain
	case metav1.IsControlledBy(child, app):
		return nil
	case owner != nil && owner.Kind == "EdgeApp" && owner.Name == app.Name:
		// It belongs to an earlier EdgeApp of that name and will be collected.
		return errAgain
	default:
		return &failure{"Collision", edgeapp.Collision(kind, child.GetName(), children.Controller(child))}
	}
}

func serviceMetadata() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	return meta
}
