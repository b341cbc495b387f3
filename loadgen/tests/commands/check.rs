//! `loadgen check` as a user meets it: the table, the exit code, the JUnit file, and what is
//! refused with file and line.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

use crate::program::{folder, loadgen, mock_subject, text};
use crate::{tests, trial};

pub fn trials() -> Vec<Trial> {
    let all = tests![check:
        a_summary_is_judged_by_a_limits_file,
        a_hot_loop_fails_by_what_it_writes_while_nothing_changes,
    ];
    all.map(|(name, test)| trial(name, test, false)).into()
}

/// A folder with the results of the smallest bench there is, of a mock that behaves so.
fn measured(behaviour: &str) -> PathBuf {
    let folder = folder(&format!("check-{behaviour}"));
    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
    let mock = mock_subject();
    let subject = format!(
        "name = \"mock\"\nvariant = \"{behaviour}\"\n[run]\ncommand = \"{mock}\"\n\
         args = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--behaviour\", \"{behaviour}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n",
        crd.display()
    );
    let file = folder.join("subject.toml").display().to_string();
    std::fs::write(&file, subject).expect("writable");
    let out = folder.join("out").display().to_string();
    let subject = format!("mock/{behaviour}");
    let mut which = vec!["--no-build", "--skip-conformance", "--objects", "3"];
    which.extend(["--rates", "40", "--subjects", &subject]);
    // It never comes to rest: every other run would wait for that as long as a run may.
    which.extend((behaviour == "hot-loop").then_some("--memory-only"));
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

fn a_summary_is_judged_by_a_limits_file() {
    let folder = measured("works");
    let out = folder.join("out").display().to_string();
    let burst = "cell = \"memory\"\nobjects = 3\n";
    let basis = |max: u64| format!("max = {max}\nmean = {max}\nspread = 0\nruns = 1\nmargin = 0\n");
    let writes = |max: u64| {
        limit(
            "requests.writes_per_object",
            &format!("{burst}{}", basis(max)),
        )
    };
    let null = limit("memory.update.peak_bytes", &format!("{burst}{}", basis(1)));
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
    let breach = writes(1) + &writes(0);
    std::fs::write(&limits, breach).expect("writable");
    let checked = loadgen(&["check", &out, "--limits", &limits_text, "--markdown"]);
    let said = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "### 1 of 2 limits hold", "{said}");
    assert!(lines[4].ends_with("| ABOVE |"), "failed first: {said}");
    assert!(lines[5].ends_with("| ok |"), "{said}");
    assert!(
        lines[7].starts_with("- ") && lines[7].contains("is above 0"),
        "{said}"
    );
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
    let sized = loadgen(&["sizing", &out]);
    let said = text(&sized.stdout);
    assert_eq!(sized.status.code(), Some(0), "{}", text(&sized.stderr));
    for want in [
        "# mock/works with 3 edgeapp objects",
        "# memory, worst of 1 valid runs: idle ",
        "resources:\n  requests:\n    cpu: 10m\n    memory: ",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    for (args, code, want) in [
        (
            ["--objects", "9"],
            1,
            "3 objects is the largest size that was measured",
        ),
        (
            ["--subject", "mock/none"],
            2,
            "--subject mock/none: not in this folder; it has: mock/works",
        ),
    ] {
        let mut words = vec!["sizing", out.as_str()];
        words.extend(args);
        let sized = loadgen(&words);
        let said = text(&sized.stderr);
        assert_eq!(sized.status.code(), Some(code), "{said}");
        assert!(
            said.contains(want) && said.trim().lines().count() == 1,
            "{said}"
        );
    }
}

/// It converges all objects and never comes to rest: only what it writes without an end shows it.
fn a_hot_loop_fails_by_what_it_writes_while_nothing_changes() {
    let folder = measured("hot-loop");
    let out = folder.join("out").display().to_string();
    let limits = folder.join("limits.toml");
    let of_memory =
        "cell = \"memory\"\nobjects = 3\nmax = 6\nmean = 0\nspread = 0\nruns = 1\nmargin = 6\n";
    let idle =
        limit("requests.idle_writes_per_minute", of_memory).replace("mock/works", "mock/hot-loop");
    std::fs::write(&limits, idle).expect("writable");
    let junit = folder.join("junit.xml");
    let paths = [&limits, &junit].map(|path| path.display().to_string());
    let checked = loadgen(&["check", &out, "--limits", &paths[0], "--junit", &paths[1]]);
    let said = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(
        said.contains("requests.idle_writes_per_minute, memory 3: ")
            && said.contains(" is above 6"),
        "{said}"
    );
    let xml = std::fs::read_to_string(&junit).expect("written");
    assert_eq!(xml.matches("<failure message=").count(), 1, "{xml}");
}
