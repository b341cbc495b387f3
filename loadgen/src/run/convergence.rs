//! From a timeline to how a run converged.
//!
//! Guarantees: pure; every object is either Ready or censored, none is left out. Leaves to
//! others: quantiles and comparisons (`report`).

use crate::analyse::saturation::saturated;
use crate::load::timeline::{Object, Timeline};
use crate::load::timetable::Pace;
use crate::model::latency::Latencies;
use crate::model::record::Convergence;

pub fn convergence(timeline: &Timeline, pace: Pace) -> Convergence {
    let objects = timeline.objects();
    let all = |time: fn(&Object) -> Option<u64>| -> Vec<u64> {
        objects.iter().filter_map(time).collect()
    };
    let sent_ns = all(|o| o.sent_ns);
    let acked_ns = all(|o| o.acked_ns);
    let ready_ns = all(|o| o.acked_ns.and(o.ready_ns()));
    let first_ns = sent_ns.iter().copied().min().unwrap_or(0);
    let since_first_s = |last: &u64| last.saturating_sub(first_ns) as f64 / 1e9;
    let censored = (objects.len() - ready_ns.len()) as u64;
    let offer_s = acked_ns.iter().max().map_or(0.0, since_first_s);
    let span = |from: fn(&Object) -> Option<u64>, to: fn(&Object) -> Option<u64>| {
        let spans = objects
            .iter()
            .filter_map(|o| Some(to(o)?.saturating_sub(from(o)?)));
        spans.collect::<Latencies>()
    };
    Convergence {
        objects: objects.len() as u64,
        acked: acked_ns.len() as u64,
        drain_s: ready_ns
            .iter()
            .max()
            .filter(|_| censored == 0)
            .map(since_first_s),
        offer_s,
        offered_per_s: acked_ns.len() as f64 / offer_s.max(f64::MIN_POSITIVE),
        saturated: saturated(&sent_ns, &all(Object::observed_ns)),
        censored,
        late: match pace {
            Pace::Burst => Latencies::default(),
            Pace::Steady { .. } => span(|o| o.intended_ns, |o| o.sent_ns),
        },
        acked_from_intended: span(|o| o.intended_ns, |o| o.acked_ns),
        acked_from_sent: span(|o| o.sent_ns, |o| o.acked_ns),
        observed_from_intended: span(|o| o.intended_ns, Object::observed_ns),
        observed_from_sent: span(|o| o.sent_ns, Object::observed_ns),
        ready_from_intended: span(|o| o.intended_ns, Object::ready_ns),
        ready_from_sent: span(|o| o.sent_ns, Object::ready_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::timeline::Observation;

    const MS: u64 = 1_000_000;

    /// Sent 10 ms late at 10 ms steps; ready after the given time, or never.
    fn timeline(ready_after_ms: &[Option<u64>]) -> Timeline {
        let mut timeline = Timeline::of(ready_after_ms.len());
        for (index, ready) in ready_after_ms.iter().enumerate() {
            let sent_ns = (index as u64 * 10 + 10) * MS;
            timeline.change(index, |object| {
                object.intended_ns = Some(sent_ns - 10 * MS);
                object.sent_ns = Some(sent_ns);
                object.acknowledge(sent_ns + MS, 1);
                if let Some(ready) = ready {
                    let seen = Observation {
                        observed_generation: 1,
                        ready: true,
                    };
                    object.record(sent_ns + ready * MS, seen);
                }
            });
        }
        timeline
    }

    #[test]
    fn both_latencies_are_kept() {
        let pace = Pace::Steady { per_s: 100.0 };
        let converged = convergence(&timeline(&[Some(5), Some(5)]), pace);
        let p50 = |l: &Latencies| l.quantiles().expect("two objects").p50_ms.round();
        assert_eq!(p50(&converged.ready_from_intended), 15.0);
        assert_eq!(p50(&converged.ready_from_sent), 5.0);
        assert_eq!(p50(&converged.late), 10.0);
        assert_eq!(converged.drain_s, Some(0.015));
        assert_eq!(converged.censored, 0);
    }

    #[test]
    fn what_never_converged_is_counted() {
        let converged = convergence(&timeline(&[Some(5), None, Some(7)]), Pace::Burst);
        assert_eq!((converged.censored, converged.acked), (1, 3));
        assert_eq!(converged.drain_s, None);
        assert_eq!(converged.ready_from_sent.count(), 2);
    }

    #[test]
    fn nothing_offered_is_nothing_converged() {
        let converged = convergence(&Timeline::of(0), Pace::Burst);
        assert_eq!((converged.objects, converged.censored), (0, 0));
        assert_eq!((converged.drain_s, converged.offered_per_s), (None, 0.0));
    }
}
