//! The records of shards as one run.
//!
//! Guarantees: pure; distributions are merged and never averaged; what is not from the same run, there twice or
//! not there is refused or said. Clocks of the shards' machines are taken to agree. Leaves to others: reading.

use crate::cli::run::account::{Account, Removal};
use crate::cli::run::converge::Ended;
use crate::cli::run::record::RunRecord;
use crate::cli::run::steps::StepRecord;
use crate::model::latency::Latencies;
use crate::model::record::Convergence;

/// One run made of its shards.
#[derive(Debug)]
pub struct Merged {
    pub record: RunRecord,
    pub shards: usize,
    /// Indices that are not there.
    pub missing: Vec<usize>,
    /// From the first shard's first object to the last shard's.
    pub apart_s: f64,
}

/// # Errors
/// The records are not shards of one run.
pub fn merge(mut records: Vec<RunRecord>) -> Result<Merged, String> {
    records.sort_by_key(|record| record.shard);
    let Some(first) = records.first() else {
        return Err("no record of a run; write them with loadgen run --shard I/N --json".into());
    };
    let of = first.shard.of;
    for (before, record) in records.iter().zip(records.iter().skip(1)) {
        if let Some(field) = difference(before, record) {
            return Err(format!(
                "runs {} and {} are not shards of one run: they differ in {field}",
                before.run, record.run
            ));
        }
        if before.shard == record.shard {
            return Err(format!(
                "shard {} is there twice: runs {} and {}",
                record.shard, before.run, record.run
            ));
        }
    }
    let is_there = |index: &usize| records.iter().any(|it| it.shard.index == *index);
    let began = records.iter().map(|record| record.first_sent_unix_ms);
    let (earliest, latest) = (began.clone().min(), began.max());
    let (earliest, latest) = (earliest.unwrap_or(0), latest.unwrap_or(0));
    Ok(Merged {
        missing: (0..of).filter(|index| !is_there(index)).collect(),
        shards: records.len(),
        apart_s: (latest - earliest) as f64 / 1_000.0,
        record: RunRecord {
            account: account(&records),
            times: times(&begun(&records), earliest),
            steps: steps(&records)?,
            ended: ended(&records),
            operator: records.iter().find_map(|record| record.operator.clone()),
            own_peak_bytes: records.iter().filter_map(|it| it.own_peak_bytes).max(),
            first_sent_unix_ms: earliest,
            shard: Default::default(),
            run: runs(&records),
            ..first.clone()
        },
    })
}

impl Merged {
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.record.is_sound()
    }

    pub fn text(&self) -> String {
        let mut text = self.record.text();
        text.push_str(&format!(
            "{} shards; their first objects were sent within {:.1} s of each other\n",
            self.shards, self.apart_s
        ));
        if !self.missing.is_empty() {
            let missing: Vec<String> = self.missing.iter().map(usize::to_string).collect();
            text.push_str(&format!("not there: shards {}\n", missing.join(", ")));
        }
        text
    }
}

/// The first thing in which two records are not of one run.
fn difference(one: &RunRecord, other: &RunRecord) -> Option<&'static str> {
    let fields = [
        ("format", one.format == other.format),
        ("version of loadgen", one.loadgen == other.loadgen),
        ("workload", one.workload == other.workload),
        ("cluster", one.cluster == other.cluster),
        ("number of shards", one.shard.of == other.shard.of),
        ("--seed", one.seed == other.seed),
        ("--count", one.count == other.count),
        ("--rate", one.rate == other.rate),
    ];
    let mut fields = fields.into_iter();
    fields.find_map(|(field, same)| (!same).then_some(field))
}

/// The runs that still have to be removed, or all of them.
fn runs(records: &[RunRecord]) -> String {
    let left = |record: &&RunRecord| {
        let removal = record.account.removal.as_ref();
        removal.is_some_and(|removal| removal.left > 0)
    };
    let mut chosen: Vec<&RunRecord> = records.iter().filter(left).collect();
    if chosen.is_empty() {
        chosen = records.iter().collect();
    }
    let runs: Vec<&str> = chosen.iter().map(|record| record.run.as_str()).collect();
    runs.join(", ")
}

fn ended(records: &[RunRecord]) -> Ended {
    let mut ends = records.iter().map(|record| record.ended);
    ends.find(|ended| *ended != Ended::Converged)
        .unwrap_or(Ended::Converged)
}

