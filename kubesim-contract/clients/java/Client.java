import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentCondition;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import java.io.File;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * An operator's work with fabric8's client: Client.java KUBECONFIG NAMESPACE.
 *
 * <p>Creates, gets, lists, watches (over a WebSocket), changes the status of and deletes a Widget and a Deployment. Prints each
 * step before it begins. Guarantees: an answer that is not as expected ends it with an error. Leaves to others: the CRD, the
 * namespace, and a bound on its time.
 */
public final class Client {
    private static final String NAME = "fabric8";

    @Group("contract.tare.dev")
    @Version("v1")
    public static class Widget extends CustomResource<WidgetSpec, WidgetStatus> implements Namespaced {}

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static class WidgetSpec {
        public int size;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static class WidgetStatus {
        public String phase;
    }

    /** An event of a watch or of an informer. */
    private record Event<T>(String type, T object) {}

    public static void main(String[] arguments) throws Exception {
        Config config = Config.fromKubeconfig(new File(arguments[0]));
        String namespace = arguments[1];
        try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
            var widgets = client.resources(Widget.class).inNamespace(namespace);
            work(widgets, widget(), Client::setRunning, widget ->
                widget.getStatus() != null && "Running".equals(widget.getStatus().phase));
            var deployments = client.apps().deployments().inNamespace(namespace);
            work(deployments, deployment(), Client::addCondition, deployment ->
                deployment.getStatus().getConditions().stream().anyMatch(one -> "Contract".equals(one.getType())));
        }
    }

    private static Widget widget() {
        Widget widget = new Widget();
        widget.getMetadata().setName(NAME);
        widget.setSpec(new WidgetSpec());
        widget.getSpec().size = 1;
        return widget;
    }

    private static void setRunning(Widget widget) {
        widget.setStatus(new WidgetStatus());
        widget.getStatus().phase = "Running";
    }

    private static Deployment deployment() {
        return new DeploymentBuilder()
            .withNewMetadata().withName(NAME).endMetadata()
            .withNewSpec()
            .withReplicas(0)
            .withNewSelector().addToMatchLabels("app", NAME).endSelector()
            .withNewTemplate()
            .withNewMetadata().addToLabels("app", NAME).endMetadata()
            .withNewSpec()
            .addNewContainer().withName("main").withImage("registry.local/web:1.4").endContainer()
            .endSpec()
            .endTemplate()
            .endSpec()
            .build();
    }

    private static void addCondition(Deployment deployment) {
        DeploymentCondition condition = new DeploymentCondition();
        condition.setType("Contract");
        condition.setStatus("True");
        deployment.getStatus().getConditions().add(condition);
    }

    private static <T extends HasMetadata, L extends KubernetesResourceList<T>, R extends Resource<T>> void work(
            NonNamespaceOperation<T, L, R> all, T object, Consumer<T> setStatus, Predicate<T> hasStatus) throws Exception {
        String kind = object.getKind();
        BlockingQueue<Event<T>> events = new LinkedBlockingQueue<>();
        BlockingQueue<Event<T>> informed = new LinkedBlockingQueue<>();

        step(kind, "list nothing");
        expect("items", all.list().getItems().size(), 0);

        step(kind, "watch");
        try (var watch = all.watch(watcher(events)); var informer = all.inform(handler(informed))) {
            step(kind, "create");
            expect("the created", all.resource(object).create().getMetadata().getName(), NAME);

            step(kind, "get");
            expect("the read", all.withName(NAME).get().getMetadata().getName(), NAME);

            step(kind, "list");
            List<String> names = all.list().getItems().stream().map(item -> item.getMetadata().getName()).toList();
            expect("items", names, List.of(NAME));

            step(kind, "watch: created");
            await(events, event -> event.type().equals("ADDED"));

            step(kind, "informer: created");
            await(informed, event -> event.type().equals("ADDED"));

            step(kind, "update the status");
            T changed = all.withName(NAME).editStatus(read -> {
                setStatus.accept(read);
                return read;
            });
            expect("the status", hasStatus.test(changed), true);

            step(kind, "watch: status");
            await(events, event -> event.type().equals("MODIFIED") && hasStatus.test(event.object()));

            step(kind, "delete");
            all.withName(NAME).delete();

            step(kind, "watch: deleted");
            await(events, event -> event.type().equals("DELETED"));

            step(kind, "informer: deleted");
            await(informed, event -> event.type().equals("DELETED"));

            step(kind, "get nothing");
            expect("the deleted", all.withName(NAME).get(), null);
        }
    }

    private static <T> Watcher<T> watcher(BlockingQueue<Event<T>> events) {
        return new Watcher<>() {
            @Override
            public void eventReceived(Action action, T object) {
                events.add(new Event<>(action.name(), object));
            }

            @Override
            public void onClose(WatcherException cause) {
                System.err.println("the watch ended: " + cause);
            }
        };
    }

    private static <T> ResourceEventHandler<T> handler(BlockingQueue<Event<T>> events) {
        return new ResourceEventHandler<>() {
            @Override
            public void onAdd(T object) {
                events.add(new Event<>("ADDED", object));
            }

            @Override
            public void onUpdate(T old, T object) {
                events.add(new Event<>("MODIFIED", object));
            }

            @Override
            public void onDelete(T object, boolean stateUnknown) {
                events.add(new Event<>("DELETED", object));
            }
        };
    }

    private static <T> void await(BlockingQueue<Event<T>> events, Predicate<Event<T>> is) throws InterruptedException {
        while (!is.test(events.take())) {
            // An event before the one that is waited for.
        }
    }

    private static void step(String kind, String what) {
        System.out.println(kind + ": " + what);
    }

    private static void expect(String what, Object got, Object want) {
        if (!java.util.Objects.equals(got, want)) {
            throw new IllegalStateException(what + ": expected " + want + ", got " + got);
        }
    }
}
