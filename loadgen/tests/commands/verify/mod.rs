//! `loadgen verify` and `loadgen compare` on the folder of a bench, and on copies in which one thing was
//! changed; and `loadgen schema` on its files.

mod bench_folder;
mod schema;

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::program::{loadgen, text};
use crate::verify::bench_folder::{
    BenchFolder, all_runs_valid, change_json, change_packed, change_text, cover, later,
};
use crate::{tests, trial};

const DRAIN: &str = "mock-works-drain-12-r1";
const MEMORY: &str = "mock-works-memory-12-r1";

pub fn trials() -> Vec<Trial> {
    let all = tests![verify:
        a_folder_is_verified_and_one_change_is_one_line,
        a_folder_of_a_command_is_verified_by_its_hashes,
    ];
    all.map(|(name, test)| trial(name, test, false)).into()
}

struct Case {
    name: &'static str,
    change: fn(&Path),
    /// Begins the one line that is printed.
    want: &'static str,
}

const CASES: [Case; 16] = [
    Case {
        name: "a plot",
        change: |folder| {
            change_text(&folder.join("report.html"), |page| {
                let (text, plots) = page.split_once("<svg").expect("a plot");
                format!("{text}<svg{}", plots.replacen('1', "2", 1))
            });
        },
        want: "report.html: changed: SHA-256 is ",
    },
    Case {
        name: "a figure of the summary",
        change: |folder| {
            change_json(&folder.join("summary.json"), |summary| {
                summary["subjects"][0]["runs"][0]["objects"] = 13.into();
            });
        },
        want: "summary.json: subjects[0].runs[0].objects: 13, the raw data gives 12",
    },
    Case {
        name: "a figure of the summary, and its hash",
        change: |folder| {
            change_json(&folder.join("summary.json"), |summary| {
                summary["subjects"][0]["runs"][0]["objects"] = 13.into();
            });
            cover(folder, "summary.json");
        },
        want: "summary.json: subjects[0].runs[0].objects: 13, the raw data gives 12",
    },
    Case {
        name: "a figure of a table",
        change: |folder| {
            change_text(&folder.join("report.md"), |page| {
                page.replacen("| RSS settled, MB | ", "| RSS settled, MB | 1", 1)
            });
        },
        want: "report.md: changed: SHA-256 is ",
    },
    Case {
        name: "a figure of a run",
        change: |folder| {
            change_json(&folder.join(format!("runs/{DRAIN}.json")), |run| {
                run["converge_cpu_s"] = 0.001.into();
            });
        },
        want: "runs/mock-works-drain-12-r1.json: changed: SHA-256 is ",
    },
    Case {
        name: "a time of a run, and its hash",
        change: |folder| {
            let name = format!("runs/{DRAIN}.json");
            change_json(&folder.join(&name), |run| {
                run["convergence"]["drain_s"] = 0.001.into();
            });
            cover(folder, &name);
        },
        want: "runs/mock-works-drain-12-r1.json: does not follow from samples/mock-works-drain-12-r1.tsv.gz: \
               convergence.drain_s: 0.001, the raw data gives ",
    },
    Case {
        name: "a sample",
        change: |folder| change_packed(&folder.join(format!("samples/{DRAIN}.tsv.gz")), later),
        want: "samples/mock-works-drain-12-r1.tsv.gz: changed; runs/mock-works-drain-12-r1.json has convergence.",
    },
    Case {
        name: "a sample, and its hash",
        change: |folder| {
            let name = format!("samples/{DRAIN}.tsv.gz");
            change_packed(&folder.join(&name), later);
            cover(folder, &name);
        },
        want: "runs/mock-works-drain-12-r1.json: does not follow from samples/mock-works-drain-12-r1.tsv.gz: ",
    },
    Case {
        name: "memory over time, and its hash",
        change: |folder| {
            let name = format!("series/{MEMORY}.tsv.gz");
            // Rows are differences: the first one sets the memory, and no other changes it.
            change_packed(&folder.join(&name), |series| {
                let mut rss_bytes = "99000000000";
                let row = |line: &str| {
                    let columns: Vec<&str> = line.split('\t').collect();
                    match columns[0].parse::<u64>() {
                        Ok(_) => [
                            &[columns[0], std::mem::replace(&mut rss_bytes, "0")],
                            &columns[2..],
                        ]
                        .concat()
                        .join("\t"),
                        Err(_) => line.to_owned(),
                    }
                };
                let rows = series.lines().map(row).map(|line| line + "\n");
                rows.collect()
            });
            cover(folder, &name);
        },
        want: "runs/mock-works-memory-12-r1.json: does not follow from series/mock-works-memory-12-r1.tsv.gz: rss_bytes 99000000000 at ",
    },
    Case {
        name: "a log",
        change: |folder| {
            change_packed(&folder.join(format!("logs/{DRAIN}.log.gz")), |log| {
                log + "all is well\n"
            });
        },
        want: "logs/mock-works-drain-12-r1.log.gz: changed: SHA-256 is ",
    },
    Case {
        name: "a missing log",
        change: |folder| {
            fs::remove_file(folder.join(format!("logs/{DRAIN}.log.gz"))).expect("there")
        },
        want: "logs/mock-works-drain-12-r1.log.gz: missing; ",
    },
    Case {
        name: "a missing run, and its hash",
        change: |folder| {
            let name = format!("runs/{DRAIN}.json");
            fs::remove_file(folder.join(&name)).expect("there");
            change_text(&folder.join("SHA256SUMS"), |sums| {
                let kept = sums.lines().filter(|line| !line.ends_with(&name));
                kept.map(|line| format!("{line}\n")).collect()
            });
        },
        want: "runs/mock-works-drain-12-r1.json: missing; experiment.json plans mock/works drain 12",
    },
    Case {
        name: "a run that was not planned",
        change: |folder| {
            let name = format!("runs/{DRAIN}.json");
            let new = "runs/mock-works-drain-12-r9.json";
            fs::copy(folder.join(name), folder.join(new)).expect("writable");
        },
        want: "runs/mock-works-drain-12-r9.json: experiment.json does not plan this run",
    },
    Case {
        name: "an unknown field of a run",
        change: |folder| {
            change_json(&folder.join(format!("runs/{DRAIN}.json")), |run| {
                run["colour"] = "red".into();
            });
        },
        want: "runs/mock-works-drain-12-r1.json: ",
    },
    Case {
        name: "an artifact of the program, and its hash",
        change: |folder| {
            change_json(&folder.join("experiment.json"), |experiment| {
                let subject = &mut experiment["subjects"][0];
                subject["subject"]["run"]["artifacts"] = json!(["script.js"]);
                subject["artifacts"] = json!([{"name": "script.js", "bytes": 5, "sha256": "ab"}]);
            });
            cover(folder, "experiment.json");
        },
        want: "experiment.json: mock/works: binary_bytes and binary_sha256 are not those of its artifacts",
    },
    Case {
        name: "a new file",
        change: |folder| fs::write(folder.join("notes.txt"), "mine").expect("writable"),
        want: "notes.txt: not in SHA256SUMS",
    },
];

