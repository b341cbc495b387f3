"""An operator's work with the official Python client: client.py KUBECONFIG NAMESPACE.

Creates, gets, lists, watches, changes the status of and deletes a Widget (as a dict) and a Deployment (typed). Prints each step
before it begins. Guarantees: an answer that is not as expected ends it with an error. Leaves to others: the CRD, the namespace,
and a bound on its time.
"""

import sys
from typing import Any, Callable, NamedTuple

from kubernetes import client, config, watch


class Kind(NamedTuple):
    """One kind: its calls, and how its objects look."""

    name: str
    create: Callable[[Any], Any]
    get: Callable[[str], Any]
    list: Callable[[], Any]
    watch: Callable[[str], Any]
    replace_status: Callable[[str, Any], Any]
    delete: Callable[[str], Any]
    object: Callable[[str], Any]
    set_status: Callable[[Any], None]
    has_status: Callable[[Any], bool]


def widgets(namespace: str) -> Kind:
    api = client.CustomObjectsApi()
    of = ("contract.tare.dev", "v1", namespace, "widgets")
    return Kind(
        name="Widget",
        create=lambda body: api.create_namespaced_custom_object(*of, body),
        get=lambda name: api.get_namespaced_custom_object(*of, name),
        list=lambda: api.list_namespaced_custom_object(*of),
        watch=lambda version: watch.Watch().stream(
            api.list_namespaced_custom_object, *of, resource_version=version
        ),
        replace_status=lambda name, body: api.replace_namespaced_custom_object_status(*of, name, body),
        delete=lambda name: api.delete_namespaced_custom_object(*of, name),
        object=lambda name: {
            "apiVersion": "contract.tare.dev/v1",
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": {"size": 1},
        },
        set_status=lambda widget: widget.update(status={"phase": "Running"}),
        has_status=lambda widget: widget.get("status") == {"phase": "Running"},
    )


def deployment(name: str) -> client.V1Deployment:
    labels = {"app": name}
    container = client.V1Container(name="main", image="registry.local/web:1.4")
    pod = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    selector = client.V1LabelSelector(match_labels=labels)
    spec = client.V1DeploymentSpec(replicas=0, selector=selector, template=pod)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


def deployments(namespace: str) -> Kind:
    api = client.AppsV1Api()
    condition = client.V1DeploymentCondition(type="Contract", status="True")

    def set_status(deployment: client.V1Deployment) -> None:
        deployment.status.conditions = (deployment.status.conditions or []) + [condition]

    return Kind(
        name="Deployment",
        create=lambda body: api.create_namespaced_deployment(namespace, body),
        get=lambda name: api.read_namespaced_deployment(name, namespace),
        list=lambda: api.list_namespaced_deployment(namespace),
        # By the function itself: its documentation tells the stream the type of the objects.
        watch=lambda version: watch.Watch().stream(
            api.list_namespaced_deployment, namespace, resource_version=version
        ),
        replace_status=lambda name, body: api.replace_namespaced_deployment_status(name, namespace, body),
        delete=lambda name: api.delete_namespaced_deployment(name, namespace),
        object=deployment,
        set_status=set_status,
        has_status=lambda read: "Contract" in [one.type for one in read.status.conditions or []],
    )


def metadata(object: Any) -> tuple[str, str]:
    """The name and the resourceVersion."""
    if isinstance(object, dict):
        return object["metadata"].get("name"), object["metadata"]["resourceVersion"]
    return getattr(object.metadata, "name", None), object.metadata.resource_version


def work(kind: Kind) -> None:
    name = "python"

    def step(what: str) -> None:
        print(f"{kind.name}: {what}", flush=True)

    def expect(what: str, got: Any, want: Any) -> None:
        if got != want:
            raise SystemExit(f"{kind.name}: {what}: expected {want!r}, got {got!r}")

    step("list nothing")
    empty = kind.list()
    expect("items", items(empty), [])

    step("create")
    expect("the created", metadata(kind.create(kind.object(name)))[0], name)

    step("get")
    expect("the read", metadata(kind.get(name))[0], name)

    step("list")
    expect("items", [metadata(item)[0] for item in items(kind.list())], [name])

    step("update the status")
    while True:
        read = kind.get(name)
        kind.set_status(read)
        try:
            expect("the status", kind.has_status(kind.replace_status(name, read)), True)
            break
        except client.ApiException as refusal:
            # Whoever makes it ready wrote in between.
            expect("the refusal", refusal.status, 409)

    step("watch: created")
    events = kind.watch(metadata(empty)[1])
    first = next(events)
    expect("the first event", (first["type"], metadata(first["object"])[0]), ("ADDED", name))

    step("watch: status")
    while not kind.has_status(next(events)["object"]):
        pass

    step("delete")
    kind.delete(name)

    step("watch: deleted")
    while next(events)["type"] != "DELETED":
        pass

    step("get nothing")
    try:
        kind.get(name)
        raise SystemExit(f"{kind.name}: it is still there")
    except client.ApiException as refusal:
        expect("the refusal", refusal.status, 404)


def items(listed: Any) -> list:
    return listed["items"] if isinstance(listed, dict) else listed.items


if __name__ == "__main__":
    kubeconfig, namespace = sys.argv[1:]
    config.load_kube_config(kubeconfig)
    for kind in (widgets(namespace), deployments(namespace)):
        work(kind)
