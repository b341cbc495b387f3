//! `PodExt` says what `printPod` of Kubernetes v1.36.4 says, state by state.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::example::pod_ext::PodExt;
use super::states::{
    AN_HOUR_AGO, FIVE_MINUTES_AGO, and, case, check, ended, killed, now, one, pod, restarted,
    running, sidecar, two, waiting, with,
};

#[test]
fn containers_by_table() {
    let none = || json!({});
    check(vec![
        case(
            "nobody has seen it",
            none(),
            json!({ "phase": "Pending" }),
            ["0/1", "Pending", "0"],
        ),
        case("no status", none(), json!({}), ["0/1", "", "0"]),
        case(
            "running",
            none(),
            with("Running", vec![one("a", true, running())]),
            ["1/1", "Running", "0"],
        ),
        case(
            "running and not ready",
            none(),
            with("Running", vec![one("a", false, running())]),
            ["0/1", "Running", "0"],
        ),
        case(
            "its image is pulled",
            none(),
            with(
                "Pending",
                vec![one("a", false, waiting("ContainerCreating"))],
            ),
            ["0/1", "ContainerCreating", "0"],
        ),
        case(
            "waiting for no reason",
            none(),
            with("Pending", vec![one("a", false, json!({ "waiting": {} }))]),
            ["0/1", "Pending", "0"],
        ),
        case(
            "crashing",
            none(),
            with(
                "Running",
                vec![restarted(
                    one("a", false, waiting("CrashLoopBackOff")),
                    3,
                    Some(FIVE_MINUTES_AGO),
                )],
            ),
            ["0/1", "CrashLoopBackOff", "3 (5m ago)"],
        ),
        case(
            "restarted, nobody knows when",
            none(),
            with(
                "Running",
                vec![restarted(one("a", true, running()), 3, None)],
            ),
            ["1/1", "Running", "3"],
        ),
        case(
            "the last restart of several containers counts",
            two(),
            with(
                "Running",
                vec![
                    restarted(one("a", true, running()), 1, Some(FIVE_MINUTES_AGO)),
                    restarted(one("b", true, running()), 2, Some(AN_HOUR_AGO)),
                ],
            ),
            ["2/2", "Running", "3 (5m ago)"],
        ),
        case(
            "done",
            none(),
            with("Succeeded", vec![one("a", false, ended(0, "Completed"))]),
            ["0/1", "Completed", "0"],
        ),
        case(
            "failed",
            none(),
            with("Failed", vec![one("a", false, ended(1, "Error"))]),
            ["0/1", "Error", "0"],
        ),
        case(
            "too much memory",
            none(),
            with("Failed", vec![one("a", false, ended(137, "OOMKilled"))]),
            ["0/1", "OOMKilled", "0"],
        ),
        case(
            "an exit code without a reason",
            none(),
            with("Failed", vec![one("a", false, ended(3, ""))]),
            ["0/1", "ExitCode:3", "0"],
        ),
        case(
            "a signal without a reason",
            none(),
            with("Failed", vec![one("a", false, killed(9))]),
            ["0/1", "Signal:9", "0"],
        ),
        case(
            "the Pod's own reason",
            none(),
            json!({ "phase": "Failed", "reason": "Evicted" }),
            ["0/1", "Evicted", "0"],
        ),
        case(
            "the first container's word counts",
            two(),
            with(
                "Pending",
                vec![
                    one("a", false, waiting("ImagePullBackOff")),
                    one("b", false, waiting("ContainerCreating")),
                ],
            ),
            ["0/2", "ImagePullBackOff", "0"],
        ),
        case(
            "one runs, one is done, ready",
            two(),
            and(
                with(
                    "Running",
                    vec![
                        one("a", false, ended(0, "Completed")),
                        one("b", true, running()),
                    ],
                ),
                "Ready",
                "True",
                "",
            ),
            ["1/2", "Running", "0"],
        ),
        case(
            "one runs, one is done, not ready",
            two(),
            and(
                with(
                    "Running",
                    vec![
                        one("a", false, ended(0, "Completed")),
                        one("b", true, running()),
                    ],
                ),
                "Ready",
                "False",
                "",
            ),
            ["1/2", "NotReady", "0"],
        ),
        case(
            "one is done, one has failed",
            two(),
            with(
                "Failed",
                vec![
                    one("a", false, ended(0, "Completed")),
                    one("b", false, ended(2, "Error")),
                ],
            ),
            ["0/2", "Error", "0"],
        ),
        case(
            "not to be scheduled yet",
            none(),
            and(
                json!({ "phase": "Pending" }),
                "PodScheduled",
                "False",
                "SchedulingGated",
            ),
            ["0/1", "SchedulingGated", "0"],
        ),
        case(
            "the node does not answer",
            none(),
            json!({ "phase": "Unknown" }),
            ["0/1", "Unknown", "0"],
        ),
    ]);
}

#[test]
fn what_is_being_deleted_is_terminating() {
    let word = |status: Value| {
        let mut pod = pod(json!({}), status);
        pod.metadata.deletion_timestamp = Some(Time(FIVE_MINUTES_AGO.parse().unwrap()));
        pod.status()
    };
    let runs = with("Running", vec![one("a", true, running())]);
    assert_eq!(word(runs), "Terminating");
    let done = with("Succeeded", vec![one("a", false, ended(0, "Completed"))]);
    assert_eq!(word(done), "Completed", "what has ended does not end again");
    let lost = json!({ "phase": "Running", "reason": "NodeLost" });
    assert_eq!(word(lost), "Unknown");
}

#[test]
fn the_rest_of_a_pod() {
    let mut full = pod(
        json!({ "readinessGates": [{ "conditionType": "x/one" }, { "conditionType": "x/two" }] }),
        json!({
            "podIP": "10.0.0.7", "podIPs": [{ "ip": "10.0.0.7" }, { "ip": "fd00::7" }],
            "conditions": [{ "type": "x/one", "status": "True" }, { "type": "x/two", "status": "False" }],
        }),
    );
    assert_eq!(full.ip(), Some("10.0.0.7"));
    assert_eq!(full.readiness_gates(), Some((1, 2)));
    assert_eq!(full.age(now()), "<unknown>");
    full.metadata.creation_timestamp = Some(Time(AN_HOUR_AGO.parse().unwrap()));
    assert_eq!(full.age(now()), "60m");
    let names = |pod: &Pod| -> Vec<String> {
        let all = pod.containers();
        all.into_iter().map(|one| one.name.clone()).collect()
    };
    let empty = Pod::default();
    assert_eq!((empty.ip(), empty.readiness_gates()), (None, None));
    assert_eq!(
        (empty.ready(), empty.status(), names(&empty)),
        ((0, 0), String::new(), vec![])
    );
    assert_eq!(names(&pod(sidecar(), json!({}))), ["s", "a"]);
}
