//! A folder of results with known figures.
//!
//! Guarantees: the form of the files is that of a real bench, of a mock subject with a few objects; only
//! figures, names and cells are replaced. Leaves to others: what the report says.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::program::{LOADGEN, mock_subject};

/// Name, and a factor that all its figures are multiplied with.
const SUBJECTS: [(&str, f64); 3] = [("first", 1.0), ("second", 13.7), ("third", 5.3)];

pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loadgen-report-{name}"));
        let _ = std::fs::remove_dir_all(&root);
        for part in ["runs", "series"] {
            std::fs::create_dir_all(root.join(part)).expect("temporary folder");
        }
        let folder = Self(root);
        folder.fill(template());
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect(name)
    }

    /// `loadgen report` on it.
    pub fn report(&self, options: &[&str]) {
        let output = Command::new(LOADGEN)
            .arg("report")
            .arg(&self.0)
            .args(options)
            .output();
        let output = output.expect("loadgen starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
    }

    fn fill(&self, template: &Template) {
        let mut experiment = template.experiment.clone();
        let subject = experiment["subjects"][0].clone();
        let named = SUBJECTS.iter().map(|(variant, _)| {
            let mut subject = subject.clone();
            subject["subject"]["variant"] = json!(variant);
            subject
        });
        experiment["subjects"] = named.collect();
        let mut planned = Vec::new();
        for (n, (variant, factor)) in SUBJECTS.iter().enumerate() {
            let subject = format!("mock/{variant}");
            for objects in [0, 500, 2_000] {
                for repeat in [1, 2] {
                    let noise = factor * (1.0 + f64::from(repeat) / 100.0);
                    let mut memory = template.memory.clone();
                    memory["cell"] = json!({"subject": subject, "objects": objects, "repeat": repeat, "kind": "memory"});
                    memory["memory"]["settled"] =
                        sampled(noise * (3e6 + 900.0 * f64::from(objects)), n != 1);
                    memory["bystanders"] = json!([{"kind": "secrets", "objects": 300, "in_memory": 7 * n, "waited_s": 0}]);
                    planned.push(self.run(&memory, "memory"));
                    if objects > 0 {
                        let mut drain = template.drain.clone();
                        // Nothing disturbed it: its figures have no mark.
                        drain["machine_use"] = Value::Null;
                        drain["cell"] = json!({"subject": subject, "objects": objects, "repeat": repeat, "kind": "drain"});
                        drain["convergence"]["drain_s"] = json!(noise * f64::from(objects) / 700.0);
                        drain["converge_cpu_s"] = json!(noise * f64::from(objects) / 900.0);
                        drain["api_server_cpu_s"] = json!(noise * f64::from(objects) / 80.0);
                        planned.push(self.run(&drain, "drain"));
                    }
                }
            }
            for per_s in [5, 10, 20] {
                let mut rate = template.rate.clone();
                // Nothing disturbed it: its figures have no mark.
                rate["machine_use"] = Value::Null;
                rate["cell"] = json!({"subject": subject, "objects": 500, "repeat": 1, "kind": "rate", "per_s": per_s});
                rate["convergence"]["saturated"] = json!(per_s == 20 && n == 1);
                rate["convergence"]["drain_s"] = json!(499.0 / f64::from(per_s) + 0.5);
                rate["convergence"]["observed_from_intended"] =
                    json!(format!("{}x490 9000x10", 1_000 * (n + 1)));
                rate["convergence"]["ready_from_intended"] = json!("500000x500");
                planned.push(self.run(&rate, &format!("rate-500-at-{per_s}")));
            }
        }
        experiment["planned"] = planned.into();
        let text = experiment.to_string();
        std::fs::write(self.path("experiment.json"), text).expect("writable");
    }

    /// Writes a run, with a series; its cell.
    fn run(&self, run: &Value, kind: &str) -> Value {
        let cell = &run["cell"];
        let subject = cell["subject"].as_str().expect("a name").replace('/', "-");
        let stem = match cell["per_s"].is_null() {
            true => format!("{subject}-{kind}-{}-r{}", cell["objects"], cell["repeat"]),
            false => format!("{subject}-{kind}-r{}", cell["repeat"]),
        };
        std::fs::write(self.path(&format!("runs/{stem}.json")), run.to_string()).expect("writable");
        let mut rows = "# every_ms 250\n# differences to the row before\nat_ms\trss_bytes\tanon_bytes\tcgroup_bytes\tcpu_ms\tserver_cpu_ms\tserver_rss_bytes\tready\n".to_owned();
        rows.push_str("0\t3000000\t1000000\t\t0\t\t\t\n");
        rows.push_str(&"250\t1000\t0\t\t20\t\t\t\n".repeat(399));
        let file =
            std::fs::File::create(self.path(&format!("series/{stem}.tsv.gz"))).expect("writable");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed
            .write_all(rows.as_bytes())
            .and_then(|()| packed.finish().map(drop))
            .expect("writable");
        cell.clone()
    }
}

fn sampled(rss_bytes: f64, did_settle: bool) -> Value {
    let bytes = |part: f64| json!((rss_bytes * part) as u64);
    json!({"rss_bytes": bytes(1.0), "pss_bytes": bytes(0.8), "anon_bytes": bytes(0.6), "peak_bytes": bytes(1.5),
           "cgroup": null, "did_settle": did_settle})
}

/// What a real bench writes.
struct Template {
    experiment: Value,
    memory: Value,
    drain: Value,
    rate: Value,
}

/// Measured once for all tests.
fn template() -> &'static Template {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-report-template");
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).expect("temporary folder");
        let subject = root.join("subject.toml");
        let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
        let mock = mock_subject();
        let text = format!(
            "name = \"mock\"\nvariant = \"works\"\n[run]\ncommand = \"{mock}\"\n\
             args = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--behaviour\", \"works\"]\n\
             env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n[ready]\nhttp = \"/readyz\"\n",
            crd.display()
        );
        std::fs::write(&subject, text).expect("writable");
        let out = root.join("out");
        let words = "bench --no-build --skip-conformance --objects 5 --subjects mock/works --subject";
        let output = Command::new(LOADGEN)
            .args(words.split(' '))
            .arg(&subject)
            .arg("--out")
            .arg(&out)
            .output()
            .expect("loadgen starts");
        let experiment = json_of(&out.join("experiment.json"), &output.stderr);
        let runs: Vec<Value> = std::fs::read_dir(out.join("runs"))
            .expect("runs")
            .map(|entry| json_of(&entry.expect("a file").path(), &[]))
            .collect();
        let of_kind = |kind: &str| {
            let mut run = runs.iter().find(|run| run["cell"]["kind"] == kind).expect(kind).clone();
            // The machine may be busy with other tests: that is not what is tried here.
            run["invalid_because"] = json!([]);
            run["attempt"] = json!(1);
            run
        };
        Template {
            experiment,
            memory: of_kind("memory"),
            drain: of_kind("drain"),
            rate: of_kind("rate"),
        }
    })
}

fn json_of(path: &Path, said: &[u8]) -> Value {
    let said = String::from_utf8_lossy(said);
    let text = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}: {said}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}
