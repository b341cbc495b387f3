//! `loadgen run` and `loadgen clean` against the simulated server on loopback: every object is
//! accounted for, and nothing is left behind, however it ends.
//!
//! What needs an operator uses the `tare` binary of the same build and is listed as ignored where
//! that was not built (`cargo build -p tare`; `cargo test --workspace` builds it).

mod bad_workloads;
mod operator;
mod shards;
mod simulated_cluster;
mod workloads;

use std::process::{ExitCode, Output};
use std::time::Instant;

use kubesim::RequestFault;
use libtest_mimic::{Arguments, Failed, Trial};
use simulated_cluster::{
    SimulatedCluster, assert_success, code, loadgen, signal, stderr, stdout, tare, wait_for,
};

type Scenario = fn();

const WITHOUT_OPERATOR: [(&str, Scenario); 21] = [
    (
        "a_missing_crd_is_one_line_that_says_how_to_install_it",
        missing_crd,
    ),
    ("a_context_that_is_not_local_is_rejected_unasked", not_local),
    ("unusable_kubeconfigs_are_one_line", unusable_kubeconfigs),
    ("a_server_that_is_gone_is_one_line", server_gone),
    (
        "without_an_operator_there_is_a_hint_and_all_is_censored",
        no_operator,
    ),
    ("clean_removes_one_run_and_nothing_of_others", clean_one_run),
    ("a_finalizer_that_nobody_serves_is_named", held_up),
    (
        "a_workload_without_an_operator_converges",
        workloads::configmaps,
    ),
    (
        "fixtures_are_there_before_the_objects_and_go_after_them",
        workloads::fixtures,
    ),
    (
        "a_fixture_that_is_there_already_stays",
        workloads::fixture_of_others,
    ),
    (
        "a_fixture_that_is_not_served_is_one_line_and_nothing_is_left",
        workloads::unserved_fixture,
    ),
    (
        "objects_of_several_kinds_are_accounted_for_together",
        workloads::several_kinds,
    ),
    (
        "a_bad_workload_is_one_line_with_its_place_and_leaves_nothing",
        bad_workloads::every_kind_is_one_line_and_leaves_nothing,
    ),
    (
        "a_missing_permission_is_one_line_with_whom_to_ask",
        bad_workloads::without_permission,
    ),
    ("lint_tries_an_object_and_creates_nothing", workloads::lint),
    (
        "an_operator_in_the_cluster_is_measured_and_its_source_is_named",
        operator::measured,
    ),
    (
        "an_operator_that_is_killed_for_memory_is_noticed",
        operator::killed_for_memory,
    ),
    (
        "an_operator_that_cannot_be_measured_is_one_line_and_nothing_is_created",
        operator::not_measurable,
    ),
    (
        "a_namespace_goes_with_the_config_map_that_every_namespace_has",
        workloads::root_ca,
    ),
    ("shards_of_a_run_count_as_one_run", shards::as_one_run),
    ("a_shard_that_cannot_be_is_one_line", shards::bad_shards),
];

const WITH_OPERATOR: [(&str, Scenario); 4] = [
    ("a_run_converges_and_leaves_nothing", converges),
    ("rejected_creates_are_accounted_for", rejected),
    ("ctrl_c_midway_cleans_up", ctrl_c),
    ("clean_removes_what_a_killed_run_left", killed),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |(name, scenario): (&str, Scenario)| {
        Trial::test(name, move || {
            scenario();
            Ok::<(), Failed>(())
        })
    };
    let operator_is_missing = tare().is_none();
    if operator_is_missing {
        eprintln!(
            "ignored: what needs an operator, because tare was not built; cargo build -p tare"
        );
    }
    let with = WITH_OPERATOR.map(|scenario| trial(scenario).with_ignored_flag(operator_is_missing));
    let trials = WITHOUT_OPERATOR
        .map(trial)
        .into_iter()
        .chain(with)
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The figure beside a label of the account.
fn figure(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.trim().starts_with(label))?;
    line.split_whitespace()
        .last()?
        .replace(',', "")
        .parse()
        .ok()
}

fn assert_figures(output: &Output, want: &[(&str, u64)]) {
    let text = stdout(output);
    for (label, count) in want {
        assert_eq!(
            figure(&text, label),
            Some(*count),
            "{label}: {text}{}",
            stderr(output)
        );
    }
}

/// Runs of the namespaces on the server, as they are in the namespaces' names.
fn run_of(output: &Output) -> String {
    let said = stderr(output);
    let line = said.lines().find_map(|line| line.strip_prefix("run "));
    let run = line.and_then(|line| line.split(':').next());
    run.unwrap_or_else(|| panic!("no run in {said}")).to_owned()
}

fn converges() {
    let simulated_cluster = SimulatedCluster::with_operator("converges");
    let output = simulated_cluster.loadgen(&["run", "--count", "200", "--rate", "100"]);
    assert_success(&output);
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
    assert_success(&again);
    assert!(
        stdout(&again).starts_with("nothing to remove"),
        "{}",
        stdout(&again)
    );
}

