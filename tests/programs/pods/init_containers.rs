//! Selection init containers make of a Pod's row, as `printPod` of Kubernetes v1.36.4 has it.

use serde_json::json;

use super::states::{
    AN_HOUR_AGO, FIVE_MINUTES_AGO, and, case, check, ended, inits, killed, one, restarted, running,
    sidecar, started, starting, waiting,
};

#[test]
fn init_containers_by_table() {
    let ij = || inits(&["i", "j"]);
    check(vec![
        case(
            "the first of two runs",
            ij(),
            starting(vec![
                one("i", false, running()),
                one("j", false, waiting("PodInitializing")),
            ]),
            ["0/1", "Init:0/2", "0"],
        ),
        case(
            "the second of two waits for its turn",
            ij(),
            starting(vec![
                one("i", true, ended(0, "Completed")),
                one("j", false, waiting("PodInitializing")),
            ]),
            ["0/1", "Init:1/2", "0"],
        ),
        case(
            "it crashes: its own restarts count, up to it",
            ij(),
            starting(vec![
                restarted(
                    one("i", true, ended(0, "Completed")),
                    1,
                    Some(FIVE_MINUTES_AGO),
                ),
                restarted(
                    one("j", false, waiting("CrashLoopBackOff")),
                    2,
                    Some(AN_HOUR_AGO),
                ),
            ]),
            ["0/1", "Init:CrashLoopBackOff", "3 (5m ago)"],
        ),
        case(
            "it has failed",
            ij(),
            starting(vec![one("i", false, ended(1, "Error"))]),
            ["0/1", "Init:Error", "0"],
        ),
        case(
            "it has failed with an exit code",
            ij(),
            starting(vec![one("i", false, ended(7, ""))]),
            ["0/1", "Init:ExitCode:7", "0"],
        ),
        case(
            "it was killed",
            ij(),
            starting(vec![one("i", false, killed(15))]),
            ["0/1", "Init:Signal:15", "0"],
        ),
        case(
            "all are done: their restarts are forgotten",
            ij(),
            json!({
                "phase": "Running",
                "initContainerStatuses": [
                    restarted(one("i", true, ended(0, "Completed")), 4, Some(AN_HOUR_AGO)),
                    one("j", true, ended(0, "Completed")),
                ],
                "containerStatuses": [one("a", true, running())],
            }),
            ["1/1", "Running", "0"],
        ),
        case(
            "one runs again after the Pod was initialized",
            ij(),
            and(
                json!({
                    "phase": "Running",
                    "initContainerStatuses": [one("i", false, running())],
                    "containerStatuses": [one("a", true, running())],
                }),
                "Initialized",
                "True",
                "",
            ),
            ["1/1", "Init:0/2", "0"],
        ),
        case(
            "a sidecar that has not started",
            sidecar(),
            starting(vec![
                one("i", true, ended(0, "Completed")),
                one("s", false, running()),
            ]),
            ["0/2", "Init:1/2", "0"],
        ),
        case(
            "a sidecar beside its container: its restarts count",
            sidecar(),
            json!({
                "phase": "Running",
                "initContainerStatuses": [
                    restarted(one("i", true, ended(0, "Completed")), 4, Some(FIVE_MINUTES_AGO)),
                    started(restarted(one("s", true, running()), 2, Some(AN_HOUR_AGO))),
                ],
                "containerStatuses": [one("a", true, running())],
            }),
            ["2/2", "Running", "2 (60m ago)"],
        ),
        case(
            "a sidecar that has started and is not ready",
            sidecar(),
            json!({
                "phase": "Running",
                "initContainerStatuses": [
                    one("i", true, ended(0, "Completed")),
                    started(one("s", false, running())),
                ],
                "containerStatuses": [one("a", true, running())],
            }),
            ["1/2", "Running", "0"],
        ),
    ]);
}
