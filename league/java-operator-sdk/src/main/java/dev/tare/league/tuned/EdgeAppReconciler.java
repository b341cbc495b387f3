package dev.tare.league.tuned;

import dev.tare.league.EdgeApp;
import dev.tare.league.EdgeAppStatus;
import dev.tare.league.Failure;
import dev.tare.league.Plan;
import dev.tare.league.Progress;
import dev.tare.league.StatusPatch;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.ErrorStatusUpdateControl;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceUtils;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import io.javaoperatorsdk.operator.processing.event.source.EventSource;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The reconciler with standalone dependent resources, which need no threads of a workflow.
 *
 * <p>Guarantees: a status that is as it was is not sent.
 */
@ControllerConfiguration(name = Plan.MANAGED_BY)
final class EdgeAppReconciler implements Reconciler<EdgeApp> {

  private final DeploymentResource deployment = new DeploymentResource();
  private final ServiceResource service = new ServiceResource();

  @Override
  public List<EventSource<?, EdgeApp>> prepareEventSources(EventSourceContext<EdgeApp> context) {
    return EventSourceUtils.dependentEventSources(context, deployment, service);
  }

  @Override
  public UpdateControl<EdgeApp> reconcile(EdgeApp app, Context<EdgeApp> context) {
    deployment.reconcile(app, context);
    if (app.getSpec().port() == null) {
      service.delete(app, context);
    } else {
      service.reconcile(app, context);
    }
    return changed(app, Plan.observed(app, progress(context), Instant.now()))
        .map(UpdateControl::patchStatus)
        .orElseGet(UpdateControl::noUpdate);
  }

  @Override
  public ErrorStatusUpdateControl<EdgeApp> updateErrorStatus(
      EdgeApp app, Context<EdgeApp> context, Exception error) {
    return Failure.of(error)
        .map(
            failure ->
                Plan.degraded(
                    app, progress(context), failure.reason(), failure.message(), Instant.now()))
        .flatMap(status -> changed(app, status))
        .map(ErrorStatusUpdateControl::patchStatus)
        .orElseGet(ErrorStatusUpdateControl::defaultErrorProcessing);
  }

  private static Optional<EdgeApp> changed(EdgeApp app, EdgeAppStatus status) {
    return status.equals(app.getStatus())
        ? Optional.empty()
        : Optional.of(StatusPatch.of(app, status));
  }

  private static Progress progress(Context<EdgeApp> context) {
    return context.getSecondaryResource(Deployment.class).map(Progress::of).orElse(Progress.NONE);
  }
}
