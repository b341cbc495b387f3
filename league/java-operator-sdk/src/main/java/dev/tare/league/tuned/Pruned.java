package dev.tare.league.tuned;

import dev.tare.league.EdgeApp;
import dev.tare.league.Plan;
import io.fabric8.kubernetes.api.model.Container;
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
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What an informer's store keeps of an object. Of a child that is its identity, its owner, how far it
 * has come, and a digest of the fields that the plan decides.
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
    var planned = new StringBuilder();
    identity(planned, metadata);
    planned.append(spec.getReplicas()).append(spec.getSelector().getMatchLabels());
    planned.append(spec.getTemplate().getMetadata().getLabels().get(Plan.OWNER_LABEL));
    for (Container container : spec.getTemplate().getSpec().getContainers()) {
      if (Plan.CONTAINER.equals(container.getName())) {
        container(planned, container);
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
    var planned = new StringBuilder();
    identity(planned, metadata);
    planned.append(metadata.getLabels().get(Plan.HEADLESS_LABEL));
    planned.append(Plan.isHeadless(service)).append(new TreeMap<>(service.getSpec().getSelector()));
    for (ServicePort port : service.getSpec().getPorts()) {
      planned.append(port.getPort()).append(port.getProtocol()).append(port.getTargetPort());
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
    kept.setOwnerReferences(metadata.getOwnerReferences().stream().map(Pruned::owner).toList());
    return kept;
  }

  /** What an event source finds the EdgeApp by. */
  private static OwnerReference owner(OwnerReference owner) {
    OwnerReference kept = new OwnerReference();
    kept.setApiVersion(owner.getApiVersion().intern());
    kept.setKind(owner.getKind().intern());
    kept.setName(owner.getName());
    kept.setAdditionalProperties(Map.of());
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

  private static void identity(StringBuilder planned, ObjectMeta metadata) {
    planned.append(metadata.getLabels().get(Plan.OWNER_LABEL));
    planned.append(metadata.getLabels().get(Plan.MANAGED_BY_LABEL));
    for (OwnerReference owner : metadata.getOwnerReferences()) {
      planned.append(owner.getUid()).append(owner.getController());
    }
  }

  private static void container(StringBuilder planned, Container container) {
    planned.append(container.getImage());
    container
        .getPorts()
        .forEach(port -> planned.append(port.getContainerPort()).append(port.getProtocol()));
    for (EnvVar variable : container.getEnv()) {
      // The server drops an empty value.
      String value = variable.getValue() == null ? "" : variable.getValue();
      planned.append(variable.getName()).append('=').append(value).append('\n');
    }
    ResourceRequirements resources = container.getResources();
    if (resources != null) {
      planned.append(amounts(resources.getRequests())).append(amounts(resources.getLimits()));
    }
  }

  private static String amounts(Map<String, Quantity> quantities) {
    return new TreeMap<>(quantities)
        .entrySet().stream()
            .map(entry -> entry.getKey() + "=" + amount(entry.getValue()))
            .collect(Collectors.joining(","));
  }

  /** 1 and 1000m are the same. */
  private static String amount(Quantity quantity) {
    return Quantity.getAmountInBytes(quantity).stripTrailingZeros().toPlainString();
  }

  private static String hash(StringBuilder planned) {
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
