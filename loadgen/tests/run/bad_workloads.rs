//! Workloads that cannot be used: `lint` and `run` say what is wrong in one line with file, line and the way
//! out, and nothing is left on the cluster.

use std::path::{Path, PathBuf};

use kubesim::RequestFault;

use crate::simulated_cluster::{SimulatedCluster, assert_success, code, stderr, stdout};

const WORKLOAD: &str = "description = \"Widgets\"
object_bytes = 1024
crds = [\"crd.yaml\"]
fixtures = [\"fixture.yaml\"]

[object]
api_version = \"example.com/v1\"
kind = \"Widget\"
plural = \"widgets\"
name = \"w\"
template = \"widget.yaml\"

[convergence]
ready = \"self.status.phase == 'Ready'\"
";

const TEMPLATE: &str = "metadata:
  annotations:
    example.com/changes: \"{{ words }}\"
spec:
  image: \"shop/{{ name }}\"
  shelf: 3
";

const UPDATE: &str = "spec:
  shelf: 2
";

const FIXTURE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: class
";

/// A kind that nobody reconciles.
const CRD: &str = include_str!("../widgets.yaml");

struct Case {
    name: &'static str,
    /// File, text in it, and what stands in its place.
    edits: &'static [(&'static str, &'static str, &'static str)],
    place: &'static str,
    what: &'static str,
    way_out: &'static str,
    /// Whether only a server can say it.
    on_server: bool,
}

const fn of_file(
    name: &'static str,
    edits: &'static [(&'static str, &'static str, &'static str)],
    place: &'static str,
    what: &'static str,
    way_out: &'static str,
) -> Case {
    Case {
        name,
        edits,
        place,
        what,
        way_out,
        on_server: false,
    }
}

const fn of_server(
    name: &'static str,
    edits: &'static [(&'static str, &'static str, &'static str)],
    place: &'static str,
    what: &'static str,
    way_out: &'static str,
) -> Case {
    Case {
        on_server: true,
        ..of_file(name, edits, place, what, way_out)
    }
}

