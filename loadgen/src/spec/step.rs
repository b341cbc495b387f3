//! The steps of every command: what is done to an operator and its objects, in one language.
//!
//! Guarantees: pure; a step that is read can be done, and everything that is known about one before it runs stands here
//! (how long a bench waits in it: `plan::profile`). Users write those with a `do`; the others are a bench's own. Leaves
//! to others: which cells of a bench have which steps (`plan::course`), and doing them (`engine::step` has one `match`).

use std::ops::Range;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::bystanders;
use crate::spec::bystanders::Bystanders;
use crate::spec::subject::Language;

/// In an update storm every object changes once in this long.
pub const UPDATE_EVERY: Duration = Duration::from_millis(500);
/// How often every object changes in an update storm: for a minute.
pub const UPDATE_ROUNDS: u64 = 120;

/// Go's runtime forces a collection when none ran for two minutes (`forcegcperiod` in
/// `runtime/proc.go`), and gives memory back after it. A subject that is idle for this long has had
/// two of them.
pub const TWO_COLLECTIONS_S: u64 = 240;

const MOST_PER_S: f64 = 100_000.0;
const MOST_TIMES: u64 = 1_000;
const MOST_S: u64 = 86_400;

/// How long a subject must be idle before its memory is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// Seconds without events and with next to no CPU.
    pub quiet_s: u64,
    /// Seconds over which anonymous memory must also change by less than 1 %.
    pub steady_s: Option<u64>,
}

/// One step of a session. Those that users write are the `[[steps]]` of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Every object is created; anew, once a `delete` has removed them.
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
    Recreate {
        /// Objects per second; all at once without.
        #[serde(default)]
        per_s: Option<f64>,
        #[serde(default = "once")]
        times: u64,
        /// The part of the objects that is deleted and created each time, in turn; the others stay.
        #[serde(default = "whole")]
        share: f64,
    },
    /// Every object is deleted, until the last one is gone; in a bench until its children are gone, too.
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
    /// The operator is ended and started anew on the objects that exist, so often: its pods are deleted, until others
    /// are in their place, or its process gets SIGTERM.
    Restart {
        #[serde(default = "once")]
        times: u64,
        /// Before its memory is sampled.
        #[serde(skip)]
        quiet: Option<Quiet>,
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
    /// The API server is ended and started anew on the objects that exist, so often; each time the operator has to
    /// observe an object that is created afterwards. In a bench on a kube-apiserver of its own.
    RestartServer {
        #[serde(default = "once")]
        times: u64,
        /// Before the operator's memory is sampled.
        #[serde(skip)]
        quiet: Option<Quiet>,
    },

    /// From the subject's start until it has observed the canary and is ready.
    #[serde(skip)]
    Start,
    /// Idle without objects; samples memory.
    #[serde(skip)]
    Empty(Quiet),
    /// Idle after the objects have converged; samples memory, then idles for `idle_s` in all.
    #[serde(skip)]
    Settle { quiet: Quiet, idle_s: u64 },
    /// A second without events after the objects of a timed run; samples no memory.
    #[serde(skip)]
    WindDown,
    /// Objects are updated at a rate for so long, in turn, until all are ready again.
    #[serde(skip)]
    UpdateAt { per_s: u32, seconds: u32 },
    /// Objects are updated, fail, recover and are created anew until `events` have passed.
    #[serde(skip)]
    Soak { events: u64, quiet: Quiet },
    /// The memory of the subject is searched for foreign objects; of one in Go after `wait_s` more of idle time.
    #[serde(skip)]
    Search { wait_s: u64 },
    /// The foreign objects are changed, while CPU and requests of the subject are counted.
    #[serde(skip)]
    ChangeBystanders,
    /// The foreign objects are deleted and the subject is started on what is left; samples memory, to set it
    /// beside that of [`Step::Restart`].
    #[serde(skip)]
    WithoutBystanders(Quiet),
    /// Idle after all objects were deleted; samples memory.
    #[serde(skip)]
    SettleDeleted(Quiet),
    /// Objects that cannot become healthy are created, and exist for this long.
    #[serde(skip)]
    Unhealthy { hold_s: u64 },
    /// Every object is created, and updated again and again, faster than a subject may be able to follow.
    #[serde(skip)]
    UpdateStorm,
}

fn once() -> u64 {
    1
}

