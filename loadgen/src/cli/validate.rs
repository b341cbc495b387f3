//! `loadgen validate`: whether the files of a folder are what this version writes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::model::evidence::Evidence;
use crate::model::record::SCHEMA;
use crate::report::validate;

#[derive(Args, Clone, Debug)]
pub struct ValidateArgs {
    /// Folder of a bench
    dir: PathBuf,
}

pub fn run(args: ValidateArgs) -> anyhow::Result<ExitCode> {
    let problems = validate::problems(&Evidence::open(&args.dir))?;
    if problems.is_empty() {
        println!("{}: valid, schema {SCHEMA}", args.dir.display());
        return Ok(ExitCode::SUCCESS);
    }
    problems.iter().for_each(|problem| println!("{problem}"));
    Ok(ExitCode::FAILURE)
}
