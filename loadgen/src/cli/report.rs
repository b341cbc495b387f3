//! `loadgen report`: rebuilds the report of a folder from its raw data.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::model::error::Usage;
use crate::model::evidence::Evidence;
use crate::report;
use crate::report::{readme, summary};
use crate::run::restarts;

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
    if restarts::is_of(&evidence) {
        if args.readme.is_some() {
            let dir = args.dir.display();
            let what =
                format!("--readme: {dir} holds cold starts only; choose the folder of a bench");
            return Err(Usage(what).into());
        }
        restarts::publish(&evidence)?;
        return Ok(ExitCode::SUCCESS);
    }
    report::publish(&evidence)?;
    if let Some(readme) = &args.readme {
        let summary = summary::summarise(&report::read(&evidence)?);
        readme::update(readme, &summary, &evidence)?;
    }
    Ok(ExitCode::SUCCESS)
}
