package dev.tare.league.documented;

import dev.tare.league.EdgeApp;
import dev.tare.league.Failure;
import dev.tare.league.Plan;
import dev.tare.league.Progress;
import dev.tare.league.StatusPatch;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.ErrorStatusUpdateControl;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import io.javaoperatorsdk.operator.api.reconciler.Workflow;
import io.javaoperatorsdk.operator.api.reconciler.dependent.Dependent;
import java.time.Instant;

/**
 * The reconciler of the guide: a managed workflow brings the children about, then the status is
 * patched. Leaves watches, queue and retries to the framework's defaults.
 */
@Workflow(
    dependents = {
      @Dependent(type = DeploymentResource.class),
      @Dependent(type = ServiceResource.class, reconcilePrecondition = HasPort.class)
    })
@ControllerConfiguration(name = Plan.MANAGED_BY)
public class EdgeAppReconciler implements Reconciler<EdgeApp> {

  @Override
  public UpdateControl<EdgeApp> reconcile(EdgeApp app, Context<EdgeApp> context) {
    var status = Plan.observed(app, progress(context), Instant.now());
    return UpdateControl.patchStatus(StatusPatch.of(app, status));
  }

  @Override
  public ErrorStatusUpdateControl<EdgeApp> updateErrorStatus(
      EdgeApp app, Context<EdgeApp> context, Exception error) {
    return Failure.of(error)
        .map(
            failure -> {
              var seen = progress(context);
              var status =
                  Plan.degraded(app, seen, failure.reason(), failure.message(), Instant.now());
              return ErrorStatusUpdateControl.patchStatus(StatusPatch.of(app, status));
            })
        .orElseGet(ErrorStatusUpdateControl::defaultErrorProcessing);
  }

  private static Progress progress(Context<EdgeApp> context) {
    return context.getSecondaryResource(Deployment.class).map(Progress::of).orElse(Progress.NONE);
  }
}
