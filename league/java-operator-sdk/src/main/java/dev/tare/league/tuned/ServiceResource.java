package dev.tare.league.tuned;

import dev.tare.league.EdgeApp;
import dev.tare.league.ServiceChild;
import io.fabric8.kubernetes.api.model.Service;
import io.javaoperatorsdk.operator.api.reconciler.Context;

/** The Service, of which the store keeps a digest: that is what is compared. */
final class ServiceResource extends ServiceChild {

  ServiceResource() {
    configureWith(Stores.of(Service.class, Pruned::service));
  }

  @Override
  public Result<Service> match(Service actual, EdgeApp app, Context<EdgeApp> context) {
    Service desired = getOrComputeDesired(context);
    addReferenceHandlingMetadata(desired, app);
    return Result.computed(Pruned.digest(actual).equals(Pruned.digest(desired)), desired);
  }
}
