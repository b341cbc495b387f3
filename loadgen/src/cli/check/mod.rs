//! `loadgen check`: whether a summary keeps to its limits.
//!
//! Guarantees: judges from files alone; a figure that was not measured falls short unless its
//! limit says otherwise; nothing judged is no pass. Leaves to others: measuring, and whether the
//! summary keeps to its schema.

use crate::analyse::judge;
use crate::report::junit;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use crate::analyse::judge::Judgement;
use crate::analyse::limits::Limits;
use crate::model::error::Usage;
use crate::model::evidence::Evidence;
use crate::report::schema;

#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// A folder with a summary.json.
    dir: PathBuf,
    /// The limits, such as results/limits-ci.toml.
    #[arg(long, value_name = "FILE")]
    limits: PathBuf,
    /// Writes the judgement as JUnit XML too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let limits = read_limits(&args.limits)?;
    let summary: Value = Evidence::open(&args.dir).read_json("summary.json")?;
    if let Some(problem) = schema::problems(&summary).first() {
        anyhow::bail!(
            "{} does not keep to its schema ({problem}); see loadgen validate {}",
            args.dir.join("summary.json").display(),
            args.dir.display()
        );
    }
    let judgements = judge::judge(&limits, &summary).map_err(|e| Usage(e.to_string()))?;
    if let Some(path) = &args.junit {
        std::fs::write(path, junit::xml(&judgements))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{}", judge::table(&judgements).plain());
    let short: Vec<&Judgement> = judgements.iter().filter(|j| j.falls_short()).collect();
    for judgement in &short {
        println!("FALLS SHORT {}", judgement.sentence());
    }
    println!(
        "{} of {} limits hold",
        judgements.len() - short.len(),
        judgements.len()
    );
    Ok(if short.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read_limits(path: &Path) -> anyhow::Result<Limits> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Usage(format!("cannot read limits file {}: {e}", path.display())))?;
    Ok(Limits::parse(&path.display().to_string(), &text).map_err(|e| Usage(e.to_string()))?)
}