fn a_folder_is_verified_and_one_change_is_one_line() {
    let bed = BenchFolder::new();
    let out = bed.text("out");
    let fresh = loadgen(&["verify", &out]);
    let said = text(&fresh.stdout) + &text(&fresh.stderr);
    assert_eq!(fresh.status.code(), Some(0), "{said}");
    assert!(said.contains(": verified, schema "), "{said}");
    for case in CASES {
        let folder = bed.copy("changed");
        (case.change)(&folder);
        let folder = folder.display().to_string();
        let verified = loadgen(&["verify", &folder]);
        let said = text(&verified.stdout) + &text(&verified.stderr);
        assert_eq!(verified.status.code(), Some(1), "{}: {said}", case.name);
        assert_eq!(said.lines().count(), 1, "{}: {said}", case.name);
        let want = format!("{folder}/{}", case.want);
        assert!(
            said.starts_with(&want),
            "{}: {want}\nnot in {said}",
            case.name
        );
    }
    other_words_are_no_other_figures(&bed);
    schema::every_file_is_described(&bed);
    a_report_does_not_cover_an_edit(&bed);
    a_folder_is_compared_with_itself_and_with_a_slower_one(&bed);
}

/// A later loadgen says the same in other words, and knows more figures.
fn other_words_are_no_other_figures(bed: &BenchFolder) {
    let folder = bed.copy("words");
    change_json(&folder.join("summary.json"), |summary| {
        summary["notes"] = json!(["said otherwise"]);
        let values = summary["subjects"][0]["runs"][0]["values"].as_object_mut();
        values.expect("figures").remove("cpu.converge_s");
    });
    change_text(&folder.join("report.md"), |page| {
        page.replacen("RSS", "Memory", 1)
    });
    for name in ["summary.json", "report.md"] {
        cover(&folder, name);
    }
    let verified = loadgen(&["verify", &folder.display().to_string()]);
    let said = text(&verified.stdout) + &text(&verified.stderr);
    assert_eq!(verified.status.code(), Some(0), "{said}");
}

