package dev.tare.league;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import java.util.Optional;

/** A child of the right name that is not ours. It is neither changed nor deleted. */
public class Collision extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public Collision(HasMetadata child) {
    super(
        "%1$s \"%2$s\" %3$s; rename the EdgeApp or remove that %1$s"
            .formatted(
                child.getKind(),
                child.getMetadata().getName(),
                controller(child.getMetadata())
                    .map(o -> "belongs to %s \"%s\"".formatted(o.getKind(), o.getName()))
                    .orElse("was not made by this operator")));
  }

  /** Who controls an object. */
  public static Optional<OwnerReference> controller(ObjectMeta child) {
    return child.getOwnerReferences().stream()
        .filter(owner -> Boolean.TRUE.equals(owner.getController()))
        .findFirst();
  }
}
