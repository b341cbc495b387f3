package dev.tare.league;

import dev.tare.league.EdgeAppStatus.Condition;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import io.fabric8.kubernetes.api.model.ResourceRequirementsBuilder;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.api.model.ServicePortBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The children of an EdgeApp and its status.
 *
 * <p>Guarantees: pure; a child has only fields that the operator manages, since server-side apply
 * takes ownership of all that is sent; a transition time moves only when the status of its
 * condition does. Plans what league/fixtures say.
 */
public final class Plan {

  public static final String OWNER_LABEL = "tare.dev/owner";
  public static final String MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
  public static final String MANAGED_BY = "edgeapp-josdk";
  /** Tells a Service that was made headless from one that was not. */
  public static final String HEADLESS_LABEL = "tare.dev/headless";
  /** Selects the children of all EdgeApps. */
  public static final String CHILDREN = MANAGED_BY_LABEL + "=" + MANAGED_BY;
  public static final String CONTAINER = "app";
  private static final int SERVICE_PORT = 80;

  private Plan() {}

  public static Deployment deployment(EdgeApp app) {
    Map<String, String> selector = selector(app);
    return new DeploymentBuilder()
        .withMetadata(metadata(app, Map.of()))
        .withNewSpec()
        .withReplicas(app.getSpec().replicas())
        .withNewSelector().withMatchLabels(selector).endSelector()
        .withNewTemplate()
        .withNewMetadata().withLabels(selector).endMetadata()
        .withNewSpec().withContainers(container(app.getSpec())).endSpec()
        .endTemplate()
        .endSpec()
        .build();
  }

  /** The Service of an EdgeApp that has a port. */
  public static Service service(EdgeApp app) {
    EdgeAppSpec spec = app.getSpec();
    boolean headless = spec.isHeadless();
    return new ServiceBuilder()
        .withMetadata(metadata(app, headless ? Map.of(HEADLESS_LABEL, "true") : Map.of()))
        .withNewSpec()
        .withClusterIP(headless ? "None" : null)
        .withSelector(selector(app))
        .withPorts(
            new ServicePortBuilder()
                .withPort(SERVICE_PORT)
                .withProtocol("TCP")
                .withNewTargetPort(spec.port())
                .build())
        .endSpec()
        .build();
  }

  /** Whether a Service has no cluster IP, which never changes on an object that is there. */
  public static boolean isHeadless(Service service) {
    return "None".equals(service.getSpec().getClusterIP());
  }

  public static OwnerReference ownerReference(EdgeApp app) {
    return new OwnerReferenceBuilder()
        .withApiVersion(app.getApiVersion())
        .withKind(app.getKind())
        .withName(app.getMetadata().getName())
        .withUid(app.getMetadata().getUid())
        .withController(true)
        .withBlockOwnerDeletion(true)
        .build();
  }

  /** The status once the children are as planned. */
  public static EdgeAppStatus observed(EdgeApp app, Progress seen, Instant now) {
    int wanted = app.getSpec().replicas();
    // A Deployment tells of its own newest spec only once its controller has seen it.
    boolean current = seen.observedGeneration() >= seen.generation();
    // While a pod of the old template is left, nothing tells which of them are ready.
    boolean ready =
        current
            && seen.updatedReplicas() >= wanted
            && seen.replicas() <= seen.updatedReplicas()
            && seen.readyReplicas() >= seen.updatedReplicas();
    if (ready) {
      return status(app, seen, now, "Running", "AllReplicasReady", "");
    }
    if (current && seen.stalled()) {
      String message =
          "Deployment \"%s\" made no progress within its deadline; see its pods"
              .formatted(app.getMetadata().getName());
      return status(app, seen, now, "Failed", "ProgressDeadlineExceeded", message);
    }
    String message = "waiting for %d ready replicas".formatted(wanted);
    return status(app, seen, now, "Progressing", "WaitingForReplicas", message);
  }

  /** The status of an EdgeApp that cannot be brought about. Its spec is not observed. */
  public static EdgeAppStatus degraded(
      EdgeApp app, Progress seen, String reason, String message, Instant now) {
    EdgeAppStatus status = status(app, seen, now, "Failed", reason, message);
    Long observed = app.getStatus() == null ? null : app.getStatus().observedGeneration();
    return new EdgeAppStatus(
        status.phase(),
        status.replicas(),
        status.readyReplicas(),
        status.selector(),
        status.endpoint(),
        observed,
        status.conditions());
  }

