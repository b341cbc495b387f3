//! `loadgen verify`: whether a folder of results is what was measured.
//!
//! Guarantees: writes nothing; one line for each problem, exit code 1 when there is one. Leaves to
//! others: the checks (`report::verify`).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::exit_code;
use crate::record::SCHEMA;
use crate::record::evidence::Evidence;
use crate::report::verify;

#[derive(Args, Clone, Debug)]
pub struct VerifyArgs {
    /// Folder of a bench, or of a step of a campaign
    dir: PathBuf,
    /// Print JSON in place of lines
    #[arg(long)]
    json: bool,
}

pub fn run(args: VerifyArgs) -> anyhow::Result<ExitCode> {
    let found = verify::verify(&Evidence::open(&args.dir))?;
    let is_sound = found.problems.is_empty();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else if let (true, Some(other)) = (is_sound, &found.other_schema) {
        println!(
            "{}: {} files by their hash; its figures are not recomputed: {other}",
            args.dir.display(),
            found.hashed
        );
    } else if let (true, Some(origin)) = (is_sound, &found.origin) {
        println!(
            "{}: verified: {} files by their hash; its figures are not recomputed, `{}` at {} made them",
            args.dir.display(),
            found.hashed,
            origin.command,
            origin.commit
        );
    } else if is_sound {
        println!(
            "{}: verified, schema {SCHEMA}: {} hashes, {} runs from their samples, the figures from the raw data",
            args.dir.display(),
            found.hashed,
            found.recomputed
        );
    } else {
        for problem in &found.problems {
            println!(
                "{}",
                args.dir.join(&problem.file).display().to_string() + ": " + &problem.what
            );
        }
    }
    Ok(exit_code(is_sound))
}