const CASES: &[Case] = &[
    of_file(
        "unknown field",
        &[("workload.toml", "kind = ", "colour = 1\nkind = ")],
        "workload.toml:8: ",
        "unknown field `colour`",
        "expected one of",
    ),
    of_file(
        "missing field",
        &[("workload.toml", "plural = \"widgets\"\n", "")],
        "workload.toml:6: ",
        "missing field `plural`",
        "loadgen schema workload",
    ),
    of_file(
        "no TOML",
        &[("workload.toml", "[object]", "[object")],
        "workload.toml:6: ",
        "is not TOML: ",
        "correct this line",
    ),
    of_file(
        "wrong type",
        &[("workload.toml", "1024", "\"1k\"")],
        "workload.toml:2: ",
        "invalid type: string \"1k\"",
        "expected",
    ),
    of_file(
        "API version",
        &[("workload.toml", "example.com/v1", "example.com")],
        "workload.toml:7: object.api_version: ",
        "\"example.com\"",
        "write it as group/version",
    ),
    of_file(
        "name too long",
        &[(
            "workload.toml",
            "\"w\"",
            "\"a-name-of-more-than-thirty-characters\"",
        )],
        "workload.toml:10: object.name: ",
        "a-name-of-more",
        "use 1 to 30 of a-z",
    ),
    of_file(
        "no template",
        &[("workload.toml", "widget.yaml", "gadget.yaml")],
        "workload.toml:11: object.template: ",
        "cannot read gadget.yaml",
        "paths are relative to this file",
    ),
    of_file(
        "no CRD",
        &[("workload.toml", "crd.yaml", "crds.yaml")],
        "workload.toml:3: crds: ",
        "cannot read crds.yaml",
        "paths are relative to this file",
    ),
    of_file(
        "CRD of another kind",
        &[("crd.yaml", "plural: widgets", "plural: gadgets")],
        "workload.toml:3: crds: ",
        "none of the files defines widgets.example.com",
        "add its file",
    ),
    of_file(
        "version that the CRD does not serve",
        &[("workload.toml", "example.com/v1", "example.com/v2")],
        "workload.toml:7: object.api_version: ",
        "crd.yaml does not serve version v2",
        "only v1",
    ),
    of_file(
        "scope",
        &[("crd.yaml", "scope: Namespaced", "scope: Cluster")],
        "workload.toml:6: object.namespaced: ",
        "crd.yaml has scope Cluster",
        "write namespaced = false",
    ),
    of_file(
        "no CRD in the file",
        &[("crd.yaml", "CustomResourceDefinition", "Deployment")],
        "crd.yaml:2: ",
        "holds a Deployment",
        "CustomResourceDefinitions only",
    ),
    of_file(
        "object too large",
        &[("workload.toml", "1024", "2000000")],
        "workload.toml:2: object_bytes: ",
        "2000000",
        "at most 1400000",
    ),
    of_file(
        "a size without words",
        &[("widget.yaml", "{{ words }}", "none")],
        "workload.toml:2: object_bytes: ",
        "no text of the template has {{ words }}",
        "add an annotation",
    ),
    of_file(
        "template is no YAML",
        &[("widget.yaml", "  shelf: 3", "  shelf: [")],
        "widget.yaml:",
        "is not YAML",
        "needs quotes around all of it",
    ),
    of_file(
        "unknown variable",
        &[("widget.yaml", "{{ name }}", "{{ nam }}")],
        "widget.yaml:5: spec.image: ",
        "unknown variable `nam`",
        "known: name, namespace",
    ),
    of_file(
        "expression that fails for an object",
        &[("widget.yaml", "shop/{{ name }}", "{{ name | shout }}")],
        "widget.yaml:5: spec.image: ",
        "for object canary: unknown filter",
        "shout",
    ),
    of_file(
        "name in the template",
        &[("widget.yaml", "metadata:\n", "metadata:\n  name: a\n")],
        "widget.yaml:2: metadata.name: ",
        "is set by loadgen",
        "leave it out",
    ),
    of_file(
        "CEL that does not compile",
        &[("workload.toml", "phase ==", "phase =")],
        "workload.toml:14: convergence.ready: ",
        "is not CEL: column",
        "write one such as self.status.phase == 'Ready'",
    ),
    of_file(
        "CEL over nothing",
        &[("workload.toml", "self.status", "object.status")],
        "workload.toml:14: convergence.ready: ",
        "unknown variable `object`",
        "the object is `self`",
    ),
    of_file(
        "CEL with a function that it does not have",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'",
            "ready(self)",
        )],
        "workload.toml:14: convergence.ready: ",
        "there is no function `ready`",
        "use one of CEL, such as has",
    ),
    of_file(
        "fixture that is no YAML",
        &[("fixture.yaml", "  name: class", "  name: [")],
        "fixture.yaml:",
        "is not YAML",
        "correct this line",
    ),
    of_file(
        "CEL that is no condition",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'",
            "self.metadata.name",
        )],
        "workload.toml:14: convergence.ready: ",
        "gives a ",
        "not true or false; compare it, as in",
    ),
    of_file(
        "fixture without a name",
        &[("fixture.yaml", "  name: class", "  labels: {}")],
        "fixture.yaml:1: ",
        "an object has apiVersion, kind and metadata.name",
        "missing field `name`",
    ),
    of_server(
        "fixture of a kind that is not served",
        &[(
            "fixture.yaml",
            "v1\nkind: ConfigMap",
            "cert.example/v1\nkind: Issuer",
        )],
        "fixture.yaml:4: Issuer class: ",
        "the server does not serve Issuer of cert.example/v1",
        "add its definition to crds, or install it",
    ),
    of_server(
        "kind that is not served",
        &[
            ("workload.toml", "example.com/v1", "example.com/v2"),
            ("crd.yaml", "name: v1", "name: v2"),
        ],
        "workload.toml:9: object.plural: ",
        "does not serve widgets.example.com",
        "install its CRD",
    ),
    of_server(
        "object that the server rejects",
        &[("widget.yaml", "shelf: 3", "shelf: 7")],
        "workload.toml:11: object.template: ",
        "the server rejects an object: ",
        "correct the template",
    ),
    of_server(
        "update that the server rejects",
        &[
            (
                "workload.toml",
                "template = \"widget.yaml\"",
                "template = \"widget.yaml\"\nupdate = \"update.yaml\"",
            ),
            (
                "workload.toml",
                "self.status.phase == 'Ready'\"",
                "true\"\nobserved = \"true\"\n\n[[steps]]\ndo = \"update\"",
            ),
            ("update.yaml", "shelf: 2", "shelf: 7"),
        ],
        "workload.toml:12: object.update: ",
        "the server rejects an updated object: ",
        "correct its file",
    ),
    of_server(
        "scale to a value that the server rejects",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'\"",
            "true\"\nobserved = \"true\"\n\n[[steps]]\ndo = \"scale\"\nfield = \"/spec/shelf\"\nvalue = 7",
        )],
        "workload.toml:20: steps.value: ",
        "the server rejects an object with it: ",
        "choose another value",
    ),
    of_server(
        "fixture that the server rejects",
        &[(
            "fixture.yaml",
            "  name: class",
            "  name: class\ndata: {a: 1}",
        )],
        "fixture.yaml:4: ConfigMap class: ",
        "the server rejects it: ",
        "correct the fixture",
    ),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loadgen-run-bad-{name}"))
}

