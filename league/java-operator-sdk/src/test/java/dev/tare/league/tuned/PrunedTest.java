package dev.tare.league.tuned;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.tare.league.EdgeApp;
import dev.tare.league.EdgeAppSpec;
import dev.tare.league.Plan;
import dev.tare.league.Progress;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class PrunedTest {

  @Test
  void whatTheServerFillsInMakesNoDifference() {
    check(false, "nothing", deployment -> {});
    check(
        false,
        "defaults",
        deployment ->
            deployment
                .editSpec()
                .withRevisionHistoryLimit(10)
                .editTemplate()
                .editSpec()
                .withRestartPolicy("Always")
                .editFirstContainer()
                .withImagePullPolicy("IfNotPresent")
                .endContainer()
                .endSpec()
                .endTemplate()
                .endSpec());
    check(
        false,
        "an empty value is dropped",
        deployment ->
            container(deployment, one -> one.getEnv().get(0).setValue(null)));
    check(
        false,
        "a quantity is written in another way",
        deployment ->
            container(
                deployment,
                one -> one.getResources().setRequests(Map.of("cpu", new Quantity("1")))));
    check(
        false,
        "an annotation of somebody else",
        deployment -> deployment.editMetadata().addToAnnotations("a", "b").endMetadata());
    check(
        false,
        "an owner that does not control",
        deployment ->
            deployment.editMetadata().addNewOwnerReference().withUid("u-2").endOwnerReference()
                .endMetadata());
    check(
        false,
        "a container of somebody else",
        deployment ->
            deployment
                .editSpec()
                .editTemplate()
                .editSpec()
                .addNewContainer()
                .withName("sidecar")
                .endContainer()
                .endSpec()
                .endTemplate()
                .endSpec());
  }

  @Test
  void anEditOfAPlannedFieldIsNoticed() {
    check(true, "replicas", deployment -> deployment.editSpec().withReplicas(7).endSpec());
    check(true, "image", deployment -> container(deployment, one -> one.setImage("web:2")));
    check(
        true,
        "value",
        deployment -> container(deployment, one -> one.getEnv().get(0).setValue("1")));
    check(
        true,
        "variable removed",
        deployment -> container(deployment, one -> one.setEnv(List.of())));
    check(true, "port", deployment -> container(deployment, one -> one.setPorts(List.of())));
    check(
        true,
        "limits",
        deployment -> container(deployment, one -> one.getResources().setRequests(Map.of())));
    check(
        true,
        "label",
        deployment -> deployment.editMetadata().removeFromLabels(Plan.OWNER_LABEL).endMetadata());
    check(
        true,
        "owner",
        deployment -> deployment.editMetadata().withOwnerReferences().endMetadata());
  }

  @Test
  void aPrunedDeploymentTellsWhatIsRead() {
    Deployment seen =
        new DeploymentBuilder(deployment())
            .editMetadata()
            .withGeneration(3L)
            .withResourceVersion("9")
            .endMetadata()
            .withNewStatus()
            .withObservedGeneration(3L)
            .withReplicas(2)
            .withUpdatedReplicas(2)
            .withReadyReplicas(1)
            .addNewCondition()
            .withType("Progressing")
            .withStatus("False")
            .endCondition()
            .addNewCondition()
            .withType("Available")
            .withStatus("True")
            .endCondition()
            .endStatus()
            .build();
    Deployment kept = Pruned.deployment(seen);
    assertNull(kept.getSpec());
    assertEquals(Progress.of(seen), Progress.of(kept));
    assertEquals(Pruned.digest(seen), Pruned.digest(kept));
    assertEquals("9", kept.getMetadata().getResourceVersion());
  }

  @Test
  void aServiceIsComparedByPortAndClusterIp() {
    Service planned = Plan.service(app(false));
    Service kept = Pruned.service(Plan.service(app(false)));
    assertEquals(Pruned.digest(planned), Pruned.digest(kept));
    assertNotEquals(Pruned.digest(Plan.service(app(true))), Pruned.digest(kept));
    planned.getSpec().getPorts().get(0).getTargetPort().setValue(9999);
    assertNotEquals(Pruned.digest(planned), Pruned.digest(kept));
    // The server gives it an address.
    Service seen = Plan.service(app(false));
    seen.getSpec().setClusterIP("10.0.0.1");
    assertEquals(Pruned.digest(seen), Pruned.digest(kept));
  }

  private static void check(
      boolean differs, String name, Consumer<DeploymentBuilder> edit) {
    var edited = new DeploymentBuilder(deployment());
    edit.accept(edited);
    String got = Pruned.digest(edited.build());
    assertEquals(differs, !got.equals(Pruned.digest(deployment())), name);
  }

  private static void container(
      DeploymentBuilder deployment, Consumer<Container> edit) {
    Deployment edited = deployment.build();
    edit.accept(edited.getSpec().getTemplate().getSpec().getContainers().get(0));
    deployment.withSpec(edited.getSpec());
  }

  private static Deployment deployment() {
    Deployment deployment = Plan.deployment(app(false));
    deployment.getMetadata().setOwnerReferences(List.of(Plan.ownerReference(app(false))));
    return deployment;
  }

  private static EdgeApp app(boolean headless) {
    var resources = new EdgeAppSpec.Resources(Map.of("cpu", new Quantity("1000m")), Map.of());
    var env = List.of(new EdgeAppSpec.Variable("EMPTY", ""));
    EdgeApp app = new EdgeApp();
    app.setMetadata(
        new ObjectMetaBuilder().withNamespace("shop").withName("web").withUid("u-1").build());
    app.setSpec(new EdgeAppSpec("web:1", 2, 8080, headless, env, resources, null));
    return app;
  }
}
