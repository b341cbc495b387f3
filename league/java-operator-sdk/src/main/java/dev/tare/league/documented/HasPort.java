package dev.tare.league.documented;

import dev.tare.league.EdgeApp;
import io.fabric8.kubernetes.api.model.Service;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.dependent.DependentResource;
import io.javaoperatorsdk.operator.processing.dependent.workflow.Condition;

/** An EdgeApp without a port has no Service: the workflow deletes one that is left. */
public class HasPort implements Condition<Service, EdgeApp> {

  @Override
  public boolean isMet(
      DependentResource<Service, EdgeApp> service, EdgeApp app, Context<EdgeApp> context) {
    return app.getSpec().port() != null;
  }
}
