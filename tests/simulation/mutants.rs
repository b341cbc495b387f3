//! Known bugs, one at a time: the simulation finds each of them.
//!
//! Guarantees: a bug counts as found when a run fails that does not fail without it.

use tare_runtime::internals::{Mutant, choose};

use crate::records::{self, Bug};
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
        let is_found = |schedule: &Schedule| {
            fails(schedule, mutant) && run(schedule, false).violations.is_empty()
        };
        if !is_found(&schedule) {
            continue;
        }
        let kept = shrink(&schedule, |less| fails(less, mutant));
        let mut less = schedule.only(&kept);
        if !is_found(&less) {
            less = schedule.clone();
        }
        choose(Some(mutant));
        let violations = run(&less, false).violations;
        choose(None);
        let violation = violations.first().cloned().unwrap_or_default();
        let line = format!("MUTANT={mutant:?} {} --features mutants", less.line());
        let told = format!("{line}\n  {violation}");
        record(mutant, Some(seed + 1), less.steps.len(), line, violation);
        return Ok(told);
    }
    record(mutant, None, 0, String::new(), String::new());
    Err(format!("{mutant:?} is not found within {SEEDS} seeds"))
}

fn record(mutant: Mutant, seeds: Option<u64>, steps: usize, line: String, violation: String) {
    let name = format!("{mutant:?}");
    let record = Bug {
        commit: records::commit(),
        profile: records::profile(),
        name: name.clone(),
        seeds,
        most: SEEDS,
        steps,
        line,
        violation,
    };
    records::write(&format!("bug-{name}"), &record);
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
