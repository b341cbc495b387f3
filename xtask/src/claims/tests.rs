use super::*;
use loadgen::plan::cell::Cell;
use loadgen::record::GcPauses;
use loadgen::record::summary::{Run, sample};

const KIND: Kind = Kind::Memory;

fn meaning(metric: &str, objects: Option<usize>) -> Meaning {
    let (metric, cell) = match metric {
        "" => (None, None),
        metric => (
            Some(metric.to_owned()),
            metric.contains('.').then_some(KIND),
        ),
    };
    Meaning {
        says: format!("meaning {}", objects.unwrap_or_default()),
        metric,
        cell,
        objects,
        scale: 1.0,
    }
}

/// A claim of 100 MB that holds within a quarter.
fn claim(meaning: Vec<Meaning>) -> Claim {
    Claim {
        claim: "memory".into(),
        source: "a page".into(),
        claimed: 100.0,
        unit: "MB".into(),
        rule: Rule::About,
        tolerance: 0.25,
        subject: "tare/none".into(),
        meaning,
    }
}

/// A subject with settled memory by number of objects, and an image.
fn subject(settled: &[(usize, u64)]) -> Subject {
    let runs = settled.iter().map(|(objects, rss_bytes)| {
        let run = Run::without_figures(KIND, *objects, 1, vec![]);
        run.with("memory.settled.rss_bytes", *rss_bytes as f64)
    });
    let mut subject = sample(runs.collect()).subjects.remove(0);
    subject.image_bytes_compressed = Some(90);
    subject.image_bytes_unpacked = Some(200);
    subject
}

/// A run with pauses, the longest of them between 10 and 100 ms.
fn paused() -> record::Run {
    let mut run = record::Run::empty(&Cell {
        subject: "tare/none".into(),
        objects: 500,
        repeat: 1,
        kind: KIND,
        per_s: None,
    });
    run.gc_pauses = Some(GcPauses {
        buckets: Buckets(vec![(Some(0.01), 5), (Some(0.1), 1), (None, 0)]),
        total_s: None,
    });
    run
}

#[test]
fn every_claim_can_be_read_and_names_a_source() {
    let claims = claims();
    assert!(claims.len() >= 12);
    for claim in &claims {
        assert!(!claim.source.is_empty(), "{}", claim.claim);
        assert!(!claim.meaning.is_empty(), "{}", claim.claim);
        for meaning in &claim.meaning {
            let path = meaning.metric.as_deref();
            let of_run = path.is_some_and(|path| path.contains('.'));
            let what = format!("{}: {}", claim.claim, meaning.says);
            assert_eq!(of_run, meaning.cell.is_some(), "{what}");
            assert!(
                path.is_none_or(|path| metric::find(path).is_some()),
                "{what}"
            );
        }
    }
}

#[test]
fn a_claim_is_judged_by_all_its_meanings() {
    struct Case {
        name: &'static str,
        meanings: Vec<Meaning>,
        settled: &'static [(usize, u64)],
        want: ClaimResult,
        because: &'static str,
    }
    const SETTLED: &str = "memory.settled.rss_bytes";
    let at = |objects| meaning(SETTLED, Some(objects));
    let cases = [
        Case {
            name: "one meaning holds",
            meanings: vec![at(500)],
            settled: &[(500, 110)],
            want: ClaimResult::Holds,
            because: "meaning 500: 110 MB, holds",
        },
        Case {
            name: "no meaning holds",
            meanings: vec![at(500), at(1_000)],
            settled: &[(500, 20), (1_000, 40)],
            want: ClaimResult::DoesNotHold,
            because: "meaning 500: 20.0 MB, does not hold; meaning 1000: 40.0 MB, does not hold",
        },
        Case {
            name: "the meanings disagree",
            meanings: vec![at(500), at(1_000)],
            settled: &[(500, 20), (1_000, 100)],
            want: ClaimResult::Undecidable,
            because: "meaning 500: 20.0 MB, does not hold; meaning 1000: 100 MB, holds",
        },
        Case {
            name: "packed and unpacked disagree",
            meanings: vec![
                meaning("image_bytes_compressed", None),
                meaning("image_bytes_unpacked", None),
            ],
            settled: &[],
            want: ClaimResult::Undecidable,
            because: "meaning 0: 90.0 MB, holds; meaning 0: 200 MB, does not hold",
        },
        Case {
            name: "one meaning is not measured",
            meanings: vec![at(500), meaning("", None)],
            settled: &[(500, 100)],
            want: ClaimResult::NotMeasured,
            because: "meaning 500: 100 MB, holds; meaning 0: not measured",
        },
        Case {
            name: "a size between two that decide it",
            meanings: vec![at(700)],
            settled: &[(500, 90), (1_000, 110)],
            want: ClaimResult::Holds,
            because: "meaning 700: 90.0 to 110 MB, holds",
        },
        Case {
            name: "a size between two that do not",
            meanings: vec![at(700)],
            settled: &[(500, 20), (1_000, 110)],
            want: ClaimResult::Undecidable,
            because: "meaning 700: 20.0 to 110 MB, undecidable",
        },
        Case {
            name: "a size above all",
            meanings: vec![at(2_000)],
            settled: &[(500, 20), (1_000, 110)],
            want: ClaimResult::NotMeasured,
            because: "meaning 2000: not measured",
        },
    ];
    for case in cases {
        let subject = subject(case.settled);
        let measured = Measured {
            subject: &subject,
            runs: vec![],
        };
        let judged = published(&claim(case.meanings), |meaning| measured.bounds(meaning));
        assert_eq!(judged.result, case.want, "{}", case.name);
        assert_eq!(judged.because, case.because, "{}", case.name);
    }
}

#[test]
fn a_claim_between_the_bounds_of_a_histogram_is_undecidable() {
    let mut subject = subject(&[(500, 1)]);
    subject.language = Language::Go;
    let run = paused();
    for (claimed, want, because) in [
        (
            15.0,
            ClaimResult::Undecidable,
            "meaning 0: 10.0 to 100 ms, undecidable",
        ),
        (
            1.0,
            ClaimResult::DoesNotHold,
            "meaning 0: 10.0 to 100 ms, does not hold",
        ),
        (
            900.0,
            ClaimResult::DoesNotHold,
            "meaning 0: 10.0 to 100 ms, does not hold",
        ),
    ] {
        let measured = Measured {
            subject: &subject,
            runs: vec![&run],
        };
        let claim = Claim {
            claimed,
            unit: "ms".into(),
            ..claim(vec![meaning("gc_pause.max_ms", None)])
        };
        let judged = published(&claim, |meaning| measured.bounds(meaning));
        assert_eq!(judged.result, want, "{claimed}");
        assert_eq!(judged.because, because, "{claimed}");
    }
}
