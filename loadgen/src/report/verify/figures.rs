//! The figures of `summary.json`, computed again from the raw data.
//!
//! Guarantees: says the first field that differs; words are not compared, and a figure that the loadgen that wrote the folder
//! did not know may be missing. Leaves to others: whether the raw data itself is sound (`raw`), and the pages, which have
//! their hashes.

use serde_json::Value;

use crate::record::evidence::{Error, Evidence};
use crate::report;
use crate::report::verify::{Problem, difference};
use crate::report::{SUMMARY, summary, validate};

/// Files that follow from others: the reports and the summary.
pub fn is_derived(name: &str) -> bool {
    let is_picture = name.ends_with(".svg") || name.ends_with(".html");
    is_picture || [SUMMARY, "report.md", "report.csv"].contains(&name)
}

/// What is wrong with the summary; empty where nothing is.
///
/// # Errors
/// The raw data cannot be read.
pub fn check(evidence: &Evidence) -> Result<Vec<Problem>, validate::Error> {
    let summary = summary::summarise(&report::read(evidence)?);
    let problem = |what: String| Problem {
        file: SUMMARY.to_owned(),
        what,
    };
    if !evidence.path(SUMMARY).is_file() {
        return Ok(vec![problem(
            "missing; loadgen report writes it".to_owned(),
        )]);
    }
    let found = match evidence.read_json::<Value>(SUMMARY) {
        Err(Error::Parse { source, .. }) => {
            return Ok(vec![problem(format!("is not JSON: {source}"))]);
        }
        found => found?,
    };
    // Read back like the file: the last digit of a number may be lost on the way.
    let written = serde_json::to_vec(&summary).unwrap_or_default();
    let expected = serde_json::from_slice(&written).unwrap_or_default();
    let [expected, found] = [expected, found].map(without_words);
    Ok(match difference::of_json(&expected, &found) {
        Some(what) => vec![problem(what)],
        // Only a defect of loadgen gives a summary that follows from its raw data and is not sound.
        None => validate::in_summary(&summary),
    })
}

/// Another version may say the same in other words.
fn without_words(mut summary: Value) -> Value {
    if let Some(fields) = summary.as_object_mut() {
        fields.remove("notes");
    }
    summary
}
