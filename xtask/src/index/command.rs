//! `cargo xtask index`: the table of a folder of results, written into its README, and the page for people beside it.
//!
//! Guarantees: only what stands between the marks changes; `--check` writes nothing and names the first line that
//! differs. Leaves to others: the table (`index`).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::index;
use crate::marks::Marks;
use loadgen::error::Usage;
use loadgen::record::evidence::Evidence;

const README: &str = "README.md";
const PAGE: &str = "index.html";
const INDEX: Marks = Marks("index");

#[derive(Args, Clone, Debug)]
pub struct IndexArgs {
    /// Folder of results, with a README.md
    #[arg(default_value = "results")]
    dir: PathBuf,
    /// Write nothing; fail where README.md is not as it would be written
    #[arg(long)]
    check: bool,
}

pub fn run(args: IndexArgs) -> anyhow::Result<ExitCode> {
    let path = args.dir.join(README);
    let shown = path.display();
    let text =
        std::fs::read_to_string(&path).map_err(|error| Usage(format!("{shown}: {error}")))?;
    let index = index::of(&args.dir)?;
    let content = index.markdown + &index.digest;
    let updated = INDEX.replace(&text, None, &content).ok_or_else(|| {
        let (begin, end) = (INDEX.begin(None), INDEX.end());
        Usage(format!(
            "{shown}: no lines {begin:?} and {end:?}; add them where the index belongs"
        ))
    })?;
    let mut is_current = true;
    for (name, made) in [(README, updated), (PAGE, index.html)] {
        let path = args.dir.join(name);
        // One that is not there is not current.
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let shown = path.display();
        if found == made {
            println!("{shown}: current");
        } else if args.check {
            is_current = false;
            println!(
                "{shown}: {}; run cargo xtask index",
                difference(&found, &made)
            );
        } else {
            Evidence::open(&args.dir).write(name, made.as_bytes())?;
            println!("{shown}: written");
        }
    }
    Ok(match is_current {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The first line that is not as it should be.
fn difference(found: &str, made: &str) -> String {
    let mut pairs = found.lines().zip(made.lines());
    match pairs.position(|(is, should)| is != should) {
        Some(at) => format!("not current from line {} on", at + 1),
        None => "not current: lines are missing at its end, or too many".to_owned(),
    }
}
