//! `cargo xtask index`: the table of a folder of results, written into its README.
//!
//! Guarantees: only what stands between the marks changes; `--check` writes nothing and names the first line that
//! differs. Leaves to others: the table (`index`).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::index;
use crate::marks::Marks;
use loadgen::model::error::Usage;
use loadgen::model::evidence::Evidence;

const README: &str = "README.md";
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
    let table = index::markdown(&args.dir)?;
    let updated = INDEX.replace(&text, None, &table).ok_or_else(|| {
        let (begin, end) = (INDEX.begin(None), INDEX.end());
        Usage(format!(
            "{shown}: no lines {begin:?} and {end:?}; add them where the index belongs"
        ))
    })?;
    if !args.check {
        Evidence::open(&args.dir).write(README, updated.as_bytes())?;
        println!("{shown}: {} folders", table.lines().count() - 2);
        return Ok(ExitCode::SUCCESS);
    }
    let mut pairs = text.lines().zip(updated.lines());
    let Some(at) = pairs.position(|(is, should)| is != should) else {
        if text.len() == updated.len() {
            println!("{shown}: current");
            return Ok(ExitCode::SUCCESS);
        }
        println!("{shown}: not current: lines are missing at the end; run cargo xtask index");
        return Ok(ExitCode::FAILURE);
    };
    let should = updated.lines().nth(at).unwrap_or_default();
    println!(
        "{shown}:{}: not current, should be {should:?}; run cargo xtask index",
        at + 1
    );
    Ok(ExitCode::FAILURE)
}