/// A folder with the files, edited.
fn write(folder: &Path, case: &Case) {
    std::fs::create_dir_all(folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", WORKLOAD),
        ("widget.yaml", TEMPLATE),
        ("fixture.yaml", FIXTURE),
        ("update.yaml", UPDATE),
        ("crd.yaml", CRD),
    ] {
        let mut text = text.to_owned();
        for (of, from, to) in case.edits.iter().filter(|(of, ..)| *of == file) {
            assert!(text.contains(from), "{}: {of} has no {from}", case.name);
            text = text.replacen(from, to, 1);
        }
        std::fs::write(folder.join(file), text).expect("writable");
    }
}

fn cluster(name: &str) -> SimulatedCluster {
    let simulated_cluster = SimulatedCluster::without_crd(name);
    simulated_cluster.server.install(CRD).expect("a valid CRD");
    simulated_cluster
}

/// Everything of a workload that a cluster may hold.
fn left(simulated_cluster: &SimulatedCluster) -> Vec<String> {
    let mut left = simulated_cluster.left();
    left.extend(simulated_cluster.names("widgets"));
    left.extend(simulated_cluster.names("configmaps"));
    left
}

pub fn every_kind_is_one_line_and_leaves_nothing() {
    assert!(CASES.len() >= 20);
    let simulated_cluster = cluster("bad-workloads");
    let folder = folder("workload");
    let workload = folder.display().to_string();
    for case in CASES {
        write(&folder, case);
        let lint = simulated_cluster.loadgen(&["lint", &workload]);
        let said = stdout(&lint) + &stderr(&lint);
        let begins = match case.on_server {
            true => "FAIL ",
            false => "error: ",
        };
        let wrong: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with(begins))
            .collect();
        assert_eq!(wrong.len(), 1, "{}: {said}", case.name);
        let line = wrong[0].replace(&format!("{workload}/"), "");
        let want = format!("{begins}{}", case.place);
        assert!(
            line.starts_with(&want),
            "{}: {want} not in {line}",
            case.name
        );
        for want in [case.what, case.way_out] {
            assert!(line.contains(want), "{}: {want} not in {line}", case.name);
        }
        let want = if case.on_server { 1 } else { 2 };
        assert_eq!(code(&lint), Some(want), "{}: {said}", case.name);

        run(&simulated_cluster, case, &workload);
        assert_eq!(
            left(&simulated_cluster),
            Vec::<String>::new(),
            "{}",
            case.name
        );
    }
}

/// What is wrong with a workload is one line of `run`, too.
fn run(simulated_cluster: &SimulatedCluster, case: &Case, workload: &str) {
    let run = simulated_cluster.loadgen(&["run", workload, "--count", "2", "--deadline-s", "2"]);
    let want = if case.on_server { 1 } else { 2 };
    let (name, said) = (case.name, stdout(&run) + &stderr(&run));
    assert_eq!(code(&run), Some(want), "{name}: {said}");
    // Of objects there is an account, because some of them may have been accepted.
    let in_account = case.what.starts_with("the server rejects an");
    let (begins, wants) = match in_account {
        true => ("failed 2 times: ", ["is invalid: spec.shelf", ""]),
        false => ("error: ", [case.what, case.way_out]),
    };
    let wrong: Vec<&str> = said.lines().filter(|it| it.starts_with(begins)).collect();
    assert_eq!(wrong.len(), 1, "{name}: {said}");
    let line = wrong[0].replace(&format!("{workload}/"), "");
    for want in wants {
        assert!(line.contains(want), "{name}: {want} not in {line}");
    }
    match in_account {
        true => assert!(
            said.contains("loadgen lint tries an object"),
            "{name}: {said}"
        ),
        false => assert!(
            line[begins.len()..].starts_with(case.place),
            "{name}: {line}"
        ),
    }
}

