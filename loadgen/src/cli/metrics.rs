//! `loadgen metrics`: every figure that loadgen knows, by the name that limits, comparisons and `values` of
//! `summary.json` use.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use crate::metric;
use crate::metric::Metric;
use crate::plan::cell::Kind;
use crate::report::Table;

#[derive(Args, Clone, Debug)]
pub struct MetricsArgs {
    /// Only figures with this in their name or their label
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

pub fn run(args: MetricsArgs) -> anyhow::Result<ExitCode> {
    let word = args.word.unwrap_or_default();
    let has_word = |metric: &&Metric| metric.id.contains(&word) || metric.label.contains(&word);
    let found: Vec<&Metric> = metric::all().iter().filter(has_word).collect();
    if found.is_empty() {
        bail!("no figure has {word:?} in its name or its label; loadgen metrics lists all");
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print!("{}", table(&found).plain());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[&Metric]) -> Table {
    let runs = |metric: &&Metric| {
        let runs: Vec<&str> = metric.kinds.iter().copied().map(Kind::name).collect();
        match runs.is_empty() {
            true => "the subject".to_owned(),
            false => runs.join(", "),
        }
    };
    let compared = |metric: &&Metric| match metric.is_compared {
        true => "yes".to_owned(),
        false => "no".to_owned(),
    };
    Table::of(
        format!("{} figures", found.len()),
        found,
        &[
            ("name", &|metric| metric.id.clone()),
            ("unit", &|metric| metric.unit.to_owned()),
            ("runs", &runs),
            ("compared", &compared),
            ("label", &|metric| metric.label.clone()),
        ],
    )
}
