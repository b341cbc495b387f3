//! Every file that follows from the raw data, built again in memory and compared.
//!
//! Guarantees: compares bytes; says the first field or line that differs. Leaves to others: whether
//! the raw data itself is sound (`raw`, `hashes`).

use serde_json::Value;

use crate::model::evidence::Evidence;
use crate::report;
use crate::report::verify::{Problem, content, difference};
use crate::report::{Built, summary, tables, validate};

pub struct Rebuilt {
    pub problems: Vec<Problem>,
    /// Files that are as they should be.
    pub same: usize,
}

/// Whether a file follows from others.
pub fn is_derived(name: &str) -> bool {
    let is_picture = name.ends_with(".svg") || name.ends_with(".html");
    is_picture || ["summary.json", "report.md", "report.csv"].contains(&name)
}

/// Compares every derived file.
///
/// # Errors
/// The raw data cannot be read.
pub fn check(evidence: &Evidence) -> Result<Rebuilt, validate::Error> {
    let record = report::read(evidence)?;
    let summary = summary::summarise(&record);
    let tables = tables::tables(&summary, &record);
    let mut rebuilt = Rebuilt {
        problems: Vec::new(),
        same: 0,
    };
    let built = report::built(evidence, &summary, &record, &tables);
    let built = match built {
        Ok(built) => built,
        Err(error) => {
            rebuilt.problems.push(Problem {
                file: report::SUMMARY.into(),
                what: format!("cannot be built from the raw data: {error}"),
            });
            return Ok(rebuilt);
        }
    };
    for file in &built {
        match problem(evidence, file) {
            Some(what) => rebuilt.problems.push(Problem {
                file: file.name.to_owned(),
                what,
            }),
            None => rebuilt.same += 1,
        }
    }
    // Only a defect of loadgen gives a summary that follows from its raw data and is not sound.
    if rebuilt.problems.is_empty() {
        rebuilt.problems.extend(validate::in_summary(&summary));
    }
    Ok(rebuilt)
}

fn problem(evidence: &Evidence, file: &Built) -> Option<String> {
    if !evidence.path(file.name).is_file() {
        return Some("missing; loadgen report writes it".into());
    }
    let found = match content(evidence, file.name) {
        Ok(found) => found,
        Err(error) => return Some(error.to_string()),
    };
    if found == file.content {
        return None;
    }
    let what = match file.name.ends_with(".json") {
        true => json(&file.content, &found),
        false => difference::of_text(
            &String::from_utf8_lossy(&file.content),
            &String::from_utf8_lossy(&found),
        ),
    };
    Some(what.unwrap_or_else(|| "differs from what loadgen report writes in layout only".into()))
}

fn json(expected: &[u8], found: &[u8]) -> Option<String> {
    let expected: Value = serde_json::from_slice(expected).ok()?;
    match serde_json::from_slice::<Value>(found) {
        Ok(found) => difference::of_json(&expected, &found),
        Err(error) => Some(format!("is not JSON: {error}")),
    }
}
