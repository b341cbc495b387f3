package dev.tare.league;

import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;

/** The custom resource: an application on the edge. Its schema is in deploy/base/crd.yaml. */
@Group("tare.dev")
@Version("v1alpha1")
public class EdgeApp extends CustomResource<EdgeAppSpec, EdgeAppStatus> implements Namespaced {

  private static final long serialVersionUID = 1L;

  // A patch of the status must not mention a spec, and the base class would make an empty one.
  @Override
  protected EdgeAppSpec initSpec() {
    return null;
  }

  @Override
  protected EdgeAppStatus initStatus() {
    return null;
  }
}
