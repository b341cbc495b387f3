//! The record of each run against its samples.
//!
//! Guarantees: drain, counts and every latency of a record are computed again from its samples, with
//! the code that computed them first, and must be the same to the last digit. Cannot know: a sample
//! that changed together with the record; figures that no samples go with, such as CPU and requests.

use serde_json::Value;

use crate::metric::convergence::convergence;
use crate::plan::cell::Kind;
use crate::record::samples::Samples;
use crate::record::{Arrival, Run};
use crate::report::verify::{Beside, difference};

/// What is missing is a matter of the plan.
pub const SAMPLES: Beside<Samples> = Beside {
    folder: "samples",
    parse: |text| Samples::parse(text).map_err(|error| error.to_string()),
    judge: follows,
    changed: |record, what| format!("{record} has {what}"),
};

/// `None` where there is nothing to compare; within, what differs.
fn follows(run: &Run, samples: &Samples) -> Option<Option<String>> {
    let recorded = run.convergence.as_ref()?;
    let offer = match run.cell.kind {
        Kind::Rate => Arrival::AtRate,
        _ => Arrival::AtOnce,
    };
    let creation = samples.waves.first().map_or(&[][..], Vec::as_slice);
    let computed = convergence(creation, offer);
    // Both as they are after a file: writing and reading a number may move its last digit.
    let read_back = |value: Result<String, serde_json::Error>| -> Option<Value> {
        serde_json::from_str(&value.ok()?).ok()
    };
    let computed = read_back(serde_json::to_string(&computed))?;
    let recorded = read_back(serde_json::to_string(recorded))?;
    let differs = difference::of_json(&computed, &recorded);
    Some(differs.map(|what| format!("convergence.{what}")))
}
