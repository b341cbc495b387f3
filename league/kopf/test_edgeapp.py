"""Tests of the plan and the status; `python3 -m unittest` needs nothing but the standard library."""

import json
import unittest
from pathlib import Path
from typing import Any

import edgeapp

FIXTURES = Path(__file__).parent / "../../baselines/fixtures"


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


class Children(unittest.TestCase):
    def test_a_created_child_is_as_planned(self) -> None:
        plan = edgeapp.deployment_plan("web", app(port=80, env=[{"name": "A"}])["spec"])
        created = edgeapp.to_create(plan)
        self.assertFalse(edgeapp.differs(plan, created))
        # What the API server leaves out and fills in is no difference.
        container = created["spec"]["template"]["spec"]["containers"][0]
        del container["env"][0]["value"]
        container["imagePullPolicy"] = "IfNotPresent"
        self.assertFalse(edgeapp.differs(plan, created))

    def test_what_the_plan_removes_is_a_difference(self) -> None:
        before = edgeapp.to_create(edgeapp.deployment_plan("web", app(env=[{"name": "A", "value": "1"}])["spec"]))
        self.assertTrue(edgeapp.differs(edgeapp.deployment_plan("web", app()["spec"]), before))
        headless = edgeapp.to_create(edgeapp.service_plan("web", app(port=80, headless=True)["spec"]))
        self.assertTrue(edgeapp.differs(edgeapp.service_plan("web", app(port=80)["spec"]), headless))

    def test_quantities_are_compared_as_numbers(self) -> None:
        for planned, actual, differs in [("1000m", "1", False), ("0.5Gi", "512Mi", False), ("1", "2", True)]:
            with self.subTest(f"{planned} and {actual}"):
                plan = {"resources": {"limits": {"cpu": planned}}}
                self.assertEqual(edgeapp.differs(plan, {"resources": {"limits": {"cpu": actual}}}), differs)
        self.assertTrue(edgeapp.differs({"env": [{"value": "1000m"}]}, {"env": [{"value": "1"}]}), "no quantity")

    def test_a_cluster_ip_cannot_be_given_up(self) -> None:
        headless = edgeapp.service_plan("web", app(port=80, headless=True)["spec"])
        for name, plan, cluster_ip, replaced in [
            ("headless as planned", headless, "None", False),
            ("has one and must not", headless, "10.0.0.1", True),
            ("has none and must", edgeapp.service_plan("web", app(port=80)["spec"]), "None", True),
        ]:
            with self.subTest(name):
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
