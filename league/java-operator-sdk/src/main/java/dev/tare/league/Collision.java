package dev.tare.league;

import io.fabric8.kubernetes.api.model.HasMetadata;
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
                controller(child)
                    .map(owner -> "belongs to %s \"%s\"".formatted(owner.getKind(), owner.getName()))
                    .orElse("was not made by this operator")));
  }

  /** Who controls an object. */
  static Optional<OwnerReference> controller(HasMetadata child) {
    return child.getMetadata().getOwnerReferences().stream()
        .filter(owner -> Boolean.TRUE.equals(owner.getController()))
        .findFirst();
  }
}
