//! `loadgen run` and `loadgen lint` on other workloads than the default one.

use std::path::Path;
use std::process::Command;

use crate::program::{LOADGEN, wait_for};
use crate::run::assert_figures;
use crate::run::simulated_cluster::{
    SimulatedCluster, assert_success, code, said, stderr, stdout, without_cluster,
};

pub fn configmaps() {
    let simulated_cluster = SimulatedCluster::without_crd("configmaps");
    let output = simulated_cluster.loadgen(&["run", "configmaps", "--count", "50"]);
    assert_success(&output);
    assert!(
        stderr(&output).contains(": 50 ConfigMaps all at once in namespace loadgen-"),
        "{}",
        stderr(&output)
    );
    assert_figures(
        &output,
        &[
            ("created", 50),
            ("ready  ", 50),
            ("deleted", 50),
            ("left behind", 0),
        ],
    );
    let said = stdout(&output);
    assert!(said.contains("loadgen itself needed up to "), "{said}");
    assert_eq!(simulated_cluster.names("configmaps"), Vec::<String>::new());
    let clean = simulated_cluster.loadgen(&["clean", "--workload", "configmaps"]);
    assert!(
        stdout(&clean).contains("nothing to remove"),
        "{}",
        stdout(&clean)
    );
}

pub fn lint() {
    let simulated_cluster = SimulatedCluster::new("lint");
    let lint = |workload: &str| simulated_cluster.loadgen(&["lint", workload]);
    let good = lint("edgeapp");
    let said = stdout(&good);
    assert_success(&good);
    for want in [
        "edgeapp: EdgeApps of edgeapps.tare.dev, 2,048 bytes each; 5,000 have 10.2 MB",
        "ok   object.template: the server accepts an object",
        "ok   object.update: the server accepts an updated object",
        "ok   object.rejected: the server accepts an object",
        "ok   you may create, list, watch, patch and delete edgeapps.tare.dev",
        "ok   you may create, list and delete namespaces",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let by_variable = Command::new(LOADGEN)
        .args(["lint", "webapp"])
        .env("KUBECONFIG", &simulated_cluster.kubeconfig)
        .output();
    for bad in [lint("webapp"), by_variable.expect("loadgen starts")] {
        let said = stdout(&bad);
        assert_eq!(code(&bad), Some(1), "{said}{}", stderr(&bad));
        let want = "FAIL workloads/webapp/workload.toml:11: object.plural: the server does not serve webapps.example.com v1 in";
        assert!(said.contains(want), "{said}");
    }
    assert_eq!(simulated_cluster.names("edgeapps"), Vec::<String>::new());
}

/// The file of an operator, as `--subject` takes it.
pub fn lint_subject() {
    let webapp = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/webapp/subject.toml");
    let good = without_cluster(&["lint", &webapp.display().to_string()]);
    assert_success(&good);
    let want = "ok   webapp/example: built by loadgen, serves webapp; 0 fixtures";
    assert!(stdout(&good).contains(want), "{}", stdout(&good));
    let text = std::fs::read_to_string(&webapp).expect("in the repository");
    let bad = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-lint-subject.toml");
    std::fs::write(&bad, text.replace("[run]", "[runs]")).expect("writable");
    let refused = without_cluster(&["lint", &bad.display().to_string()]);
    assert_eq!(code(&refused), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("unknown field `runs`"),
        "{}",
        said(&refused)
    );
}

pub const FIXTURES: &str = "apiVersion: v1
kind: Namespace
metadata:
  name: classes
---
apiVersion: v1
kind: Secret
metadata:
  name: key
stringData:
  of: \"{{ namespace }}\"
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: class
  namespace: classes
";

/// A workload of ConfigMaps with these fixtures.
pub fn with_fixtures(name: &str, fixtures: &str) -> String {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loadgen-run-{name}-workload"));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    let workload = "description = \"ConfigMaps with fixtures\"\nfixtures = [\"fixtures.yaml\"]\n\
        [object]\napi_version = \"v1\"\nkind = \"ConfigMap\"\nplural = \"configmaps\"\nname = \"cm\"\n\
        template = \"object.yaml\"\n[convergence]\nobserved = \"true\"\nready = \"true\"\n";
    for (file, text) in [
        ("workload.toml", workload),
        ("object.yaml", "data: {a: b}\n"),
        ("fixtures.yaml", fixtures),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    folder.display().to_string()
}

pub fn fixtures() {
    let simulated_cluster = SimulatedCluster::without_crd("fixtures");
    let workload = with_fixtures("fixtures", FIXTURES);
    let run = |more: &[&str]| {
        let mut args = vec!["run", &workload, "--count", "5"];
        args.extend(more);
        let output = simulated_cluster.loadgen(&args);
        assert_success(&output);
        output
    };
    let ours = || {
        let mut names = simulated_cluster.names("secrets");
        names.extend(simulated_cluster.names("configmaps"));
        names.retain(|name| !name.starts_with("cm-"));
        let namespaces = simulated_cluster.names("namespaces").into_iter();
        names.extend(namespaces.filter(|name| name == "classes"));
        names
    };
    let output = run(&[]);
    assert_figures(
        &output,
        &[("created", 5), ("deleted", 5), ("left behind", 0)],
    );
    assert_eq!(ours(), Vec::<String>::new(), "removed after the objects");
    run(&["--keep"]);
    assert_eq!(ours(), ["key", "class", "classes"]);
    let clean = simulated_cluster.loadgen(&["clean", "--workload", &workload]);
    let said = stdout(&clean);
    assert_success(&clean);
    assert!(
        said.contains("removed 5 ConfigMaps, 3 fixtures and "),
        "{said}"
    );
    assert_eq!(ours(), Vec::<String>::new(), "found by their label");
}

pub fn lint_fixtures() {
    let simulated_cluster = SimulatedCluster::without_crd("lint-fixtures");
    let workload = with_fixtures("lint-fixtures", FIXTURES);
    let lint = || {
        let output = simulated_cluster.loadgen(&["lint", &workload]);
        assert_success(&output);
        stdout(&output)
    };
    let said = lint();
    for want in [
        "ok   fixture Namespace classes: the server accepts it",
        "ok   fixture Secret key: the server accepts it",
        "?    fixture ConfigMap class: not tried, because namespace classes is not there",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    simulated_cluster.create_namespace("classes");
    let said = lint();
    for want in [
        "ok   fixture Namespace classes: it is there already and is used as it is",
        "ok   fixture ConfigMap class: the server accepts it",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    assert_eq!(simulated_cluster.names("secrets"), Vec::<String>::new());
}

pub fn fixture_of_others() {
    let simulated_cluster = SimulatedCluster::without_crd("fixture-of-others");
    simulated_cluster.create_namespace("classes");
    let workload = with_fixtures("fixture-of-others", FIXTURES);
    let output = simulated_cluster.loadgen(&["run", &workload, "--count", "5"]);
    assert_success(&output);
    let namespaces = simulated_cluster.names("namespaces");
    assert!(namespaces.contains(&"classes".to_owned()), "{namespaces:?}");
}

pub fn unserved_fixture() {
    let simulated_cluster = SimulatedCluster::without_crd("unserved-fixture");
    let issuer = "apiVersion: cert.example/v1\nkind: Issuer\nmetadata:\n  name: self\n";
    let workload = with_fixtures("unserved-fixture", &format!("{FIXTURES}---\n{issuer}"));
    let output = simulated_cluster.loadgen(&["run", &workload, "--count", "5"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(1), "{said}");
    let want = "fixtures.yaml:22: Issuer self: the server does not serve Issuer of cert.example/v1";
    assert!(said.contains(want), "{said}");
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
    assert_eq!(simulated_cluster.names("secrets"), Vec::<String>::new());
}

/// A third of the objects are ConfigMaps, two thirds are Secrets.
pub fn several_kinds() {
    let simulated_cluster = SimulatedCluster::without_crd("several-kinds");
    let workload = with_fixtures("several-kinds", FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let first = std::fs::read_to_string(&file).expect("written");
    let also = "[[also]]\nshare = 2\n[also.object]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\n\
        name = \"s\"\ntemplate = \"secret.yaml\"\n[also.convergence]\nobserved = \"true\"\nready = \"self.type == 'Opaque'\"\n";
    std::fs::write(&file, format!("{first}{also}")).expect("writable");
    let secret = "type: Opaque\nstringData: {of: \"{{ name }}\"}\n";
    std::fs::write(file.with_file_name("secret.yaml"), secret).expect("writable");
    let run = |more: &[&str]| {
        let mut args = vec!["run", &workload, "--count", "9"];
        args.extend(more);
        simulated_cluster.loadgen(&args)
    };
    let output = run(&[]);
    assert_success(&output);
    assert!(
        stderr(&output).contains("9 ConfigMaps and Secrets all at once"),
        "{}",
        stderr(&output)
    );
    assert_figures(
        &output,
        &[
            ("created", 9),
            ("ready  ", 9),
            ("deleted", 9),
            ("left behind", 0),
        ],
    );
    let count = |plural: &str, prefix: &str| {
        let names = simulated_cluster.names(plural).into_iter();
        names.filter(|name| name.starts_with(prefix)).count()
    };
    assert_eq!((count("configmaps", "cm-"), count("secrets", "s-")), (0, 0));
    run(&["--keep"]);
    assert_eq!((count("configmaps", "cm-"), count("secrets", "s-")), (3, 6));
    let clean = simulated_cluster.loadgen(&["clean", "--workload", &workload]);
    assert_success(&clean);
    assert!(
        stdout(&clean).contains("removed 9 ConfigMaps and Secrets, 3 fixtures and "),
        "{}",
        stdout(&clean)
    );
    assert_eq!((count("configmaps", ""), count("secrets", "")), (0, 0));
}

/// As kube-controller-manager, Istio and OpenShift make them: they are no objects of somebody's. One that only has the name
/// of such an object is.
pub fn added_by_the_cluster() {
    let simulated_cluster = SimulatedCluster::without_crd("root-ca");
    let running = simulated_cluster.start(&["run", "configmaps", "--count", "5", "--idle-s", "4"]);
    wait_for("the objects", || {
        simulated_cluster.names("configmaps").len() == 5
    });
    let namespaces = simulated_cluster.names("namespaces");
    let mut namespaces = namespaces.iter();
    let own = namespaces.find(|it| it.starts_with("loadgen-"));
    let own = own.expect("made");
    let create = |namespace: &str, name: &str, certificate: &str| {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let map = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name}, "data": {"ca.crt": certificate}});
        simulated_cluster.create(&path, &map);
    };
    for name in ["kube-root-ca.crt", "istio-ca-root-cert"] {
        create("default", name, "a certificate");
        create(own, name, "a certificate");
    }
    // As OpenShift makes those that go with a ServiceAccount.
    let account = serde_json::json!({"kubernetes.io/service-account.name": "default"});
    let added = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "default-dockercfg", "annotations": account}});
    simulated_cluster.create(&format!("/api/v1/namespaces/{own}/configmaps"), &added);
    let output = running.wait_with_output().expect("it ends");
    assert_success(&output);
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());

    let running = simulated_cluster.start(&["run", "configmaps", "--count", "5", "--idle-s", "4"]);
    let own = || {
        let namespaces = simulated_cluster.names("namespaces");
        namespaces.into_iter().find(|it| it.starts_with("loadgen-"))
    };
    wait_for("the objects", || {
        simulated_cluster.names("configmaps").len() == 7 && own().is_some()
    });
    create(&own().expect("made"), "istio-ca-root-cert", "somebody's");
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let said = stdout(&output) + &stderr(&output);
    assert!(
        said.contains("holds objects that are not of this run"),
        "{said}"
    );
}

