package dev.tare.league;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;

/** What was last observed of an EdgeApp. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record EdgeAppStatus(
    String phase,
    int replicas,
    int readyReplicas,
    String selector,
    String endpoint,
    Long observedGeneration,
    List<Condition> conditions) {

  public EdgeAppStatus {
    conditions = conditions == null ? List.of() : conditions;
  }

  /** One condition, as the Kubernetes API conventions define it. */
  @JsonInclude(JsonInclude.Include.NON_NULL)
  public record Condition(
      String type,
      String status,
      String reason,
      String message,
      Long observedGeneration,
      String lastTransitionTime) {}
}
