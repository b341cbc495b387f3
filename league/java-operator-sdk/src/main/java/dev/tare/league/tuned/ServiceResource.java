package dev.tare.league.tuned;

import dev.tare.league.EdgeApp;
import dev.tare.league.ServiceChild;
import io.fabric8.kubernetes.api.model.Service;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.processing.event.source.informer.InformerEventSource;

/** The Service, of which a digest is kept: that is what is compared. */
final class ServiceResource extends ServiceChild {

  @Override
  protected InformerEventSource<Service, EdgeApp> createEventSource(
      EventSourceContext<EdgeApp> context) {
    setEventSource(new PrunedEventSource<>(Service.class, Pruned::service, context));
    return eventSource().orElseThrow();
  }

  @Override
  public Result<Service> match(Service actual, EdgeApp app, Context<EdgeApp> context) {
    Service desired = getOrComputeDesired(context);
    addReferenceHandlingMetadata(desired, app);
    return Result.computed(Pruned.digest(actual).equals(Pruned.digest(desired)), desired);
  }
}