const STOOD_IN: &str = "description = \"EdgeApps that nobody looks after\"
[object]
api_version = \"tare.dev/v1alpha1\"
kind = \"EdgeApp\"
plural = \"edgeapps\"
name = \"app\"
template = \"object.yaml\"
update = \"update.yaml\"
[convergence]
observed = \"self.status.observedGeneration >= self.metadata.generation\"
ready = \"self.status.observedGeneration >= self.metadata.generation\"
[[steps]]
do = \"update\"
[[stand_in]]
api_version = \"tare.dev/v1alpha1\"
plural = \"edgeapps\"
delay_ms = 50
[stand_in.status]
observedGeneration = \"{generation}\"
";

pub fn stand_in() {
    let cluster = SimulatedCluster::new("stand-in");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-run-stand-in-workload");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", STOOD_IN),
        ("object.yaml", "spec: {image: \"web:1\"}\n"),
        ("update.yaml", "spec: {image: \"web:2\"}\n"),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    let workload = folder.display().to_string();
    let output = cluster.loadgen(&["run", &workload, "--count", "5", "--deadline-s", "20"]);
    assert_success(&output);
    let said = stderr(&output);
    assert!(
        said.contains("loadgen writes the status of edgeapps"),
        "{said}"
    );
    let figures = [("created", 5), ("ready  ", 5), ("left behind", 0)];
    assert_figures(&output, &figures);
    let requests = cluster.server.requests();
    // Once when they are made, and once when they are updated.
    assert_eq!(requests.count("tester", "patch", "edgeapps/status"), 10);
    assert_eq!(cluster.left(), Vec::<String>::new());
}
