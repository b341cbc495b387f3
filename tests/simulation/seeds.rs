//! The schedules of many seeds, on all processors.
//!
//! Guarantees: one schedule in a hundred runs twice, with equal traces; one in twenty runs again with those of its steps
//! alone that add no CREATE and no DELETE. What fails is told with as few steps as still
//! fail. A run that does not end within a minute ends the program, with its seed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::counts::{run_and_count, steady};
use crate::records::{self, Counts};
use crate::run::run;
use crate::schedule::Schedule;
use crate::shrink::shrink;

/// One in so many runs twice.
pub const TWICE: u64 = 100;
/// One in so many runs again with the steps that add no CREATE and no DELETE.
const STEADY: u64 = 20;
/// Failures that are shrunk and told in full.
const SHOWN: usize = 5;
/// A run takes milliseconds. One that takes so long never waits.
const ENDLESS: Duration = Duration::from_secs(60);

/// What a processor runs, and since when.
type Running = Mutex<Option<(u64, Instant)>>;

/// Runs the schedules of `count` seeds.
///
/// # Errors
/// What fails, with the lines that repeat it.
pub fn try_all(from: u64, count: u64) -> Result<(), String> {
    let (next, failed) = (AtomicU64::new(from), Mutex::new(Vec::new()));
    let counted = Mutex::new((Counts::new(), Counts::new()));
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<Running> = (0..threads).map(|_| Running::default()).collect();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| end_the_endless(&running, &is_done));
        let workers: Vec<_> = running
            .iter()
            .map(|running| {
                scope.spawn(|| {
                    crate::choose_bug();
                    loop {
                        let seed = next.fetch_add(1, Relaxed);
                        if seed >= from + count {
                            return;
                        }
                        *running.lock().unwrap() = Some((seed, Instant::now()));
                        let (steps, faults, violations) = try_one(seed);
                        *running.lock().unwrap() = None;
                        let mut counted = counted.lock().unwrap();
                        records::add(&mut counted.0, &steps);
                        records::add(&mut counted.1, &faults);
                        drop(counted);
                        if !violations.is_empty() {
                            failed.lock().unwrap().push((seed, violations));
                        }
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        is_done.store(true, Relaxed);
    });
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{count} seeds in {:.1} min on {threads} threads",
        seconds / 60.0
    );
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    let (steps, faults) = counted.into_inner().unwrap();
    let record = records::Seeds {
        commit: records::commit(),
        profile: records::profile(),
        from,
        count,
        failed: failed.iter().map(|(seed, _)| *seed).collect(),
        threads,
        seconds,
        steps,
        faults,
    };
    records::write(&format!("seeds-{from:06}-{count}"), &record);
    match failed.is_empty() {
        true => Ok(()),
        false => Err(told(count, &failed)),
    }
}

/// The steps and faults of the schedule of a seed, and what is wrong with it.
fn try_one(seed: u64) -> (Counts, Counts, Vec<String>) {
    let schedule = Schedule::of(seed);
    let mut steps = Counts::new();
    for (_, step) in &schedule.steps {
        *steps.entry(step.kind().to_owned()).or_default() += 1;
    }
    let mut report = run_and_count(&schedule, false);
    if seed.is_multiple_of(TWICE) && run(&schedule, false).digest != report.digest {
        let differs = "two runs of the same schedule differ".to_owned();
        report.violations.push(differs);
    }
    if seed % STEADY == 1 {
        let less = schedule.only(&steady(&schedule));
        let found = run_and_count(&less, false).violations;
        let at = |one| format!("{one}: {}", less.line());
        report.violations.extend(found.into_iter().map(at));
    }
    (steps, report.faults, report.violations)
}

fn end_the_endless(running: &[Running], is_done: &AtomicBool) {
    while !is_done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        for one in running {
            if let Some((seed, since)) = *one.lock().unwrap()
                && since.elapsed() > ENDLESS
            {
                eprintln!("the run of seed {seed} does not end");
                std::process::exit(1);
            }
        }
    }
}

fn told(count: u64, failed: &[(u64, Vec<String>)]) -> String {
    crate::choose_bug();
    let mut told = format!("{} of {count} seeds fail", failed.len());
    for (seed, violations) in failed.iter().take(SHOWN) {
        let schedule = Schedule::of(*seed);
        let kept = shrink(&schedule, |less| {
            !run_and_count(less, false).violations.is_empty()
        });
        let line = schedule.only(&kept).line();
        told.push_str(&format!("\n{}\n  {line}", violations.join("\n")));
    }
    for (seed, violations) in failed.iter().skip(SHOWN) {
        told.push_str(&format!("\nseed {seed}: {}", violations[0]));
    }
    told
}
