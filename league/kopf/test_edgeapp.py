"""Tests of the plan and the status; `python3 -m unittest` needs nothing but the standard library."""

import json
import unittest
from pathlib import Path
from typing import Any

import edgeapp

FIXTURES = Path(__file__).parent / "../fixtures"


def as_planned(plan: Any) -> Any:
    """The plan without the labels that every operator adds, as the fixtures have it."""
    if plan is None:
        return None
    labels = plan["metadata"]["labels"]
    del labels[edgeapp.OWNER_LABEL], labels[edgeapp.MANAGED_BY_LABEL]
    if not labels:
        del plan["metadata"]
    return plan


def app(**spec: Any) -> dict[str, Any]:
    meta = {"name": "web", "namespace": "shop", "generation": 1}
    return {"metadata": meta, "spec": {"image": "web:1", "replicas": 1, **spec}}


READY = edgeapp.Progress(exists=True, replicas=1, updated_replicas=1, ready_replicas=1)


class Fixtures(unittest.TestCase):
    def test_plan_and_status_are_those_of_the_other_operators(self) -> None:
        paths = sorted(FIXTURES.glob("plan-*.json"))
        self.assertTrue(paths, f"no fixtures in {FIXTURES}")
        for path in paths:
            with self.subTest(path.name):
                case = json.loads(path.read_text())
                owner, seen = case["owner"], case["deployment"]
                meta = {key: owner[key] for key in ("name", "namespace", "generation")}
                before = {"observedGeneration": owner["observedGeneration"]}
                read = {"metadata": meta, "spec": owner["spec"], "status": before}
                progress = edgeapp.Progress()
                if seen:
                    progress = edgeapp.Progress(
                        exists=True,
                        generation=seen["generation"],
                        observed_generation=seen["observedGeneration"],
                        replicas=seen["replicas"],
                        updated_replicas=seen["updatedReplicas"],
                        ready_replicas=seen["readyReplicas"],
                        stalled=seen["stalled"],
                    )
                failure = edgeapp.Failure(**case["failure"]) if case["failure"] else None
                want = case["plan"]
                self.assertEqual(as_planned(edgeapp.deployment_plan("web", owner["spec"])), want["deployment"])
                self.assertEqual(as_planned(edgeapp.service_plan("web", owner["spec"])), want["service"])
                self.assertEqual(edgeapp.status(read, progress, failure), want["status"])


def planned(kind: edgeapp.Kind, **spec: Any) -> Any:
    """A child as it is created."""
    return edgeapp.to_create(kind.plan("web", app(**spec)["spec"]))


class Children(unittest.TestCase):
    def test_what_the_api_server_adds_is_no_difference(self) -> None:
        created = planned(edgeapp.DEPLOYMENT, port=80, env=[{"name": "A"}], resources={"limits": {"cpu": "1000m"}})
        before = edgeapp.deployment_fingerprint(created)
        container = created["spec"]["template"]["spec"]["containers"][0]
        del container["env"][0]["value"]
        container["imagePullPolicy"] = "IfNotPresent"
        container["resources"]["limits"]["cpu"] = "1"
        created["metadata"]["labels"]["theirs"] = "stays"
        self.assertEqual(edgeapp.deployment_fingerprint(created), before)
        service = planned(edgeapp.SERVICE, port=80)
        before = edgeapp.service_fingerprint(service)
        service["spec"]["clusterIP"] = "10.0.0.1"
        service["spec"]["ports"][0]["nodePort"] = 30000
        self.assertEqual(edgeapp.service_fingerprint(service), before)

    def test_what_the_spec_decides_is_a_difference(self) -> None:
        cases: list[tuple[edgeapp.Kind, dict[str, Any], dict[str, Any]]] = [
            (edgeapp.DEPLOYMENT, {"env": [{"name": "A", "value": "1"}]}, {}),
            (edgeapp.DEPLOYMENT, {"env": [{"name": "A", "value": "1000m"}]}, {"env": [{"name": "A", "value": "1"}]}),
            (edgeapp.DEPLOYMENT, {"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "2"}}}),
            (edgeapp.DEPLOYMENT, {"replicas": 0}, {}),
            (edgeapp.DEPLOYMENT, {"port": 80}, {"port": 81}),
            (edgeapp.SERVICE, {"port": 80}, {"port": 81}),
            (edgeapp.SERVICE, {"port": 80, "headless": True}, {"port": 80}),
        ]
        for kind, before, after in cases:
            with self.subTest(f"{kind.name}: {before} to {after}"):
                self.assertNotEqual(kind.fingerprint(planned(kind, **before)), kind.fingerprint(planned(kind, **after)))

    def test_equal_quantities_are_equal(self) -> None:
        for one, other in [("1000m", "1"), ("0.5Gi", "512Mi"), ("1e3", "1k"), ("12E", "12000P")]:
            with self.subTest(f"{one} and {other}"):
                self.assertEqual(
                    *(
                        edgeapp.deployment_fingerprint(planned(edgeapp.DEPLOYMENT, resources={"limits": {"x": text}}))
                        for text in (one, other)
                    )
                )

    def test_a_cluster_ip_cannot_be_given_up(self) -> None:
        for name, headless, cluster_ip, replaced in [
            ("headless as planned", True, "None", False),
            ("has one and must not", True, "10.0.0.1", True),
            ("has one as planned", False, "10.0.0.1", False),
            ("has none and must", False, "None", True),
        ]:
            with self.subTest(name):
                plan = planned(edgeapp.SERVICE, port=80, headless=headless)
                self.assertEqual(edgeapp.must_be_replaced(plan, {"spec": {"clusterIP": cluster_ip}}), replaced)

    def test_a_collision_says_whose_the_child_is(self) -> None:
        owner = {"kind": "HelmRelease", "name": "web", "uid": "u", "controller": True}
        for owners, says in [([owner], 'belongs to HelmRelease "web"'), ([], "was not made by this operator")]:
            child = {"metadata": {"name": "web", "ownerReferences": owners}}
            self.assertIn(says, edgeapp.collision("Deployment", child).message)


class Status(unittest.TestCase):
    def test_a_transition_time_moves_only_with_its_status(self) -> None:
        waiting = edgeapp.status_patch(edgeapp.status(app(), edgeapp.Progress()), None, "1st")
        assert waiting is not None
        again = edgeapp.status_patch(edgeapp.status(app(), edgeapp.Progress()), waiting, "2nd")
        self.assertIsNone(again, "nothing changed")
        running = edgeapp.status_patch(edgeapp.status(app(), READY), waiting, "3rd")
        assert running is not None
        times = {c["type"]: c["lastTransitionTime"] for c in running["conditions"]}
        self.assertEqual(times, {"Ready": "3rd", "Progressing": "3rd", "Degraded": "1st"})

    def test_an_endpoint_that_is_gone_is_removed(self) -> None:
        before = edgeapp.status_patch(edgeapp.status(app(port=80), READY), None, "1st")
        patch = edgeapp.status_patch(edgeapp.status(app(), READY), before, "2nd")
        assert patch is not None
        self.assertIsNone(patch["endpoint"])


if __name__ == "__main__":
    unittest.main()
