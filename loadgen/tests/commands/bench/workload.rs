//! Benches of other workloads than the default one: from files outside the repository, and without an
//! operator.

use serde_json::Value;

use crate::bench::bench_folder::{BenchFolder, dir_command};
use crate::program::{loadgen, mock_subject, text};

pub const WORKLOAD: &str = r#"description = "Widgets"
object_bytes = 700
crds = ["crd.yaml"]

[object]
api_version = "example.com/v1"
kind = "Widget"
plural = "widgets"
namespace = "factory"
name = "widget"
template = "widget.yaml"

[convergence]
observed = "self.status.observedGeneration >= self.metadata.generation"
ready = "self.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"
"#;

pub const TEMPLATE: &str = r#"metadata:
  annotations:
    example.com/changes: "{{ words }}"
spec:
  shelf: "{{= index % 7 }}"
  image: "{{ name }}-{{ random_hex(8) }}"
"#;

/// A kind that nobody reconciles but the mock.
pub const CRD: &str = include_str!("../widgets.yaml");

/// Shelves that nobody reconciles, beside the widgets.
const ALSO: &str = r#"
[[also]]
share = 2
object_bytes = 400

[also.object]
api_version = "v1"
kind = "ConfigMap"
plural = "configmaps"
name = "shelf"
template = "shelf.yaml"

[also.convergence]
observed = "true"
ready = "self.data.of.startsWith('shelf-')"
"#;

const SHELF: &str = "metadata:\n  annotations:\n    example.com/changes: \"{{ words }}\"\ndata:\n  of: \"{{ name }}\"\n";

/// One of a built-in kind, and one of the kind that the workload itself defines.
const FIXTURES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: factory\n---\n\
    apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: pattern\nspec: {}\n";

/// Measures widgets; everything is files in a folder of somebody's: definition, workload and subject.
fn widgets(bench_folder: &BenchFolder, workload: &str) -> Value {
    let out = bench_folder.out();
    let folder = out.with_file_name("widgets");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", workload),
        ("widget.yaml", TEMPLATE),
        ("shelf.yaml", SHELF),
        ("fixtures.yaml", FIXTURES),
        ("crd.yaml", CRD),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    std::fs::write(out.with_file_name("subject.toml"), subject("widgets")).expect("writable");
    let file = out.with_file_name("subject.toml").display().to_string();
    let output = loadgen(&args(
        bench_folder,
        &["--subject", &file, "--subjects", "widgets/mock"],
    ));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    bench_folder.summary()
}

