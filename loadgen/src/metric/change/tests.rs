use super::*;
use crate::record::summary::{Knee, LimitedBy, RateSweep, Run, sample};

const METRIC: &str = "api_server_cpu_s";

/// A change of this figure, from 1.
pub fn change(metric: &str, ratio: f64, assessment: Assessment) -> Change {
    let id = || "tare/none".to_owned();
    Change {
        subjects: Pairing {
            before: id(),
            after: id(),
        },
        metric: metric.to_owned(),
        cell: Some(CellKey {
            kind: kind(),
            objects: 300,
            per_s: None,
        }),
        before_median: 1.0,
        after_median: ratio,
        before_runs: 3,
        after_runs: 3,
        before_invalid: 0,
        after_invalid: 0,
        ratio: Some(ratio),
        ci95: Some([ratio * 0.99, ratio * 1.01]),
        floor: None,
        assessment,
    }
}

fn kind() -> Kind {
    metric::find(METRIC).expect("known").kinds[0]
}

/// A folder with a run for each value; `None` is an invalid run.
fn folder(values: &[Option<f64>]) -> Summary {
    let runs = (1..).zip(values).map(|(repeat, value)| {
        let because = value.is_none().then(|| "late".to_owned());
        let because = because.into_iter().collect();
        let run = Run::without_figures(kind(), 300, repeat, because);
        run.with(METRIC, value.unwrap_or(99.0))
    });
    sample(runs.collect())
}

fn only(before: &[Option<f64>], after: &[Option<f64>]) -> Change {
    let (before, after) = (folder(before), folder(after));
    let changes = changes(&before, &after, &common(&before, &after)).changes;
    let [change] = changes.as_slice() else {
        panic!("one figure, not {changes:?}")
    };
    change.clone()
}

#[test]
fn a_change_is_judged_by_its_interval() {
    let near = |value: f64| [Some(value), Some(value * 1.01), Some(value * 0.99)];
    for (before, after, want) in [
        (1.0, 1.0, Assessment::NotSignificant),
        (1.0, 0.5, Assessment::Better),
        (1.0, 2.0, Assessment::Worse),
    ] {
        let change = only(&near(before), &near(after));
        assert_eq!(change.assessment, want, "{change:?}");
    }
    let wide = only(&[Some(1.0), Some(3.0)], &[Some(2.0), Some(6.0)]);
    assert_eq!(wide.assessment, Assessment::NotSignificant, "{wide:?}");
    let one = only(&[Some(1.0)], &near(2.0));
    assert_eq!(one.assessment, Assessment::Undecided, "{one:?}");
}

#[test]
fn an_invalid_run_is_left_out_and_counted() {
    let change = only(&[Some(1.0), None, Some(1.0)], &[Some(1.0), Some(1.0)]);
    assert_eq!((change.before_runs, change.before_invalid), (2, 1));
    assert_eq!(change.ratio, Some(1.0));
}

#[test]
fn a_zero_has_no_ratio_and_is_not_taken_for_equal() {
    let change = only(&[Some(0.0)], &[Some(0.5)]);
    assert_eq!(
        (change.ratio, change.assessment),
        (None, Assessment::Undecided)
    );
    let same = only(&[Some(0.0)], &[Some(0.0)]);
    assert_eq!(same.assessment, Assessment::NotSignificant);
}

#[test]
fn a_change_within_the_floor_is_not_significant() {
    let (clear, metric) = (Some([1.03, 1.05]), metric::find(METRIC).expect("known"));
    assert_eq!(assess(metric, 1.04, clear, None), Assessment::Worse);
    assert_eq!(
        assess(metric, 1.04, clear, Some(1.05)),
        Assessment::NotSignificant
    );
}

#[test]
fn other_machines_and_other_cells_are_said_first() {
    let before = folder(&[Some(1.0)]);
    let mut after = folder(&[Some(1.0)]);
    after.scenario.object_bytes = 4_096;
    after.subjects[0].target = "aarch64-unknown-linux-musl".to_owned();
    after.subjects[0].allocator = Some("mimalloc".to_owned());
    after.subjects[0].runs[0].objects = 500;
    let values = &mut after.subjects[0].runs[0].values;
    values.insert("bystanders.objects".to_owned(), 300.0);
    let found = changes(&before, &after, &common(&before, &after));
    assert_eq!(
        found.warnings,
        [
            "object size, bytes differs: 2048; 4096".to_owned(),
            format!(
                "tare/none: target differs: {}; aarch64-unknown-linux-musl",
                before.subjects[0].target
            ),
            "tare/none: allocator differs: unknown; mimalloc".to_owned(),
            "tare/none: number of foreign objects differs: none; 300".to_owned(),
            format!(
                "tare/none: only one folder has {0} 300, {0} 500",
                kind().name()
            ),
        ]
    );
    assert!(found.changes.is_empty());
}

#[test]
fn runs_at_a_rate_are_compared_at_the_same_rate() {
    let folder = |at_20: f64, at_40: f64| {
        let runs = [(20, at_20), (40, at_40)]
            .into_iter()
            .flat_map(|(per_s, cpu_s)| {
                [1.0, 1.01, 0.99].map(|spread| {
                    let mut run = Run::without_figures(Kind::Rate, 500, 1, vec![]);
                    run.per_s = Some(per_s);
                    run.with("cpu.converge_s", cpu_s * spread)
                })
            });
        sample(runs.collect())
    };
    let (before, after) = (folder(1.0, 2.0), folder(1.0, 4.0));
    let found = changes(&before, &after, &common(&before, &after));
    let found: Vec<_> = found
        .changes
        .iter()
        .map(|change| {
            let cell = change.cell.map(|cell| cell.to_string());
            (
                cell.unwrap_or_default(),
                change.after_runs,
                change.assessment,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("rate 500 at 20/s".to_owned(), 3, Assessment::NotSignificant),
            ("rate 500 at 40/s".to_owned(), 3, Assessment::Worse),
        ]
    );
}

#[test]
fn a_knee_that_differs_is_undecided() {
    let folder = |per_s| {
        let mut summary = sample(vec![]);
        summary.subjects[0].rate_sweep = Some(RateSweep {
            points: vec![],
            knee: Knee {
                per_s,
                limited_by: LimitedBy::Subject,
                because: "its core is full".into(),
            },
        });
        summary
    };
    for (before, after, want) in [
        (Some(20), Some(20), Some((1.0, Assessment::NotSignificant))),
        (Some(20), Some(40), Some((2.0, Assessment::Undecided))),
        (Some(20), None, None),
    ] {
        let (before, after) = (folder(before), folder(after));
        let found = changes(&before, &after, &common(&before, &after)).changes;
        let found = found
            .first()
            .map(|c| (c.ratio.unwrap_or_default(), c.assessment));
        assert_eq!(found, want);
    }
}
