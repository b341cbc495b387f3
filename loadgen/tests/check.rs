//! `loadgen check` as a user meets it: the table, the exit code, the JUnit file, and what is
//! refused with file and line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LOADGEN: &str = env!("CARGO_BIN_EXE_loadgen");

fn loadgen(args: &[&str]) -> Output {
    Command::new(LOADGEN)
        .args(args)
        .output()
        .expect("loadgen starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with the results of the smallest bench there is.
fn measured() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-check");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("temporary folder");
    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
    let subject = format!(
        "name = \"mock\"\nvariant = \"works\"\n[run]\ncommand = \"{LOADGEN}\"\n\
         args = [\"mock-subject\", \"--admin\", \"{{admin}}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n",
        crd.display()
    );
    let file = folder.join("subject.toml").display().to_string();
    std::fs::write(&file, subject).expect("writable");
    let out = folder.join("out").display().to_string();
    let which = [
        "--no-build",
        "--skip-conformance",
        "--rates",
        "40",
        "--objects",
        "3",
        "--subjects",
        "mock/works",
    ];
    let mut args = vec!["bench", "--subject", &file, "--out", &out];
    args.extend(which);
    let bench = loadgen(&args);
    assert!(bench.status.success(), "{}", text(&bench.stderr));
    folder
}

/// A limit on the bench's one subject; the lines after its metric are given.
fn limit(metric: &str, rest: &str) -> String {
    format!("[[limit]]\nsubject = \"mock/works\"\nmetric = \"{metric}\"\n{rest}\n")
}

#[test]
fn a_summary_is_judged_by_a_limits_file() {
    let folder = measured();
    let out = folder.join("out").display().to_string();
    let burst = "cell = \"memory\"\nobjects = 3\n";
    let basis = |max: u64| format!("max = {max}\nmean = {max}\nspread = 0\nruns = 1\nmargin = 0\n");
    let writes = |max: u64| {
        limit(
            "requests.writes_per_object",
            &format!("{burst}{}", basis(max)),
        )
    };
    let null = limit("memory.churn.peak_bytes", &format!("{burst}{}", basis(1)));
    struct Case {
        name: &'static str,
        limits: String,
        code: i32,
        want: Vec<&'static str>,
    }
    let cases = [
        Case {
            name: "holds",
            limits: writes(1) + &limit("binary_bytes", &basis(10_000_000_000)),
            code: 0,
            want: vec![
                "mock/works requests.writes_per_object, memory 3",
                "2 of 2 limits hold",
            ],
        },
        Case {
            name: "breach",
            limits: writes(0) + &writes(1),
            code: 1,
            want: vec![
                "ABOVE",
                ":3: mock/works requests.writes_per_object, memory 3: 1.00 is above 0",
                "1 of 2 limits hold",
            ],
        },
        Case {
            name: "null",
            limits: null.clone(),
            code: 1,
            want: vec!["NOT MEASURED", "not measured: null in the summary"],
        },
        Case {
            name: "null and optional",
            limits: null + "optional = true\n",
            code: 0,
            want: vec!["not measured, optional", "1 of 1 limits hold"],
        },
        // On a busy machine there is no valid run at a rate.
        Case {
            name: "a knee",
            limits: limit(
                "rate_sweep.knee.per_s",
                "min = 0\nmean = 0\nspread = 0\nruns = 1\nmargin = 0\noptional = true\n",
            ),
            code: 0,
            want: vec!["mock/works rate_sweep.knee.per_s", "1 of 1 limits hold"],
        },
        Case {
            name: "unknown metric",
            limits: writes(1) + &limit("requests.reads", &basis(1)),
            code: 2,
            want: vec!["limits.toml:14: unknown metric \"requests.reads\""],
        },
        Case {
            name: "unknown subject",
            limits: writes(1).replace("mock/works", "mock/second"),
            code: 2,
            want: vec![
                "limits.toml:3: unknown subject \"mock/second\"; the summary has: mock/works",
            ],
        },
    ];
    let limits = folder.join("limits.toml");
    let limits_text = limits.display().to_string();
    for case in cases {
        std::fs::write(&limits, &case.limits).expect("writable");
        let junit = folder.join("junit.xml");
        let junit_text = junit.display().to_string();
        let checked = loadgen(&[
            "check",
            &out,
            "--limits",
            &limits_text,
            "--junit",
            &junit_text,
        ]);
        let said = text(&checked.stdout) + &text(&checked.stderr);
        assert_eq!(
            checked.status.code(),
            Some(case.code),
            "{}: {said}",
            case.name
        );
        for want in case.want {
            assert!(said.contains(want), "{}: {want} not in {said}", case.name);
        }
        let xml = std::fs::read_to_string(&junit).unwrap_or_default();
        let _ = std::fs::remove_file(&junit);
        let failures = xml.matches("<failure message=").count();
        assert_eq!(
            failures,
            usize::from(case.code == 1),
            "{}: {xml}",
            case.name
        );
    }
    let absent = loadgen(&["check", "/nowhere", "--limits", &limits_text]);
    assert_eq!(absent.status.code(), Some(1), "{}", text(&absent.stderr));
    assert!(
        text(&absent.stderr).contains("/nowhere/summary.json"),
        "{}",
        text(&absent.stderr)
    );
    let no_limits = loadgen(&["check", &out, "--limits", "/nowhere/limits.toml"]);
    assert_eq!(
        no_limits.status.code(),
        Some(2),
        "{}",
        text(&no_limits.stderr)
    );
}
