//! What is said of an operator that was watched.

use super::*;

fn pod(restarts: u64) -> Pod {
    Pod {
        name: "web-1".into(),
        uid: "u1".into(),
        limit_bytes: Some(16e6),
        restarts,
        last_end: (restarts > 0).then(|| End {
            reason: "OOMKilled".into(),
            exit_code: 137,
            finished_at: "2026-01-01T00:00:09Z".into(),
        }),
        ..Pod::default()
    }
}

fn reading(mb: f64, cpu_s: f64) -> Option<Reading> {
    Some(Reading {
        bytes: mb * 1e6,
        cpu_s: Some(cpu_s),
    })
}

#[test]
fn memory_is_told_before_at_its_peak_and_at_the_end() {
    let mut watched = Watched::default();
    for (first, mb, cpu_s) in [(true, 3.0, 1.0), (false, 9.0, 1.5), (false, 4.0, 2.0)] {
        watched.note(&pod(0), reading(mb, cpu_s), first);
    }
    watched.note(&pod(0), None, false);
    assert_eq!(
        watched.table().rows,
        [["web-1", "3.00", "9.00", "4.00", "16.0", "1.00", "0"]]
    );
    assert!(watched.is_sound());
    assert_eq!((watched.samples, watched.lines().len()), (3, 0));
}

#[test]
fn a_kill_for_memory_is_noticed_and_cpu_goes_on() {
    let mut watched = Watched::default();
    watched.note(&pod(0), reading(3.0, 5.0), true);
    watched.note(&pod(0), reading(15.0, 6.0), false);
    watched.note(&pod(1), reading(2.0, 0.5), false);
    let own = &watched.pods[0];
    assert_eq!((own.restarts, own.kills_for_memory), (1, 1));
    assert_eq!(own.cpu_s, Some(1.5));
    assert!(!watched.is_sound());
    assert_eq!(
        watched.lines()[0],
        "web-1 was killed for memory once; its limit is 16.0 MB"
    );
}

#[test]
fn restarts_before_the_run_do_not_count_and_a_new_pod_does() {
    let mut watched = Watched::default();
    watched.note(&pod(4), reading(3.0, 5.0), true);
    watched.note(&pod(4), reading(3.0, 5.0), false);
    assert!(watched.is_sound());
    let other = Pod {
        uid: "u2".into(),
        name: "web-2".into(),
        ..pod(0)
    };
    watched.note(&other, reading(2.0, 0.5), false);
    assert!(!watched.is_sound());
    let asked_for = Watched {
        replaced: 1,
        ..watched.clone()
    };
    assert!(asked_for.is_sound());
    assert_eq!(watched.pods[1].before_bytes, None);
    assert_eq!(watched.pods[1].cpu_s, Some(0.5));
}