fn rejected() {
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

fn ctrl_c() {
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

fn killed() {
    let simulated_cluster = SimulatedCluster::with_operator("killed");
    let mut run = simulated_cluster.start(&["run", "--count", "5000", "--rate", "100"]);
    wait_for("objects", || {
        simulated_cluster.server.objects("deployments").len() > 20
    });
    signal(&run, "-KILL");
    run.wait().expect("it ends");
    assert!(!simulated_cluster.left().is_empty());
    let output = simulated_cluster.loadgen(&["clean"]);
    assert_success(&output);
    let text = stdout(&output);
    assert!(
        text.contains("EdgeApps and 1 namespaces; 0 EdgeApps left"),
        "{text}"
    );
    assert!(
        stderr(&output).contains(" EdgeApps in namespace loadgen-"),
        "{}",
        stderr(&output)
    );
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

fn missing_crd() {
    let simulated_cluster = SimulatedCluster::without_crd("no-crd");
    let output = simulated_cluster.loadgen(&["run", "--count", "3"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(1), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    for want in [
        "does not serve edgeapps.tare.dev",
        "loadgen workloads edgeapp --crds | kubectl apply",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let clean = simulated_cluster.loadgen(&["clean"]);
    assert_success(&clean);
    assert!(
        stdout(&clean).contains("nothing to remove"),
        "{}",
        stdout(&clean)
    );
}

fn not_local() {
    // TEST-NET-3: whoever sent something there would wait for an answer that never comes.
    let file = simulated_cluster::kubeconfig_file("not-local", "https://203.0.113.7:6443");
    let started = Instant::now();
    for args in [vec!["run", "--count", "3"], vec!["clean"]] {
        let output = loadgen(&args, &file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(2), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        for want in ["https://203.0.113.7:6443", "not local", "--yes"] {
            assert!(said.contains(want), "{want} not in {said}");
        }
    }
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

fn unusable_kubeconfigs() {
    let file = simulated_cluster::kubeconfig_file("unusable", "https://127.0.0.1:1");
    let absent = file.with_file_name("absent");
    let broken = file.with_file_name("broken");
    std::fs::write(&broken, "clusters: 7").expect("writable");
    let cases = [
        (
            vec!["run", "--count", "1", "--context", "prod"],
            &file,
            "no context \"prod\"; known: ",
        ),
        (vec!["clean"], &absent, "--kubeconfig FILE"),
        (vec!["clean"], &broken, "--kubeconfig FILE"),
        (
            vec!["run", "--count", "1", "--namespace", "A/b"],
            &file,
            "--namespace",
        ),
        (vec!["run", "--count", "1", "--rate", "0"], &file, "--rate"),
        (vec!["run"], &file, "--count"),
    ];
    for (args, file, want) in cases {
        let output = loadgen(&args, file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(2), "{args:?}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{args:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(want),
            "{args:?}: {said}"
        );
    }
}

fn server_gone() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let file = simulated_cluster::kubeconfig_file("gone", &format!("https://{address}"));
    for args in [vec!["run", "--count", "1"], vec!["clean"]] {
        let output = loadgen(&args, &file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(1), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        assert!(said.contains(&address.to_string()), "{said}");
    }
}

fn no_operator() {
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
    assert!(
        stdout(&output).contains("3 did not converge within 2 s"),
        "{}",
        stdout(&output)
    );
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

fn clean_one_run() {
    let simulated_cluster = SimulatedCluster::new("one-run");
    simulated_cluster.create_edgeapp("default", "somebody-elses", &[]);
    let keep = [
        "run",
        "--count",
        "3",
        "--deadline-s",
        "1",
        "--keep",
        "--namespace",
        "default",
    ];
    let first = run_of(&simulated_cluster.loadgen(&keep));
    let second = run_of(&simulated_cluster.loadgen(&keep));
    assert_eq!(simulated_cluster.server.objects("edgeapps").len(), 7);

    let elsewhere = simulated_cluster.loadgen(&["clean", "--namespace", "kube-system"]);
    assert!(
        stdout(&elsewhere).contains("nothing to remove"),
        "{}",
        stdout(&elsewhere)
    );
    let output = simulated_cluster.loadgen(&["clean", "--run", &first]);
    assert_success(&output);
    assert_eq!(
        stdout(&output),
        "removed 3 EdgeApps and 0 namespaces; 0 EdgeApps left\n"
    );
    let names = simulated_cluster.names("edgeapps");
    assert_eq!(
        names.iter().filter(|name| name.contains(&second)).count(),
        3,
        "{names:?}"
    );
    assert_eq!(names.len(), 4, "{names:?}");

    let output = simulated_cluster.loadgen(&["clean"]);
    assert_success(&output);
    assert_eq!(simulated_cluster.names("edgeapps"), ["somebody-elses"]);
    assert!(
        simulated_cluster
            .server
            .object("namespaces", "", "default")
            .is_some()
    );
}

fn held_up() {
    let simulated_cluster = SimulatedCluster::new("held-up");
    let finalizers = ["example.com/nobody"];
    simulated_cluster.create_edgeapp("default", "stuck", &finalizers);
    simulated_cluster.label("default", "stuck", "loadgen.tare.dev/run", "0a1b2c");
    let output = simulated_cluster.loadgen(&["clean", "--wait-s", "1"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("0 namespaces; 1 EdgeApps left"), "{text}");
    assert!(
        text.contains("1 wait for their finalizer example.com/nobody"),
        "{text}"
    );
}
