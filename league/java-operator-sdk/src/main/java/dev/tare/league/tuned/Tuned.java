package dev.tare.league.tuned;

import dev.tare.league.Admin;
import dev.tare.league.ReconcileMetrics;
import io.javaoperatorsdk.operator.Operator;
import io.javaoperatorsdk.operator.processing.event.source.informer.TransformingItemStore;
import io.javaoperatorsdk.operator.processing.retry.GenericRetry;
import java.io.IOException;
import java.time.Duration;

/** The operator with published settings that keep its behaviour; README.md has their sources. */
public final class Tuned {

  /** As many as the other tuned operators: each has a stack and a request under way. */
  private static final int THREADS = 16;

  /** Objects of one page of a list, which is parsed as a whole. */
  static final long PAGE = 100;

  private Tuned() {}

  public static void main(String[] args) throws IOException {
    var metrics = new ReconcileMetrics();
    var operator =
        new Operator(
            overrider ->
                overrider
                    .withConcurrentReconciliationThreads(THREADS)
                    .withMetrics(metrics));
    operator.register(
        new EdgeAppReconciler(),
        overrider ->
            overrider
                .withItemStore(new TransformingItemStore<>(Pruned::app))
                .withInformerListLimit(PAGE)
                // The default gives up after five tries, which an outage outlasts.
                .withRetry(new GenericRetry().setMaxAttempts(-1).setMaxInterval(60_000)));
    operator.installShutdownHook(Duration.ofSeconds(10));
    operator.start();
    Admin.serve(args, operator, metrics);
  }
}
