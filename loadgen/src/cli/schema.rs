//! `loadgen schema`: the JSON Schema of a file of results, from the types that write it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;

use crate::model::conformance::Conformance;
use crate::model::record::{Experiment, Run};
use crate::model::summary::Summary;

#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// The file that is described
    #[arg(value_enum, default_value_t = Described::Summary)]
    file: Described,
}

/// A kind of JSON file in a folder of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Described {
    /// summary.json
    Summary,
    /// A file of runs/
    Run,
    /// experiment.json
    Experiment,
    /// A file of conformance/
    Conformance,
}

pub fn run(args: SchemaArgs) -> anyhow::Result<ExitCode> {
    // What is written has every field, those that are null too.
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let schema = match args.file {
        Described::Summary => generator.into_root_schema_for::<Summary>(),
        Described::Run => generator.into_root_schema_for::<Run>(),
        Described::Experiment => generator.into_root_schema_for::<Experiment>(),
        Described::Conformance => generator.into_root_schema_for::<Conformance>(),
    };
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(ExitCode::SUCCESS)
}
