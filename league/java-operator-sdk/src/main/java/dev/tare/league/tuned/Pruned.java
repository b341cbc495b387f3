package dev.tare.league.tuned;

import dev.tare.league.Collision;
import dev.tare.league.EdgeApp;
import dev.tare.league.Plan;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServicePort;
import io.fabric8.kubernetes.api.model.ServiceSpec;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentSpec;
import io.fabric8.kubernetes.api.model.apps.DeploymentStatus;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What an informer's store keeps of an object. Of a child that is its identity, how far it has
 * come, and a digest of the fields that the plan decides, the owner among them.
 *
 * <p>Guarantees: a child that differs from its plan in a planned field has another digest; defaults
 * of the server and the notation of quantities make no difference.
 */
final class Pruned {

  /** Holds the digest, in memory only: nothing that is sent has it. */
  private static final String DIGEST = "tare.dev/digest";

  private Pruned() {}

  static EdgeApp app(EdgeApp app) {
    ObjectMeta metadata = identity(app.getMetadata());
    metadata.setUid(app.getMetadata().getUid());
    metadata.setDeletionTimestamp(app.getMetadata().getDeletionTimestamp());
    EdgeApp kept = new EdgeApp();
    kept.setMetadata(metadata);
    kept.setSpec(app.getSpec());
    kept.setStatus(app.getStatus());
    return kept;
  }

  static Deployment deployment(Deployment deployment) {
    Deployment kept = new Deployment();
    kept.setMetadata(identity(deployment.getMetadata(), digest(deployment)));
    kept.setStatus(counters(deployment.getStatus()));
    return kept;
  }

  static Service service(Service service) {
    Service kept = new Service();
    kept.setMetadata(identity(service.getMetadata(), digest(service)));
    kept.setSpec(new ServiceSpec());
    kept.getSpec().setClusterIP(Plan.isHeadless(service) ? "None" : null);
    return kept;
  }

  /** Of a pruned Deployment the digest of what it was. */
  static String digest(Deployment deployment) {
    ObjectMeta metadata = deployment.getMetadata();
    if (metadata.getAnnotations().containsKey(DIGEST)) {
      return metadata.getAnnotations().get(DIGEST);
    }
    DeploymentSpec spec = deployment.getSpec();
    List<Object> planned = planned(metadata);
    planned.add(spec.getReplicas());
    planned.add(spec.getSelector().getMatchLabels());
    planned.add(spec.getTemplate().getMetadata().getLabels().get(Plan.OWNER_LABEL));
    for (Container container : spec.getTemplate().getSpec().getContainers()) {
      if (Plan.CONTAINER.equals(container.getName())) {
        addContainer(planned, container);
      }
    }
    return hash(planned);
  }

  /** Of a pruned Service the digest of what it was. */
  static String digest(Service service) {
    ObjectMeta metadata = service.getMetadata();
    if (metadata.getAnnotations().containsKey(DIGEST)) {
      return metadata.getAnnotations().get(DIGEST);
    }
    List<Object> planned = planned(metadata);
    planned.add(metadata.getLabels().get(Plan.HEADLESS_LABEL));
    planned.add(Plan.isHeadless(service));
    planned.add(new TreeMap<>(service.getSpec().getSelector()));
    for (ServicePort port : service.getSpec().getPorts()) {
      planned.add(port.getPort());
      planned.add(port.getProtocol());
      planned.add(port.getTargetPort().getValue());
    }
    return hash(planned);
  }

  private static ObjectMeta identity(ObjectMeta metadata) {
    ObjectMeta kept = new ObjectMeta();
    kept.setNamespace(metadata.getNamespace().intern());
    kept.setName(metadata.getName());
    kept.setResourceVersion(metadata.getResourceVersion());
    kept.setGeneration(metadata.getGeneration());
    // The maps that an ObjectMeta is made with take more room than all of the above.
    kept.setLabels(Map.of());
    kept.setAnnotations(Map.of());
    kept.setAdditionalProperties(Map.of());
    return kept;
  }

  private static ObjectMeta identity(ObjectMeta metadata, String digest) {
    ObjectMeta kept = identity(metadata);
    kept.setAnnotations(Map.of(DIGEST, digest));
    return kept;
  }

  private static DeploymentStatus counters(DeploymentStatus status) {
    DeploymentStatus kept = new DeploymentStatus();
    kept.setAdditionalProperties(Map.of());
    if (status != null) {
      kept.setObservedGeneration(status.getObservedGeneration());
      kept.setReplicas(status.getReplicas());
      kept.setUpdatedReplicas(status.getUpdatedReplicas());
      kept.setReadyReplicas(status.getReadyReplicas());
      // A condition tells whether it is stalled; of the others nothing is read.
      kept.setConditions(
          status.getConditions().stream()
              .filter(one -> "Progressing".equals(one.getType()) && "False".equals(one.getStatus()))
              .toList());
    }
    return kept;
  }

  private static List<Object> planned(ObjectMeta metadata) {
    List<Object> planned = new ArrayList<>();
    planned.add(metadata.getLabels().get(Plan.OWNER_LABEL));
    planned.add(metadata.getLabels().get(Plan.MANAGED_BY_LABEL));
    planned.add(Collision.controller(metadata).map(OwnerReference::getUid).orElse(""));
    return planned;
  }

  private static void addContainer(List<Object> planned, Container container) {
    planned.add(container.getImage());
    for (ContainerPort port : container.getPorts()) {
      planned.add(port.getContainerPort());
      planned.add(port.getProtocol());
    }
    for (EnvVar variable : container.getEnv()) {
      planned.add(variable.getName());
      // The server drops an empty value.
      planned.add(variable.getValue() == null ? "" : variable.getValue());
    }
    ResourceRequirements resources = container.getResources();
    if (resources != null) {
      planned.add(amounts(resources.getRequests()));
      planned.add(amounts(resources.getLimits()));
    }
  }

  private static Map<String, String> amounts(Map<String, Quantity> quantities) {
    Map<String, String> amounts = new TreeMap<>();
    quantities.forEach((name, quantity) -> amounts.put(name, amount(quantity)));
    return amounts;
  }

  /** 1 and 1000m are the same. */
  private static String amount(Quantity quantity) {
    return Quantity.getAmountInBytes(quantity).stripTrailingZeros().toPlainString();
  }

  private static String hash(List<Object> planned) {
    try {
      byte[] text = planned.toString().getBytes(StandardCharsets.UTF_8);
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
      // 64 bits: an edit goes unnoticed once in 1.8e19.
      return HexFormat.of().formatHex(digest, 0, 8);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }
}
