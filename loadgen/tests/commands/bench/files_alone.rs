//! An operator that loadgen knows nothing of: a CRD, a workload and a command, as files in a folder of somebody's.

use std::process::{Child, Command, Stdio};

use controlplane::Binaries;
use serde_json::Value;

use crate::bench::outside::EmptyFolder;
use crate::bench::workload::{CRD, TEMPLATE, WORKLOAD};
use crate::program::{mock_subject, text, wait_for};

const STEPS: &str = "
[[steps]]
do = \"update\"

[[steps]]
do = \"recreate\"
share = 0.5

[[steps]]
do = \"bystanders\"
objects = \"secrets=5\"
";

const LIMITS: &str = "[[limit]]
subject = \"widgets/own\"
metric = \"requests.writes_per_object\"
cell = \"memory\"
objects = 10
max = 1.5
mean = 1.0
spread = 0.0
runs = 1
margin = 0.5
";

/// A process that ends with the test.
pub struct Running(Child);

impl Running {
    /// As the owner of the cluster in the folder.
    pub fn of(folder: &EmptyFolder, mut command: Command) -> Self {
        let kubeconfig = folder.path().join("owner.kubeconfig");
        command.env("KUBECONFIG", kubeconfig);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn started(folder: &EmptyFolder, words: &str) -> Running {
    Running::of(folder, folder.command(words))
}

/// A folder with an operator, its workload with these steps, its CRD and limits.
fn folder_of(name: &str, steps: &str) -> EmptyFolder {
    let folder = EmptyFolder::new(name);
    let mock = mock_subject();
    let subject = format!(
        "name = \"widgets\"\nvariant = \"own\"\nworkloads = [\"./widgets\"]\n\
         [run]\ncommand = \"{mock}\"\n\
         args = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--workload\", \"./widgets\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\n[ready]\nhttp = \"/readyz\"\n"
    );
    let workload = format!("{WORKLOAD}{steps}");
    std::fs::create_dir(folder.path().join("widgets")).expect("writable");
    for (file, text) in [
        ("widgets/workload.toml", workload.as_str()),
        ("widgets/widget.yaml", TEMPLATE),
        ("widgets/crd.yaml", CRD),
        ("widgets.toml", &subject),
        ("limits.toml", LIMITS),
    ] {
        std::fs::write(folder.path().join(file), text).expect("writable");
    }
    folder
}

/// On a server that loadgen ends, and on others, which it does not.
pub fn the_api_server_is_restarted_by_a_step_of_the_workload() {
    let steps = "[[steps]]\ndo = \"restart-server\"\ntimes = 2\n[[steps]]\ndo = \"update\"\n";
    let folder = folder_of("restart-server", steps);
    let bench = "bench --subject widgets.toml --subjects widgets/own --objects 10 --bursts-only --profile quick \
                 --attempts 1 --repeats 1 --out out";
    let refused = folder.command(bench).output().expect("it starts");
    assert_eq!(refused.status.code(), Some(2));
    let why = text(&refused.stderr);
    let want = "workload.toml:17: steps.do: restart-server: loadgen ends no API server but a kube-apiserver of its own";
    assert!(why.contains(want), "{why}");

    let binaries = Binaries::find().expect("trials without it are ignored");
    let assets = binaries.etcd.parent().expect("in a folder");
    let mut command = folder.command(&format!("{bench} --control-plane kube"));
    let done = command.env("KUBEBUILDER_ASSETS", assets).output();
    let done = done.expect("it starts");
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let run = std::fs::read(folder.path().join("out/runs/widgets-own-drain-10-r1.json"));
    let run: Value = serde_json::from_slice(&run.expect("a record")).expect("JSON");
    let steps = run["steps"].as_array().expect("steps");
    let of_workload = steps.iter().filter(|it| it["of_workload"] == true);
    let names: Vec<&Value> = of_workload.map(|it| &it["step"]).collect();
    assert_eq!(names, ["restart of the API server, 2 times", "update"]);
    let restart = &run["server_restart"];
    let back_s = restart["back_s"].as_f64();
    assert!(
        back_s > Some(0.0) && restart["working_s"].as_f64() >= back_s,
        "{restart}"
    );
    folder.said("verify out");
}

pub fn an_operator_of_files_alone_is_benched_run_checked_and_reported() {
    let folder = folder_of("files-alone", STEPS);
    folder.said("lint ./widgets");
    folder.said(
        "bench --subject widgets.toml --subjects widgets/own --objects 0,10 --bursts-only \
         --attempts 1 --out first",
    );
    let report = std::fs::read_to_string(folder.path().join("first/report.md")).expect("written");
    let row = report
        .lines()
        .find(|line| line.starts_with("| recreate of 50 % |"));
    let row = row.unwrap_or_else(|| panic!("no row of the step in {report}"));
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    // Runs, seconds, P50 and P99 until ready.
    assert_eq!(cells[2], "1", "{row}");
    assert!(
        cells[3..6].iter().all(|cell| cell.parse::<f64>().is_ok()),
        "{row}"
    );
    let checked = folder.said("check first --limits limits.toml");
    assert!(checked.contains("1 of 1 limits hold"), "{checked}");
    std::fs::remove_file(folder.path().join("first/report.html")).expect("written");
    folder.said("report first");
    assert!(folder.path().join("first/report.html").exists());
    folder.said("verify first");

    let _cluster = started(
        &folder,
        "kubesim --users owner --crd widgets/crd.yaml --dir .",
    );
    let kubeconfig = folder.path().join("owner.kubeconfig");
    wait_for("the cluster's kubeconfig", || kubeconfig.exists());
    let words = "mock-subject --admin 127.0.0.1:0 --workload ./widgets";
    let mut operator = Command::new(mock_subject());
    operator.args(words.split(' ')).current_dir(folder.path());
    let _operator = Running::of(&folder, operator);
    let said = folder.said("run ./widgets --count 10 --kubeconfig owner.kubeconfig");
    for want in [
        "Convergence, ms",
        "\nupdate ",
        "\nrecreate of 50 % ",
        "\nbystanders secrets=5 ",
        "left behind",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let clean = folder.said("clean --workload ./widgets --kubeconfig owner.kubeconfig");
    assert!(clean.starts_with("nothing to remove"), "{clean}");
}
