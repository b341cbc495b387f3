//! `loadgen tables`: the tables that stand in documents, made again from the folders that their marks name.
//!
//! Guarantees: only what stands between marks changes; `--check` writes nothing and ends with exit code 1 where a table
//! is not what its folder gives. A folder of another schema is named and not checked. Leaves to others: the tables
//! (`report::readme`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::model::error::Usage;
use crate::model::evidence::Evidence;
use crate::report;
use crate::report::marks::Marks;
use crate::report::readme::{BLOCKS, block_of, write};
use crate::report::summary;
use crate::report::validate::Error;

#[derive(Args, Clone, Debug)]
pub struct TablesArgs {
    /// Markdown files with marks that name folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing; fail where a table is not what its folder gives
    #[arg(long)]
    check: bool,
}

/// What became of one table.
enum Outcome {
    Current,
    /// With the text that the file should have.
    Stale(String),
    OtherSchema(String),
}

pub fn run(args: TablesArgs) -> anyhow::Result<ExitCode> {
    let (mut tables, mut stale) = (0, 0);
    for file in &args.files {
        let shown = file.display();
        let mut text =
            std::fs::read_to_string(file).map_err(|error| Usage(format!("{shown}: {error}")))?;
        for marks in BLOCKS {
            let Some(found) = marks.find(&text) else {
                continue;
            };
            tables += 1;
            let name = marks.0;
            let folder = found.folder.map(str::to_owned).ok_or_else(|| {
                Usage(format!(
                    "{shown}: the marks of its {name} table name no folder; run loadgen report DIR --readme {shown}"
                ))
            })?;
            match outcome(marks, &text, &folder)? {
                Outcome::Current => println!("{shown}: {name} of {folder}: current"),
                Outcome::OtherSchema(why) => println!("{shown}: {name}: not checked: {why}"),
                Outcome::Stale(_) if args.check => {
                    stale += 1;
                    println!(
                        "{shown}: {name} of {folder}: not current; run loadgen tables {shown}"
                    );
                }
                Outcome::Stale(updated) => {
                    println!("{shown}: {name} of {folder}: written");
                    write(file, &updated)?;
                    text = updated;
                }
            }
        }
    }
    if tables == 0 {
        return Err(Usage(
            "no table in these files: none has a line such as <!-- loadgen sizing: begin DIR -->"
                .to_owned(),
        )
        .into());
    }
    Ok(match stale {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn outcome(marks: Marks, text: &str, folder: &str) -> anyhow::Result<Outcome> {
    let folder_path = Path::new(folder);
    let record = match report::read(&Evidence::open(folder_path)) {
        Ok(record) => record,
        Err(error @ Error::OtherSchema { .. }) => {
            return Ok(Outcome::OtherSchema(error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    let block = block_of(marks, &summary::summarise(&record), folder_path);
    let updated = marks.replace(text, Some(folder), &block);
    Ok(match updated {
        Some(updated) if updated != text => Outcome::Stale(updated),
        _ => Outcome::Current,
    })
}
