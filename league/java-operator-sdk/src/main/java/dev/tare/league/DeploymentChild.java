package dev.tare.league;

import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.Ignore;

/** The Deployment of an EdgeApp. */
@Ignore
public abstract class DeploymentChild extends ChildResource<Deployment> {

  protected DeploymentChild() {
    super(Deployment.class);
  }

  @Override
  protected Deployment desired(EdgeApp app, Context<EdgeApp> context) {
    return Plan.deployment(app);
  }
}
