//! What becomes of the objects of `loadgen run`: each is accounted for.

use kubesim::RequestFault;
use serde_json::{Value, json};

use crate::program::{signal, wait_for};
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout};
use crate::run::{assert_figures, figure, run_of};

pub fn converges() {
    let simulated_cluster = SimulatedCluster::with_operator("converges");
    let output = simulated_cluster.loadgen(&["run", "--count", "200", "--rate", "100"]);
    assert_eq!(
        code(&output),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let table = stdout(&output);
    for want in [
        "Convergence, ms",
        "P50",
        "P99",
        "sent late",
        "observed, since due",
        "ready, since sent",
    ] {
        assert!(table.contains(want), "{want} not in {table}");
    }
    assert_figures(
        &output,
        &[
            ("asked for", 200),
            ("created", 200),
            ("ready  ", 200),
            ("deleted", 200),
            ("left behind", 0),
        ],
    );
    assert!(
        stderr(&output).contains("it has no nodes, so no pod will run"),
        "{}",
        stderr(&output)
    );
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
    let again = simulated_cluster.loadgen(&["clean"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(
        stdout(&again).starts_with("nothing to remove"),
        "{}",
        stdout(&again)
    );
}

pub fn rejected() {
    let simulated_cluster = SimulatedCluster::with_operator("rejected");
    simulated_cluster.server.faults().on_request(|facts| {
        if (facts.verb, facts.resource) == ("create", "edgeapps") && facts.nth % 5 == 4 {
            RequestFault::Status {
                code: 403,
                reason: "Forbidden".into(),
                message: format!(
                    "edgeapps {:?} is forbidden: exceeded quota",
                    facts.name.unwrap_or("")
                ),
                retry_after_s: None,
            }
        } else {
            RequestFault::Pass
        }
    });
    let output = simulated_cluster.loadgen(&["run", "--count", "20"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    assert_figures(
        &output,
        &[
            ("asked for", 20),
            ("created", 16),
            ("rejected", 4),
            ("deleted", 16),
            ("left behind", 0),
        ],
    );
    assert!(
        stdout(&output).contains("failed 4 times: edgeapps \"\" is forbidden: exceeded quota"),
        "{}",
        stdout(&output)
    );
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

/// The records of shards are compared by the rate as it was given, and so is the reader's table.
pub fn at_a_rate_that_changes() {
    let cluster = SimulatedCluster::without_crd("rates");
    // 5 in the first half second, 10 in the next one, then the rest within 50 ms.
    let words = [
        "run",
        "configmaps",
        "--count",
        "20",
        "--rate",
        "5..15/0.5s,20:0.5s,100",
    ];
    let output = cluster.loadgen(&words);
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    let want = "Convergence, ms, --rate 5..15/0.5s,20:0.5s,100";
    assert!(said.contains(want), "{said}");
    assert!(said.contains("sent late  "), "{said}");
    let want = "20 ConfigMaps at rate 5..15/0.5s,20:0.5s,100 in namespace";
    assert!(stderr(&output).contains(want), "{}", stderr(&output));
    let output = cluster.loadgen(&[&words[..], &["--json"]].concat());
    let record: Value = serde_json::from_str(&stdout(&output)).expect("one line of JSON");
    assert_eq!(record["rate"], json!("5..15/0.5s,20:0.5s,100"));
    let offer_s = record["times"]["offer_s"].as_f64().expect("seconds");
    assert!(
        offer_s >= 1.0,
        "the last object is due after 1 s: {offer_s}"
    );
}

/// Every fourth create meets a server that is overloaded, and every fourth one that is failing.
pub fn disturbed() {
    let cluster = SimulatedCluster::without_crd("disturbed");
    cluster.server.faults().on_request(|facts| {
        let (code, reason, message) = match (facts.verb, facts.resource, facts.nth % 4) {
            ("create", "configmaps", 1) => (429, "TooManyRequests", "too many requests"),
            ("create", "configmaps", 3) => (503, "ServiceUnavailable", "no leader"),
            _ => return RequestFault::Pass,
        };
        RequestFault::Status {
            code,
            reason: reason.into(),
            message: message.into(),
            retry_after_s: None,
        }
    });
    let output = cluster.loadgen(&["run", "configmaps", "--count", "20"]);
    let said = stdout(&output);
    assert_eq!(code(&output), Some(1), "{said}{}", stderr(&output));
    let figures = [
        ("asked for", 20),
        ("created", 10),
        ("disturbed (429 or 5xx)", 10),
        ("deleted", 10),
        ("left behind", 0),
    ];
    assert_figures(&output, &figures);
    assert_eq!(figure(&said, "rejected"), None, "{said}");
    for want in [
        "disturbed: the server was overloaded or failing and answered 429 5 times, 503 5 times",
        "failed 5 times: no leader",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let output = cluster.loadgen(&["run", "configmaps", "--count", "4", "--json"]);
    let record: Value = serde_json::from_str(&stdout(&output)).expect("one line of JSON");
    let account = &record["account"];
    assert_eq!(account["disturbances"], json!({"429": 1, "503": 1}));
    assert_eq!(
        (&account["disturbed"], &account["rejected"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
}

pub fn ctrl_c() {
    let simulated_cluster = SimulatedCluster::with_operator("ctrl-c");
    let run = simulated_cluster.start(&["run", "--count", "5000", "--rate", "100"]);
    wait_for("objects", || {
        simulated_cluster.server.objects("deployments").len() > 20
    });
    signal(&run, "-INT");
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    let text = stdout(&output);
    let (created, not_sent) = (figure(&text, "created"), figure(&text, "not sent"));
    let all = created
        .zip(not_sent)
        .map(|(created, not_sent)| created + not_sent);
    assert_eq!(all, Some(5000), "{text}");
    assert_eq!(figure(&text, "deleted"), created, "{text}");
    assert_eq!(figure(&text, "left behind"), Some(0), "{text}");
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

/// As `timeout` sends it.
pub fn two_signals_at_once() {
    let simulated_cluster = SimulatedCluster::new("two-signals");
    let run = simulated_cluster.start(&["run", "edgeapp", "--count", "5000", "--rate", "100"]);
    wait_for("objects", || {
        simulated_cluster.server.objects("edgeapps").len() > 20
    });
    signal(&run, "-TERM");
    std::thread::sleep(std::time::Duration::from_millis(20));
    signal(&run, "-TERM");
    let output = run.wait_with_output().expect("it ends");
    let said = stderr(&output);
    assert_eq!(code(&output), Some(130), "{said}");
    // A third signal would end it before it has cleaned up.
    let later = said.split("clean up later with: ").nth(1);
    let later = later.and_then(|rest| rest.lines().next());
    let whole = format!(
        " clean --run {} --workload edgeapp --kubeconfig ",
        run_of(&output)
    );
    assert!(later.is_some_and(|later| later.contains(&whole)), "{said}");
    let text = stdout(&output);
    assert_eq!(figure(&text, "left behind"), Some(0), "{text}");
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

pub fn no_operator() {
    let simulated_cluster = SimulatedCluster::new("no-operator");
    let output = simulated_cluster.loadgen(&["run", "--count", "3", "--deadline-s", "2"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no operator seems to be running"),
        "{}",
        stderr(&output)
    );
    assert_figures(
        &output,
        &[
            ("created", 3),
            ("not observed (censored)", 3),
            ("deleted", 3),
            ("left behind", 0),
        ],
    );
    for want in [
        "3 did not converge within 2 s",
        "-0: it has no /status/observedGeneration; it has no condition Ready",
        "-0 has no status",
        "there is no Event about it",
    ] {
        assert!(
            stdout(&output).contains(want),
            "{want}: {}",
            stdout(&output)
        );
    }
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}
