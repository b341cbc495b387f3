package dev.tare.league;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.Ignore;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.CRUDKubernetesDependentResource;
import io.javaoperatorsdk.operator.processing.event.ResourceID;
import java.net.HttpURLConnection;
import java.util.List;

/**
 * A child that has the name of its EdgeApp.
 *
 * <p>Guarantees: the EdgeApp is its controller; an object of that name which is not ours is not
 * touched. Leaves what is in it to the subclasses, and when it is applied to the framework.
 */
@Ignore
public abstract class ChildResource<R extends HasMetadata>
    extends CRUDKubernetesDependentResource<R, EdgeApp> {

  protected ChildResource(Class<R> type) {
    super(type);
  }

  // The framework's reference says who owns the child, but not that the owner is its controller.
  @Override
  protected void addReferenceHandlingMetadata(R desired, EdgeApp app) {
    desired.getMetadata().setOwnerReferences(List.of(Plan.ownerReference(app)));
  }

  // Without it, looking for a child costs its whole plan.
  @Override
  protected ResourceID targetSecondaryResourceID(EdgeApp app, Context<EdgeApp> context) {
    return ResourceID.fromResource(app);
  }

  // The framework creates a child that no event has shown, and asks the server to refuse where
  // there is one all the same.
  @Override
  public R create(R desired, EdgeApp app, Context<EdgeApp> context) {
    try {
      return super.create(desired, app, context);
    } catch (KubernetesClientException refusal) {
      if (refusal.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        throw refusal;
      }
      return takeBack(desired, app, context, refusal);
    }
  }

  /** Applies a child of ours that the watch does not select: its labels were changed. */
  private R takeBack(
      R desired, EdgeApp app, Context<EdgeApp> context, KubernetesClientException refusal) {
    desired.getMetadata().setResourceVersion(null);
    R existing = context.getClient().resource(desired).get();
    if (existing == null) {
      throw refusal;
    }
    String uid = app.getMetadata().getUid();
    if (Collision.controller(existing.getMetadata())
        .filter(owner -> owner.getUid().equals(uid))
        .isEmpty()) {
      throw new Collision(existing);
    }
    return context.resourceOperations().serverSideApply(desired, eventSource().orElse(null));
  }
}
