//! Going on with an interrupted bench.
//!
//! Guarantees: only with the same experiment: whatever could change a figure is compared, and what
//! differs is named. Leaves to others: reading the folder (`report`), running what is missing
//! (`experiment`).

use crate::record::{Experiment, SubjectRecord};
use crate::spec::bystanders;
use crate::spec::step::Step;

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
    let mut found = Vec::new();
    let mut compare = |what: &str, was: String, is: String| {
        if was != is {
            found.push(format!("{what} was {was}, is {is}"));
        }
    };
    let quoted = |text: &str| format!("{text:?}");
    compare(
        "--control-plane",
        begun.origin.environment.control_plane.clone(),
        now.origin.environment.control_plane.clone(),
    );
    compare(
        "the control plane's set-up",
        quoted(&begun.origin.environment.control_plane_flags),
        quoted(&now.origin.environment.control_plane_flags),
    );
    compare(
        "--seed",
        begun.origin.seed.to_string(),
        now.origin.seed.to_string(),
    );
    compare(
        "--profile",
        format!("{:?}", begun.profile).to_lowercase(),
        format!("{:?}", now.profile).to_lowercase(),
    );
    let restarts =
        |asked: Option<u32>| asked.map_or("1 at the largest size".into(), |n| n.to_string());
    compare(
        "--restarts",
        restarts(begun.asked.restarts),
        restarts(now.asked.restarts),
    );
    let events = |asked: Option<u64>| asked.map_or("none".to_owned(), |n| n.to_string());
    compare(
        "--soak-events",
        events(begun.asked.soak_events),
        events(now.asked.soak_events),
    );
    compare(
        "--idle-s",
        events(begun.asked.idle_s),
        events(now.asked.idle_s),
    );
    let given = |asked: bool| if asked { "given" } else { "not given" }.to_owned();
    compare(
        "--deletions",
        given(begun.asked.deletions),
        given(now.asked.deletions),
    );
    compare(
        "--server-restart",
        given(begun.asked.server_restart),
        given(now.asked.server_restart),
    );
    let names = |steps: &[Step]| steps.iter().map(Step::name).collect::<Vec<_>>().join(", ");
    compare(
        "[[steps]] of the workload",
        names(&begun.asked.steps),
        names(&now.asked.steps),
    );
    compare(
        "--bystanders",
        bystanders::text(&begun.bystanders),
        bystanders::text(&now.bystanders),
    );
    compare(
        "--memory and --cpu",
        begun.bounds.to_string(),
        now.bounds.to_string(),
    );
    compare(
        "--ready-delay-ms",
        begun.ready_delay_ms.to_string(),
        now.ready_delay_ms.to_string(),
    );
    compare(
        "--subjects",
        ids(&begun.origin.subjects),
        ids(&now.origin.subjects),
    );
    compare(
        "the kernel",
        known(&begun.origin.environment.machine.kernel),
        known(&now.origin.environment.machine.kernel),
    );
    compare(
        "the CPU",
        known(&begun.origin.environment.machine.cpu_model),
        known(&now.origin.environment.machine.cpu_model),
    );
    if !begun.origin.scenario.is_alike(&now.origin.scenario) {
        found.push("the scenario's objects are others".into());
    }
    // Cells that follow from others were not known when it began.
    if let Some(missing) = now
        .planned
        .iter()
        .find(|cell| !begun.planned.contains(cell))
    {
        found.push(format!(
            "--objects, --repeats, --repeats-largest and --aa-pairs ask for {missing}, which was not planned"
        ));
    } else if let Some(dropped) = begun
        .planned
        .iter()
        .find(|cell| cell.kind.is_planned_first() && !now.planned.contains(cell))
    {
        found.push(format!(
            "--objects, --repeats, --repeats-largest and --aa-pairs leave out {dropped}, which was planned"
        ));
    }
    found.extend(binaries(&begun.origin.subjects, &now.origin.subjects));
    found
}

fn ids(subjects: &[SubjectRecord]) -> String {
    let ids: Vec<String> = subjects.iter().map(|s| s.subject.id()).collect();
    ids.join(",")
}

fn known(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "unknown".into())
}

fn binaries(begun: &[SubjectRecord], now: &[SubjectRecord]) -> Vec<String> {
    let mut found = Vec::new();
    for is in now {
        let id = is.subject.id();
        let Some(was) = begun.iter().find(|was| was.subject.id() == id) else {
            continue;
        };
        if was.binary_sha256 != is.binary_sha256 {
            let bytes = |subject: &SubjectRecord| match subject.binary_bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => "a size that is not known".into(),
            };
            let (was, is) = (bytes(was), bytes(is));
            found.push(format!(
                "the program of {id} is another one ({was} then, {is} now)"
            ));
        } else if started_as(was) != started_as(is) {
            found.push(format!("{id} is started in another way"));
        }
    }
    found
}

/// Where the file of the program is does not matter; its content is compared.
fn started_as(record: &SubjectRecord) -> impl PartialEq + use<> {
    let subject = record.subject.clone();
    (
        subject.run.args,
        subject.run.env,
        subject.ready,
        subject.metrics,
        subject.convergence,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};
    use crate::plan::course::Asked;
    use crate::plan::profile::Profile;
    use crate::record::{Environment, Origin};
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
        let table: [(Change, &str); 8] = [
            (|e| e.origin.seed = 2, "--seed was 1, is 2"),
            (
                |e| e.profile = Profile::Full,
                "--profile was quick, is full",
            ),
            (
                |e| e.origin.environment.control_plane = "kube".into(),
                "--control-plane was kubesim, is kube",
            ),
            (
                |e| e.planned[0].objects = 7,
                "ask for tare/none drain 7, which was not planned",
            ),
            (|e| e.planned.clear(), "leave out tare/none drain 5"),
            (
                |e| {
                    e.origin.subjects[0].binary_sha256 = Some("cd".into());
                    e.origin.subjects[0].binary_bytes = Some(6);
                },
                "the program of tare/none is another one (5 bytes then, 6 bytes now)",
            ),
            (
                |e| e.origin.subjects[0].subject.run.args.clear(),
                "tare/none is started in another way",
            ),
            (
                |e| e.origin.scenario.object_bytes = 9,
                "the scenario's objects",
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
