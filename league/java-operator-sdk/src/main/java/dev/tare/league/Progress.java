package dev.tare.league;

import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentStatus;

/** How far a Deployment has come. */
public record Progress(
    long generation,
    long observedGeneration,
    int replicas,
    int updatedReplicas,
    int readyReplicas,
    boolean stalled) {

  /** Without a Deployment: its controller has seen nothing yet. */
  public static final Progress NONE = new Progress(1, 0, 0, 0, 0, false);

  public static Progress of(Deployment deployment) {
    DeploymentStatus status = deployment.getStatus();
    long generation = orZero(deployment.getMetadata().getGeneration());
    if (status == null) {
      return new Progress(generation, 0, 0, 0, 0, false);
    }
    return new Progress(
        generation,
        orZero(status.getObservedGeneration()),
        orZero(status.getReplicas()),
        orZero(status.getUpdatedReplicas()),
        orZero(status.getReadyReplicas()),
        isStalled(status));
  }

  /** Its controller gave up waiting. */
  private static boolean isStalled(DeploymentStatus status) {
    return status.getConditions().stream()
        .anyMatch(c -> "Progressing".equals(c.getType()) && "False".equals(c.getStatus()));
  }

  private static long orZero(Long number) {
    return number == null ? 0 : number;
  }

  private static int orZero(Integer number) {
    return number == null ? 0 : number;
  }
}