fn whole() -> f64 {
    1.0
}

/// What one run takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Seconds in which it needs the machine for itself.
    pub work_s: f64,
    /// Seconds in which its subject is idle.
    pub quiet_s: f64,
}

/// What a control plane takes for one object, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    pub start_s: f64,
    pub create_s: f64,
    pub delete_s: f64,
}

/// Watch events of one object with two children from its creation until it is ready.
const EVENTS_PER_OBJECT: f64 = 5.0;
/// About what foreign objects are changed for, and as long before.
const CHANGED_S: f64 = 50.0;
/// About what an API server takes to end, to start and to be found again.
const RESTART_SERVER_S: f64 = 15.0;

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

/// Whether the objects are there after these steps, where they were before.
pub fn leave_objects(steps: &[Step]) -> bool {
    steps.iter().fold(true, |there, step| step.leaves(there))
}

/// # Errors
/// The first step, from 0 on, that cannot be done where it stands.
pub fn check_order(steps: &[Step]) -> Result<(), (usize, Wrong)> {
    let mut there = true;
    for (number, step) in steps.iter().enumerate() {
        let wrong = match (step, there) {
            (Step::Create { .. }, true) => {
                Some("create: the objects are there; put a delete before it, or use recreate")
            }
            (
                Step::Create { .. }
                | Step::Idle { .. }
                | Step::Restart { .. }
                | Step::RestartServer { .. }
                | Step::Bystanders { .. },
                _,
            ) => None,
            (_, true) => None,
            (_, false) => Some("the objects are deleted; put a create before it"),
        };
        if let Some(wrong) = wrong {
            return Err((number, ("do", wrong.to_owned())));
        }
        there = step.leaves(there);
    }
    Ok(())
}

