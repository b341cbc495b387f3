//! `loadgen schema`: the JSON Schema of `summary.json`, from the types that write it.

use std::process::ExitCode;

use schemars::generate::SchemaSettings;

use crate::model::summary::Summary;

pub fn run() -> anyhow::Result<ExitCode> {
    // What is written has every field, those that are null too.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Summary>();
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(ExitCode::SUCCESS)
}
