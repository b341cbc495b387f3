//! What `loadgen run` does with the objects once all are created.
//!
//! Guarantees: pure; a step that is read can be done. Leaves to others: doing it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

const MOST_PER_S: f64 = 100_000.0;
const MOST_TIMES: u64 = 1_000;
const MOST_S: u64 = 86_400;

/// One of the `[[steps]]` of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadStep {
    /// Every object is created anew, once a `delete` has removed them.
    Create {
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// Every object is updated with `object.update`, so often; each time all have to converge.
    Update {
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
        #[serde(default = "once")]
        times: u64,
    },
    /// One field of every object of the first kind is set.
    Scale {
        /// A JSON pointer, such as `/spec/replicas`.
        field: String,
        /// Another than the objects have: what changes nothing is not observed anew.
        value: Value,
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// Every object is deleted and created anew, so often; each time all have to converge.
    Churn {
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
        #[serde(default = "once")]
        times: u64,
    },
    /// Every object is deleted, until the last one is gone.
    Delete {
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// The `[[children]]` that the objects own are deleted, until the operator has made as many anew.
    DeleteChildren {},
    /// Every object gets what `object.rejected` changes, stays so, and gets its template's values back.
    Fault {
        seconds: u64,
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// The pods of `--operator` are deleted, until others are in their place; so often.
    Restart {
        #[serde(default = "once")]
        times: u64,
    },
    /// Nothing is done.
    Idle { seconds: u64 },
}

fn once() -> u64 {
    1
}

/// What is wrong with a step: its field, and what to write.
pub type Wrong = (&'static str, String);

/// # Errors
/// The first step, from 0 on, that cannot be done where it stands.
pub fn check_order(steps: &[LoadStep]) -> Result<(), (usize, Wrong)> {
    let mut there = true;
    for (number, step) in steps.iter().enumerate() {
        let wrong = match (step, there) {
            (LoadStep::Create { .. }, true) => {
                Some("create: the objects are there; put a delete before it, or use churn")
            }
            (LoadStep::Create { .. } | LoadStep::Idle { .. } | LoadStep::Restart { .. }, _) => None,
            (_, true) => None,
            (_, false) => Some("the objects are deleted; put a create before it"),
        };
        if let Some(wrong) = wrong {
            return Err((number, ("do", wrong.to_owned())));
        }
        match step {
            LoadStep::Create { .. } => there = true,
            LoadStep::Delete { .. } => there = false,
            _ => {}
        }
    }
    Ok(())
}

impl LoadStep {
    /// What it is called in a table.
    pub fn name(&self) -> String {
        let often = |what: &str, times: u64| match times {
            1 => what.to_owned(),
            _ => format!("{what}, {times} times"),
        };
        match self {
            LoadStep::Create { .. } => "create".into(),
            LoadStep::Update { times, .. } => often("update", *times),
            LoadStep::Scale { field, value, .. } => format!("scale {field} to {value}"),
            LoadStep::Churn { times, .. } => often("churn", *times),
            LoadStep::Delete { .. } => "delete".into(),
            LoadStep::DeleteChildren {} => "delete children".into(),
            LoadStep::Fault { seconds, .. } => format!("fault for {seconds} s"),
            LoadStep::Restart { times } => often("restart", *times),
            LoadStep::Idle { seconds } => format!("idle for {seconds} s"),
        }
    }

    /// Objects per second; `None` for all at once.
    pub fn per_s(&self) -> Option<f64> {
        match self {
            LoadStep::Create { per_s }
            | LoadStep::Update { per_s, .. }
            | LoadStep::Scale { per_s, .. }
            | LoadStep::Churn { per_s, .. }
            | LoadStep::Delete { per_s }
            | LoadStep::Fault { per_s, .. } => *per_s,
            LoadStep::DeleteChildren {} | LoadStep::Restart { .. } | LoadStep::Idle { .. } => None,
        }
    }

    /// # Errors
    /// The field that cannot be used, and what to write.
    pub fn check(&self) -> Result<(), Wrong> {
        if let Some(per_s) = self.per_s().filter(|it| !(*it > 0.0 && *it <= MOST_PER_S)) {
            return Err((
                "per_s",
                format!("{per_s}: use a rate above 0 and up to {MOST_PER_S}"),
            ));
        }
        match self {
            LoadStep::Update { times, .. }
            | LoadStep::Churn { times, .. }
            | LoadStep::Restart { times }
                if !(1..=MOST_TIMES).contains(times) =>
            {
                Err(("times", format!("{times}: use 1 to {MOST_TIMES}")))
            }
            LoadStep::Scale { field, .. } if !field.starts_with('/') => Err((
                "field",
                format!("{field:?}: write a JSON pointer, such as /spec/replicas"),
            )),
            LoadStep::Idle { seconds } | LoadStep::Fault { seconds, .. }
                if !(1..=MOST_S).contains(seconds) =>
            {
                Err(("seconds", format!("{seconds}: use 1 to {MOST_S}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        steps: Vec<LoadStep>,
    }

    #[test]
    fn steps_are_read_by_what_they_do() {
        let text = "[[steps]]\ndo = \"update\"\n[[steps]]\ndo = \"scale\"\nfield = \"/spec/replicas\"\nvalue = 3\nper_s = 2.5\n\
                    [[steps]]\ndo = \"idle\"\nseconds = 5\n[[steps]]\ndo = \"update\"\ntimes = 4\n";
        let file: File = toml::from_str(text).expect("valid");
        let names: Vec<String> = file.steps.iter().map(LoadStep::name).collect();
        assert_eq!(
            names,
            [
                "update",
                "scale /spec/replicas to 3",
                "idle for 5 s",
                "update, 4 times"
            ]
        );
        assert_eq!(file.steps[1].per_s(), Some(2.5));
        assert!(file.steps.iter().all(|step| step.check().is_ok()));
        let unknown = "[[steps]]\ndo = \"idle\"\nseconds = 5\nper_s = 1.0\n";
        assert!(toml::from_str::<File>(unknown).is_err());
    }

    #[test]
    fn a_step_that_cannot_be_done_names_its_field() {
        let update = |per_s, times| LoadStep::Update { per_s, times };
        for (step, want) in [
            (update(Some(0.0), 1), "per_s"),
            (update(Some(f64::NAN), 1), "per_s"),
            (update(None, 0), "times"),
            (LoadStep::Restart { times: 1_001 }, "times"),
            (
                LoadStep::Churn {
                    per_s: Some(f64::INFINITY),
                    times: 1,
                },
                "per_s",
            ),
            (
                LoadStep::Fault {
                    seconds: 86_401,
                    per_s: None,
                },
                "seconds",
            ),
            (
                LoadStep::Scale {
                    field: "replicas".into(),
                    value: 3.into(),
                    per_s: None,
                },
                "field",
            ),
            (LoadStep::Idle { seconds: 0 }, "seconds"),
        ] {
            let (field, _) = step.check().expect_err("refused");
            assert_eq!(field, want, "{step:?}");
        }
    }

    #[test]
    fn objects_that_are_deleted_have_to_be_created_before_the_next_step() {
        let create = LoadStep::Create { per_s: None };
        let delete = LoadStep::Delete { per_s: None };
        let idle = LoadStep::Idle { seconds: 1 };
        let children = LoadStep::DeleteChildren {};
        for (steps, want) in [
            (vec![&delete, &idle, &create, &children, &delete], None),
            (vec![&create], Some(0)),
            (vec![&delete, &idle, &children], Some(2)),
            (vec![&delete, &delete], Some(1)),
            (vec![&delete, &create, &create], Some(2)),
        ] {
            let steps: Vec<LoadStep> = steps.into_iter().cloned().collect();
            let wrong = check_order(&steps).err();
            assert_eq!(wrong.as_ref().map(|(number, _)| *number), want, "{steps:?}");
            assert!(wrong.is_none_or(|(_, (field, _))| field == "do"));
        }
    }
}
