//! `loadgen report`: rebuilds the report of a folder from its raw data.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::model::evidence::Evidence;
use crate::report;
use crate::report::{readme, summary};

#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Folder of a bench
    dir: PathBuf,
    /// Also replace the tables between the marks of this Markdown file
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
}

pub fn run(args: ReportArgs) -> anyhow::Result<ExitCode> {
    let evidence = Evidence::open(&args.dir);
    report::publish(&evidence)?;
    if let Some(readme) = &args.readme {
        let summary = summary::summarise(&report::read(&evidence)?);
        readme::update(readme, &summary, &evidence)?;
    }
    Ok(ExitCode::SUCCESS)
}
