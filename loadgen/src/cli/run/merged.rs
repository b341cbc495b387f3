//! The records of shards as one run.
//!
//! Guarantees: pure; distributions are merged and never averaged; what is not from the same run, there twice or
//! not there is refused or said. Clocks of the shards' machines are taken to agree. Leaves to others: reading.

use crate::cli::command_line;
use crate::cli::run::account::{Account, Removal};
use crate::cli::run::record::RunRecord;
use crate::cli::run::steps::StepRecord;
use crate::load::timeout::Ended;
use crate::record::latency::Latencies;
use crate::record::{Convergence, StepSpan};

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
            ended: Ended::of_all(records.iter().map(|record| record.ended)),
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
        let record = &self.record;
        let mut text = record.text(&command_line::clean(
            &record.run,
            Some(&record.workload),
            None,
        ));
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
        if all().any(|step| step.span.step != first.span.step) {
            return Err("these are not shards of one run: they differ in their steps".into());
        }
        let begun: Vec<Begun<'_>> = all()
            .filter_map(|step| Some((step.first_sent_unix_ms, step.span.times.as_ref()?)))
            .collect();
        let earliest = begun.iter().map(|(at, _)| *at).min().unwrap_or(0);
        // Each shard has a clock of its own: that of the one that took longest.
        let longest = all().map(|step| &step.span);
        let longest = longest.max_by_key(|span| span.to_ms.saturating_sub(span.from_ms));
        let span = StepSpan {
            times: (!begun.is_empty()).then(|| times(&begun, earliest)),
            operator: all().find_map(|step| step.span.operator),
            ..longest.unwrap_or(&first.span).clone()
        };
        merged.push(StepRecord {
            span,
            first_sent_unix_ms: earliest,
            failure: all().find_map(|step| step.failure.clone()),
            ended: Ended::of_all(all().map(|step| step.ended)),
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
    let ready = |of: fn(&Convergence) -> Option<f64>| {
        let begun = begun.iter();
        begun.filter_map(move |(at, times)| Some(offset_s(*at) + of(times)?))
    };
    let acked: u64 = all().map(|times| times.acked).sum();
    Convergence {
        objects: all().map(|times| times.objects).sum(),
        acked,
        drain_s: drained.and_then(|ends| ends.into_iter().reduce(f64::max)),
        offer_s,
        first_ready_s: ready(|times| times.first_ready_s).reduce(f64::min),
        last_ready_s: ready(|times| times.last_ready_s).reduce(f64::max),
        offered_per_s: acked as f64 / offer_s.max(f64::MIN_POSITIVE),
        saturated: all().any(|times| times.saturated),
        censored: all().map(|times| times.censored).sum(),
        late: latencies(|times| &times.late),
        held_up: latencies(|times| &times.held_up),
        acked_from_intended: latencies(|times| &times.acked_from_intended),
        acked_from_sent: latencies(|times| &times.acked_from_sent),
        observed_from_intended: latencies(|times| &times.observed_from_intended),
        observed_from_sent: latencies(|times| &times.observed_from_sent),
        ready_from_intended: latencies(|times| &times.ready_from_intended),
        ready_from_sent: latencies(|times| &times.ready_from_sent),
    }
}

#[cfg(test)]
mod tests;
