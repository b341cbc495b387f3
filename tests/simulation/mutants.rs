//! Known bugs, one at a time: the simulation finds each of them.
//!
//! Guarantees: a bug counts as found when a run fails that does not fail without it.

use tare_runtime::internals::{Mutant, choose};

use crate::run::run;
use crate::schedule::Schedule;
use crate::shrink::shrink;

/// Seeds within which a bug has to be found.
const SEEDS: u64 = 2_000;

/// Those that continuous integration looks for; `just simulate` looks for all.
pub const IN_CI: [Mutant; 5] = [
    Mutant::UnclearIsUnchanged,
    Mutant::BackwardsIgnored,
    Mutant::CleanupSkipped,
    Mutant::ChildInFlightDropped,
    Mutant::UnplannedStays,
];

/// Finds a bug.
///
/// # Errors
/// No run has failed.
pub fn find(mutant: Mutant) -> Result<String, String> {
    for seed in 0..SEEDS {
        let schedule = Schedule::of(seed);
        if !fails(&schedule, mutant) {
            continue;
        }
        let kept = shrink(&schedule, |less| fails(less, mutant));
        let less = schedule.only(&kept);
        choose(Some(mutant));
        let violations = run(&less, false).violations;
        choose(None);
        let violation = violations.first().cloned().unwrap_or_default();
        let line = less.line();
        return Ok(format!(
            "MUTANT={mutant:?} {line} --features mutants\n  {violation}"
        ));
    }
    Err(format!("{mutant:?} is not found within {SEEDS} seeds"))
}

fn fails(schedule: &Schedule, mutant: Mutant) -> bool {
    choose(Some(mutant));
    let fails = !run(schedule, false).violations.is_empty();
    choose(None);
    fails
}

/// The bug of this name.
pub fn named(name: &str) -> Option<Mutant> {
    let mut all = Mutant::ALL.iter().copied();
    all.find(|mutant| format!("{mutant:?}") == name)
}
