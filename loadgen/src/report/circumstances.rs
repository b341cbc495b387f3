//! What a reader must know beside the figures: runs that are in none, where the figures come from and how to measure the
//! same.
//!
//! Guarantees: pure; what nobody knows is called unknown. Leaves to others: why a figure is missing (`notes`).

use std::collections::BTreeSet;

use serde_json::json;

use crate::metric;
use crate::plan::cell::Cell;
use crate::plan::profile::Profile;
use crate::record::summary::{Subject, Summary};
use crate::record::{Record, Run};
use crate::report::rows::Row;
use crate::report::table::{Table, figure};
use crate::report::title::short;
use crate::report::{Block, Section, prose};

/// Every failed, invalid and unsettled run with its reason.
pub fn runs(record: &Record) -> Option<Section> {
    let failed = failures(record);
    let unsettled = record.runs.values().filter_map(|run| {
        let phases = metric::unsettled(run);
        (!phases.is_empty()).then(|| format!("{}: {}", run.cell, phases.join(", ")))
    });
    let unsettled: Vec<String> = unsettled.collect();
    let mut blocks = vec![match failed.is_empty() {
        true => sentence("No run failed, and none is invalid."),
        false => Block::Lines(failed),
    }];
    if unsettled.is_empty() {
        blocks.push(sentence(
            "Every subject settled wherever the bench waited for it.",
        ));
    } else {
        blocks.push(sentence(
            "These phases were sampled although the subject did not settle:",
        ));
        blocks.push(Block::List(unsettled));
    }
    Section::of("runs", "Failed, invalid and unsettled runs", blocks)
}

fn sentence(text: &str) -> Block {
    Block::Sentences(vec![text.to_owned()])
}

/// Failed and invalid runs, with the log tail of the subject.
fn failures(record: &Record) -> Vec<String> {
    let again = |run: &Run| {
        let reasons = match run.invalid_because.is_empty() {
            true => run.disturbed_by(),
            false => run.invalid_because.clone(),
        };
        let reasons = reasons.join("; ");
        format!(
            "INVALID {}, attempt {}: {reasons}; measured again",
            run.cell, run.attempt
        )
    };
    let mut lines: Vec<String> = record.attempts.iter().map(again).collect();
    let mut explained = BTreeSet::new();
    for run in record.runs.values() {
        if let Some(failure) = &run.failure {
            lines.push(format!("FAILED {}: {}", run.cell, failure.reason));
            // The log tail of the same failure is shown once; runs/ has all of them.
            if explained.insert((&run.cell.subject, &failure.reason)) {
                let words = failure.last_log_lines.iter();
                lines.extend(words.map(|line| format!("    | {line}")));
            }
        }
        if !run.invalid_because.is_empty() {
            let reasons = run.invalid_because.join("; ");
            lines.push(format!("INVALID {}: {reasons}", run.cell));
        } else if !run.disturbed_by().is_empty() {
            let reasons = run.disturbed_by().join("; ");
            lines.push(format!("DISTURBED {}: {reasons}", run.cell));
        }
    }
    lines
}

/// Runs that were planned and are not there.
pub fn missing(record: &Record) -> Vec<&Cell> {
    let planned = record.experiment.planned.iter();
    planned
        .filter(|cell| !record.runs.contains_key(cell))
        .collect()
}

/// The command that answers the next question.
pub fn next(record: &Record) -> &'static str {
    if record.runs.values().any(|run| run.failure.is_some()) {
        "read logs/ in that folder, then repeat the command"
    } else if !missing(record).is_empty() {
        "repeat the command with --resume --out and that folder"
    } else if record.experiment.profile == Profile::Quick {
        "repeat the command with --objects 0,500,2000,5000 --repeats 5    (larger sizes, confidence intervals)"
    } else {
        "loadgen bench --subject your-operator.toml    (your own operator)"
    }
}

/// The machine, the servers and the programs.
pub fn environment(summary: &Summary) -> Option<Section> {
    let context = json!({ "environment": summary.environment, "scenario": summary.scenario });
    let lines = prose::sentences("environment", context);
    let fact = |line: &String| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_owned(), value.to_owned()))
    };
    let facts = Block::Facts(lines.iter().filter_map(fact).collect());
    let blocks = vec![facts, Block::Table(programs(summary))];
    Section::of("environment", "Environment", blocks)
}

/// The programs that were measured.
fn programs(summary: &Summary) -> Table {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let first = |text: &Option<String>| short(&known(text)).to_owned();
    let of_subject = |subject: &Subject, name: &str| {
        figure(Row::named(name).and_then(|row| row.value(subject, 0)))
    };
    Table::of(
        "Programs (commit as the program itself says; whole SHA-256 in summary.json)",
        &summary.subjects,
        &[
            ("", &Subject::id),
            ("commit", &|s| first(&s.commit)),
            ("SHA-256", &|s| first(&s.binary_sha256)),
            ("target", &|s| s.target.clone()),
            ("build profile", &|s| known(&s.profile)),
            ("allocator", &|s| known(&s.allocator)),
            ("binary, MB", &|s| of_subject(s, "binary_bytes")),
            ("image, packed, MB", &|s| {
                of_subject(s, "image_bytes_compressed")
            }),
        ],
    )
}

/// What to type to measure the same: as it was typed, which is by cargo in a checkout only.
pub fn reproduce(summary: &Summary) -> Option<Section> {
    let environment = &summary.environment;
    let commit = environment.loadgen_commit.trim_end_matches("-dirty");
    let typed = &environment.command_line;
    let by_cargo = typed
        .split_once(" -- ")
        .filter(|(program, _)| program.starts_with("cargo "));
    let (said, doctor) = match by_cargo {
        Some((program, _)) => (
            "in a checkout",
            format!("git checkout {commit}\n{program} -- doctor"),
        ),
        None => (
            "with loadgen of the commit above",
            "loadgen doctor".to_owned(),
        ),
    };
    let said = format!("The same measurement, {said}:");
    let commands = vec![doctor, typed.clone()];
    let blocks = vec![sentence(&said), Block::Lines(commands)];
    Section::of("reproduce", "How to reproduce", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::sample;

    #[test]
    fn an_installed_loadgen_is_called_by_its_name_and_one_of_a_checkout_by_cargo() {
        let mut summary = sample(vec![]);
        summary.environment.loadgen_commit = "0123456789ab-dirty".into();
        for (typed, want) in [
            (
                "loadgen bench --objects 5",
                "loadgen doctor\nloadgen bench --objects 5",
            ),
            (
                "cargo run --release -p loadgen -- bench --objects 5",
                "git checkout 0123456789ab\ncargo run --release -p loadgen -- doctor\n\
                 cargo run --release -p loadgen -- bench --objects 5",
            ),
        ] {
            summary.environment.command_line = typed.into();
            let section = reproduce(&summary).expect("commands");
            let Some(Block::Lines(commands)) = section.blocks.last() else {
                panic!("commands come last");
            };
            assert_eq!(commands.join("\n"), want);
        }
    }
}
