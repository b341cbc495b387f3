//! `loadgen compare`: what changed from one folder of results to another.
//!
//! Guarantees: judges from the two summaries alone; differences of machine and setting are said
//! first; a limit on a figure that neither folder has is not kept. Leaves to others: the statistics
//! (`metric::change`), whether the summaries follow from their raw data (`verify`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::cli::exit_code;
use crate::error::Usage;
use crate::metric;
use crate::metric::change;
use crate::metric::change::{Assessment, Change, Changes, Pairing};
use crate::record::evidence::Evidence;
use crate::record::summary::{Subject, Summary};
use crate::report::change::{METHOD, figure_name, markdown, tables};
use crate::report::{SUMMARY, validate};
use crate::spec::toml_line;

#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// Folder of a bench, before the change
    before: PathBuf,
    /// Folder of a bench, after it
    after: PathBuf,
    /// Compare these two only, where their names differ; may be repeated
    #[arg(long = "subject", value_name = "BEFORE=AFTER", value_parser = pairing)]
    subjects: Vec<Pairing>,
    /// Fail where a figure grew significantly by more than this, such as cpu.converge_s=10; may be
    /// repeated
    #[arg(long, value_name = "METRIC=PERCENT", value_parser = max_increase)]
    max_increase: Vec<(String, f64)>,
    /// TOML file with a table max_increase_percent of the same
    #[arg(long, value_name = "FILE")]
    limits: Option<PathBuf>,
    /// Print Markdown for a pull request in place of the tables
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON in place of the tables
    #[arg(long)]
    json: bool,
}

/// `--limits`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    max_increase_percent: BTreeMap<String, f64>,
}

/// As `--json` prints it.
#[derive(Serialize)]
struct Printed<'a> {
    before: String,
    after: String,
    #[serde(flatten)]
    changes: &'a Changes,
    /// Limits that do not hold, one sentence each.
    breaches: &'a [String],
}

fn pairing(text: &str) -> Result<Pairing, String> {
    let (before, after) = text
        .split_once('=')
        .ok_or("give two subjects, as in tare/none=tare/pruned")?;
    Ok(Pairing {
        before: before.to_owned(),
        after: after.to_owned(),
    })
}

fn max_increase(text: &str) -> Result<(String, f64), String> {
    let (path, percent) = text
        .split_once('=')
        .ok_or("give a figure and a percentage, as in cpu.converge_s=10")?;
    let percent = percent
        .trim_end_matches('%')
        .parse()
        .map_err(|_| format!("{percent:?} is not a number of percent"))?;
    checked(path, percent).map(|()| (path.to_owned(), percent))
}

fn checked(path: &str, percent: f64) -> Result<(), String> {
    if metric::find(path).is_none() {
        return Err(format!(
            "unknown metric {path:?}; loadgen metrics lists all"
        ));
    }
    if !change::is_compared(path) {
        return Err(format!(
            "{path} is not compared; limit it in each folder with loadgen check --limits"
        ));
    }
    match percent.is_finite() && percent >= 0.0 {
        true => Ok(()),
        false => Err(format!("{path}: {percent} is not a number of percent")),
    }
}

pub fn run(args: CompareArgs) -> anyhow::Result<ExitCode> {
    let mut limits = args.max_increase.clone();
    if let Some(file) = &args.limits {
        limits.extend(read_limits(file)?);
    }
    let before: Summary = validate::read(&Evidence::open(&args.before), SUMMARY)?;
    let after: Summary = validate::read(&Evidence::open(&args.after), SUMMARY)?;
    let pairings = match args.subjects.is_empty() {
        true => change::common(&before, &after),
        false => args.subjects.clone(),
    };
    known(&pairings, &before, &after)?;
    let changes = change::changes(&before, &after, &pairings);
    let breaches = breaches(&changes.changes, &limits);
    let names = [&args.before, &args.after].map(|path| path.display().to_string());
    if args.json {
        let [before, after] = names;
        let printed = Printed {
            before,
            after,
            changes: &changes,
            breaches: &breaches,
        };
        println!("{}", serde_json::to_string_pretty(&printed)?);
    } else if args.markdown {
        print!("{}", markdown([&names[0], &names[1]], &changes));
        breaches
            .iter()
            .for_each(|breach| println!("\n**Limit:** {breach}"));
    } else {
        print(&names, &changes, &breaches);
    }
    Ok(exit_code(breaches.is_empty()))
}

fn print(names: &[String; 2], changes: &Changes, breaches: &[String]) {
    println!("before: {}\nafter:  {}\n", names[0], names[1]);
    for warning in &changes.warnings {
        println!("WARNING {warning}");
    }
    if !changes.warnings.is_empty() {
        println!();
    }
    for table in tables(&changes.changes) {
        println!("{}", table.plain());
    }
    println!("{METHOD}");
    let count = |assessment| {
        let of = changes
            .changes
            .iter()
            .filter(|c| c.assessment == assessment);
        of.count()
    };
    println!(
        "{} better, {} worse, {} not significant, {} undecided",
        count(Assessment::Better),
        count(Assessment::Worse),
        count(Assessment::NotSignificant),
        count(Assessment::Undecided)
    );
    breaches
        .iter()
        .for_each(|breach| println!("FAILED {breach}"));
}

