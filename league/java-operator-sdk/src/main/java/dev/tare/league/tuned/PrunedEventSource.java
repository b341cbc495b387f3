package dev.tare.league.tuned;

import dev.tare.league.EdgeApp;
import dev.tare.league.Plan;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.javaoperatorsdk.operator.api.config.informer.InformerEventSourceConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.processing.event.ResourceID;
import io.javaoperatorsdk.operator.processing.event.source.informer.InformerEventSource;
import io.javaoperatorsdk.operator.processing.event.source.informer.TransformingItemStore;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Watches the children of one kind: those that bear our label, pruned before they are kept. A child
 * and its EdgeApp find each other by their name, without an index.
 */
final class PrunedEventSource<R extends HasMetadata> extends InformerEventSource<R, EdgeApp> {

  private final UnaryOperator<R> prune;

  PrunedEventSource(Class<R> type, UnaryOperator<R> prune, EventSourceContext<EdgeApp> context) {
    super(
        InformerEventSourceConfiguration.from(type, EdgeApp.class)
            .withLabelSelector(Plan.CHILDREN)
            .withItemStore(new TransformingItemStore<>(prune))
            .withInformerListLimit(Tuned.PAGE)
            // Also where somebody took the owner reference away.
            .withSecondaryToPrimaryMapper(child -> Set.of(ResourceID.fromResource(child)))
            .withPrimaryToSecondaryMapper((EdgeApp app) -> Set.of(ResourceID.fromResource(app)))
            .build(),
        context);
    this.prune = prune;
  }

  // The answer to a write is kept until the watch shows a newer object, which may be never.
  @Override
  public void handleRecentResourceUpdate(ResourceID id, R answer, R before) {
    super.handleRecentResourceUpdate(id, prune.apply(answer), before);
  }
}
