//! Going on with an interrupted bench.
//!
//! Guarantees: only with the same experiment: every field of `experiment.json` is compared but those that change no
//! figure, and what differs is named. Leaves to others: reading the folder (`report`), running what is missing
//! (`experiment`).

use serde_json::{Map, Value, json};

use crate::plan::cell::Cell;
use crate::record::difference::{between, shown};
use crate::record::{Experiment, Origin};

/// As many fields that differ as a message names.
const MOST_SAID: usize = 3;

/// The same experiment, going on now; the record that stays is the one that was begun.
///
/// # Errors
/// What differs, in one line.
pub fn go_on(begun: Experiment, now: &Experiment) -> Result<Experiment, String> {
    let differences = differences(&begun, now);
    if !differences.is_empty() {
        return Err(differences.join("; "));
    }
    let mut experiment = begun;
    experiment
        .resumed_at
        .push(now.origin.environment.started_at.clone());
    // Only one run works at a time, however many there are: the report says how many at most.
    experiment.overlap = experiment.overlap.max(now.overlap);
    Ok(experiment)
}

fn differences(begun: &Experiment, now: &Experiment) -> Vec<String> {
    let (was, is) = (comparable(begun), comparable(now));
    let fields = between(&was, &is).into_iter().map(|place| {
        let (was, is) = (shown(place.one), shown(place.other));
        format!("{} was {was}, is {is}", place.path)
    });
    let mut found: Vec<String> = fields.collect();
    let further = found.len().saturating_sub(MOST_SAID);
    if further > 0 {
        found.truncate(MOST_SAID);
        found.push(format!("{further} more fields"));
    }
    // Cells that follow from others were not known when it began.
    let options = "--objects, --repeats, --repeats-largest and --aa-pairs";
    let is_missing = |cell: &&Cell| !begun.planned.contains(cell);
    let is_dropped = |cell: &&Cell| cell.kind.is_planned_first() && !now.planned.contains(cell);
    if let Some(missing) = now.planned.iter().find(is_missing) {
        found.push(format!(
            "{options} ask for {missing}, which was not planned"
        ));
    } else if let Some(dropped) = begun.planned.iter().find(is_dropped) {
        found.push(format!("{options} leave out {dropped}, which was planned"));
    }
    found
}

