package dev.tare.league;

import io.fabric8.kubernetes.client.KubernetesClientException;
import io.javaoperatorsdk.operator.AggregatedOperatorException;
import java.util.Optional;

/** Why an EdgeApp cannot be brought about, where its user can do something about it. */
public record Failure(String reason, String message) {

  /** Empty where another try may help. */
  public static Optional<Failure> of(Throwable error) {
    // A workflow collects what its dependents threw.
    if (error instanceof AggregatedOperatorException all) {
      return all.getAggregatedExceptions().values().stream()
          .flatMap(one -> of(one).stream())
          .findFirst();
    }
    if (error instanceof Collision) {
      return Optional.of(new Failure("Collision", error.getMessage()));
    }
    if (error instanceof KubernetesClientException refusal) {
      return switch (refusal.getCode()) {
        case 400, 422 -> Optional.of(new Failure("Rejected", refusal.getMessage()));
        case 403 -> Optional.of(new Failure("Forbidden", refusal.getMessage()));
        default -> Optional.empty();
      };
    }
    return Optional.empty();
  }
}