/// Every subject that is named is there, and there is something to compare.
fn known(pairings: &[Pairing], before: &Summary, after: &Summary) -> Result<(), Usage> {
    let ids = |summary: &Summary| summary.subjects.iter().map(Subject::id).collect::<Vec<_>>();
    let (before, after) = (ids(before), ids(after));
    if pairings.is_empty() {
        return Err(Usage(format!(
            "no subject is in both folders ({}; {}); pair two with --subject BEFORE=AFTER",
            before.join(", "),
            after.join(", ")
        )));
    }
    for pairing in pairings {
        for (id, ids, which) in [
            (&pairing.before, &before, "first"),
            (&pairing.after, &after, "second"),
        ] {
            if !ids.contains(id) {
                return Err(Usage(format!(
                    "unknown subject {id:?}; the {which} folder has: {}",
                    ids.join(", ")
                )));
            }
        }
    }
    Ok(())
}

fn read_limits(path: &Path) -> anyhow::Result<Vec<(String, f64)>> {
    let place = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Usage(format!("cannot read limits file {place}: {e}")))?;
    let file: LimitsFile = toml_line::parse(&place.to_string(), &text).map_err(Usage::of)?;
    for (metric, percent) in &file.max_increase_percent {
        checked(metric, *percent).map_err(|problem| Usage(format!("{place}: {problem}")))?;
    }
    Ok(file.max_increase_percent.into_iter().collect())
}

/// Figures that grew by more than their limit. What is not significant does not count; what is
/// undecided, or not in both folders, is never taken for good.
fn breaches(changes: &[Change], limits: &[(String, f64)]) -> Vec<String> {
    let mut found = Vec::new();
    for (metric, percent) in limits {
        let mut of_metric = changes.iter().filter(|c| c.metric == *metric).peekable();
        if of_metric.peek().is_none() {
            found.push(format!("{metric}: not measured in both folders"));
        }
        for change in of_metric {
            let grew = match change.ratio {
                Some(ratio) => ratio > 1.0 + percent / 100.0,
                None => change.after_median > change.before_median,
            };
            if !grew || change.assessment == Assessment::NotSignificant {
                continue;
            }
            let by = change.ratio.map_or_else(
                || "from 0".to_owned(),
                |ratio| format!("by {:.1} %", (ratio - 1.0) * 100.0),
            );
            let doubt = match change.assessment {
                Assessment::Undecided => " (one run has no interval; repeat it)",
                _ => "",
            };
            found.push(format!(
                "{} {}: grew {by}, more than {percent} %{doubt}",
                change.subjects.after,
                figure_name(&change.metric, change.cell)
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::change::tests::change as changed;

    #[test]
    fn a_limit_counts_what_is_significant_and_never_takes_nothing_for_good() {
        struct Case {
            name: &'static str,
            ratio: f64,
            assessment: Assessment,
            want: usize,
        }
        let case = |name, ratio, assessment, want| Case {
            name,
            ratio,
            assessment,
            want,
        };
        for case in [
            case("above", 1.2, Assessment::Worse, 1),
            case("below the limit", 1.05, Assessment::Worse, 0),
            case("noise", 1.2, Assessment::NotSignificant, 0),
            case("one run each", 1.2, Assessment::Undecided, 1),
            case("smaller", 0.5, Assessment::Better, 0),
        ] {
            let limits = [("cpu.converge_s".to_owned(), 10.0)];
            let found = breaches(
                &[changed("cpu.converge_s", case.ratio, case.assessment)],
                &limits,
            );
            assert_eq!(found.len(), case.want, "{}: {found:?}", case.name);
        }
        let limits = [("api_server_cpu_s".to_owned(), 10.0)];
        assert_eq!(
            breaches(&[], &limits),
            ["api_server_cpu_s: not measured in both folders"]
        );
    }

    #[test]
    fn options_are_checked() {
        assert_eq!(
            max_increase("cpu.converge_s=5%"),
            Ok(("cpu.converge_s".into(), 5.0))
        );
        for bad in [
            "cpu.converge_s",
            "cpu.converge=5",
            "cpu.converge_s=-1",
            "cpu.converge_s=x",
        ] {
            assert!(max_increase(bad).is_err(), "{bad}");
        }
        assert_eq!(
            max_increase("gc_pause.max_ms=5"),
            Err("gc_pause.max_ms is not compared; limit it in each folder with loadgen check --limits".to_owned())
        );
        assert!(pairing("tare/none").is_err());
    }
}
