//! Benches of other workloads than the default one: from files outside the repository, and without an
//! operator.

use std::path::Path;

use serde_json::Value;

use crate::bench_folder::{BenchFolder, LOADGEN, dir_command, loadgen, text};

const WORKLOAD: &str = r#"description = "Gadgets"
object_bytes = 700
crds = ["crd.yaml"]

[object]
api_version = "tests.example/v1"
kind = "Gadget"
plural = "gadgets"
namespace = "factory"
name = "gadget"
template = "gadget.yaml"

[convergence]
observed = "self.status.observedGeneration >= self.metadata.generation"
ready = "self.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"
"#;

const TEMPLATE: &str = r#"metadata:
  annotations:
    tests.example/changes: "{{ words }}"
spec:
  shelf: "{{= index % 7 }}"
  label: "{{ name }}-{{ random_hex(8) }}"
"#;

const CRD: &str = r"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.tests.example
spec:
  group: tests.example
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                shelf: {type: integer, maximum: 6}
                label: {type: string}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// Everything is files in a folder of somebody's: definition, workload and subject.
pub fn a_kind_of_somebody_elses_is_measured_from_files_alone() {
    let bench_folder = BenchFolder::new("gadgets");
    let out = bench_folder.out();
    let folder = out.with_file_name("gadgets");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", WORKLOAD),
        ("gadget.yaml", TEMPLATE),
        ("crd.yaml", CRD),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    let subject = subject(&folder);
    std::fs::write(out.with_file_name("subject.toml"), subject).expect("writable");
    let file = out.with_file_name("subject.toml").display().to_string();
    let output = loadgen(&args(
        &bench_folder,
        &["--subject", &file, "--subjects", "gadgets/mock"],
    ));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let summary = bench_folder.summary();
    assert_eq!(summary["scenario"]["name"], "gadgets");
    assert_eq!(summary["scenario"]["object_bytes"], 700);
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let drain = runs.iter().find(|run| run["cell"] == "drain");
    let drain = drain.expect("a drain");
    assert_eq!(drain["convergence"]["censored"], 0, "{drain}");
    let memory = runs.iter().find(|run| run["cell"] == "memory");
    let by_verb = &memory.expect("a memory run")["requests"]["by_verb"];
    assert_eq!(by_verb["patch gadgets/status"], 12, "{by_verb}");
    let notes = summary["notes"].to_string();
    assert!(
        notes.contains("workload gadgets has no conformance scenario"),
        "{notes}"
    );
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

/// Relative paths of a subject start at its file.
fn subject(folder: &Path) -> String {
    format!(
        "name = \"gadgets\"\nvariant = \"mock\"\nworkloads = [\"gadgets\"]\n\
         [run]\ncommand = \"{LOADGEN}\"\n\
         args = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--workload\", \"{}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\n[ready]\nhttp = \"/readyz\"\n",
        folder.display()
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
    let requests = &memory.expect("a memory run")["requests"];
    assert_eq!(requests["writes_per_object"], 0.0, "{requests}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
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
    let more = ["--bursts-only", "--bystanders", "secrets=40,configmaps=30"];
    args.extend(more.map(str::to_owned));
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = text(&output.stdout);
    for want in [
        "Foreign objects found in memory (an upper bound), at 5 objects",
        "secrets in memory, of 40",
        "configmaps in memory, of 30",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let run = bench_folder.out().join("runs/mock-works-memory-5-r1.json");
    let run: Value = serde_json::from_slice(&std::fs::read(run).expect("a run")).expect("JSON");
    let want = serde_json::json!([
        {"kind": "secrets", "objects": 40, "in_memory": 0, "waited_s": 0},
        {"kind": "configmaps", "objects": 30, "in_memory": 0, "waited_s": 0},
    ]);
    assert_eq!(run["bystanders"], want, "{run}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
