//! Folders of several versions, and what their lines say.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

/// Removed when dropped.
struct Results(PathBuf);

impl Results {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("loadgen-index-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn with(self, file: &str, content: &str) -> Self {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, content).expect("writable");
        self
    }

    fn with_json(self, file: &str, content: &Value) -> Self {
        self.with(file, &content.to_string())
    }

    /// The lines below the header.
    fn lines(&self) -> Vec<String> {
        let text = of(&self.0).expect("an index").markdown;
        text.lines().skip(2).map(str::to_owned).collect()
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn of_schema_1() -> Value {
    json!({
        "schema": 1,
        "started_at": "2026-11-21T14:19:02Z",
        "host_label": "shared",
        "tare_revision": "6d8956fd858831f972063a58fcf5af4be448b62b-dirty",
        "control_plane": "kube",
        "machine": { "cores": 2, "cpu_model": "A processor" },
        "planned": [
            { "subject": "tare/none", "objects": 5000, "repeat": 1, "kind": "burst" },
            { "subject": "tare/none", "objects": 0, "repeat": 1, "kind": "burst" }
        ]
    })
}

#[test]
fn a_folder_of_an_earlier_schema_has_a_line() {
    let results = Results::new("earlier")
        .with_json("old/experiment.json", &of_schema_1())
        .with_json("old/runs/a.json", &json!({ "failure": null, "doubts": [] }))
        .with_json(
            "old/runs/b.json",
            &json!({ "failure": null, "doubts": ["a compiler"] }),
        )
        .with_json(
            "old/runs/c.json",
            &json!({ "failure": { "reason": "ended" } }),
        )
        .with("old/report.md", "# A report\n");
    let evidence = Evidence::open(&results.0.join("old"));
    evidence.write_sums().expect("its hashes");
    let line = |verified: &str| {
        vec![format!(
            "| [old](old/report.md) | tare/none with 0 / 5,000 objects on kube | 6d8956fd8588 with changes | 2026-11-21 \
             | shared: 2 cores, A processor | 3 | 2 | {verified} |"
        )]
    };
    let hashed = "5 files by hash; schema 1, which loadgen at 6d8956fd8588 reads";
    assert_eq!(results.lines(), line(hashed));
    let results = results.with("old/report.md", "# Another report\n");
    let changed = results.lines().remove(0);
    assert!(
        changed.contains("old/report.md: ") || changed.contains("| report.md: "),
        "{changed}"
    );
}

#[test]
fn questions_are_those_of_the_file_and_name_folders_that_are_there() {
    let results = Results::new("questions")
        .with_json("kube/memory/experiment.json", &of_schema_1())
        .with_json("kube/times/experiment.json", &of_schema_1())
        .with("binary/x86_64.txt", "bytes\n")
        .with("binary/sizes.md", "# Sizes\n")
        .with(
            QUESTIONS,
            "\"kube/memory\" = \"How much | memory?\"\nbinary = \"How large?\"\n",
        );
    let lines = results.lines();
    let starts: Vec<&str> = lines.iter().map(|line| &line[..30]).collect();
    assert_eq!(
        starts,
        [
            "| [binary](binary/sizes.md) | ",
            "| kube/memory | How much \\| me",
            "| kube/times | tare/none with ",
        ]
    );
    assert_eq!(
        lines[0],
        "| [binary](binary/sizes.md) | How large? | – | – | – | – | – | – |"
    );

    // The page has them in the order of that file.
    let html = of(&results.0).expect("an index").html;
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("How much | memory?") < at("How large?"), "{html}");

    let results = results.with(QUESTIONS, "gone = \"What?\"\n");
    let error = of(&results.0).expect_err("no such folder").to_string();
    assert!(error.contains("there is no folder"), "{error}");
    assert!(error.contains("/gone; remove its line"), "{error}");
}

#[test]
fn programs_of_other_commits_are_named() {
    let experiment = json!({
        "schema": 2,
        "environment": { "loadgen_commit": "c21dff8e4524", "started_at": "2026-11-23T01:21:31Z" },
        "planned": []
    });
    let commits = |commits: [&str; 3]| json!({ "subjects": commits.map(|commit| json!({ "commit": commit })) });
    let results = Results::new("programs")
        .with_json("a/experiment.json", &experiment)
        .with_json(
            "a/summary.json",
            &commits(["c21dff8e4524", "c21dff8e4524", "c21dff8e4524"]),
        )
        .with_json("b/experiment.json", &experiment)
        .with_json(
            "b/summary.json",
            &commits(["75685577c177", "c21dff8e4524", "75685577c177"]),
        );
    let lines = results.lines();
    assert!(
        lines[0].starts_with("| a | – | c21dff8e4524 | 2026-11-23 | – | 0 | 0 |"),
        "{lines:?}"
    );
    assert!(
        lines[1].contains("| c21dff8e4524; programs of 75685577c177 |"),
        "{lines:?}"
    );
}

#[test]
fn a_folder_of_a_command_says_where_it_comes_from() {
    let origin = json!({
        "command": "scripts/page.sh", "commit": "0123456789abcdef", "date": "2026-01-02T03:04:05Z", "host_label": "shared",
        "machine": { "cpu_model": "A processor", "cores": 2 },
    });
    let results = Results::new("origin").with_json("release/origin.json", &origin);
    Evidence::open(&results.0.join("release"))
        .write_sums()
        .expect("writable");
    assert_eq!(
        results.lines(),
        [
            "| release | – | 0123456789ab | 2026-01-02 | shared: 2 cores, A processor | – | – | verified: 1 files by hash |"
        ]
    );
}

#[test]
fn a_folder_of_foreign_objects_has_a_line_beside_a_bench() {
    let cost = json!({
        "subject": "mine/x", "command_line": "loadgen bystanders mine.toml", "control_plane": "kube",
        "kubernetes_version": null, "profile": "quick", "loadgen_commit": "c21dff8e4524",
        "started_at": "2026-11-29T01:21:31Z", "offers": ["none"], "starts": [],
    });
    let results = Results::new("foreign")
        .with_json("examples/mine/experiment.json", &of_schema_1())
        .with_json("examples/mine-foreign/bystanders.json", &cost)
        .with("examples/mine-foreign/bystanders.md", "# Mine\n");
    Evidence::open(&results.0.join("examples/mine-foreign"))
        .write_sums()
        .expect("writable");
    let line = &results.lines()[1];
    assert_eq!(
        line,
        "| [examples/mine-foreign](examples/mine-foreign/bystanders.md) | – | c21dff8e4524 | 2026-11-29 | – | 0 | 0 | verified |"
    );
}

/// As the command that stands beside it prints it.
#[test]
fn one_digest_stands_for_the_hashes_of_all_folders() {
    let results = Results::new("digest")
        .with("b/SHA256SUMS", "2  x\n")
        .with("a/SHA256SUMS", "1  x\n")
        .with("a/inner/SHA256SUMS", "3  x\n");
    let digest = of(&results.0).expect("an index").digest;
    let command = "find . -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum | sha256sum";
    assert!(digest.contains(command), "{digest}");
    let printed = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(&results.0)
        .output()
        .expect("sh starts");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let hash = printed.split(' ').next().expect("a hash");
    assert!(hash.len() == 64 && digest.contains(hash), "{digest} {hash}");
    let none = Results::new("no-digest").with("a/report.md", "");
    assert_eq!(of(&none.0).expect("an index").digest, "");
}
