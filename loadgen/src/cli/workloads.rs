//! `loadgen workloads`: what can be created without a file of one's own, and the CRDs of one of them.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::error::Usage;
use crate::report::Table;
use crate::spec::workload;
use crate::spec::workload::{Workload, mix, shipped};

#[derive(Args, Clone, Debug)]
pub struct WorkloadsArgs {
    /// A shipped workload, or the folder of one [default: all shipped ones]
    #[arg(value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Print the CRDs of the workload, for kubectl apply --server-side -f -
    #[arg(long, requires = "workload", conflicts_with = "json")]
    crds: bool,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

/// A workload, as `--json` prints it.
#[derive(Serialize)]
struct Line {
    name: String,
    resource: String,
    object_bytes: usize,
    description: String,
    /// Meant where no workload is named.
    default: bool,
}

pub fn run(args: WorkloadsArgs) -> anyhow::Result<ExitCode> {
    let default = workload::default()?.name;
    let names = match args.workload.as_deref() {
        Some(named) => vec![named],
        None => shipped::names(),
    };
    let found = names.into_iter().map(|name| workload::find(name, None));
    let found: Result<Vec<Workload>, _> = found.collect();
    let found = found.map_err(Usage::of)?;
    if args.crds {
        print!("{}", crds(&found));
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<Line> = found.iter().map(|found| line(found, &default)).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else {
        print!("{}", table(&lines).plain());
    }
    Ok(ExitCode::SUCCESS)
}

/// One document for each definition.
fn crds(workloads: &[Workload]) -> String {
    let all = workloads.iter().flat_map(|workload| &workload.crds);
    all.map(|crd| format!("---\n{}\n", crd.text)).collect()
}

fn line(workload: &Workload, default: &str) -> Line {
    Line {
        name: workload.name.clone(),
        resource: {
            let parts = workload.scenario.parts();
            mix::list(parts.map(|part| part.resource.full_name()))
        },
        object_bytes: workload.scenario.object_bytes,
        description: workload.description.clone(),
        default: workload.name == default,
    }
}

fn table(lines: &[Line]) -> Table {
    let name = |line: &Line| {
        let default = if line.default { " (default)" } else { "" };
        format!("{}{default}", line.name)
    };
    Table::of(
        "Workloads",
        lines,
        &[
            ("workload", &name),
            ("objects", &|line| line.resource.clone()),
            ("bytes", &|line| line.object_bytes.to_string()),
            ("what it is", &|line| line.description.clone()),
        ],
    )
}