impl Step {
    /// Whether the objects are there after it.
    fn leaves(&self, there: bool) -> bool {
        match self {
            Step::Create { .. } => true,
            Step::Delete { .. } => false,
            _ => there,
        }
    }

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
            Step::Create { .. } => "create".into(),
            Step::Update { times, share, .. } => often(&some("update", *share), *times),
            Step::Scale { field, value, .. } => format!("scale {field} to {value}"),
            Step::Recreate { times, share, .. } => often(&some("recreate", *share), *times),
            Step::Delete { .. } => "delete".into(),
            Step::DeleteChildren {} => "delete children".into(),
            Step::Fault { seconds, .. } => format!("fault for {seconds} s"),
            Step::Restart { times, .. } => often("restart", *times),
            Step::Bystanders {
                objects,
                changes: 0,
                ..
            } => format!("bystanders {objects}"),
            Step::Bystanders {
                objects, changes, ..
            } => format!("bystanders {objects}, {changes} changes of each"),
            Step::Idle { seconds } => format!("idle for {seconds} s"),
            Step::RestartServer { times, .. } => often("restart of the API server", *times),
            Step::Start => "start".into(),
            Step::Empty(_) => "idle without objects".into(),
            Step::Settle { .. } => "settle".into(),
            Step::WindDown => "wind down".into(),
            Step::UpdateAt { per_s, seconds } => format!("update at {per_s}/s for {seconds} s"),
            Step::Soak { .. } => "soak".into(),
            Step::Search { .. } => "search of memory for bystanders".into(),
            Step::ChangeBystanders => "changes of bystanders".into(),
            Step::WithoutBystanders(_) => "restart without bystanders".into(),
            Step::SettleDeleted(_) => "settle after the deletion".into(),
            Step::Unhealthy { .. } => "objects that cannot become healthy".into(),
            Step::UpdateStorm => "update storm".into(),
        }
    }

    /// Objects per second; `None` for all at once.
    pub fn per_s(&self) -> Option<f64> {
        match self {
            Step::Create { per_s }
            | Step::Update { per_s, .. }
            | Step::Scale { per_s, .. }
            | Step::Recreate { per_s, .. }
            | Step::Delete { per_s }
            | Step::Bystanders { per_s, .. }
            | Step::Fault { per_s, .. } => *per_s,
            _ => None,
        }
    }

    /// Whether objects converge in it.
    pub fn has_times(&self) -> bool {
        matches!(
            self,
            Step::Create { .. }
                | Step::Update { .. }
                | Step::Scale { .. }
                | Step::Recreate { .. }
                | Step::Fault { .. }
        )
    }

    /// Whether it needs a kube-apiserver that loadgen has started: nobody else's is ended.
    pub fn needs_own_server(&self) -> bool {
        matches!(self, Step::RestartServer { .. })
    }

    /// Objects that do not concern the operator; none for other steps.
    pub fn bystanders(&self) -> Vec<Bystanders> {
        match self {
            // `check` has seen that it can be read.
            Step::Bystanders { objects, .. } => bystanders::parse(objects).unwrap_or_default(),
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
            Step::Update { share, .. } | Step::Recreate { share, .. }
                if !(*share > 0.0 && *share <= 1.0) =>
            {
                Err((
                    "share",
                    format!("{share}: use a part above 0 and up to 1, such as 0.1"),
                ))
            }
            Step::Bystanders { objects, .. } if bystanders::parse(objects).is_err() => Err((
                "objects",
                bystanders::parse(objects).err().unwrap_or_default(),
            )),
            Step::Bystanders { changes, .. } if *changes > MOST_TIMES => {
                Err(("changes", format!("{changes}: use 0 to {MOST_TIMES}")))
            }
            Step::Update { times, .. }
            | Step::Recreate { times, .. }
            | Step::Restart { times, .. }
            | Step::RestartServer { times, .. }
                if !(1..=MOST_TIMES).contains(times) =>
            {
                Err(("times", format!("{times}: use 1 to {MOST_TIMES}")))
            }
            Step::Scale { field, .. } if !field.starts_with('/') => Err((
                "field",
                format!("{field:?}: write a JSON pointer, such as /spec/replicas"),
            )),
            Step::Idle { seconds } | Step::Fault { seconds, .. }
                if !(1..=MOST_S).contains(seconds) =>
            {
                Err(("seconds", format!("{seconds}: use 1 to {MOST_S}")))
            }
            _ => Ok(()),
        }
    }

    /// What it takes with this number of objects, roughly.
    pub fn cost(&self, objects: usize, rates: &Rates) -> Cost {
        let objects = objects as f64;
        let create_s = objects * rates.create_s;
        let delete_s = objects * rates.delete_s;
        let paced = |per_s: &Option<f64>, burst_s: f64| match per_s {
            Some(per_s) => burst_s.max(objects / per_s),
            None => burst_s,
        };
        let restart_s = 2.0 + objects * 0.001;
        let (work_s, quiet_s) = match self {
            Step::Start => (rates.start_s, 0),
            Step::Empty(quiet) => (0.0, quiet.quiet_s),
            Step::Create { per_s } | Step::Scale { per_s, .. } => (paced(per_s, create_s), 0),
            Step::Update {
                per_s,
                times,
                share,
            } => (*times as f64 * share * paced(per_s, create_s), 0),
            Step::Recreate {
                per_s,
                times,
                share,
            } => (
                *times as f64 * share * (paced(per_s, create_s) + paced(per_s, delete_s)),
                0,
            ),
            Step::Delete { per_s } => (paced(per_s, delete_s), 0),
            Step::DeleteChildren {} => (create_s, 0),
            Step::Fault { seconds, per_s } => (2.0 * paced(per_s, create_s) + *seconds as f64, 0),
            Step::Bystanders { per_s, changes, .. } => {
                let all: usize = self.bystanders().iter().map(|kind| kind.objects).sum();
                let requests = all as f64 * (1 + changes) as f64;
                (
                    per_s.map_or(requests * rates.create_s, |per_s| requests / per_s),
                    0,
                )
            }
            Step::Idle { seconds } => (*seconds as f64, 0),
            // Idle time counts from the begin of the quiet, a few seconds after the last event.
            Step::Settle { quiet, idle_s } if *idle_s > 0 => (0.0, quiet.quiet_s.max(idle_s + 2)),
            Step::Settle { quiet, .. } | Step::SettleDeleted(quiet) => (0.0, quiet.quiet_s),
            Step::WindDown => (3.0, 0),
            Step::Soak { events, quiet } => {
                let work_s = *events as f64 / EVENTS_PER_OBJECT * rates.create_s;
                (work_s, quiet.quiet_s)
            }
            Step::Restart { times, quiet } => {
                let quiet_s = quiet.map_or(0, |quiet| quiet.quiet_s);
                (*times as f64 * restart_s, times * quiet_s)
            }
            Step::RestartServer { times, quiet } => {
                let quiet_s = quiet.map_or(0, |quiet| quiet.quiet_s);
                (*times as f64 * RESTART_SERVER_S, times * quiet_s)
            }
            Step::Search { wait_s } => (0.0, *wait_s),
            Step::ChangeBystanders => (CHANGED_S, 0),
            Step::WithoutBystanders(quiet) => (restart_s, quiet.quiet_s),
            // Retries are work: no other run may disturb them.
            Step::Unhealthy { hold_s } => (create_s + *hold_s as f64, 0),
            Step::UpdateStorm => {
                let updates_s = UPDATE_ROUNDS as f64 * UPDATE_EVERY.as_secs_f64();
                (create_s + updates_s, 0)
            }
            Step::UpdateAt { seconds, .. } => (f64::from(*seconds), 0),
        };
        Cost {
            work_s,
            quiet_s: quiet_s as f64,
        }
    }
}

