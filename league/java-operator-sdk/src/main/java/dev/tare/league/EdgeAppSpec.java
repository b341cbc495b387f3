package dev.tare.league;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Map;

/** What an EdgeApp asks for. The API server fills in the defaults of replicas, count and value. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record EdgeAppSpec(
    String image,
    int replicas,
    Integer port,
    Boolean headless,
    List<Variable> env,
    Resources resources,
    Accelerator accelerator) {

  public EdgeAppSpec {
    env = env == null ? List.of() : env;
  }

  /** Whether the Service has no cluster IP. */
  public boolean isHeadless() {
    return Boolean.TRUE.equals(headless);
  }

  /** One variable of the container's environment. */
  public record Variable(String name, String value) {}

  /** What the container asks for and may use at most. */
  public record Resources(Map<String, Quantity> requests, Map<String, Quantity> limits) {}

  /** An extended resource that each pod needs. */
  public record Accelerator(String resource, int count) {}
}
