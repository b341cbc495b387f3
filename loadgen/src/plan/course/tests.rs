//! Which cells have which steps.

use super::*;
use crate::plan::profile::Profile;
use crate::spec::subject::Language;

fn cell(kind: Kind, objects: usize, repeat: u32) -> Cell {
    Cell {
        subject: "a/x".into(),
        objects,
        repeat,
        kind,
        per_s: (kind == Kind::Rate).then_some(20),
    }
}

fn names(course: &Course, kind: Kind, objects: usize, repeat: u32) -> Vec<String> {
    let steps = course.steps(&cell(kind, objects, repeat)).into_iter();
    steps.skip(2).map(|step| step.name()).collect()
}

fn course(profile: Profile) -> Course {
    Course {
        timing: Timing::of(profile),
        largest: 5_000,
        asked: Asked::default(),
    }
}

#[test]
fn a_cell_has_the_steps_of_its_kind_size_and_profile() {
    let (quick, standard) = (course(Profile::Quick), course(Profile::Standard));
    let all = [
        "create",
        "settle",
        "update",
        "restart",
        "delete",
        "settle after the deletion",
    ];
    let timed = ["create", "wind down", "restart"];
    let table: [(&Course, Kind, usize, u32, &[&str]); 14] = [
        (&standard, Kind::Drain, 500, 1, &timed[..2]),
        (&standard, Kind::Drain, 5_000, 2, &timed),
        (&standard, Kind::DrainAa, 5_000, 2, &timed[..2]),
        (&standard, Kind::DefaultFlags, 5_000, 1, &timed[..2]),
        (&standard, Kind::Rate, 5_000, 1, &timed[..2]),
        (&standard, Kind::Memory, 0, 1, &["settle"]),
        (&standard, Kind::Memory, 500, 1, &["create", "settle"]),
        (&standard, Kind::Memory, 5_000, 1, &all),
        (&standard, Kind::Memory, 5_000, 2, &[all[0], all[1], all[3]]),
        (&quick, Kind::Memory, 5_000, 1, &[all[0], all[1], all[3]]),
        (
            &standard,
            Kind::MemoryAa,
            5_000,
            1,
            &[all[0], all[1], all[3]],
        ),
        (&standard, Kind::RequestCount, 500, 1, &all[..2]),
        (
            &standard,
            Kind::Rejected,
            5_000,
            1,
            &["objects that cannot become healthy"],
        ),
        (&standard, Kind::UpdateStorm, 500, 1, &["update storm"]),
    ];
    for (course, kind, objects, repeat, want) in table {
        let got = names(course, kind, objects, repeat);
        assert_eq!(got, want, "{kind:?} {objects} repeat {repeat}");
    }
}

#[test]
fn restarts_that_were_asked_for_come_in_every_drain_and_once_in_memory_runs() {
    let course = Course {
        asked: Asked {
            restarts: Some(3),
            ..Asked::default()
        },
        ..course(Profile::Quick)
    };
    for (kind, objects, want) in [
        (Kind::Memory, 0, None),
        (Kind::Memory, 500, Some(1)),
        (Kind::Drain, 500, Some(3)),
        (Kind::Drain, 5_000, Some(3)),
        (Kind::Rate, 500, None),
        (Kind::RequestCount, 500, None),
    ] {
        let cell = cell(kind, objects, 1);
        let times = course.steps(&cell).into_iter().find_map(|step| match step {
            Step::Restart { times, .. } => Some(times),
            _ => None,
        });
        assert_eq!(times, want, "{kind:?} {objects}");
    }
}

#[test]
fn foreign_objects_are_searched_for_and_their_cost_is_taken_from_two_restarts() {
    let course = Course {
        asked: Asked {
            bystanders: true,
            ..Asked::default()
        },
        ..course(Profile::Standard)
    };
    let (search, change, without) = (
        "search of memory for bystanders",
        "changes of bystanders",
        "restart without bystanders",
    );
    for (kind, objects, repeat, want) in [
        (Kind::Memory, 0, 1, &["settle", search][..]),
        (Kind::Memory, 500, 1, &["create", "settle", search]),
        (
            Kind::Memory,
            5_000,
            2,
            &["create", "settle", "restart", search, change, without],
        ),
        (Kind::Drain, 500, 1, &["create", "wind down"]),
        (Kind::RequestCount, 500, 1, &["create", "settle"]),
    ] {
        let got = names(&course, kind, objects, repeat);
        assert_eq!(got, want, "{kind:?} {objects}");
    }
    let all = names(&course, Kind::Memory, 5_000, 1);
    assert_eq!(
        all.last().map(String::as_str),
        Some("settle after the deletion"),
        "the objects were there until then"
    );
}

