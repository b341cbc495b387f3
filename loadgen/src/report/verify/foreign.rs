//! Whether the figures of `loadgen bystanders` follow from the runs beside them.

use crate::metric::foreign_cost::{FOREIGN_COST, ForeignCost};
use crate::record::Run;
use crate::record::evidence::Evidence;
use crate::report::validate;
use crate::report::verify::{Findings, Problem};

/// Adds what does not follow from the runs to what the hashes say.
///
/// # Errors
/// A file is missing or is not what it should be.
pub fn check(evidence: &Evidence, mut found: Findings) -> Result<Findings, validate::Error> {
    let written: ForeignCost = evidence.read_json(FOREIGN_COST)?;
    let names = evidence.json_files("runs")?;
    let runs: Result<Vec<Run>, _> = names.iter().map(|name| evidence.read_json(name)).collect();
    let runs = runs?;
    let again = written.clone().with_runs(&runs);
    found.recomputed = runs.len();
    let both = written.starts.iter().zip(&again.starts);
    let mut differing = both.filter(|(written, again)| written != again);
    let differs = match differing.next() {
        Some((written, _)) => Some(written.offer.clone()),
        None if written != again => Some("the starts".to_owned()),
        None => None,
    };
    let problem = differs.map(|what| Problem {
        file: FOREIGN_COST.to_owned(),
        what: format!("{what}: is not what the runs give"),
    });
    found.add(problem.into_iter().collect());
    Ok(found)
}
