//! `loadgen schema`: the JSON Schema of a file of results, of a workload or of a subject, from the types that write or read it.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use schemars::generate::SchemaSettings;

use crate::record::conformance::Conformance;
use crate::record::summary::Summary;
use crate::record::{Experiment, Run};
use crate::spec::subject::Subject;
use crate::spec::workload::conformance::format::ConformanceFile;
use crate::spec::workload::file::format::WorkloadFile;

#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// The file that is described
    #[arg(value_enum, default_value_t = Described::Summary)]
    file: Described,
}

/// A kind of file that loadgen writes or reads.
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
    /// workload.toml
    Workload,
    /// The file that a workload names as its conformance
    ConformanceFile,
    /// The file of an operator, as --subject takes it
    Subject,
}

pub fn run(args: SchemaArgs) -> anyhow::Result<ExitCode> {
    let settings = SchemaSettings::draft2020_12();
    let settings = match args.file {
        // What is read may leave out what has a default.
        Described::Workload | Described::ConformanceFile | Described::Subject => {
            settings.for_deserialize()
        }
        // What is written has every field, those that are null too.
        _ => settings.for_serialize(),
    };
    let generator = settings.into_generator();
    let schema = match args.file {
        Described::Summary => generator.into_root_schema_for::<Summary>(),
        Described::Run => generator.into_root_schema_for::<Run>(),
        Described::Experiment => generator.into_root_schema_for::<Experiment>(),
        Described::Conformance => generator.into_root_schema_for::<Conformance>(),
        Described::Workload => generator.into_root_schema_for::<WorkloadFile>(),
        Described::ConformanceFile => generator.into_root_schema_for::<ConformanceFile>(),
        Described::Subject => generator.into_root_schema_for::<Subject>(),
    };
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(ExitCode::SUCCESS)
}
