//! Ageing: every object is updated, its child fails and recovers, it is deleted and made again, until
//! so many events have passed; a subject that keeps something of each then weighs more.
//!
//! Guarantees: the same turns for every subject, each waited for to its end; events are those of the
//! objects on the harness's own watch, so that a subject sees more (its children's too). Leaves to
//! others: weighing.

use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::model::record::Soak;
use crate::run::session::{Reason, Session};
use crate::run::step::offer;

/// What is done to all objects at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Update(u64),
    /// The child stops being ready, and is again.
    Flip,
    /// Deleted, and made again.
    Recreate,
}

/// Updates are common, a new object is rare.
fn turn(number: u64) -> Turn {
    match number % 6 {
        2 | 4 => Turn::Flip,
        5 => Turn::Recreate,
        // The churn before this was the first update.
        _ => Turn::Update(number + 2),
    }
}

/// Goes on until at least `events` have passed.
pub async fn soak(session: &mut Session<'_>, events: u64) -> Result<Soak, Reason> {
    let begun = session.journal.timeline().events;
    let started = std::time::Instant::now();
    let mut turns = 0;
    loop {
        let passed = session.journal.timeline().events - begun;
        if passed >= events {
            let seconds = started.elapsed().as_secs_f64();
            return Ok(Soak {
                events: passed,
                turns,
                seconds,
            });
        }
        let what = format!("{passed} of {events} events, turn {}", turns + 1);
        match turn(turns) {
            Turn::Update(wave) => {
                session.journal.timeline().begin_wave();
                all_ready(session, Act::Update(wave), &what).await?;
            }
            Turn::Flip => flip(session, &what).await?,
            Turn::Recreate => recreate(session, &what).await?,
        }
        turns += 1;
    }
}

async fn all_ready(session: &mut Session<'_>, act: Act, what: &str) -> Result<(), Reason> {
    let done = offer(session, act, Pace::Burst, what, |t| t.all(|p| p.ready));
    ended(done.await?, what, "ready")
}

async fn flip(session: &mut Session<'_>, what: &str) -> Result<(), Reason> {
    session.journal.timeline().begin_flip();
    let done = offer(session, Act::Child(false), Pace::Burst, what, |t| {
        t.objects.iter().all(|object| object.is_unready())
    });
    ended(done.await?, what, "not ready")?;
    session.journal.timeline().begin_flip();
    all_ready(session, Act::Child(true), what).await
}

async fn recreate(session: &mut Session<'_>, what: &str) -> Result<(), Reason> {
    let done = offer(session, Act::Delete, Pace::Burst, what, |t| {
        t.all(|p| p.gone)
    });
    ended(done.await?, what, "gone")?;
    session.journal.timeline().begin_again();
    all_ready(session, Act::Create, what).await
}

fn ended(done: bool, what: &str, state: &str) -> Result<(), Reason> {
    match done {
        true => Ok(()),
        false => Err(format!("ageing, {what}: not every object was {state}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_turn_comes_and_no_update_comes_twice() {
        let turns: Vec<Turn> = (0..12).map(turn).collect();
        let count = |wanted: fn(&Turn) -> bool| turns.iter().filter(|t| wanted(t)).count();
        assert_eq!(count(|t| *t == Turn::Flip), 4);
        assert_eq!(count(|t| *t == Turn::Recreate), 2);
        let mut waves: Vec<u64> = turns
            .iter()
            .filter_map(|t| match t {
                Turn::Update(wave) => Some(*wave),
                _ => None,
            })
            .collect();
        waves.dedup();
        assert_eq!(waves.len(), 6);
        assert!(!waves.contains(&1), "churn has done that one");
    }
}