/// Of every kind of permission that a run needs.
pub fn without_permission() {
    let simulated_cluster = cluster("no-permission");
    let folder = folder("no-permission");
    let steps = "\n[[children]]\napi_version = \"apps/v1\"\nkind = \"Deployment\"\nplural = \"deployments\"\n\
        \n[[steps]]\ndo = \"delete-children\"\n\
        \n[[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=3\"\nchanges = 1\n";
    write(&folder, &of_file("good", &[], "", "", ""));
    std::fs::write(folder.join("workload.toml"), WORKLOAD.to_owned() + steps).expect("writable");
    let workload = folder.display().to_string();
    let lint = || {
        let output = simulated_cluster.loadgen(&["lint", &workload]);
        let said = stdout(&output) + &stderr(&output);
        (code(&output), said.replace(&format!("{workload}/"), ""))
    };
    let (ended, said) = lint();
    assert_eq!(ended, Some(0), "{said}");
    for (verb, resource, want) in [
        (
            "create",
            "widgets",
            "workload.toml:11: object.template: you may not create widgets.example.com in namespace default; ask for a Role that allows it",
        ),
        (
            "delete",
            "namespaces",
            "workload.toml:6: object: you may not delete namespaces; ask for a ClusterRole that allows it, or run in",
        ),
        (
            "list",
            "configmaps",
            "fixture.yaml:4: ConfigMap class: you may not list configmaps in namespace default; ask for a Role that",
        ),
        (
            "delete",
            "deployments",
            "workload.toml:19: children.plural: you may not delete deployments.apps in namespace default; ask for a Role",
        ),
        (
            "patch",
            "secrets",
            "workload.toml:26: steps.objects: you may not patch secrets; ask for a ClusterRole that allows it",
        ),
    ] {
        forbid(&simulated_cluster, verb, resource);
        let (ended, said) = lint();
        let wrong = said.lines().filter(|line| line.starts_with("FAIL "));
        let wrong: Vec<&str> = wrong.collect();
        assert_eq!(wrong.len(), 1, "{verb} {resource}: {said}");
        let want = format!("FAIL {want}");
        assert!(wrong[0].starts_with(&want), "{want} not in {}", wrong[0]);
        assert_eq!(ended, Some(1), "{said}");
    }
    forbid(&simulated_cluster, "create", "widgets");
    let run = simulated_cluster.loadgen(&["run", &workload, "--count", "2"]);
    assert_eq!(code(&run), Some(1), "{}", stderr(&run));
    assert!(
        stdout(&run).contains("cannot create widgets"),
        "{}",
        stdout(&run)
    );
    assert_eq!(left(&simulated_cluster), Vec::<String>::new());
}

/// One verb on one resource.
fn forbid(simulated_cluster: &SimulatedCluster, verb: &'static str, resource: &'static str) {
    let faults = simulated_cluster.server.faults();
    faults.on_request(move |facts| match (facts.verb, facts.resource) {
        asked if asked == (verb, resource) => RequestFault::Status {
            code: 403,
            reason: "Forbidden".into(),
            message: format!("{resource} is forbidden: User \"tester\" cannot {verb} {resource}"),
            retry_after_s: None,
        },
        _ => RequestFault::Pass,
    });
}

/// Somebody who may not make a namespace uses one that is there.
pub fn namespace_of_others() {
    let simulated_cluster = SimulatedCluster::without_crd("namespace-of-others");
    simulated_cluster.create_namespace("shop");
    forbid(&simulated_cluster, "create", "namespaces");
    let run = |more: &[&str]| {
        let mut args = vec!["run", "configmaps", "--count", "3"];
        args.extend(more);
        simulated_cluster.loadgen(&args)
    };
    let refused = run(&[]);
    let said = stderr(&refused);
    assert_eq!(code(&refused), Some(1), "{said}");
    let want = "cannot create namespaces; choose one that exists with --namespace";
    assert!(said.contains(want), "{said}");
    assert_success(&run(&["--namespace", "shop"]));
    assert!(
        simulated_cluster
            .names("namespaces")
            .contains(&"shop".to_owned())
    );
    assert_eq!(simulated_cluster.names("configmaps"), Vec::<String>::new());
}
