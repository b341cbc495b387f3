package dev.tare.league.tuned;

import dev.tare.league.DeploymentChild;
import dev.tare.league.EdgeApp;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.javaoperatorsdk.operator.api.reconciler.Context;

/** The Deployment, of which the store keeps a digest: that is what is compared. */
final class DeploymentResource extends DeploymentChild {

  DeploymentResource() {
    configureWith(Stores.of(Deployment.class, Pruned::deployment));
  }

  @Override
  public Result<Deployment> match(Deployment actual, EdgeApp app, Context<EdgeApp> context) {
    Deployment desired = getOrComputeDesired(context);
    addReferenceHandlingMetadata(desired, app);
    return Result.computed(Pruned.digest(actual).equals(Pruned.digest(desired)), desired);
  }
}
