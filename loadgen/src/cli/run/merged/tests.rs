//! Shards that were sent at different times, merged.

use std::collections::BTreeMap;

use crate::cli::run::merged::*;
use crate::metric::convergence::convergence;
use crate::record::Arrival;
use crate::record::samples::Sample;
use crate::spec::rate::Rate;
use crate::spec::shard::Shard;

fn shard(index: usize, began_ms: u64, ready_after_ms: &[u64]) -> RunRecord {
    shard_of(Shard { index, of: 3 }, 6, began_ms, ready_after_ms)
}

/// A shard whose objects are sent every 10 ms and ready after the times given.
fn shard_of(shard: Shard, count: u32, began_ms: u64, ready_after_ms: &[u64]) -> RunRecord {
    let index = shard.index;
    let samples = (0..).zip(ready_after_ms).map(|(nth, after_ms)| {
        let sent_us = nth * 10_000;
        let ready_us = Some(sent_us + after_ms * 1_000);
        Sample {
            intended_us: Some(sent_us),
            sent_us: Some(sent_us),
            acked_us: Some(sent_us + 1_000),
            observed_us: ready_us,
            ready_us,
        }
    });
    let samples: Vec<Sample> = samples.collect();
    RunRecord {
        format: 1,
        loadgen: "1".into(),
        workload: "configmaps".into(),
        cluster: "https://c".into(),
        run: format!("run{index}"),
        shard,
        seed: 1,
        count,
        rate: Some(Rate::parse("5..50/60s").expect("a rate")),
        first_sent_unix_ms: 1_000_000 + began_ms,
        account: Account {
            asked: samples.len(),
            ready: samples.len(),
            failures: vec![("no".into(), 2)],
            disturbed: index,
            disturbances: BTreeMap::from([(429, index as u64)]),
            removal: Some(Removal {
                deleted: samples.len(),
                complete: true,
                ..Removal::default()
            }),
            ..Account::default()
        },
        times: convergence(&samples, Arrival::AtOnce),
        ended: Ended::Converged,
        steps: Vec::new(),
        operator: None,
        own_peak_bytes: Some(1_000_000 * (1 + index as u64)),
    }
}

fn shards() -> Vec<RunRecord> {
    vec![
        shard(2, 500, &[4, 4]),
        shard(0, 0, &[5, 100]),
        shard(1, 2_000, &[6, 7]),
    ]
}

#[test]
fn shards_count_as_one_run() {
    let merged = merge(shards()).expect("shards of one run");
    let (record, times) = (&merged.record, &merged.record.times);
    assert!(merged.is_sound());
    assert_eq!(
        (times.objects, times.acked, record.account.asked),
        (6, 6, 6)
    );
    assert_eq!(times.ready_from_sent.count(), 6);
    let max_ms = times.ready_from_sent.quantiles().expect("six").max_ms;
    assert!((100.0..101.0).contains(&max_ms), "{max_ms}");
    // The last object of the last shard: 2 s later, sent 10 ms after its first, ready after 7.
    assert_eq!(times.drain_s, Some(2.017));
    assert_eq!(merged.apart_s, 2.0);
    assert_eq!(record.account.failures, [("no".to_owned(), 6)]);
    assert_eq!(record.account.disturbed, 3);
    assert_eq!(record.account.disturbances, BTreeMap::from([(429, 3)]));
    let removal = record.account.removal.as_ref().expect("removed");
    assert_eq!((removal.deleted, removal.complete), (6, true));
    for want in [
        "Convergence, ms, --rate 5..50/60s",
        "loadgen itself needed up to 3.00 MB",
        "3 shards; ",
    ] {
        assert!(merged.text().contains(want), "{}", merged.text());
    }
}

#[test]
fn fifty_shards_count_as_one_run() {
    const SHARDS: usize = 50;
    const COUNT: usize = 1_030;
    // Thirty shards have an object more than the others. In each the last one takes the longest.
    let shards = (0..SHARDS).rev().map(|index| {
        let shard = Shard { index, of: SHARDS };
        let mut ready_after_ms = vec![5; shard.share_of(COUNT)];
        if let Some(last) = ready_after_ms.last_mut() {
            *last = 50 + index as u64;
        }
        shard_of(shard, COUNT as u32, 20 * index as u64, &ready_after_ms)
    });
    let merged = merge(shards.collect()).expect("shards of one run");
    let (record, times) = (&merged.record, &merged.record.times);
    assert!(merged.is_sound());
    assert_eq!((merged.shards, merged.missing.len()), (SHARDS, 0));
    assert_eq!((record.account.asked, record.account.ready), (COUNT, COUNT));
    assert_eq!((times.objects, times.acked), (COUNT as u64, COUNT as u64));
    let ready = times.ready_from_sent.quantiles().expect("objects");
    // Of the whole run: 50 of 1,030 objects took longer, one of them 99 ms.
    assert!((5.0..5.1).contains(&ready.p90_ms), "{ready:?}");
    assert!((89.0..91.0).contains(&ready.p99_ms), "{ready:?}");
    assert!((99.0..100.0).contains(&ready.max_ms), "{ready:?}");
    assert_eq!(merged.apart_s, 0.98);
    // The last shard has 20 objects: 980 + 190 + 99 ms.
    let drain_s = times.drain_s.expect("all are ready");
    assert!((drain_s - 1.269).abs() < 1e-9, "{drain_s}");
    let want = "50 shards; their first objects were sent within 1.0 s of each other";
    assert!(merged.text().contains(want), "{}", merged.text());
}

#[test]
fn a_shard_that_is_not_there_is_said() {
    let mut records = shards();
    records.remove(0);
    let merged = merge(records).expect("shards of one run");
    assert_eq!(merged.missing, [2]);
    assert!(!merged.is_sound());
    assert!(merged.text().ends_with("not there: shards 2\n"));
}

#[test]
fn what_is_not_of_one_run_is_refused() {
    let mut other_seed = shards();
    other_seed[1].seed = 2;
    let mut other_rate = shards();
    other_rate[2].rate = Some(Rate::parse("5..50/61s").expect("a rate"));
    let mut twice = shards();
    twice[0].shard.index = 1;
    for (records, want) in [
        (
            other_seed,
            "runs run0 and run1 are not shards of one run: they differ in --seed",
        ),
        (
            other_rate,
            "runs run0 and run1 are not shards of one run: they differ in --rate",
        ),
        (twice, "shard 1/3 is there twice: runs run2 and run1"),
        (Vec::new(), "no record of a run"),
    ] {
        let error = merge(records).expect_err("refused");
        assert!(error.starts_with(want), "{error}");
    }
}

#[test]
fn one_shard_that_did_not_converge_leaves_no_time() {
    let mut records = shards();
    records[0].times.drain_s = None;
    assert_eq!(merge(records).expect("one run").record.times.drain_s, None);
}