impl Quiet {
    /// Whether a subject in this language has settled after it: Go gives memory back only after its
    /// collector ran.
    pub fn is_enough_for(self, language: Language) -> bool {
        language != Language::Go || self.quiet_s >= TWO_COLLECTIONS_S
    }

    /// Without a condition on memory.
    pub const fn of(quiet_s: u64) -> Self {
        Self {
            quiet_s,
            steady_s: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        steps: Vec<Step>,
    }

    #[test]
    fn steps_are_read_by_what_they_do() {
        let text = "[[steps]]\ndo = \"update\"\n[[steps]]\ndo = \"scale\"\nfield = \"/spec/replicas\"\nvalue = 3\nper_s = 2.5\n\
                    [[steps]]\ndo = \"idle\"\nseconds = 5\n[[steps]]\ndo = \"update\"\ntimes = 4\n";
        let file: File = toml::from_str(text).expect("valid");
        let names: Vec<String> = file.steps.iter().map(Step::name).collect();
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
        let update = |per_s, times| Step::Update {
            per_s,
            times,
            share: 1.0,
        };
        let bystanders = |objects: &str, changes| Step::Bystanders {
            objects: objects.into(),
            changes,
            per_s: None,
        };
        let part = |share| Step::Recreate {
            per_s: None,
            times: 1,
            share,
        };
        for (step, want) in [
            (update(Some(0.0), 1), "per_s"),
            (update(Some(f64::NAN), 1), "per_s"),
            (update(None, 0), "times"),
            (
                Step::Restart {
                    times: 1_001,
                    quiet: None,
                },
                "times",
            ),
            (
                Step::Recreate {
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
                Step::Fault {
                    seconds: 86_401,
                    per_s: None,
                },
                "seconds",
            ),
            (
                Step::Scale {
                    field: "replicas".into(),
                    value: 3.into(),
                    per_s: None,
                },
                "field",
            ),
            (Step::Idle { seconds: 0 }, "seconds"),
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
        let text = "[[steps]]\ndo = \"recreate\"\ntimes = 3\nshare = 0.1\n\
                    [[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=3\"\nchanges = 2\n";
        let file: File = toml::from_str(text).expect("valid");
        let names: Vec<String> = file.steps.iter().map(Step::name).collect();
        let want = [
            "recreate of 10 %, 3 times",
            "bystanders secrets=3, 2 changes of each",
        ];
        assert_eq!(names, want);
        assert_eq!(file.steps[1].bystanders()[0].objects, 3);
    }

    #[test]
    fn objects_that_are_deleted_have_to_be_created_before_the_next_step() {
        let create = Step::Create { per_s: None };
        let delete = Step::Delete { per_s: None };
        let idle = Step::Idle { seconds: 1 };
        let children = Step::DeleteChildren {};
        for (steps, want) in [
            (vec![&delete, &idle, &create, &children, &delete], None),
            (vec![&create], Some(0)),
            (vec![&delete, &idle, &children], Some(2)),
            (vec![&delete, &delete], Some(1)),
            (vec![&delete, &create, &create], Some(2)),
        ] {
            let steps: Vec<Step> = steps.into_iter().cloned().collect();
            let wrong = check_order(&steps).err();
            assert_eq!(wrong.as_ref().map(|(number, _)| *number), want, "{steps:?}");
            assert!(wrong.is_none_or(|(_, (field, _))| field == "do"));
        }
    }
}
