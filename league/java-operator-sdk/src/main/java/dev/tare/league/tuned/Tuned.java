package dev.tare.league.tuned;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tare.league.Admin;
import dev.tare.league.EdgeApp;
import dev.tare.league.ReconcileMetrics;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
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
                    .withKubernetesClient(client())
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

  /** A client that loads the model classes in use, and not all that Kubernetes has. */
  private static KubernetesClient client() {
    var serialization = new KubernetesSerialization(new ObjectMapper(), false);
    serialization.registerKubernetesResource(EdgeApp.class);
    serialization.registerKubernetesResource(Deployment.class);
    serialization.registerKubernetesResource(Service.class);
    serialization.registerKubernetesResource(Status.class);
    return new KubernetesClientBuilder().withKubernetesSerialization(serialization).build();
  }
}
