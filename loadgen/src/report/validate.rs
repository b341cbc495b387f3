//! Whether the files of a folder have the format that this version writes.
//!
//! Guarantees: an error names the file and the field; an unknown field, a missing one and one of
//! the wrong type are errors. Leaves to others: whether the figures follow from the raw data (`verify`).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::record::conformance::Conformance;
use crate::record::difference::{Difference, between};
use crate::record::evidence;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::record::{Experiment, Run, SCHEMA};
use crate::report::verify::Problem;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Read(#[from] crate::record::evidence::Error),
    #[error(
        "{file}: schema {found}; this loadgen reads schema {SCHEMA}, so use the version that wrote it"
    )]
    OtherSchema { file: String, found: String },
    #[error("{file}: {field}: {problem}")]
    Field {
        file: String,
        field: String,
        problem: String,
    },
}

/// Every raw file that is not as this version writes it.
///
/// # Errors
/// `experiment.json` cannot be read at all.
pub fn raw_problems(evidence: &Evidence) -> Result<Vec<Problem>, Error> {
    let mut found = Vec::new();
    let mut add = |name: &str, error: Option<Error>| {
        found.extend(error.map(|error| Problem {
            file: name.to_owned(),
            what: error.what(),
        }));
    };
    match read::<Experiment>(evidence, EXPERIMENT) {
        Err(error @ Error::Read(evidence::Error::Read { .. })) => return Err(error),
        other => add(EXPERIMENT, other.err()),
    }
    for name in evidence.json_files("runs")? {
        add(&name, read::<Run>(evidence, &name).err());
    }
    for name in evidence.json_files("conformance")? {
        let read = evidence.read_json::<Conformance>(&name);
        add(&name, read.err().map(Error::Read));
    }
    Ok(found)
}

impl Error {
    /// The message without the name of the file.
    fn what(&self) -> String {
        let text = self.to_string();
        let file = match self {
            Error::Read(_) => return text,
            Error::OtherSchema { file, .. } | Error::Field { file, .. } => file,
        };
        let rest = text.strip_prefix(file.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix(": "));
        rest.unwrap_or(&text).to_owned()
    }
}

/// A file of a folder, read as a type.
///
/// # Errors
/// It cannot be read, has another schema, or a field is not what the type says.
pub fn read<T: DeserializeOwned + Serialize>(evidence: &Evidence, name: &str) -> Result<T, Error> {
    let value: Value = evidence.read_json(name)?;
    let file = evidence.path(name).display().to_string();
    typed(&value, &file)
}

fn typed<T: DeserializeOwned + Serialize>(value: &Value, file: &str) -> Result<T, Error> {
    if value["schema"] != SCHEMA {
        return Err(Error::OtherSchema {
            file: file.to_owned(),
            found: value["schema"].to_string(),
        });
    }
    let typed: T = serde_path_to_error::deserialize(value).map_err(|error| Error::Field {
        file: file.to_owned(),
        field: error.path().to_string(),
        problem: error.inner().to_string(),
    })?;
    let failed = |field: String, problem: &str| Error::Field {
        file: file.to_owned(),
        field,
        problem: problem.to_owned(),
    };
    let written =
        serde_json::to_value(&typed).map_err(|error| failed("(all)".into(), &error.to_string()))?;
    // Serde takes an absent field for `null`, and does not see unknown ones within a flattened type.
    let is_there = |place: &Difference| place.one.is_some() && place.other.is_some();
    let mut differing = between(value, &written).into_iter();
    match differing.find(|place| !is_there(place)) {
        Some(place) if place.other.is_none() => Err(failed(place.path, "unknown field")),
        Some(place) => Err(failed(place.path, "missing")),
        None => Ok(typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::Kind;
    use crate::record::summary::{Run, Subject, Summary, sample};
    use crate::report;
    use crate::report::notes::null_paths;
    use crate::report::summary;

    fn sampled() -> Value {
        let run = Run::without_figures(Kind::Memory, 5, 1, vec![]);
        serde_json::to_value(sample(vec![run])).expect("plain data")
    }

    #[test]
    fn a_file_that_differs_is_refused_with_the_field() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change, &str); 6] = [
            (
                "older",
                |s| s["schema"] = 1.into(),
                "s.json: schema 1; this loadgen reads schema 5",
            ),
            (
                "wrong type",
                |s| s["subjects"][0]["runs"][0]["objects"] = "five".into(),
                "s.json: subjects[0].runs[0].objects: invalid type",
            ),
            (
                "unknown",
                |s| s["subjects"][0]["runs"][0]["cpu"] = 1.into(),
                "s.json: subjects[0].runs[0].cpu: unknown field",
            ),
            (
                "no number",
                |s| s["subjects"][0]["runs"][0]["values"]["cpu.converge_s"] = "1".into(),
                "s.json: subjects[0].runs[0].values.cpu.converge_s: invalid type",
            ),
            (
                "missing",
                |s| {
                    drop(
                        s["environment"]
                            .as_object_mut()
                            .map(|e| e.remove("filesystem")),
                    )
                },
                "s.json: environment.filesystem: missing",
            ),
            (
                "unknown kind",
                |s| s["subjects"][0]["runs"][0]["cell"] = "bust".into(),
                "s.json: subjects[0].runs[0].cell: unknown variant `bust`",
            ),
        ];
        assert!(typed::<Summary>(&sampled(), "s.json").is_ok());
        for (name, change, want) in cases {
            let mut changed = sampled();
            change(&mut changed);
            let error = typed::<Summary>(&changed, "s.json")
                .expect_err(name)
                .to_string();
            assert!(error.starts_with(want), "{name}: {error}");
        }
    }

    /// What the types of a summary cannot say.
    #[test]
    fn a_summary_that_is_computed_is_sound() {
        for folder in ["examples/cache", "kube/ready-2000-ms"] {
            let folder = format!("{}/../results/{folder}", env!("CARGO_MANIFEST_DIR"));
            let record = report::read(&Evidence::open(folder.as_ref())).expect(&folder);
            let summary = summary::summarise(&record);
            let slopes = summary.subjects.iter();
            let slopes = slopes.filter_map(|subject| subject.bytes_per_object.as_ref()?.ci95);
            let ratios = summary.comparisons.iter().filter_map(|it| it.ci95);
            let floors = summary.noise_floors.iter().filter_map(|it| it.ci95);
            for [low, high] in slopes.chain(ratios).chain(floors) {
                assert!(low <= high, "{folder}: [{low}, {high}] is upside down");
            }
            for run in summary.subjects.iter().flat_map(|subject| &subject.runs) {
                assert_eq!(
                    run.valid,
                    run.invalid_because.is_empty(),
                    "{folder}: {run:?}"
                );
            }
            let ids: Vec<String> = summary.subjects.iter().map(Subject::id).collect();
            for comparison in &summary.comparisons {
                let both = [&comparison.subject, &comparison.against];
                assert!(both.iter().all(|id| ids.contains(id)), "{folder}: {both:?}");
            }
            for path in null_paths(&serde_json::to_value(&summary).expect("plain data")) {
                let named = format!("`{path}`");
                let is_named = summary.notes.iter().any(|note| note.contains(&named));
                assert!(is_named, "{folder}: {path}: null, and no note names it");
            }
        }
    }
}