/// All of an experiment but what changes no figure: its time and words, where files are, and the runs, of which more
/// follow while it goes on.
fn comparable(experiment: &Experiment) -> Value {
    const RUN: &str = "run";
    let mut same = experiment.clone();
    same.planned.clear();
    same.resumed_at.clear();
    same.overlap = 0;
    let Origin {
        environment,
        scenario,
        subjects,
        ..
    } = &mut same.origin;
    *scenario = scenario.clone().of_bench(RUN);
    for record in &mut *subjects {
        record.binary.clear();
        record.commit = None;
        let subject = &mut record.subject;
        subject.run.command.clear();
        (subject.build, subject.description) = (None, None);
        subject.objects = subject.objects.take().map(|own| own.of_bench(RUN));
    }
    let ids: Vec<String> = subjects.iter().map(|it| it.subject.id()).collect();
    let by_id = subjects
        .drain(..)
        .map(|record| (record.subject.id(), json!(record)));
    let by_id: Map<String, Value> = by_id.collect();
    let environment = json!({
        "control_plane": environment.control_plane,
        "control_plane_flags": environment.control_plane_flags,
        "machine": environment.machine,
    });
    let mut same = json!(same);
    same["environment"] = environment;
    same["--subjects"] = json!(ids.join(","));
    same["subjects"] = json!(by_id);
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};
    use crate::plan::course::Asked;
    use crate::plan::profile::Profile;
    use crate::record::{Environment, SubjectRecord};
    use crate::spec::bounds::Bounds;
    use crate::spec::subject::built_in;

    fn experiment() -> Experiment {
        let cell = |kind| Cell {
            subject: "tare/none".into(),
            objects: 5,
            repeat: 1,
            kind,
            per_s: None,
        };
        let subjects = built_in()
            .expect("valid")
            .into_iter()
            .map(|subject| SubjectRecord {
                subject,
                target: "x86_64-unknown-linux-gnu".into(),
                binary: "/b/tare".into(),
                binary_bytes: Some(5),
                binary_sha256: Some("ab".into()),
                artifacts: vec![],
                executable_sha256: None,
                commit: None,
            });
        Experiment {
            schema: crate::record::SCHEMA,
            origin: Origin {
                environment: Environment {
                    started_at: "2026-11-21T08:00:00Z".into(),
                    command_line: String::new(),
                    host_label: "local".into(),
                    loadgen_commit: "unknown".into(),
                    control_plane: "kubesim".into(),
                    control_plane_flags: String::new(),
                    kubernetes_version: None,
                    filesystem: None,
                    machine: tare_procstat::machine(),
                },
                scenario: crate::spec::workload::default().expect("valid").scenario,
                seed: 1,
                subjects: subjects.collect(),
            },
            profile: Profile::Quick,
            ready_delay_ms: 0,
            asked: Asked::default(),
            bystanders: vec![],
            bounds: Bounds::default(),
            deadline_s: None,
            planned: vec![cell(Kind::Drain)],
            overlap: 1,
            resumed_at: vec![],
        }
    }

    #[test]
    fn the_same_experiment_goes_on() {
        let mut begun = experiment();
        let mut at_rate = begun.planned[0].clone();
        (at_rate.kind, at_rate.per_s) = (Kind::Rate, Some(20));
        begun.planned.push(at_rate);
        let mut now = experiment();
        now.origin.environment.started_at = "2026-11-21T09:00:00Z".into();
        now.origin.subjects[0].binary = "/elsewhere/tare".into();
        let going_on = go_on(begun, &now).expect("the same");
        assert_eq!(going_on.resumed_at, ["2026-11-21T09:00:00Z"]);
        assert_eq!(
            going_on.origin.environment.started_at,
            "2026-11-21T08:00:00Z"
        );
        assert_eq!(going_on.planned.len(), 2, "what followed is still planned");
    }

    #[test]
    fn what_differs_is_named() {
        type Change = fn(&mut Experiment);
        let table: [(Change, &str); 19] = [
            (|e| e.origin.seed = 2, "seed was 1, is 2"),
            (
                |e| e.profile = Profile::Full,
                "profile was \"quick\", is \"full\"",
            ),
            (
                |e| e.origin.environment.control_plane = "kube".into(),
                "environment.control_plane was \"kubesim\", is \"kube\"",
            ),
            (
                |e| e.origin.environment.machine.cores = Some(99),
                "environment.machine.cores was ",
            ),
            (
                |e| e.asked.restarts = Some(2),
                "asked.restarts was null, is 2",
            ),
            (
                |e| e.asked.soak_events = Some(9),
                "asked.soak_events was null, is 9",
            ),
            (
                |e| e.asked.deletions = true,
                "asked.deletions was false, is true",
            ),
            (
                |e| e.asked.server_restart = true,
                "asked.server_restart was false, is true",
            ),
            (
                |e| e.asked.idle_s = Some(60),
                "asked.idle_s was absent, is 60",
            ),
            (
                |e| e.bounds.memory_bytes = Some(64),
                "bounds was absent, is {\"cpu_cores\":null,\"memory_bytes\":64",
            ),
            (|e| e.ready_delay_ms = 2000, "ready_delay_ms was 0, is 2000"),
            (|e| e.deadline_s = Some(9), "deadline_s was absent, is 9"),
            (
                |e| {
                    e.bystanders = crate::spec::bystanders::parse("secrets=9").expect("valid");
                },
                "bystanders was absent, is 1 entries",
            ),
            (
                |e| e.planned[0].objects = 7,
                "ask for tare/none drain 7, which was not planned",
            ),
            (|e| e.planned.clear(), "leave out tare/none drain 5"),
            (
                |e| e.origin.subjects[0].binary_sha256 = Some("cd".into()),
                "subjects.tare/none.binary_sha256 was \"ab\", is \"cd\"",
            ),
            (
                |e| e.origin.subjects[0].subject.run.args.clear(),
                "subjects.tare/none.subject.run.args was ",
            ),
            (
                |e| e.origin.subjects.truncate(1),
                "--subjects was \"tare/none,tare/metadata,",
            ),
            (
                |e| e.origin.scenario.object_bytes = 9,
                "scenario.object_bytes was ",
            ),
        ];
        for (change, want) in table {
            let mut now = experiment();
            change(&mut now);
            let error = go_on(experiment(), &now).expect_err(want);
            assert!(
                error.contains(want) && !error.contains('\n'),
                "{want}: {error}"
            );
        }
    }
}
