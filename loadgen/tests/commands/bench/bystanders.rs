//! `loadgen bystanders`: what foreign objects cost a subject.

use serde_json::Value;

use crate::bench::bench_folder::BenchFolder;
use crate::program::{loadgen, text};

/// Of a mock of this behaviour: the folder, what was said, and the exit code.
fn measured(name: &str, behaviour: &str, options: &str) -> (BenchFolder, String, Option<i32>) {
    let folder = BenchFolder::new(name);
    // Writes the file of the subject, too.
    let bench = folder.bench(&[behaviour], "0");
    let file = bench.last().expect("the file of the subject").clone();
    let mut args: Vec<String> = ["bystanders".to_owned(), file].to_vec();
    args.extend(options.split(' ').map(str::to_owned));
    args.extend(["--no-build".into(), "--out".into()]);
    args.push(folder.out().display().to_string());
    let output = loadgen(&args);
    let said = text(&output.stdout) + &text(&output.stderr);
    (folder, said, output.status.code())
}

fn verify(folder: &BenchFolder) -> (String, Option<i32>) {
    let output = loadgen(&["verify".to_owned(), folder.out().display().to_string()]);
    (text(&output.stdout), output.status.code())
}

/// The mock lists all Secrets at its start and keeps the answer; it never asks for a ConfigMap or a Pod. What a shell has
/// started is searched, too.
pub fn what_a_secret_of_somebody_else_costs_is_told_for_each_kind() {
    let (folder, said, code) = measured(
        "bystanders",
        "wrapped-keeps-secrets",
        "--each 1000 --all 50",
    );
    assert_eq!(code, Some(0), "{said}");
    let file = folder.out().join("bystanders.json");
    let cost = std::fs::read_to_string(&file).expect("written");
    let parsed: Value = serde_json::from_str(&cost).expect("JSON");
    let starts = parsed["starts"].as_array().expect("starts");
    let found = |nth: usize| starts[nth]["in_memory"].as_u64();
    assert_eq!(starts.len(), 5, "{parsed:#}");
    assert_eq!(found(0), None, "without");
    assert!(found(1) >= Some(990), "{parsed:#}");
    assert_eq!((found(2), found(3)), (Some(0), Some(0)), "{parsed:#}");
    let anon = |nth: usize| starts[nth]["anon_bytes"].as_f64().expect("measured");
    let each = (anon(1) - anon(0)) / 1_000.0;
    // 1,024 bytes in base64, and what is around them.
    assert!((1_400.0..8_000.0).contains(&each), "{each} bytes");
    for want in [
        "mock/wrapped-keeps-secrets: cold starts beside foreign objects, the simulated API server",
        "1,000 secrets",
        "50 secrets, 50 configmaps, 50 pods",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let badge = std::fs::read_to_string(folder.out().join("badge.svg")).expect("a badge");
    assert!(badge.contains("objects of others: up to "), "{badge}");
    let (told, code) = verify(&folder);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("5 runs"), "{told}");
    let edited = cost.replacen("\"in_memory\": 0", "\"in_memory\": 7", 1);
    assert_ne!(edited, cost);
    std::fs::write(file, edited).expect("writable");
    let (told, code) = verify(&folder);
    assert_eq!(code, Some(1), "{told}");
}

pub fn a_start_that_fails_is_a_line_and_exit_code_1() {
    let (folder, said, code) = measured("bystanders-dies", "dies-at-once", "--each 2 --all 2");
    assert_eq!(code, Some(1), "{said}");
    let failed = said
        .lines()
        .find(|line| line.contains("beside none: failed: "));
    let log = "; the end of its log: error: the mock subject dies at once, as asked for";
    assert!(failed.is_some_and(|line| line.contains(log)), "{said}");
    assert!(
        !folder.out().join("badge.svg").exists(),
        "it would claim something"
    );
}
