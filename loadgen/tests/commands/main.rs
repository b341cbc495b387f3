//! The commands of `loadgen` as a user types them, against servers on loopback: what works, what is refused in one line, and
//! that nothing is left behind, however it ends.
//!
//! What needs more than the programs of this package (operators, a control plane, a node, Chromium) is listed as ignored where
//! that is not there, with the reason; `cargo test --workspace` builds the operators, `loadgen control-plane build` a control
//! plane. `cargo test -p loadgen --test commands -- run::` runs the tests with that in the name.

mod bench;
mod check;
mod cli;
mod conform;
mod control_plane;
mod mock_subject;
mod operator_pod;
mod program;
mod report;
mod run;
mod verify;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

/// Tests at a time. Most of their time they wait, for an operator to come to rest: their times add up to 52 minutes, and their
/// CPU time to 9.
const THREADS: usize = 8;

/// Those that take minutes, the longest first: what begins last ends last. (`longest` prints how long they took.)
const FIRST: [&str; 10] = [
    "bench::real::the_same_on_kine",
    "bench::real::requests_are_counted_in_runs_of_their_own",
    "bench::whole::a_subject_beside_itself_gives_the_noise_floor",
    "verify::a_folder_is_verified_and_one_change_is_one_line",
    "check::a_hot_loop_fails_by_what_it_writes_while_nothing_changes",
    "conform::an_operator_is_measured_after_a_soak_and_with_unhealthy_objects",
    "report::every_figure_of_the_page_is_that_of_the_summary",
    "bench::envelope::the_highest_rates_within_a_cpu_limit_are_found",
    "bench::restarts::a_real_api_server_tells_what_a_restart_made_it_read",
    "bench::whole::a_tiny_bench_ends_with_a_report_that_can_be_rebuilt",
];

const ROOMS: [fn() -> Vec<Trial>; 9] = [
    bench::trials,
    operator_pod::trials,
    check::trials,
    conform::trials,
    control_plane::trials,
    run::trials,
    verify::trials,
    report::trials,
    cli::trials,
];

fn main() -> ExitCode {
    if let Some(code) = mock_subject::asked_for() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let mut trials: Vec<Trial> = ROOMS.iter().flat_map(|trials| trials()).collect();
    for name in FIRST {
        let is_there = trials.iter().any(|trial| trial.name() == name);
        assert!(is_there, "FIRST names {name}, which is no test");
    }
    let place = |trial: &Trial| FIRST.iter().position(|name| *name == trial.name());
    trials.sort_by_key(|trial| place(trial).unwrap_or(FIRST.len()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    print!(
        "{}",
        longest(&TOOK.lock().unwrap_or_else(PoisonError::into_inner))
    );
    conclusion.exit_code()
}

/// The tests and how long each took.
static TOOK: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// What decides how long all of them take: a line for each of the ten that took longest.
fn longest(took: &[(Duration, String)]) -> String {
    let mut took = took.to_vec();
    took.sort_by(|one, other| other.cmp(one));
    let lines = took.iter().take(10);
    lines
        .map(|(time, name)| format!("{:>6.1} s  {name}\n", time.as_secs_f64()))
        .collect()
}

/// Names of functions with the room that they are in, as the harness of Rust would list them.
macro_rules! tests {
    ($room:ident: $($name:ident),* $(,)?) => {
        [$((concat!(stringify!($room), "::", stringify!($name)), $name as fn())),*]
    };
}
pub(crate) use tests;

/// A test that is ignored where something is not there.
fn trial(name: &str, test: fn(), ignored: bool) -> Trial {
    let run = move || {
        test();
        Ok(())
    };
    trial_of(name, run, ignored)
}

fn trial_of(
    name: &str,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
    ignored: bool,
) -> Trial {
    let of = name.to_owned();
    let run = move || {
        let began = Instant::now();
        let ended = test();
        let mut took = TOOK.lock().unwrap_or_else(PoisonError::into_inner);
        took.push((began.elapsed(), of));
        ended
    };
    Trial::test(name, run).with_ignored_flag(ignored)
}
