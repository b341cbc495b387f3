//! `loadgen merge`: the shards of a run as one run.
//!
//! Guarantees: writes nothing but the tables. Leaves to others: the shards (`loadgen run --shard`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::cli::exit_code;
use crate::cli::run::merged;
use crate::cli::run::record::RunRecord;
use crate::error::Usage;

#[derive(Args)]
pub struct MergeArgs {
    /// Files with lines that loadgen run --json has printed, such as logs of pods; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// # Errors
/// The files are not those of one run.
pub fn run(args: MergeArgs) -> anyhow::Result<ExitCode> {
    let mut records = Vec::new();
    for file in &args.files {
        records.extend(read(file)?);
    }
    let merged = merged::merge(records).map_err(Usage)?;
    match args.json {
        true => println!("{}", serde_json::to_string(&merged.record)?),
        false => print!("{}", merged.text()),
    }
    Ok(exit_code(merged.is_sound()))
}

/// The records in a file; a log has other lines, too.
fn read(file: &Path) -> anyhow::Result<Vec<RunRecord>> {
    let shown = file.display();
    let mut text = String::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_string(&mut text).map(drop),
        false => std::fs::read_to_string(file).map(|content| text = content),
    };
    read.with_context(|| format!("cannot read {shown}"))?;
    let lines = (1..).zip(text.lines());
    let records = lines.filter(|(_, line)| line.starts_with('{'));
    let record = |(number, line): (usize, &str)| {
        serde_json::from_str::<RunRecord>(line).map_err(|error| {
            Usage(format!(
                "{shown}:{number}: no record of this version of loadgen run: {error}"
            ))
        })
    };
    let records: Result<Vec<RunRecord>, Usage> = records.map(record).collect();
    Ok(records?)
}