pub fn several_kinds_are_measured_in_one_workload() {
    let bench_folder = BenchFolder::new("widgets-and-shelves");
    let with_fixture = WORKLOAD.replace("[object]", "fixtures = [\"fixtures.yaml\"]\n\n[object]");
    let summary = widgets(&bench_folder, &format!("{with_fixture}{ALSO}"));
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    for run in runs {
        assert_eq!(run["values"]["convergence.censored"], 0, "{run}");
    }
    let memory = runs.iter().find(|run| run["cell"] == "memory");
    let values = &memory.expect("a memory run")["values"];
    assert_eq!(
        values["requests.by_verb.patch widgets/status"], 4,
        "a third of 12: {values}"
    );
    let notes = summary["notes"].to_string();
    let want =
        "of several kinds in turn: 1 of 3 Widgets of 700 bytes and 2 of 3 ConfigMaps of 400 bytes";
    assert!(notes.contains(want), "{notes}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

pub fn a_kind_of_somebody_elses_is_measured_from_files_alone() {
    let bench_folder = BenchFolder::new("widgets");
    let summary = widgets(&bench_folder, WORKLOAD);
    assert_eq!(summary["scenario"]["name"], "widgets");
    assert_eq!(summary["scenario"]["object_bytes"], 700);
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let drain = runs.iter().find(|run| run["cell"] == "drain");
    let drain = drain.expect("a drain");
    assert_eq!(drain["values"]["convergence.censored"], 0, "{drain}");
    let memory = runs.iter().find(|run| run["cell"] == "memory");
    let values = &memory.expect("a memory run")["values"];
    let by_verb = "requests.by_verb.patch widgets/status";
    assert_eq!(values[by_verb], 12, "{values}");
    let notes = summary["notes"].to_string();
    assert!(
        notes.contains("workload widgets has no conformance scenario"),
        "{notes}"
    );
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

/// Relative paths of a subject start at its file, wherever loadgen is called.
fn subject(workload: &str) -> String {
    let mock = mock_subject();
    format!(
        "name = \"{workload}\"\nvariant = \"mock\"\nworkloads = [\"{workload}\"]\n\
         [run]\ncommand = \"{mock}\"\n\
         args = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--workload\", \"./{workload}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\n[ready]\nhttp = \"/readyz\"\n"
    )
}

pub fn without_an_operator_the_api_server_alone_is_measured() {
    let bench_folder = BenchFolder::new("configmaps");
    let more = ["--workload", "configmaps", "--subjects", "nobody/idle"];
    let output = loadgen(&args(&bench_folder, &more));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let summary = bench_folder.summary();
    assert_eq!(summary["scenario"]["name"], "configmaps");
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let memory = runs.iter().find(|run| run["cell"] == "memory");
    let values = &memory.expect("a memory run")["values"];
    assert_eq!(values["requests.writes_per_object"], 0, "{values}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

/// Where the kind is served is the way out.
pub fn a_kind_that_is_not_simulated_names_a_control_plane_that_has_it() {
    let bench_folder = BenchFolder::new("not-simulated");
    let folder = bench_folder.out().with_file_name("ingresses");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    let ingresses = "description = \"Ingresses\"\n[object]\napi_version = \"networking.k8s.io/v1\"\n\
        kind = \"Ingress\"\nplural = \"ingresses\"\nname = \"in\"\ntemplate = \"ingress.yaml\"\n\
        [convergence]\nobserved = \"true\"\nready = \"true\"\n";
    std::fs::write(folder.join("workload.toml"), ingresses).expect("writable");
    std::fs::write(folder.join("ingress.yaml"), "spec: {}\n").expect("writable");
    let file = folder.with_file_name("subject.toml");
    std::fs::write(&file, subject("ingresses")).expect("writable");
    let file = file.display().to_string();
    let more = ["--subject", &file, "--subjects", "ingresses/mock"];
    let output = loadgen(&args(&bench_folder, &more));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let want = "; the simulated API server does not serve every kind: --control-plane kube does";
    assert!(said.contains(want), "{said}");
}

fn args(bench_folder: &BenchFolder, more: &[&str]) -> Vec<String> {
    let args = [
        "bench",
        "--no-build",
        "--objects",
        "12",
        "--bursts-only",
        "--attempts",
        "1",
    ];
    let out = bench_folder.out().display().to_string();
    let out = ["--out", &out];
    let args = args.iter().chain(&out).chain(more);
    args.map(|arg| (*arg).to_owned()).collect()
}

/// A mock reads its own kind only: none of the foreign objects is in its memory.
pub fn foreign_objects_are_counted_in_the_memory_of_the_subject() {
    let bench_folder = BenchFolder::new("bystanders");
    let mut args = bench_folder.bench(&["works"], "5");
    let more = [
        "--bursts-only",
        "--bystanders",
        "secrets=40,configmaps=30,pods=10",
    ];
    args.extend(more.map(str::to_owned));
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = text(&output.stdout);
    for want in [
        "Foreign objects found in memory (an upper bound), at 5 objects",
        "secrets in memory, of 40",
        "configmaps in memory, of 30",
        "pods in memory, of 10",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let run = bench_folder.out().join("runs/mock-works-memory-5-r1.json");
    let run: Value = serde_json::from_slice(&std::fs::read(run).expect("a run")).expect("JSON");
    let want = serde_json::json!([
        {"kind": "secrets", "objects": 40, "in_memory": 0, "waited_s": 0},
        {"kind": "configmaps", "objects": 30, "in_memory": 0, "waited_s": 0},
        {"kind": "pods", "objects": 10, "in_memory": 0, "waited_s": 0},
    ]);
    assert_eq!(run["bystanders"], want, "{run}");
    assert!(run["without_bystanders"]["anon_bytes"].is_u64(), "{run}");
    let label = "bytes for each foreign object";
    assert!(report.contains(label), "{label} not in {report}");
    let runs = bench_folder.summary()["subjects"][0]["runs"].clone();
    let mut memory = runs.as_array().expect("runs").iter();
    let memory = memory.find(|run| run["cell"] == "memory");
    let values = &memory.expect("a memory run")["values"];
    let foreign = |figure: &str| values[format!("bystanders.{figure}")].as_f64();
    assert_eq!(foreign("objects"), Some(80.0));
    assert_eq!(foreign("in_memory"), Some(0.0));
    assert!(foreign("bytes_per_object").is_some(), "{values}");
    assert_eq!(run["changed_bystanders"]["changes"], 1_040, "{run}");
    let requests = foreign("requests_per_change").expect("counted");
    assert!(requests.abs() < 0.01, "it does not watch them: {values}");
    for row in [
        "CPU for each change of one, µs",
        "requests for each 1,000 changes",
    ] {
        assert!(report.contains(row), "{row} not in {report}");
    }
    let limit = |metric: &str, max: u32| {
        format!(
            "[[limit]]\nsubject = \"mock/works\"\nmetric = \"{metric}\"\ncell = \"memory\"\nobjects = 5\n\
             max = {max}\nmean = 0\nspread = 0\nruns = 1\nmargin = {max}\n"
        )
    };
    let limits = bench_folder.out().with_file_name("limits.toml");
    let both = limit("bystanders.in_memory", 0) + &limit("bystanders.bytes_per_object", 50_000);
    std::fs::write(&limits, both).expect("writable");
    let out = bench_folder.out().display().to_string();
    let limits = limits.display().to_string();
    let checked = loadgen(&["check", &out, "--limits", &limits].map(str::to_owned));
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));
    let suggested = loadgen(&["check", &out, "--suggest"].map(str::to_owned));
    assert_eq!(suggested.status.code(), Some(0));
    std::fs::write(&limits, &suggested.stdout).expect("writable");
    let checked = loadgen(&["check", &out, "--limits", &limits].map(str::to_owned));
    let said = text(&checked.stdout);
    assert!(said.contains("bystanders.in_memory"), "{said}");
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
