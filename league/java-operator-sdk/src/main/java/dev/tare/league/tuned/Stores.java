package dev.tare.league.tuned;

import dev.tare.league.Plan;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.javaoperatorsdk.operator.api.config.informer.InformerConfiguration;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.KubernetesDependentResourceConfig;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.KubernetesDependentResourceConfigBuilder;
import io.javaoperatorsdk.operator.processing.event.source.informer.TransformingItemStore;
import java.util.function.UnaryOperator;

/** The informers of the children: our own children only, pruned as they enter the store. */
final class Stores {

  /** Objects of one page of a list, which is parsed as a whole. */
  static final long PAGE = 100;

  private Stores() {}

  static <R extends HasMetadata> KubernetesDependentResourceConfig<R> of(
      Class<R> type, UnaryOperator<R> prune) {
    return new KubernetesDependentResourceConfigBuilder<R>()
        // The builder's default is not that of the annotation.
        .withCreateResourceOnlyIfNotExistingWithSSA(true)
        .withUseSSA(true)
        .withKubernetesDependentInformerConfig(
            InformerConfiguration.builder(type)
                .withLabelSelector(Plan.CHILDREN)
                .withItemStore(new TransformingItemStore<>(prune))
                .withInformerListLimit(PAGE)
                .build())
        .build();
  }
}
