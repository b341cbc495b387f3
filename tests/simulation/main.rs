//! The operator under faults that nobody thought of: a seed gives a schedule of steps and faults, and oracles tell
//! what must hold after each.
//!
//! - `SEED=7 cargo test -p tare --test simulation` repeats one run and prints what happened;
//!   `STEPS=1,4` leaves the other steps out. A run that fails prints this line with as few steps as still fail.
//! - `SEEDS=100000` tries so many; `FROM=5000` begins there.
//! - `MUTANT=CleanupSkipped` with `--features mutants` runs with that known bug.
//! - `SIMULATION_RECORDS=FOLDER` keeps what was run; `SIMULATION_REPORT=FILE` with it writes the report on all of that.
//!
//! See `docs/design-notes/correctness.md`.

#![allow(clippy::unwrap_used)]

mod call;
mod capacity;
mod converged;
mod counts;
mod edits;
mod events;
mod exhaustive;
mod faults;
mod keeper;
#[cfg(feature = "mutants")]
mod mutants;
mod process;
mod reaction;
mod records;
mod replicas;
mod report;
mod run;
mod scenes;
mod schedule;
mod seeds;
mod shrink;
mod step;
mod storm;
mod subject;
mod transport;
mod wall;
mod world;
mod writes;

#[path = "../shared/planned.rs"]
mod planned;

#[path = "../shared/rng.rs"]
mod rng;

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../examples/webapp.rs"]
mod webapp;

use std::process::ExitCode;
use std::time::Instant;

use counts::run_and_count;
use libtest_mimic::{Arguments, Failed, Trial};
use schedule::Schedule;
use subject::Subject;
use tare_runtime::cache::Mode;

/// Seeds that continuous integration tries.
const SEEDS: u64 = 2_000;

/// Failures that are printed.
const SHOWN: usize = 5;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each uses all processors.
    arguments.test_threads = Some(1);
    let trials = match (number("SEED"), std::env::var("SIMULATION_REPORT")) {
        (Some(seed), _) => vec![Trial::test("repeated", move || repeated(seed))],
        (None, Ok(file)) => vec![Trial::test("report", move || report(&file))],
        (None, Err(_)) => trials(),
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("seeds", || {
        let (from, count) = (number("FROM"), number("SEEDS"));
        Ok(seeds::try_all(from.unwrap_or(0), count.unwrap_or(SEEDS))?)
    })];
    for subject in Subject::ALL {
        for mode in Mode::ALL {
            for (name, in_pairs) in [("every_write", false), ("every_pair_of_writes", true)] {
                let name = format!("exhaustive::{subject:?}::{mode}::{name}");
                let trial = Trial::test(name, move || lives(subject, mode, in_pairs));
                trials.push(trial.with_ignored_flag(in_pairs));
            }
        }
    }
    #[cfg(feature = "mutants")]
    for &mutant in tare_runtime::internals::Mutant::ALL {
        let trial = Trial::test(format!("mutants::{mutant:?}"), move || {
            println!("{}", mutants::find(mutant)?);
            Ok(())
        });
        trials.push(trial.with_ignored_flag(!mutants::IN_CI.contains(&mutant)));
    }
    trials
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The known bug that `MUTANT` names, in this thread.
fn choose_bug() {
    #[cfg(feature = "mutants")]
    if let Ok(name) = std::env::var("MUTANT") {
        tare_runtime::internals::choose(mutants::named(&name));
    }
}

/// One schedule, with everything that happens.
fn repeated(seed: u64) -> Result<(), Failed> {
    let mut schedule = Schedule::of(seed);
    if let Ok(steps) = std::env::var("STEPS") {
        let numbers: Vec<usize> = steps
            .split(',')
            .filter_map(|one| one.parse().ok())
            .collect();
        schedule = schedule.only(&numbers);
    }
    println!("{schedule:#?}");
    choose_bug();
    let report = run_and_count(&schedule, true);
    for line in &report.trace {
        println!("{line}");
    }
    match report.violations.is_empty() {
        true => Ok(()),
        false => Err(report.violations.join("\n").into()),
    }
}

/// Writes the report on all records.
fn report(file: &str) -> Result<(), Failed> {
    let folder = records::folder().ok_or("SIMULATION_RECORDS names no folder")?;
    std::fs::write(file, report::of(&folder)?).map_err(|error| format!("{file}: {error}"))?;
    Ok(())
}

fn lives(subject: Subject, mode: Mode, in_pairs: bool) -> Result<(), Failed> {
    let began = Instant::now();
    let (count, wrong) = exhaustive::lives(subject, mode, in_pairs);
    let seconds = began.elapsed().as_secs_f64();
    println!("{count} lives in {seconds:.1} s");
    let killed = if in_pairs { "twice" } else { "once" };
    let record = records::Lives {
        commit: records::commit(),
        profile: records::profile(),
        subject: format!("{subject:?}"),
        mode: mode.to_string(),
        in_pairs,
        count,
        failed: wrong.len(),
        seconds,
    };
    records::write(&format!("lives-{subject:?}-{mode}-{killed}"), &record);
    match wrong.is_empty() {
        true => Ok(()),
        false => {
            let first = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>();
            Err(format!("{} of {count}:\n{}", wrong.len(), first.join("\n")).into())
        }
    }
}
