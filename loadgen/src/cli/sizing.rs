//! `loadgen sizing`: the resources to ask for, from a folder of results.
//!
//! Guarantees: judges from files alone; each figure stands beside the measurement that it comes from; a size
//! that was not measured is refused. Leaves to others: the rule (`report::sizing`).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::exit_code;
use crate::error::Usage;
use crate::record::evidence::Evidence;
use crate::record::summary::{Subject, Summary};
use crate::report::sizing::{advice, yaml};
use crate::report::{SUMMARY, validate};

#[derive(Args, Clone, Debug)]
pub struct SizingArgs {
    /// Folder with a summary.json
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Only this subject, as name/variant [default: all of the folder]
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Objects that it will have; the smallest measured size that is not below counts
    /// [default: the largest measured size]
    #[arg(long, value_name = "N")]
    objects: Option<usize>,
    /// Print JSON in place of YAML
    #[arg(long)]
    json: bool,
}

pub fn run(args: SizingArgs) -> anyhow::Result<ExitCode> {
    let summary: Summary = validate::read(&Evidence::open(&args.dir), SUMMARY)?;
    let asked = |subject: &&Subject| args.subject.as_ref().is_none_or(|id| *id == subject.id());
    let subjects: Vec<&Subject> = summary.subjects.iter().filter(asked).collect();
    if subjects.is_empty() {
        let known: Vec<String> = summary.subjects.iter().map(Subject::id).collect();
        let asked = args.subject.unwrap_or_default();
        let why = format!(
            "--subject {asked}: not in this folder; it has: {}",
            known.join(", ")
        );
        return Err(Usage(why).into());
    }
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for subject in subjects {
        match advice(subject, args.objects) {
            Ok(advice) => found.push(advice),
            Err(why) => missing.push(why),
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        let texts: Vec<String> = found.iter().map(|advice| yaml(advice, &summary)).collect();
        print!("{}", texts.join("\n"));
    }
    missing.iter().for_each(|why| eprintln!("error: {why}"));
    Ok(exit_code(missing.is_empty()))
}
