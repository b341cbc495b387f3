//! `loadgen check`: compares a summary with a file of limits, or suggests one.
//!
//! Guarantees: judges from files alone; a figure that was not measured fails unless its limit is
//! optional; a file without limits is an error. Leaves to others: measuring.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use crate::cli::exit_code;
use crate::error::Usage;
use crate::metric::judge;
use crate::metric::judge::{Judgement, Outcome};
use crate::metric::limits::{Bound, Limits};
use crate::metric::suggest;
use crate::record::evidence::Evidence;
use crate::record::summary::Summary;
use crate::report::limits::{how_many_hold, markdown, sentence, table};
use crate::report::{SUMMARY, junit, validate};

#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Folder with a summary.json
    dir: PathBuf,
    /// File of limits, such as results/limits-ci.toml
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "suggest",
        conflicts_with = "suggest"
    )]
    limits: Option<PathBuf>,
    /// Print a file of limits that follows from the runs of this folder
    #[arg(long, conflicts_with_all = ["junit", "json", "markdown"])]
    suggest: bool,
    /// Also write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON in place of the table
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the table as Markdown, for a pull request: limits that do not hold come first
    #[arg(long)]
    markdown: bool,
}

/// One limit, as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    subject: &'a str,
    metric: &'a str,
    cell: Option<&'static str>,
    objects: Option<usize>,
    max: Option<f64>,
    min: Option<f64>,
    measured: Option<f64>,
    ok: bool,
    message: String,
}

pub fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let read = |dir: &Path| validate::read::<Summary>(&Evidence::open(dir), SUMMARY);
    let Some(limits) = &args.limits else {
        let suggested = suggest::limits(&read(&args.dir)?, &args.dir.display().to_string());
        print!("{suggested}");
        return Ok(ExitCode::SUCCESS);
    };
    let limits = read_limits(limits)?;
    let summary = read(&args.dir)?;
    let judgements = judge::judge(&limits, &summary).map_err(Usage::of)?;
    if let Some(path) = &args.junit {
        std::fs::write(path, junit::xml(&judgements)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let failed: Vec<&Judgement> = judgements.iter().filter(|j| j.falls_short()).collect();
    if args.json {
        let lines: Vec<Line<'_>> = judgements.iter().map(line).collect();
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else if args.markdown {
        print!("{}", markdown(&judgements));
    } else {
        println!("{}", table("Limits", judgements.iter()).plain());
        for judgement in &failed {
            println!("FAILED {}", sentence(judgement));
        }
        println!("{}", how_many_hold(&judgements));
    }
    Ok(exit_code(failed.is_empty()))
}

fn line(judgement: &Judgement) -> Line<'_> {
    let limit = &judgement.limit;
    let (max, min) = match limit.bound {
        Bound::AtMost(max) => (Some(max), None),
        Bound::AtLeast(min) => (None, Some(min)),
    };
    Line {
        subject: &limit.subject,
        metric: &limit.metric,
        cell: limit.cell.as_ref().map(|cell| cell.kind.name()),
        objects: limit.cell.as_ref().map(|cell| cell.objects),
        max,
        min,
        measured: match judgement.outcome {
            Outcome::Holds { measured }
            | Outcome::Above { measured }
            | Outcome::Below { measured } => Some(measured),
            Outcome::NotMeasured { .. } => None,
        },
        ok: !judgement.falls_short(),
        message: sentence(judgement),
    }
}

fn read_limits(path: &Path) -> anyhow::Result<Limits> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Usage(format!("cannot read limits file {}: {e}", path.display())))?;
    Ok(Limits::parse(&path.display().to_string(), &text).map_err(Usage::of)?)
}
