//! The command line as a user meets it: bad input is one clear line and the right exit code.

use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::Trial;

use crate::program::{LOADGEN, folder};
use crate::{tests, trial};

pub fn trials() -> Vec<Trial> {
    let all = tests![cli:
        bad_input_is_one_line_that_says_what_where_and_what_to_do,
        the_help_names_the_subjects_that_are_measured_by_default,
        questions_are_answered,
        every_workload_and_subject_of_this_repository_can_be_used,
        every_figure_is_listed_by_the_name_that_limits_use,
        credentials_are_readable_by_their_owner_only,
        a_dry_run_says_what_a_bench_takes_and_writes_nothing,
    ];
    all.map(|(name, test)| trial(name, test, false)).into()
}

fn loadgen(args: &[&str]) -> Output {
    let mut command = Command::new(LOADGEN);
    command.args(args).env_remove("TARE_SUBJECT_DIR");
    command.output().expect("loadgen starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn file(name: &str, content: &str) -> String {
    let path = folder(&format!("cli-{name}")).join("subject.toml");
    std::fs::write(&path, content).expect("writable");
    path.display().to_string()
}

fn every_figure_is_listed_by_the_name_that_limits_use() {
    let listed = loadgen(&["metrics", "restart"]);
    let table = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(table.contains("\nmemory.restart.rss_bytes "), "{table}");
    assert!(!table.contains("memory.settled"), "{table}");
    let json = loadgen(&["metrics", "--json"]);
    let all: Vec<serde_json::Value> = serde_json::from_slice(&json.stdout).expect("JSON");
    let writes = all
        .iter()
        .find(|one| one["name"] == "requests.writes_per_object");
    let writes = writes.expect("a figure");
    assert_eq!(
        writes["runs"],
        serde_json::json!(["memory", "request-count"])
    );
    let none = loadgen(&["metrics", "nothing-has-this"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(none.stdout.is_empty());
    assert!(stderr(&none).starts_with("error: no figure has \"nothing-has-this\""));
}

fn bad_input_is_one_line_that_says_what_where_and_what_to_do() {
    let full = folder("cli-not-empty");
    std::fs::write(full.join("x"), "x").expect("writable");
    let full = full.display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("bound").to_string();
    let empty = folder("cli-empty").display().to_string();
    let unknown_key = file("unknown-key", "name = \"a\"\ncolour = 3\n");
    let least =
        "name = \"mine\"\nvariant = \"x\"\n[run]\ncommand = \"./nothing\"\ncrd = \"crd.yaml\"\n";
    let no_program = file("no-program", least);
    let objects = "[objects]\nname = \"a\"\nservice = \"none\"\nobject_bytes = 1\nready_delay_ms = 1\nobject = {}\nupdate = {}\n\
        [objects.resource]\ngroup = \"a\"\nversion = \"v1\"\nkind = \"A\"\nplural = \"as\"\nnamespace = \"b\"\n";
    let own_objects = file("own-objects", &format!("{least}{objects}"));
    let bad_workload = folder("cli-bad-workload");
    std::fs::write(
        bad_workload.join("workload.toml"),
        "description = \"a\"\ncolour = 3\n",
    )
    .expect("writable");
    let bad_workload = bad_workload.display().to_string();
    let out = format!("{empty}/out");
    let out_of_bystanders = format!("{empty}/bystanders");

    struct Case<'a> {
        name: &'a str,
        args: Vec<&'a str>,
        code: i32,
        want: Vec<&'a str>,
    }
    let case = |name, args: &[&'static str], code, want: &[&'static str]| Case {
        name,
        args: args.to_vec(),
        code,
        want: want.to_vec(),
    };
    let mut cases = vec![
        case(
            "unknown option",
            &["bench", "--sed", "3"],
            2,
            &["'--sed'", "loadgen --help"],
        ),
        case("unknown command", &["bensch"], 2, &["bensch", "bench"]),
        case(
            "unknown subject",
            &["bench", "--subjects", "tare/nome"],
            2,
            &[
                "\"tare/nome\"",
                "tare/none, tare/metadata, tare/pruned, tare/controller, tare/controller-tuned, kube-rs/stock",
                "--subject FILE",
            ],
        ),
        case(
            "no subject",
            &["bench", "--subjects", ""],
            2,
            &["no subject", "kube-rs/stock"],
        ),
        case(
            "impossible size",
            &["bench", "--objects", "5000000"],
            2,
            &["--objects", "5000000", "1000000"],
        ),
        case(
            "not a size",
            &["bench", "--objects", "5k"],
            2,
            &["'5k'", "0,500,2000,5000"],
        ),
        case(
            "no repeats",
            &["bench", "--repeats", "0"],
            2,
            &["'0'", "1..=100"],
        ),
        case(
            "resume without a folder",
            &["bench", "--resume"],
            2,
            &["--out"],
        ),
        case(
            "unknown control plane",
            &["bench", "--control-plane", "minikube"],
            2,
            &["'minikube'", "kubesim"],
        ),
        case(
            "subject file absent",
            &["bench", "--subject", "/nowhere/subject.toml"],
            2,
            &["/nowhere/subject.toml", "No such file"],
        ),
        case(
            "CRD absent",
            &["control-plane", "up", "--crd", "/nowhere.yaml"],
            2,
            &["--crd /nowhere.yaml", "no such file"],
        ),
        case(
            "unknown version of Kubernetes",
            &["control-plane", "build", "--kubernetes", "1.33"],
            2,
            &["--kubernetes: no module for Kubernetes \"1.33\"; choose one of 1.37, 1.36, 1.35"],
        ),
        case(
            "node of another version",
            &["control-plane", "build", "--kubernetes", "1.35", "--node"],
            2,
            &["--kubernetes", "--node"],
        ),
        case(
            "report of nothing",
            &["report", "/nowhere"],
            1,
            &["/nowhere", "experiment.json"],
        ),
        case(
            "nothing to verify",
            &["verify", "/nowhere"],
            1,
            &["cannot read /nowhere", "No such file"],
        ),
        case(
            "workload absent",
            &["bench", "--workload", "/nowhere"],
            2,
            &[
                "/nowhere: no such workload; known: argo-rollouts, configmaps, dnsendpoint, echo, edgeapp, helmchart",
            ],
        ),
        case(
            "workload absent for a run",
            &["run", "nothing", "--count", "1"],
            2,
            &["nothing: no such workload", "workload.toml"],
        ),
        case(
            "a workload whose children nobody rejects",
            &[
                "bench",
                "--workload",
                "configmaps",
                "--subjects",
                "nobody/idle",
                "--unhealthy",
            ],
            2,
            &[
                "--unhealthy: workload configmaps has no object.rejected",
                "workload.toml",
            ],
        ),
        case(
            "a workload that the subjects do not serve",
            &["bench", "--workload", "configmaps"],
            2,
            &[
                "--workload configmaps: tare/none serves edgeapp",
                "--subjects",
            ],
        ),
        case(
            "bystanders of no known kind",
            &["bench", "--bystanders", "nodes=3"],
            2,
            &[
                "--bystanders",
                "\"nodes=3\"",
                "such as secrets=300,configmaps=300",
            ],
        ),
        case(
            "a size that no object of the workload has",
            &["bench", "--object-bytes", "10"],
            2,
            &[
                "--object-bytes 10: an object of workload edgeapp has ",
                " to 1400000 bytes",
            ],
        ),
        case(
            "nothing to compare",
            &["compare", "/nowhere", "/nowhere"],
            1,
            &["/nowhere/summary.json", "No such file"],
        ),
        case(
            "an increase of nothing",
            &["compare", "a", "b", "--max-increase", "cpu=5"],
            2,
            &["--max-increase", "unknown metric"],
        ),
    ];
    cases.push(Case {
        name: "folder in use",
        args: vec!["bench", "--out", &full],
        code: 2,
        want: vec![&full, "not empty", "--out"],
    });
    cases.push(Case {
        name: "unknown key",
        args: vec!["bench", "--subject", &unknown_key],
        code: 2,
        want: vec!["subject.toml:2:", "`colour`"],
    });
    cases.push(Case {
        name: "unknown key of a workload",
        args: vec!["lint", &bad_workload],
        code: 2,
        want: vec!["workload.toml:2: unknown field `colour`", "expected one of"],
    });
    cases.push(Case {
        name: "objects in a subject file",
        args: vec!["bench", "--subject", &own_objects],
        code: 2,
        want: vec![
            "subject.toml",
            "[objects]: what is created is a workload",
            "workloads = [",
        ],
    });
    cases.push(Case {
        name: "program absent",
        args: vec![
            "bench",
            "--subject",
            &no_program,
            "--subjects",
            "mine/x",
            "--no-build",
            "--out",
            &out,
        ],
        code: 1,
        want: vec!["mine/x", "./nothing", "correct [run] command"],
    });
    cases.push(Case {
        name: "program absent, beside foreign objects",
        args: vec![
            "bystanders",
            &no_program,
            "--no-build",
            "--out",
            &out_of_bystanders,
        ],
        code: 1,
        want: vec!["mine/x", "./nothing", "correct [run] command"],
    });
    cases.push(Case {
        name: "port in use",
        args: vec!["kubesim", "--listen", &taken, "--dir", &empty],
        code: 1,
        want: vec![&taken, "in use", "--listen"],
    });

    cases.push(Case {
        name: "kubeconfig in the way",
        args: vec!["control-plane", "up", "--kubeconfig", &unknown_key],
        code: 2,
        want: vec![&unknown_key, "not overwritten"],
    });

    for case in cases {
        let output = loadgen(&case.args);
        let text = stderr(&output);
        assert_eq!(
            output.status.code(),
            Some(case.code),
            "{}: {text}",
            case.name
        );
        assert_eq!(text.trim().lines().count(), 1, "{}: {text}", case.name);
        assert!(text.starts_with("error: "), "{}: {text}", case.name);
        for want in case.want {
            assert!(text.contains(want), "{}: {want} not in {text}", case.name);
        }
    }
}

fn the_help_names_the_subjects_that_are_measured_by_default() {
    let listed = loadgen(&["subjects", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let subjects = listed.as_array().expect("a list").iter();
    let by_default = subjects.filter(|subject| subject["measured"] != "by-name");
    let ids: Vec<&str> = by_default
        .filter_map(|subject| subject["id"].as_str())
        .collect();
    let help = loadgen(&["bench", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(ids.len() > 2 && help.contains(&ids.join(",")), "{ids:?}");
}

fn questions_are_answered() {
    let subjects = loadgen(&["subjects"]);
    let text = String::from_utf8_lossy(&subjects.stdout).into_owned();
    assert!(
        subjects.status.success() && text.contains("tare/none") && text.contains("kube-rs/stock"),
        "{text}"
    );
    let version = loadgen(&["--version"]);
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let want = format!("loadgen {}+", env!("CARGO_PKG_VERSION"));
    assert!(version.starts_with(&want), "{version}");
    let schema = loadgen(&["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).expect("JSON");
    assert_eq!(schema["title"], "Summary", "{schema}");
    for (file, field) in [("workload", "object_bytes"), ("subject", "variant")] {
        let schema = loadgen(&["schema", file]);
        let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).expect("JSON");
        assert!(schema["properties"][field].is_object(), "{file}: {schema}");
    }
    let workloads = loadgen(&["workloads", "--json"]);
    let workloads: serde_json::Value = serde_json::from_slice(&workloads.stdout).expect("JSON");
    let names = workloads.as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|one| one["name"].as_str()).collect();
    assert!(
        names.contains(&"configmaps") && names.len() >= 6,
        "{names:?}"
    );
    let lint = loadgen(&["lint", "configmaps", "--objects", "1000"]);
    let said = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(
        lint.status.success() && said.contains("1,000 have 2.0 MB"),
        "{said}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let script = loadgen(&["completions", shell]);
        let script = String::from_utf8_lossy(&script.stdout).into_owned();
        assert!(script.contains("control-plane"), "{shell}: {script}");
    }
    let subjects = loadgen(&["subjects", "--json"]);
    let subjects: serde_json::Value = serde_json::from_slice(&subjects.stdout).expect("JSON");
    assert_eq!(subjects[0]["id"], "tare/none");
    assert!(loadgen(&["bench", "--help"]).status.success());
}

fn every_workload_and_subject_of_this_repository_can_be_used() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .arg("*.toml")
        .current_dir(&checkout)
        .output()
        .expect("git starts");
    let listed = String::from_utf8(listed.stdout).expect("names");
    let mut linted = 0;
    for name in listed.lines() {
        let path = checkout.join(name);
        // One that was deleted is listed until that is committed.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let what = match path.parent() {
            Some(folder) if path.ends_with("workload.toml") => folder,
            _ if text.contains("\nvariant = ") => &path,
            _ => continue,
        };
        let lint = loadgen(&["lint", &what.display().to_string()]);
        let said = [&lint.stdout[..], &lint.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(lint.status.success(), "{name}: {said}");
        linted += 1;
    }
    assert!(linted > 30, "{linted}");
}

fn credentials_are_readable_by_their_owner_only() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;
    let dir = folder("cli-credentials");
    let mut server = Command::new(LOADGEN)
        .args(["kubesim", "--users", "a,b", "--dir"])
        .arg(&dir)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("loadgen starts");
    let mut line = String::new();
    let stdout = server.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let modes = ["a.kubeconfig", "b.kubeconfig"].map(|name| {
        let file = std::fs::metadata(dir.join(name)).expect("written before the line");
        file.permissions().mode() & 0o777
    });
    let _ = server.kill();
    let _ = server.wait();
    assert!(line.starts_with("{\"url\":\"https://127.0.0.1:"), "{line}");
    assert_eq!(modes, [0o600, 0o600]);
}

fn a_dry_run_says_what_a_bench_takes_and_writes_nothing() {
    let out = folder("cli-dry-run").join("out");
    let shown = out.display().to_string();
    let dry_run = |more: &[&str]| {
        let args = ["bench", "--dry-run", "--out", &shown, "--objects", "0,1000"];
        let output = loadgen(&[&args[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let bursts = dry_run(&["--bursts-only", "--repeats", "1"]);
    assert_eq!(bursts["subjects"].as_array().map(Vec::len), Some(2));
    assert_eq!(bursts["runs"], 2 * 3, "one drain and two of memory each");
    assert_eq!(bursts["runs_left"], bursts["runs"]);
    assert_eq!(bursts["runs_by_kind"]["memory"], 4);
    let number = |estimate: &serde_json::Value, name: &str| {
        estimate[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} of {estimate}"))
    };
    let swept = dry_run(&["--rates", "5,10", "--repeats", "3"]);
    for name in ["runs", "left_s", "results_bytes"] {
        assert!(number(&swept, name) > number(&bursts, name), "{name}");
    }
    assert_eq!(swept["runs_by_kind"]["rate"], 2 * 2 * 3);
    assert!(!out.exists());
}