fn account(records: &[RunRecord]) -> Account {
    let mut all = Account::default();
    for account in records.iter().map(|record| &record.account) {
        all.asked += account.asked;
        all.ready += account.ready;
        all.observed += account.observed;
        all.unobserved += account.unobserved;
        all.rejected += account.rejected;
        all.disturbed += account.disturbed;
        for (status, times) in &account.disturbances {
            *all.disturbances.entry(*status).or_default() += times;
        }
        all.unanswered += account.unanswered;
        all.not_sent += account.not_sent;
        all.deleted_by_steps += account.deleted_by_steps;
        all.watch_restarts += account.watch_restarts;
        all.watch_error = all.watch_error.or_else(|| account.watch_error.clone());
        for (words, times) in &account.failures {
            match all.failures.iter_mut().find(|(known, _)| known == words) {
                Some((_, sum)) => *sum += times,
                None => all.failures.push((words.clone(), *times)),
            }
        }
        if let Some(removal) = &account.removal {
            let sum = all.removal.get_or_insert_with(|| Removal {
                complete: true,
                ..Removal::default()
            });
            sum.deleted += removal.deleted;
            sum.left += removal.left;
            sum.complete &= removal.complete;
            sum.warnings.extend(removal.warnings.iter().cloned());
        }
    }
    all
}

/// When the first object of a shard was sent, and how its objects converged.
type Begun<'a> = (u64, &'a Convergence);

fn begun(records: &[RunRecord]) -> Vec<Begun<'_>> {
    let of = records.iter();
    of.map(|record| (record.first_sent_unix_ms, &record.times))
        .collect()
}

/// The steps that all shards have done.
///
/// # Errors
/// The shards have done different steps.
fn steps(records: &[RunRecord]) -> Result<Vec<StepRecord>, String> {
    let least = records.iter().map(|record| record.steps.len()).min();
    let mut merged = Vec::new();
    for place in 0..least.unwrap_or(0) {
        let all = || records.iter().filter_map(|record| record.steps.get(place));
        let Some(first) = all().next() else {
            break;
        };
        if all().any(|step| step.step != first.step) {
            return Err("these are not shards of one run: they differ in their steps".into());
        }
        let begun: Vec<Begun<'_>> = all()
            .filter_map(|step| Some((step.first_sent_unix_ms, step.times.as_ref()?)))
            .collect();
        let earliest = begun.iter().map(|(at, _)| *at).min().unwrap_or(0);
        let mut ends = all().map(|step| step.ended);
        merged.push(StepRecord {
            step: first.step.clone(),
            first_sent_unix_ms: earliest,
            times: (!begun.is_empty()).then(|| times(&begun, earliest)),
            took_s: all().filter_map(|step| step.took_s).reduce(f64::max),
            failure: all().find_map(|step| step.failure.clone()),
            operator: all().find_map(|step| step.operator),
            ended: ends
                .find(|ended| *ended != Ended::Converged)
                .unwrap_or(Ended::Converged),
        });
    }
    Ok(merged)
}

/// How all objects converged, as one machine would have seen it.
fn times(begun: &[Begun<'_>], earliest_unix_ms: u64) -> Convergence {
    let all = || begun.iter().map(|(_, times)| *times);
    let latencies = |of: fn(&Convergence) -> &Latencies| {
        let mut merged = Latencies::default();
        all().for_each(|times| merged.merge(of(times)));
        merged
    };
    // Of a shard's own clock: from the first object of any shard.
    let offset_s = |at: u64| at.saturating_sub(earliest_unix_ms) as f64 / 1_000.0;
    let offered = begun
        .iter()
        .map(|(at, times)| offset_s(*at) + times.offer_s);
    let offer_s = offered.fold(0.0, f64::max);
    // A shard without objects has no drain and delays none.
    let with_objects = begun.iter().filter(|(_, times)| times.objects > 0);
    let drained = with_objects.map(|(at, times)| Some(offset_s(*at) + times.drain_s?));
    let drained: Option<Vec<f64>> = drained.collect();
    let acked: u64 = all().map(|times| times.acked).sum();
    Convergence {
        objects: all().map(|times| times.objects).sum(),
        acked,
        drain_s: drained.and_then(|ends| ends.into_iter().reduce(f64::max)),
        offer_s,
        offered_per_s: acked as f64 / offer_s.max(f64::MIN_POSITIVE),
        saturated: all().any(|times| times.saturated),
        censored: all().map(|times| times.censored).sum(),
        late: latencies(|times| &times.late),
        acked_from_intended: latencies(|times| &times.acked_from_intended),
        acked_from_sent: latencies(|times| &times.acked_from_sent),
        observed_from_intended: latencies(|times| &times.observed_from_intended),
        observed_from_sent: latencies(|times| &times.observed_from_sent),
        ready_from_intended: latencies(|times| &times.ready_from_intended),
        ready_from_sent: latencies(|times| &times.ready_from_sent),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analyse::convergence::{Timetable, convergence};
    use crate::model::rate::Rate;
    use crate::model::samples::Sample;
    use crate::model::shard::Shard;

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
            times: convergence(&samples, Timetable::AtOnce),
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
}
