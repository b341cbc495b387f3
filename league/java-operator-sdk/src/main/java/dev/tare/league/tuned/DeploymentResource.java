package dev.tare.league.tuned;

import dev.tare.league.DeploymentChild;
import dev.tare.league.EdgeApp;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.processing.event.source.informer.InformerEventSource;

/** The Deployment, of which a digest is kept: that is what is compared. */
final class DeploymentResource extends DeploymentChild {

  @Override
  protected InformerEventSource<Deployment, EdgeApp> createEventSource(
      EventSourceContext<EdgeApp> context) {
    setEventSource(new PrunedEventSource<>(Deployment.class, Pruned::deployment, context));
    return eventSource().orElseThrow();
  }

  @Override
  public Result<Deployment> match(Deployment actual, EdgeApp app, Context<EdgeApp> context) {
    Deployment desired = getOrComputeDesired(context);
    addReferenceHandlingMetadata(desired, app);
    return Result.computed(Pruned.digest(actual).equals(Pruned.digest(desired)), desired);
  }
}
