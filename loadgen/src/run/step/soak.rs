//! A soak: every object is updated, its child fails and recovers, it is deleted and created again,
//! until a number of watch events have passed. A subject that keeps something of each event then
//! uses more memory.
//!
//! Guarantees: the same rounds for every subject, and each round converges before the next one.
//! Events are those of the objects on the harness's own watch; a subject sees more, because it
//! watches children too.

use crate::load::generator::Act;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::measure::settle::Rule;
use crate::model::record::Soak;
use crate::model::step::Quiet;
use crate::run::session::{Reason, Session};
use crate::run::step::create::offer;
use crate::run::step::settle::settle;

/// What is done to all objects at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Update(u64),
    /// The child stops being ready, and is again.
    Flip,
    /// Deleted, and made again.
    Recreate,
}

/// Updates are common, a new object is rare.
fn round(number: u64) -> Round {
    match number % 6 {
        2 | 4 => Round::Flip,
        5 => Round::Recreate,
        // The churn before this was the first update.
        _ => Round::Update(number + 2),
    }
}

/// Goes on until at least `events` have passed; samples memory once the subject has settled again.
pub async fn run(session: &mut Session<'_>, events: u64, quiet: Quiet) -> Result<(), Reason> {
    session.work().await;
    session.run.soak = Some(soak(session, events).await?);
    let waited = settle(session, "settling after the soak", Rule::of(quiet)).await?;
    session.run.memory.after_soak = session.settled(quiet, waited.settled);
    Ok(())
}

async fn soak(session: &mut Session<'_>, events: u64) -> Result<Soak, Reason> {
    let begun = session.journal.timeline().events;
    let started = std::time::Instant::now();
    let mut rounds = 0;
    loop {
        let passed = session.journal.timeline().events - begun;
        if passed >= events {
            let seconds = started.elapsed().as_secs_f64();
            return Ok(Soak {
                events: passed,
                rounds,
                seconds,
            });
        }
        let what = format!("{passed} of {events} events, round {}", rounds + 1);
        match round(rounds) {
            Round::Update(wave) => {
                session.journal.timeline().begin_wave();
                all_ready(session, Act::Update(wave), &what).await?;
            }
            Round::Flip => flip(session, &what).await?,
            Round::Recreate => recreate(session, &what).await?,
        }
        rounds += 1;
    }
}

async fn all_ready(session: &mut Session<'_>, act: Act, what: &str) -> Result<(), Reason> {
    let done = offer(session, act, Pace::Burst, what, |t| t.all(|p| p.ready));
    judge(done.await?, what, "ready")
}

async fn flip(session: &mut Session<'_>, what: &str) -> Result<(), Reason> {
    session.journal.timeline().begin_flip();
    let done = offer(session, Act::Child(false), Pace::Burst, what, |t| {
        t.all(|p| p.not_ready)
    });
    judge(done.await?, what, "not ready")?;
    session.journal.timeline().begin_flip();
    all_ready(session, Act::Child(true), what).await
}

async fn recreate(session: &mut Session<'_>, what: &str) -> Result<(), Reason> {
    let done = offer(session, Act::Delete, Pace::Burst, what, |t| {
        t.all(|p| p.gone)
    });
    judge(done.await?, what, "gone")?;
    session.journal.timeline().begin_again();
    all_ready(session, Act::Create, what).await
}

fn judge(ended: Ended, what: &str, state: &str) -> Result<(), Reason> {
    match ended {
        Ended::Converged => Ok(()),
        _ => Err(format!(
            "soak, {what}: not every object was {state}{}",
            ended.words()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_round_comes_and_no_update_comes_twice() {
        let rounds: Vec<Round> = (0..12).map(round).collect();
        let count = |wanted: fn(&Round) -> bool| rounds.iter().filter(|t| wanted(t)).count();
        assert_eq!(count(|t| *t == Round::Flip), 4);
        assert_eq!(count(|t| *t == Round::Recreate), 2);
        let mut waves: Vec<u64> = rounds
            .iter()
            .filter_map(|t| match t {
                Round::Update(wave) => Some(*wave),
                _ => None,
            })
            .collect();
        waves.dedup();
        assert_eq!(waves.len(), 6);
        assert!(!waves.contains(&1), "churn has done that one");
    }
}
