//! What cannot be used or is only tried: one line each, and nothing is created.

use std::path::Path;
use std::time::Instant;

use crate::run::simulated_cluster;
use crate::run::simulated_cluster::{SimulatedCluster, code, loadgen, stderr, stdout};
use crate::run::workloads::{FIXTURES, with_fixtures};

pub fn missing_crd() {
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
    assert_eq!(code(&clean), Some(0), "{}", stderr(&clean));
    assert!(
        stdout(&clean).contains("nothing to remove"),
        "{}",
        stdout(&clean)
    );
}

pub fn not_local() {
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

pub fn unusable_kubeconfigs() {
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
        (
            vec!["run", "--count", "1", "--rate", "5..50"],
            &file,
            "say how long the ramp takes, such as 5..50/60s",
        ),
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

pub fn server_gone() {
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

pub fn too_many_objects() {
    let cluster = SimulatedCluster::without_crd("too-many");
    let workload = with_fixtures("too-many", FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let before = std::fs::read_to_string(&file).expect("written");
    let steps = "[[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=4\"\n";
    std::fs::write(&file, before + steps).expect("writable");
    let run =
        |most: &str| cluster.loadgen(&["run", &workload, "--count", "5", "--max-objects", most]);
    let refused = run("11");
    let said = stderr(&refused);
    assert_eq!(code(&refused), Some(2), "{said}");
    assert_eq!(
        said.trim(),
        "error: 12 objects (--count 5, bystanders of steps 4, fixtures 3) are more than --max-objects 11; lower --count, or raise --max-objects to 12"
    );
    let requests = cluster.server.requests();
    assert_eq!(requests.count("tester", "create", "configmaps"), 0);
    assert_eq!(requests.count("tester", "create", "namespaces"), 0);
    let created = run("12");
    assert_eq!(code(&created), Some(0), "{}", stderr(&created));
}

/// The server is asked to try objects; it is not asked to keep one.
pub fn dry_run() {
    let cluster = SimulatedCluster::without_crd("dry-run");
    let workload = with_fixtures("dry-run", FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let before = std::fs::read_to_string(&file).expect("written");
    let steps = "[[steps]]\ndo = \"update\"\nper_s = 50\n[[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=4\"\n";
    std::fs::write(&file, before + steps).expect("writable");
    let words = [
        "run",
        &workload,
        "--count",
        "50",
        "--rate",
        "5..15/2s",
        "--dry-run",
    ];
    let tried = cluster.loadgen(&words);
    let said = stdout(&tried);
    assert_eq!(code(&tried), Some(0), "{said}{}", stderr(&tried));
    for want in [
        "dry run, nothing is created: 50 ConfigMaps at rate 5..15/2s in a namespace of its own of context ",
        "; later secrets=4 that do not concern the operator",
        "ConfigMaps of configmaps, ",
        " bytes each; 50 have 0.0 MB",
        "in all 57 objects (--count 50, bystanders of steps 4, fixtures 3)",
        "all are sent after 4 s",
        "step: update at 50/s",
        "step: bystanders secrets=4",
        "ok   object.template: the server accepts an object",
        "ok   fixture Secret key: the server accepts it",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let elsewhere = cluster.loadgen(&[&words[..], &["--namespace", "shop"]].concat());
    let said = stdout(&elsewhere);
    assert_eq!(code(&elsewhere), Some(0), "{said}{}", stderr(&elsewhere));
    let want = "namespace shop is not there yet; the server tries objects in default";
    assert!(said.contains(want), "{said}");
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
    assert_eq!(cluster.names("secrets"), Vec::<String>::new());
    assert_eq!(cluster.left(), Vec::<String>::new());
    let namespaces = cluster.names("namespaces");
    assert!(
        !namespaces.iter().any(|name| name == "classes"),
        "{namespaces:?}"
    );
    let no_crd = cluster.loadgen(&["run", "edgeapp", "--count", "5", "--dry-run"]);
    let said = stderr(&no_crd);
    assert_eq!(code(&no_crd), Some(1), "{said}");
    assert!(said.contains("does not serve edgeapps.tare.dev"), "{said}");
}
