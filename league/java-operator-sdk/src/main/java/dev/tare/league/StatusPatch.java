package dev.tare.league;

import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;

/** What server-side apply of a status sends: the identity of an EdgeApp, and the status. */
public final class StatusPatch {

  private StatusPatch() {}

  public static EdgeApp of(EdgeApp app, EdgeAppStatus status) {
    EdgeApp patch = new EdgeApp();
    patch.setMetadata(
        new ObjectMetaBuilder()
            .withName(app.getMetadata().getName())
            .withNamespace(app.getMetadata().getNamespace())
            .build());
    patch.setStatus(status);
    return patch;
  }
}
