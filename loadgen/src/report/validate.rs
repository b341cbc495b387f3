//! Whether the files of a folder have the format that this version writes.
//!
//! Guarantees: an error names the file and the field; an unknown field, a missing one and one of
//! the wrong type are errors; so is what the types cannot say: an interval upside down, a `null`
//! that no note names, a comparison of unknown subjects, `valid` beside a reason. Leaves to
//! others: whether the figures follow from the raw data (`verify`).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::record::conformance::Conformance;
use crate::record::difference::{Difference, between};
use crate::record::evidence;
use crate::record::evidence::{EXPERIMENT, Evidence};
use crate::record::summary::{Subject, Summary};
use crate::record::{Experiment, Run, SCHEMA};
use crate::report::SUMMARY;
use crate::report::notes::null_paths;
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
    let mut value: Value = evidence.read_json(name)?;
    let file = evidence.path(name).display().to_string();
    rename_builds(&mut value);
    typed(&value, &file)
}

/// Gives the builds of subjects that were written before they were renamed the names of today.
fn rename_builds(experiment: &mut Value) {
    let subjects = experiment.get_mut("subjects").and_then(Value::as_array_mut);
    for known in subjects.into_iter().flatten() {
        let build = known.pointer_mut("/subject/build");
        let Some(build) = build.and_then(Value::as_object_mut) else {
            continue;
        };
        let go = build.get_mut("go").and_then(Value::as_object_mut);
        if let Some(go) = go
            && let Some(folder) = go.remove("module")
        {
            go.insert("folder".into(), folder);
        }
        if let Some(Value::Object(mut installed)) = build.remove("go_install") {
            let module = installed.insert("package".into(), ".".into());
            installed.insert("module".into(), module.unwrap_or_default());
            build.insert("go_module".into(), installed.into());
        }
    }
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

/// What the types of a summary cannot say.
pub fn in_summary(summary: &Summary) -> Vec<Problem> {
    let mut found = Vec::new();
    let ids: Vec<String> = summary.subjects.iter().map(Subject::id).collect();
    for (n, subject) in summary.subjects.iter().enumerate() {
        let slope = subject.bytes_per_object.as_ref().and_then(|line| line.ci95);
        interval(
            slope,
            &format!("subjects[{n}].bytes_per_object.ci95"),
            &mut found,
        );
        for (r, run) in subject.runs.iter().enumerate() {
            if run.valid != run.invalid_because.is_empty() {
                found.push(format!(
                    "subjects[{n}].runs[{r}].valid: {} with {} reasons in invalid_because",
                    run.valid,
                    run.invalid_because.len()
                ));
            }
        }
    }
    for (n, comparison) in summary.comparisons.iter().enumerate() {
        let place = format!("comparisons[{n}]");
        interval(comparison.ci95, &format!("{place}.ci95"), &mut found);
        for (field, id) in [
            ("subject", &comparison.subject),
            ("against", &comparison.against),
        ] {
            if !ids.contains(id) {
                found.push(format!(
                    "{place}.{field}: {id:?} is not one of the subjects"
                ));
            }
        }
    }
    for (n, floor) in summary.noise_floors.iter().enumerate() {
        interval(floor.ci95, &format!("noise_floors[{n}].ci95"), &mut found);
    }
    // A summary always serialises.
    let value = serde_json::to_value(summary).unwrap_or_default();
    for path in null_paths(&value) {
        let named = format!("`{path}`");
        if !summary.notes.iter().any(|note| note.contains(&named)) {
            found.push(format!("{path}: null, and no note names it"));
        }
    }
    let of_summary = |what| Problem {
        file: SUMMARY.to_owned(),
        what,
    };
    found.into_iter().map(of_summary).collect()
}

fn interval(ends: Option<[f64; 2]>, path: &str, found: &mut Vec<String>) {
    if let Some([low, high]) = ends.filter(|[low, high]| low > high) {
        found.push(format!("{path}: [{low}, {high}] is upside down"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::cell::Kind;
    use crate::record::summary::{Run, sample};

    fn summary() -> Value {
        let run = Run::without_figures(Kind::Memory, 5, 1, vec![]);
        serde_json::to_value(sample(vec![run])).expect("plain data")
    }

    #[test]
    fn builds_that_were_renamed_since_are_read() {
        let build = |build: Value| json!({"subjects": [{"subject": {"build": build}}]});
        for (mut written, want) in [
            (
                build(json!({"go": {"module": "league/a", "package": "./cmd/a"}})),
                build(json!({"go": {"folder": "league/a", "package": "./cmd/a"}})),
            ),
            (
                build(json!({"go": null, "go_install": {"package": "a.b/c", "version": "v1.0.0"}})),
                build(json!({"go": null, "go_module":
                    {"module": "a.b/c", "package": ".", "version": "v1.0.0"}})),
            ),
            (build(Value::Null), build(Value::Null)),
            (json!({"runs": []}), json!({"runs": []})),
        ] {
            rename_builds(&mut written);
            assert_eq!(written, want);
        }
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
        assert!(typed::<Summary>(&summary(), "s.json").is_ok());
        for (name, change, want) in cases {
            let mut changed = summary();
            change(&mut changed);
            let error = typed::<Summary>(&changed, "s.json")
                .expect_err(name)
                .to_string();
            assert!(error.starts_with(want), "{name}: {error}");
        }
    }

    #[test]
    fn what_the_types_cannot_say_is_checked() {
        let mut summary = sample(vec![Run::without_figures(Kind::Memory, 5, 1, vec![])]);
        summary.subjects[0].runs[0].valid = false;
        summary
            .noise_floors
            .push(crate::record::summary::NoiseFloor {
                metric: "memory.settled.rss_bytes".into(),
                cell: Kind::Memory,
                ratio: 1.0,
                ci95: Some([2.0, 1.0]),
                pairs: 2,
            });
        let found: Vec<String> = in_summary(&summary)
            .iter()
            .map(Problem::to_string)
            .collect();
        let found = found.join("\n");
        for want in [
            "summary.json: subjects[].runs[].per_s: null, and no note names it",
            "noise_floors[0].ci95: [2, 1] is upside down",
            "subjects[0].runs[0].valid: false with 0 reasons",
        ] {
            assert!(found.contains(want), "{want} not in {found}");
        }
    }
}
