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
        value: Value,
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// Nothing is done.
    Idle { seconds: u64 },
}

fn once() -> u64 {
    1
}

impl LoadStep {
    /// What it is called in a table.
    pub fn name(&self) -> String {
        match self {
            LoadStep::Update { times: 1, .. } => "update".into(),
            LoadStep::Update { times, .. } => format!("update, {times} times"),
            LoadStep::Scale { field, value, .. } => format!("scale {field} to {value}"),
            LoadStep::Idle { seconds } => format!("idle for {seconds} s"),
        }
    }

    /// Objects per second; `None` for all at once.
    pub fn per_s(&self) -> Option<f64> {
        match self {
            LoadStep::Update { per_s, .. } | LoadStep::Scale { per_s, .. } => *per_s,
            LoadStep::Idle { .. } => None,
        }
    }

    /// # Errors
    /// The field that cannot be used, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(per_s) = self.per_s().filter(|it| !(*it > 0.0 && *it <= MOST_PER_S)) {
            return Err(("per_s", format!("{per_s}: use a rate above 0 and up to {MOST_PER_S}")));
        }
        match self {
            LoadStep::Update { times, .. } if !(1..=MOST_TIMES).contains(times) => {
                Err(("times", format!("{times}: use 1 to {MOST_TIMES}")))
            }
            LoadStep::Scale { field, .. } if !field.starts_with('/') => Err((
                "field",
                format!("{field:?}: write a JSON pointer, such as /spec/replicas"),
            )),
            LoadStep::Idle { seconds } if !(1..=MOST_S).contains(seconds) => {
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
            ["update", "scale /spec/replicas to 3", "idle for 5 s", "update, 4 times"]
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
}
