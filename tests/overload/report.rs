//! The table that is made of the lines that the cases have kept.

use std::collections::BTreeMap;
use std::path::Path;

use libtest_mimic::Failed;

use crate::record::{Figure, Record};

const HEAD: &str = "\
# Overload and hostile networks

Each case is a test of `tests/overload`, on kube-apiserver and etcd, with the operator as a process. A value beyond its limit fails the
case. A limit that is not the target says what holds today. Made by `just overload`, which also writes the lines that this page is made
of, `overload.jsonl`.

";

/// Writes `FILE.md` beside the lines, from the last line of each case.
pub fn write(lines: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(lines)?;
    let mut records = BTreeMap::new();
    for line in text.lines() {
        let record: Record = serde_json::from_str(line)?;
        records.insert(record.case.clone(), record);
    }
    std::fs::write(lines.with_extension("md"), page(records.values()))?;
    Ok(())
}

fn page<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut programs = Vec::new();
    let mut table = "| case | figure | value | unit | target | limit |\n".to_owned();
    table += "|---|---|--:|---|--:|--:|\n";
    for record in records {
        if !programs.contains(&record.program) {
            programs.push(record.program.clone());
        }
        for figure in &record.figures {
            table += &row(&record.case, figure);
        }
        if let Some(failed) = &record.failed {
            let failed = failed
                .lines()
                .next()
                .unwrap_or_default()
                .replace('|', "\\|");
            table += &format!("| {} | **failed**: {failed} | | | | |\n", record.case);
        }
    }
    let programs: Vec<String> = programs.iter().map(|one| format!("`{one}`")).collect();
    format!("{HEAD}Program: {}.\n\n{table}", programs.join(", "))
}

fn row(case: &str, figure: &Figure) -> String {
    let or_none = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let (target, limit) = (or_none(figure.target), or_none(figure.limit));
    let Figure {
        name, value, unit, ..
    } = figure;
    format!("| {case} | {name} | {value} | {unit} | {target} | {limit} |\n")
}
