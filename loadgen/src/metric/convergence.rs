//! From the samples of a run to how it converged.
//!
//! Guarantees: pure; every object is either Ready or censored, none is left out. Times are whole
//! microseconds, as the samples are written, so that the record of a run follows from its samples
//! to the last digit. Leaves to others: quantiles and comparisons (`report`).

use crate::metric::saturation::saturated;
use crate::record::latency::Latencies;
use crate::record::samples::Sample;
use crate::record::{Arrival, Convergence};
use crate::target::cluster::CONNECTIONS;

/// How the objects of one wave converged.
pub fn convergence(samples: &[Sample], offer: Arrival) -> Convergence {
    let all = |time: fn(&Sample) -> Option<u64>| -> Vec<u64> {
        samples.iter().filter_map(time).collect()
    };
    let sent_us = all(|s| s.sent_us);
    let acked_us = all(|s| s.acked_us);
    let ready_us = all(|s| s.acked_us.and(s.ready_us));
    let first_us = sent_us.iter().copied().min().unwrap_or(0);
    let since_first_s = |last: &u64| last.saturating_sub(first_us) as f64 / 1e6;
    let censored = (samples.len() - ready_us.len()) as u64;
    let offer_s = acked_us.iter().max().map_or(0.0, since_first_s);
    let span = |from: fn(&Sample) -> Option<u64>, to: fn(&Sample) -> Option<u64>| {
        let spans_ns = samples
            .iter()
            .filter_map(|s| Some(to(s)?.saturating_sub(from(s)?).saturating_mul(1_000)));
        spans_ns.collect::<Latencies>()
    };
    let ns = |times_us: &[u64]| -> Vec<u64> {
        times_us.iter().map(|us| us.saturating_mul(1_000)).collect()
    };
    let due_us = match offer {
        Arrival::AtOnce => sent_us.clone(),
        Arrival::AtRate => all(|s| s.intended_us),
    };
    let [late, held_up] = match offer {
        Arrival::AtOnce => Default::default(),
        Arrival::AtRate => late_sends(samples),
    };
    let last_ready_s = ready_us.iter().max().map(since_first_s);
    Convergence {
        objects: samples.len() as u64,
        acked: acked_us.len() as u64,
        drain_s: last_ready_s.filter(|_| censored == 0),
        first_ready_s: ready_us.iter().min().map(since_first_s),
        last_ready_s,
        offer_s,
        offered_per_s: acked_us.len() as f64 / offer_s.max(f64::MIN_POSITIVE),
        saturated: saturated(&ns(&due_us), &ns(&all(|s| s.observed_us))),
        censored,
        late,
        held_up,
        acked_from_intended: span(|s| s.intended_us, |s| s.acked_us),
        acked_from_sent: span(|s| s.sent_us, |s| s.acked_us),
        observed_from_intended: span(|s| s.intended_us, |s| s.observed_us),
        observed_from_sent: span(|s| s.sent_us, |s| s.observed_us),
        ready_from_intended: span(|s| s.intended_us, |s| s.ready_us),
        ready_from_sent: span(|s| s.sent_us, |s| s.ready_us),
    }
}

/// How late sends were: those for which a connection was free when they were due, and those for which each waited for an
/// answer. A send in time counts with the first.
fn late_sends(samples: &[Sample]) -> [Latencies; 2] {
    // One that was never answered holds no connection: it was refused.
    let answered = samples.iter().filter_map(|s| s.sent_us.zip(s.acked_us));
    let (mut sent, mut acked): (Vec<u64>, Vec<u64>) = answered.unzip();
    sent.sort_unstable();
    acked.sort_unstable();
    let in_flight = |at: u64| {
        let sent = sent.partition_point(|time| *time <= at);
        sent - acked.partition_point(|time| *time <= at).min(sent)
    };
    let mut found = [Latencies::default(), Latencies::default()];
    for (due, sent) in samples.iter().filter_map(|s| s.intended_us.zip(s.sent_us)) {
        let late_us = sent.saturating_sub(due);
        let is_held_up = late_us > 0 && in_flight(due) >= CONNECTIONS;
        found[usize::from(is_held_up)].record_ns(late_us.saturating_mul(1_000));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sent 10 ms late at 10 ms steps; ready after the given time, or never.
    fn samples(ready_after_ms: &[Option<u64>]) -> Vec<Sample> {
        let sample = |(index, ready): (u64, &Option<u64>)| {
            let sent_us = (index * 10 + 10) * 1_000;
            let ready_us = ready.map(|ready_ms| sent_us + ready_ms * 1_000);
            Sample {
                intended_us: Some(sent_us - 10_000),
                sent_us: Some(sent_us),
                acked_us: Some(sent_us + 1_000),
                observed_us: ready_us,
                ready_us,
            }
        };
        (0..).zip(ready_after_ms).map(sample).collect()
    }

    #[test]
    fn both_latencies_are_kept() {
        let converged = convergence(&samples(&[Some(5), Some(5)]), Arrival::AtRate);
        let p50 = |l: &Latencies| l.quantiles().expect("two objects").p50_ms.round();
        assert_eq!(p50(&converged.ready_from_intended), 15.0);
        assert_eq!(p50(&converged.ready_from_sent), 5.0);
        assert_eq!(p50(&converged.late), 10.0);
        assert_eq!(converged.drain_s, Some(0.015));
        assert_eq!(converged.censored, 0);
    }

    #[test]
    fn a_send_that_no_connection_was_free_for_is_not_the_generators_fault() {
        // Every object is due 1 ms after the last one; answers take 100 ms, or 1 ms and a pause of the generator.
        let sample = |due_ms: u64, sent_ms: u64, answered_ms: u64| Sample {
            intended_us: Some(due_ms * 1_000),
            sent_us: Some(sent_ms * 1_000),
            acked_us: Some(answered_ms * 1_000),
            observed_us: None,
            ready_us: None,
        };
        let most = CONNECTIONS as u64;
        let slow_server: Vec<Sample> = (0..2 * most)
            .map(|n| match n < most {
                true => sample(n, n, n + 100),
                false => sample(n, n - most + 100, n - most + 200),
            })
            .collect();
        let paused: Vec<Sample> = (0..2 * most)
            .map(|n| sample(n, n.max(500), n.max(500) + 1))
            .collect();
        let longest = |of: &Latencies| of.quantiles().map_or(0.0, |all| all.max_ms.round());
        let of = |samples: &[Sample]| {
            let converged = convergence(samples, Arrival::AtRate);
            (longest(&converged.late), longest(&converged.held_up))
        };
        assert_eq!(of(&slow_server), (0.0, 76.0));
        assert_eq!(of(&paused), (500.0, 0.0));
    }

    #[test]
    fn what_never_converged_is_counted() {
        let converged = convergence(&samples(&[Some(5), None, Some(7)]), Arrival::AtOnce);
        assert_eq!((converged.censored, converged.acked), (1, 3));
        assert_eq!(converged.drain_s, None);
        assert_eq!(converged.ready_from_sent.count(), 2);
    }

    #[test]
    fn nothing_offered_is_nothing_converged() {
        let converged = convergence(&[], Arrival::AtOnce);
        assert_eq!((converged.objects, converged.censored), (0, 0));
        assert_eq!((converged.drain_s, converged.offered_per_s), (None, 0.0));
    }
}
