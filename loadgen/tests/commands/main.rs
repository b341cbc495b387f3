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
mod operator_pod;
mod program;
mod report;
mod run;
mod verify;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

/// Tests at a time. Most of their time they wait, for an operator to come to rest; with more of them, two processors do not
/// keep up with their control planes.
const THREADS: usize = 5;

/// The longest first.
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
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = ROOMS.iter().flat_map(|trials| trials());
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
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
        Ok::<(), Failed>(())
    };
    Trial::test(name, run).with_ignored_flag(ignored)
}