fn a_folder_of_a_command_is_verified_by_its_hashes() {
    let folder = std::env::temp_dir().join(format!("loadgen-verify-origin-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("writable");
    let machine = json!({ "cpu_model": "A processor", "cores": 2 });
    let origin = json!({
        "command": "scripts/page.sh", "commit": "0123abcd", "date": "2026-01-02T03:04:05Z", "host_label": "a", "machine": machine,
    });
    write("origin.json", &origin.to_string());
    write("page.md", "# A page\n");
    write("SHA256SUMS", "-  origin.json\n-  page.md\n");
    cover(&folder, "origin.json");
    cover(&folder, "page.md");
    let path = folder.to_string_lossy().into_owned();
    let verify = || {
        let done = loadgen(&["verify", &path]);
        (done.status.code(), text(&done.stdout))
    };
    let whole = format!(
        "{path}: verified: 2 files by their hash; its figures are not recomputed, `scripts/page.sh` at 0123abcd made them\n"
    );
    assert_eq!(verify(), (Some(0), whole));
    write("page.md", "# Another page\n");
    let (code, line) = verify();
    assert!(
        code == Some(1) && line.starts_with(&format!("{path}/page.md: changed: SHA-256 is ")),
        "{line}"
    );
    fs::remove_dir_all(folder).expect("ours");
}

fn a_report_does_not_cover_an_edit(bed: &BenchFolder) {
    let edited = bed.copy("edited");
    let name = format!("runs/{DRAIN}.json");
    let sums = fs::read(edited.join("SHA256SUMS")).expect("there");
    change_json(&edited.join(&name), |run| {
        run["converge_cpu_s"] = 0.001.into()
    });
    // What follows from the raw data is not raw data, and a new file is no edit.
    fs::write(edited.join("report.md"), "gone").expect("writable");
    fs::write(edited.join("notes.txt"), "mine").expect("writable");
    let folder = edited.display().to_string();
    let refused = loadgen(&["report", &folder]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with(&format!("error: {folder}/{name}: changed: SHA-256 is "))
            && said.contains("accept the change with --accept-changes"),
        "{said}"
    );
    assert_eq!(fs::read(edited.join("SHA256SUMS")).expect("there"), sums);
    let accepted = loadgen(&["report", &folder, "--accept-changes"]);
    assert!(accepted.status.success(), "{}", text(&accepted.stderr));
    for command in ["report", "verify"] {
        let sound = loadgen(&[command, &folder]);
        let said = text(&sound.stdout) + &text(&sound.stderr);
        assert!(sound.status.success(), "{command}: {said}");
    }
}

fn a_folder_is_compared_with_itself_and_with_a_slower_one(bed: &BenchFolder) {
    let [before, same, slower] = ["before", "same", "slower"].map(|name| {
        let folder = bed.copy(name);
        all_runs_valid(&folder);
        folder
    });
    let [out, same] = [before, same].map(|folder| folder.display().to_string());
    let compared = loadgen(&["compare", &out, &same]);
    let said = text(&compared.stdout) + &text(&compared.stderr);
    assert_eq!(compared.status.code(), Some(0), "{said}");
    assert!(!said.contains("WARNING"), "{said}");
    assert!(
        said.contains("0 better, 0 worse, ") && said.contains(" not significant, 0 undecided"),
        "{said}"
    );

    change_json(&slower.join("summary.json"), |summary| {
        summary["scenario"]["object_bytes"] = 1.into();
        let runs = summary["subjects"][0]["runs"].as_array_mut();
        for run in runs.expect("runs").iter_mut() {
            if let Some(drain_s) = run["values"]["convergence.drain_s"].as_f64() {
                run["values"]["convergence.drain_s"] = (drain_s * 1e6).into();
            }
        }
    });
    let slower = slower.display().to_string();
    let limits = bed.path("increases.toml");
    fs::write(
        &limits,
        "[max_increase_percent]\n\"convergence.drain_s\" = 5\n",
    )
    .expect("writable");
    let limits = limits.display().to_string();
    let by_option = ["--max-increase", "convergence.drain_s=5"];
    for limit in [by_option, ["--limits", &limits]] {
        let compared = loadgen(&[&["compare", &out, &slower], &limit[..]].concat());
        let said = text(&compared.stdout);
        assert_eq!(compared.status.code(), Some(1), "{said}");
        for want in [
            "WARNING object size, bytes differs: ",
            "worse ↑",
            "FAILED mock/works convergence.drain_s, drain 12: grew by ",
        ] {
            assert!(said.contains(want), "{want} not in {said}");
        }
    }
    let markdown = loadgen(&["compare", &out, &slower, "--markdown"]);
    let said = text(&markdown.stdout);
    assert_eq!(markdown.status.code(), Some(0), "{said}");
    assert!(
        said.contains("| convergence.drain_s, drain 12 | "),
        "{said}"
    );
    assert!(said.contains("<summary>Not significant: "), "{said}");
    let json = loadgen(&["compare", &out, &slower, "--json"]);
    let printed: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let changes = printed["changes"].as_array().expect("changes");
    let drain = changes
        .iter()
        .find(|c| c["metric"] == "convergence.drain_s");
    assert_eq!(drain.expect("compared")["assessment"], "worse", "{printed}");

    let unknown = loadgen(&[
        "compare",
        &out,
        &same,
        "--subject",
        "mock/works=mock/second",
    ]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown.stderr));
    assert!(
        text(&unknown.stderr)
            .contains("unknown subject \"mock/second\"; the second folder has: mock/works"),
        "{}",
        text(&unknown.stderr)
    );
}
