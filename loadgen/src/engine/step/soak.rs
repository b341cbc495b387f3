//! A soak: every object is updated, its child fails and recovers, it is deleted and created again,
//! until a number of watch events have passed. A subject that keeps something of each event then
//! uses more memory.
//!
//! Guarantees: the same rounds for every subject, and each round converges before the next one.
//! Events are those of the objects on the harness's own watch; a subject sees more, because it
//! watches children too.

use crate::engine::session::{Reason, Session};
use crate::engine::step::objects::Turns;
use crate::engine::step::settle::settle;
use crate::engine::step::{objects, require};
use crate::load::timetable::Pace;
use crate::record::Soak;
use crate::spec::step::Quiet;
use crate::watch::settle::Rule;

/// What is done to all objects at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Update,
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
        _ => Round::Update,
    }
}

/// Goes on until at least `events` have passed; samples memory once the subject has settled again.
pub async fn run(session: &mut Session<'_>, events: u64, quiet: Quiet) -> Result<(), Reason> {
    session.work().await;
    session.run.soak = Some(soak(session, events).await?);
    let waited = settle(session, "settle after the soak", Rule::of(quiet)).await?;
    session.run.memory.after_soak = session.settled(quiet, waited.settled);
    Ok(())
}

async fn soak(session: &mut Session<'_>, events: u64) -> Result<Soak, Reason> {
    const ONCE: Turns = Turns {
        times: 1,
        share: 1.0,
    };
    let begun = session.load.journal.timeline().events;
    let started = std::time::Instant::now();
    let mut rounds = 0;
    loop {
        let passed = session.load.journal.timeline().events - begun;
        if passed >= events {
            let seconds = started.elapsed().as_secs_f64();
            return Ok(Soak {
                events: passed,
                rounds,
                seconds,
            });
        }
        let what = format!("soak, {passed} of {events} events, round {}", rounds + 1);
        session.load.say(&what);
        let ended = match round(rounds) {
            Round::Update => objects::update(session, ONCE, Pace::Burst).await?,
            Round::Flip => objects::flip(session).await?,
            Round::Recreate => objects::recreate(session, ONCE, Pace::Burst).await?,
        };
        require(ended, &what)?;
        rounds += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_round_comes() {
        let rounds: Vec<Round> = (0..12).map(round).collect();
        let count = |wanted: Round| rounds.iter().filter(|it| **it == wanted).count();
        let counts = [Round::Update, Round::Flip, Round::Recreate].map(count);
        assert_eq!(counts, [6, 4, 2]);
    }
}
