//! What `loadgen run` does with the objects once all are created.
//!
//! Guarantees: pure; a step that is read can be done. Leaves to others: doing it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::bystanders;
use crate::model::bystanders::Bystanders;

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
        /// The part of the objects that is updated each time, in turn.
        #[serde(default = "whole")]
        share: f64,
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
        /// The part of the objects that is deleted and created each time, in turn; the others stay.
        #[serde(default = "whole")]
        share: f64,
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
    /// Objects that do not concern the operator are created in a namespace of their own, and changed. They stay
    /// until the end of the run.
    Bystanders {
        /// Kinds and numbers, such as `secrets=300,configmaps=300`.
        objects: String,
        /// How often each is changed.
        #[serde(default)]
        changes: u64,
        /// Requests per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
    },
    /// Nothing is done.
    Idle { seconds: u64 },
}

fn once() -> u64 {
    1
}

fn whole() -> f64 {
    1.0
}

/// The objects of time `nth`, from 0 on, of a step on a share of them: each has its turn.
pub fn part(objects: usize, share: f64, nth: u64) -> Range<usize> {
    let size = (objects as f64 * share).round() as usize;
    let size = size.max(1).min(objects);
    if size == 0 {
        return 0..0;
    }
    let parts = objects.div_ceil(size) as u64;
    let from = (nth % parts) as usize * size;
    // The last part is as large as the others.
    let from = from.min(objects - size);
    from..from + size
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
            (
                LoadStep::Create { .. }
                | LoadStep::Idle { .. }
                | LoadStep::Restart { .. }
                | LoadStep::Bystanders { .. },
                _,
            ) => None,
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
        let some = |what: &str, share: f64| match share {
            1.0 => what.to_owned(),
            _ => format!("{what} of {} %", share * 100.0),
        };
        match self {
            LoadStep::Create { .. } => "create".into(),
            LoadStep::Update { times, share, .. } => often(&some("update", *share), *times),
            LoadStep::Scale { field, value, .. } => format!("scale {field} to {value}"),
            LoadStep::Churn { times, share, .. } => often(&some("churn", *share), *times),
            LoadStep::Delete { .. } => "delete".into(),
            LoadStep::DeleteChildren {} => "delete children".into(),
            LoadStep::Fault { seconds, .. } => format!("fault for {seconds} s"),
            LoadStep::Restart { times } => often("restart", *times),
            LoadStep::Bystanders {
                objects,
                changes: 0,
                ..
            } => format!("bystanders {objects}"),
            LoadStep::Bystanders {
                objects, changes, ..
            } => format!("bystanders {objects}, {changes} changes of each"),
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
            | LoadStep::Bystanders { per_s, .. }
            | LoadStep::Fault { per_s, .. } => *per_s,
            LoadStep::DeleteChildren {} | LoadStep::Restart { .. } | LoadStep::Idle { .. } => None,
        }
    }

    /// Objects that do not concern the operator; none for other steps.
    pub fn bystanders(&self) -> Vec<Bystanders> {
        match self {
            // `check` has seen that it can be read.
            LoadStep::Bystanders { objects, .. } => bystanders::parse(objects).unwrap_or_default(),
            _ => Vec::new(),
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
            LoadStep::Update { share, .. } | LoadStep::Churn { share, .. }
                if !(*share > 0.0 && *share <= 1.0) =>
            {
                Err((
                    "share",
                    format!("{share}: use a part above 0 and up to 1, such as 0.1"),
                ))
            }
            LoadStep::Bystanders { objects, .. } if bystanders::parse(objects).is_err() => Err((
                "objects",
                bystanders::parse(objects).err().unwrap_or_default(),
            )),
            LoadStep::Bystanders { changes, .. } if *changes > MOST_TIMES => {
                Err(("changes", format!("{changes}: use 0 to {MOST_TIMES}")))
            }
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
        let update = |per_s, times| LoadStep::Update {
            per_s,
            times,
            share: 1.0,
        };
        let bystanders = |objects: &str, changes| LoadStep::Bystanders {
            objects: objects.into(),
            changes,
            per_s: None,
        };
        let part = |share| LoadStep::Churn {
            per_s: None,
            times: 1,
            share,
        };
        for (step, want) in [
            (update(Some(0.0), 1), "per_s"),
            (update(Some(f64::NAN), 1), "per_s"),
            (update(None, 0), "times"),
            (LoadStep::Restart { times: 1_001 }, "times"),
            (
                LoadStep::Churn {
                    per_s: Some(f64::INFINITY),
                    times: 1,
                    share: 1.0,
                },
                "per_s",
            ),
            (part(0.0), "share"),
            (part(1.5), "share"),
            (part(f64::NAN), "share"),
            (bystanders("nodes=3", 0), "objects"),
            (bystanders("secrets=3", 1_001), "changes"),
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
    fn each_object_has_its_turn_in_a_step_on_a_share() {
        for (name, objects, share, want) in [
            ("all", 4, 1.0, vec![0..4, 0..4]),
            ("halves", 4, 0.5, vec![0..2, 2..4, 0..2]),
            (
                "the last part overlaps",
                5,
                0.4,
                vec![0..2, 2..4, 3..5, 0..2],
            ),
            ("at least one", 3, 0.01, vec![0..1, 1..2, 2..3, 0..1]),
        ] {
            let parts = (0..).take(want.len());
            let parts: Vec<_> = parts.map(|nth| part(objects, share, nth)).collect();
            assert_eq!(parts, want, "{name}");
        }
        assert_eq!(part(0, 0.5, 0), 0..0, "a shard without objects");
        let text = "[[steps]]\ndo = \"churn\"\ntimes = 3\nshare = 0.1\n\
                    [[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=3\"\nchanges = 2\n";
        let file: File = toml::from_str(text).expect("valid");
        let names: Vec<String> = file.steps.iter().map(LoadStep::name).collect();
        let want = [
            "churn of 10 %, 3 times",
            "bystanders secrets=3, 2 changes of each",
        ];
        assert_eq!(names, want);
        assert_eq!(file.steps[1].bystanders()[0].objects, 3);
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
