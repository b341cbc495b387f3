package dev.tare.league;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tare.league.EdgeAppStatus.Condition;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class PlanTest {

  private static final Path FIXTURES = Path.of("../fixtures");
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What the Rust operator plans, which writes the fixtures, is what is planned here. */
  @TestFactory
  List<DynamicTest> thePlanIsThatOfTare() throws IOException {
    try (var files = Files.list(FIXTURES)) {
      List<Path> fixtures = files.filter(Files::isRegularFile).sorted().toList();
      assertFalse(fixtures.isEmpty(), "no fixtures in " + FIXTURES.toAbsolutePath());
      return fixtures.stream()
          .map(path -> DynamicTest.dynamicTest(path.getFileName().toString(), () -> check(path)))
          .toList();
    }
  }

  private static void check(Path path) throws IOException {
    JsonNode fixture = JSON.readTree(path.toFile());
    EdgeApp app = app(fixture.get("owner"));
    JsonNode want = fixture.get("plan");
    assertEquals(
        withoutNulls(want.get("deployment")), withoutIdentity(Plan.deployment(app)), "Deployment");
    if (app.getSpec().port() == null) {
      assertEquals(withoutNulls(want.get("service")), JSON.nullNode(), "Service");
    } else {
      assertEquals(
          withoutNulls(want.get("service")), withoutIdentity(Plan.service(app)), "Service");
    }
    JsonNode seen = fixture.get("deployment");
    Progress progress =
        seen.isNull() ? Progress.NONE : JSON.convertValue(seen, Progress.class);
    JsonNode failure = fixture.get("failure");
    EdgeAppStatus status =
        failure.isNull()
            ? Plan.observed(app, progress, Instant.EPOCH)
            : Plan.degraded(
                app,
                progress,
                failure.get("reason").asText(),
                failure.get("message").asText(),
                Instant.EPOCH);
    JsonNode got = JSON.valueToTree(status);
    got.get("conditions").forEach(one -> ((ObjectNode) one).remove("lastTransitionTime"));
    assertEquals(reread(want.get("status")), reread(got), "status");
  }

  @Test
  void aTransitionTimeMovesOnlyWithItsStatus() {
    EdgeApp app = new EdgeApp();
    app.setMetadata(new ObjectMetaBuilder().withName("web").withGeneration(1L).build());
    app.setSpec(new EdgeAppSpec("web:1", 1, null, null, null, null, null));
    app.setStatus(Plan.observed(app, Progress.NONE, Instant.ofEpochSecond(1)));
    assertEquals(
        app.getStatus(), Plan.observed(app, Progress.NONE, Instant.ofEpochSecond(2)), "no change");
    var running = Plan.observed(app, new Progress(1, 1, 1, 1, 1, false), Instant.ofEpochSecond(3));
    assertEquals(
        "Ready 1970-01-01T00:00:03Z, Progressing 1970-01-01T00:00:03Z,"
            + " Degraded 1970-01-01T00:00:01Z",
        running.conditions().stream()
            .map(condition -> condition.type() + " " + condition.lastTransitionTime())
            .collect(Collectors.joining(", ")));
  }

  @Test
  void aQuantityMayBeANumber() throws IOException {
    var resources =
        JSON.readValue(
            "{\"limits\": {\"cpu\": 1, \"memory\": \"64Mi\"}}", EdgeAppSpec.Resources.class);
    assertEquals(new Quantity("1"), resources.limits().get("cpu"));
    assertEquals(new Quantity("64Mi"), resources.limits().get("memory"));
  }

  private static EdgeApp app(JsonNode owner) {
    EdgeApp app = new EdgeApp();
    app.setMetadata(
        new ObjectMetaBuilder()
            .withNamespace(owner.get("namespace").asText())
            .withName(owner.get("name").asText())
            .withGeneration(owner.get("generation").asLong())
            .build());
    app.setSpec(JSON.convertValue(owner.get("spec"), EdgeAppSpec.class));
    long observed = owner.get("observedGeneration").asLong();
    app.setStatus(new EdgeAppStatus(null, 0, 0, null, null, observed, List.<Condition>of()));
    return app;
  }

  /** Takes away what the fixtures leave to the runtime: kind, name, and the labels of identity. */
  private static JsonNode withoutIdentity(Object child) {
    ObjectNode json = JSON.valueToTree(child);
    json.remove(List.of("apiVersion", "kind"));
    ObjectNode metadata = (ObjectNode) json.get("metadata");
    assertEquals("web", metadata.remove("name").asText());
    assertEquals("shop", metadata.remove("namespace").asText());
    ObjectNode labels = (ObjectNode) metadata.get("labels");
    assertEquals("web", labels.remove(Plan.OWNER_LABEL).asText());
    assertEquals(Plan.MANAGED_BY, labels.remove(Plan.MANAGED_BY_LABEL).asText());
    return withoutNulls(json);
  }

  /** What is null in a plan is absent in an applied object, and so is an object without fields. */
  private static JsonNode withoutNulls(JsonNode json) {
    if (json.isObject()) {
      ObjectNode kept = JSON.createObjectNode();
      json.properties()
          .forEach(
              field -> {
                JsonNode value = withoutNulls(field.getValue());
                if (!value.isNull() && !(value.isObject() && value.isEmpty())) {
                  kept.set(field.getKey(), value);
                }
              });
      return kept;
    }
    if (json.isArray()) {
      var kept = JSON.createArrayNode();
      json.forEach(item -> kept.add(withoutNulls(item)));
      return kept;
    }
    return json;
  }

  /** Numbers of different widths are equal once they are text. */
  private static JsonNode reread(JsonNode json) throws IOException {
    return JSON.readTree(JSON.writeValueAsString(json));
  }
}
