//! `loadgen report`: rebuilds the report of a folder from its raw data.
//!
//! Guarantees: a raw file that differs from `SHA256SUMS` is refused unless the change is accepted, so
//! that a report never covers an edit. Leaves to others: the report itself (`report`).

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;

use crate::record::evidence::Evidence;
use crate::record::evidence::sums::SUMS;
use crate::report;
use crate::report::summary;
use crate::report::verify::figures;

#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Folder of a bench
    dir: PathBuf,
    /// Also write the picture of memory by number of objects, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Rebuild although raw data differs from SHA256SUMS, and write the hashes anew
    #[arg(long)]
    accept_changes: bool,
}

pub fn run(args: ReportArgs) -> anyhow::Result<ExitCode> {
    let evidence = Evidence::open(&args.dir);
    if !args.accept_changes {
        unchanged(&evidence)?;
    }
    report::publish(&evidence)?;
    if let Some(svg) = &args.svg {
        let summary = summary::summarise(&report::read(&evidence)?);
        let picture =
            report::picture(&summary).with_context(|| format!("--svg {}", svg.display()))?;
        std::fs::write(svg, picture).with_context(|| format!("cannot write {}", svg.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// New files are no change: `scripts/image-sizes.sh` adds one. A folder without hashes is not checked.
fn unchanged(evidence: &Evidence) -> anyhow::Result<()> {
    if !evidence.root().is_dir() {
        // The report says what is missing.
        return Ok(());
    }
    let mut edits = evidence.check_sums()?.edits;
    edits.retain(|problem| !figures::is_derived(&problem.file));
    let Some(first) = edits.first() else {
        return Ok(());
    };
    let others = match edits.len() {
        1 => String::new(),
        edits => format!(" ({edits} raw files differ from {SUMS})"),
    };
    bail!(
        "{}: {}{others}; restore the raw data, or accept the change with --accept-changes",
        evidence.path(&first.file).display(),
        first.what
    )
}