  private static EdgeAppStatus status(
      EdgeApp app, Progress seen, Instant now, String phase, String reason, String message) {
    Long generation = app.getMetadata().getGeneration();
    boolean failed = phase.equals("Failed");
    List<Condition> conditions =
        Stream.of(
                condition("Ready", phase.equals("Running"), reason, message, generation),
                condition("Progressing", phase.equals("Progressing"), reason, "", generation),
                condition("Degraded", failed, reason, failed ? message : "", generation))
            .map(condition -> stamp(condition, app.getStatus(), now))
            .toList();
    return new EdgeAppStatus(
        phase,
        seen.replicas(),
        seen.readyReplicas(),
        OWNER_LABEL + "=" + app.getMetadata().getName(),
        endpoint(app),
        generation,
        conditions);
  }

  private static Condition condition(
      String type, boolean holds, String reason, String message, Long generation) {
    return new Condition(type, holds ? "True" : "False", reason, message, generation, null);
  }

  private static Condition stamp(Condition condition, EdgeAppStatus before, Instant now) {
    Stream<Condition> known = before == null ? Stream.empty() : before.conditions().stream();
    String since =
        known
            .filter(old -> old.type().equals(condition.type()))
            .filter(old -> old.status().equals(condition.status()))
            .map(Condition::lastTransitionTime)
            .findFirst()
            .orElseGet(() -> now.truncatedTo(ChronoUnit.SECONDS).toString());
    return new Condition(
        condition.type(),
        condition.status(),
        condition.reason(),
        condition.message(),
        condition.observedGeneration(),
        since);
  }

  /** Where the Service is reached from inside the cluster; null without a port. */
  private static String endpoint(EdgeApp app) {
    EdgeAppSpec spec = app.getSpec();
    if (spec.port() == null) {
      return null;
    }
    ObjectMeta metadata = app.getMetadata();
    // A headless Service maps no ports.
    int port = spec.isHeadless() ? spec.port() : SERVICE_PORT;
    return "%s.%s.svc:%d".formatted(metadata.getName(), metadata.getNamespace(), port);
  }

  private static ObjectMeta metadata(EdgeApp app, Map<String, String> moreLabels) {
    return new ObjectMetaBuilder()
        .withName(app.getMetadata().getName())
        .withNamespace(app.getMetadata().getNamespace())
        .withLabels(selector(app))
        .addToLabels(MANAGED_BY_LABEL, MANAGED_BY)
        .addToLabels(moreLabels)
        .build();
  }

  private static Map<String, String> selector(EdgeApp app) {
    return Map.of(OWNER_LABEL, app.getMetadata().getName());
  }

  private static Container container(EdgeAppSpec spec) {
    ContainerBuilder container =
        new ContainerBuilder()
            .withName(CONTAINER)
            .withImage(spec.image())
            .withEnv(spec.env().stream().map(Plan::variable).toList())
            .withResources(resources(spec));
    if (spec.port() != null) {
      container.withPorts(
          new ContainerPortBuilder().withContainerPort(spec.port()).withProtocol("TCP").build());
    }
    return container.build();
  }

  private static EnvVar variable(EdgeAppSpec.Variable variable) {
    return new EnvVarBuilder().withName(variable.name()).withValue(variable.value()).build();
  }

  /** An accelerator becomes a limit; in the pod the API server sets the request to the same. */
  private static ResourceRequirements resources(EdgeAppSpec spec) {
    Map<String, Quantity> requests = new HashMap<>();
    Map<String, Quantity> limits = new HashMap<>();
    if (spec.resources() != null) {
      requests.putAll(orEmpty(spec.resources().requests()));
      limits.putAll(orEmpty(spec.resources().limits()));
    }
    if (spec.accelerator() != null) {
      String count = Integer.toString(spec.accelerator().count());
      limits.put(spec.accelerator().resource(), new Quantity(count));
    }
    if (requests.isEmpty() && limits.isEmpty()) {
      return null;
    }
    return new ResourceRequirementsBuilder().withRequests(requests).withLimits(limits).build();
  }

  private static Map<String, Quantity> orEmpty(Map<String, Quantity> quantities) {
    return quantities == null ? Map.of() : quantities;
  }
}
