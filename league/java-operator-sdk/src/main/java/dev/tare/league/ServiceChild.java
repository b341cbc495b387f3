package dev.tare.league;

import io.fabric8.kubernetes.api.model.Service;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.Ignore;

/** The Service of an EdgeApp that has a port. */
@Ignore
public abstract class ServiceChild extends ChildResource<Service> {

  protected ServiceChild() {
    super(Service.class);
  }

  @Override
  protected Service desired(EdgeApp app, Context<EdgeApp> context) {
    return Plan.service(app);
  }

  // A cluster IP can neither be given up nor be gained: then the Service is made anew.
  @Override
  public Service update(Service actual, Service desired, EdgeApp app, Context<EdgeApp> context) {
    if (Plan.isHeadless(actual) == Plan.isHeadless(desired)) {
      return super.update(actual, desired, app, context);
    }
    handleDelete(app, actual, context);
    return create(desired, app, context);
  }
}