#[test]
fn drains_end_with_a_deletion_where_it_was_asked_for() {
    let course = Course {
        asked: Asked {
            deletions: true,
            ..Asked::default()
        },
        ..course(Profile::Quick)
    };
    for (kind, objects, want) in [
        (Kind::Drain, 0, false),
        (Kind::Drain, 500, true),
        (Kind::DrainAa, 500, false),
        (Kind::Memory, 500, false),
    ] {
        let last = names(&course, kind, objects, 1).pop();
        let deleted = last.as_deref() == Some("delete");
        assert_eq!(deleted, want, "{kind:?} {objects}");
    }
}

#[test]
fn go_settles_only_where_its_collector_has_run_twice() {
    for (profile, language, want) in [
        (Profile::Quick, Language::Rust, true),
        (Profile::Quick, Language::Other, true),
        (Profile::Quick, Language::Go, false),
        (Profile::Standard, Language::Go, true),
        (Profile::Full, Language::Go, true),
    ] {
        let quiet = Timing::of(profile).settled();
        assert_eq!(
            quiet.is_enough_for(language),
            want,
            "{profile:?} {language:?}"
        );
    }
}

#[test]
fn memory_is_searched_after_300_s_of_idle_time_in_all() {
    let course = Course {
        asked: Asked {
            bystanders: true,
            ..Asked::default()
        },
        ..course(Profile::Standard)
    };
    for objects in [500, 5_000] {
        let cell = cell(Kind::Memory, objects, 2);
        let steps = course.steps(&cell);
        let place = steps
            .iter()
            .position(|step| matches!(step, Step::Search { .. }));
        let place = place.expect("searched");
        let (Step::Search { wait_s }, before) = (&steps[place], &steps[place - 1]) else {
            panic!("a search");
        };
        let idle_s = match before {
            Step::Settle { quiet, .. } => quiet.quiet_s,
            Step::Restart {
                quiet: Some(quiet), ..
            } => quiet.quiet_s,
            other => panic!("{other:?}"),
        };
        assert_eq!(wait_s + idle_s, 300, "{objects} objects");
    }
}

#[test]
fn steps_of_the_workload_are_done_in_drains_at_the_largest_size() {
    let steps = |steps: &[Step]| Course {
        asked: Asked {
            steps: steps.to_vec(),
            deletions: true,
            ..Asked::default()
        },
        ..course(Profile::Quick)
    };
    let (idle, delete) = (Step::Idle { seconds: 3 }, Step::Delete { per_s: None });
    let recreate = Step::Recreate {
        per_s: None,
        times: 2,
        share: 0.5,
    };
    let before = ["create", "wind down", "restart"];
    for (name, asked, kind, objects, want) in [
        (
            "at the largest size",
            vec![recreate.clone(), idle.clone()],
            Kind::Drain,
            5_000,
            vec!["recreate of 50 %, 2 times", "idle for 3 s", "delete"],
        ),
        (
            "what is deleted is not deleted again",
            vec![idle.clone(), delete],
            Kind::Drain,
            5_000,
            vec!["idle for 3 s", "delete"],
        ),
    ] {
        let course = steps(&asked);
        let got = names(&course, kind, objects, 1);
        assert_eq!(got, [&before[..], &want].concat(), "{name}");
        let cell = cell(kind, objects, 1);
        let all = course.steps(&cell);
        let place = course.place_of_workload(&cell, &all);
        assert_eq!(all[place], asked[..], "{name}");
    }
    let elsewhere = steps(&[recreate, idle]);
    assert_eq!(
        names(&elsewhere, Kind::Drain, 500, 1),
        ["create", "wind down", "delete"]
    );
    assert_eq!(
        names(&elsewhere, Kind::DrainAa, 5_000, 1),
        ["create", "wind down"]
    );
}
