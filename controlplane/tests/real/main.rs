//! The real control plane, end to end. Where its programs are not there, every test is listed as
//! ignored and the reason is printed; `loadgen control-plane build` makes them.
//!
//! Each test has a control plane of its own, half a gigabyte: two of them at a time.
#![allow(clippy::unwrap_used)]

mod fixture;
mod killed;
mod mistakes;
mod readiness;
mod serves;

use std::future::Future;
use std::process::ExitCode;

use controlplane::{Binaries, Datastore};
use libtest_mimic::{Arguments, Failed, Trial};

type Test = fn(Binaries) -> Result<(), Failed>;

const TESTS: &[(&str, Test)] = &[
    ("etcd_holds_objects_and_collects_garbage", |it| {
        run(serves::holds_objects(it, Datastore::Etcd))
    }),
    ("kine_holds_objects_and_collects_garbage", |it| {
        run(serves::holds_objects(it, Datastore::Kine))
    }),
    ("etcd_forgets_its_history_when_compacted", |it| {
        run(serves::forgets(it, Datastore::Etcd))
    }),
    ("kine_forgets_its_history_when_compacted", |it| {
        run(serves::forgets(it, Datastore::Kine))
    }),
    ("data_of_an_ended_one_is_there_again", |it| {
        run(serves::starts_from_data(it))
    }),
    (
        "the_audit_log_has_what_users_asked_for_and_nothing_else",
        |it| run(serves::audits(it)),
    ),
    ("a_user_may_do_what_its_groups_may", |it| {
        run(serves::knows_groups(it))
    }),
    (
        "deployments_become_ready_and_are_written_once_for_each_change",
        |it| run(readiness::follows_changes(it)),
    ),
    ("the_readiness_agent_goes_on_after_a_restart", |it| {
        run(readiness::survives_restart(it))
    }),
    ("real_controllers_make_pods_without_the_agent", |it| {
        run(readiness::leaves_pods_alone(it))
    }),
    ("a_parent_killed_leaves_nothing_behind", |it| {
        run(killed::leaves_nothing(it))
    }),
    ("a_component_that_dies_is_named", |it| {
        run(mistakes::names_the_dead(it))
    }),
    ("a_port_that_is_taken_is_said", |it| {
        run(mistakes::port_taken(it))
    }),
    ("a_server_that_refuses_its_arguments_is_quoted", |it| {
        run(mistakes::bad_argument(it))
    }),
    ("a_folder_open_to_others_is_refused", |it| {
        run(mistakes::open_folder(it))
    }),
];

fn main() -> ExitCode {
    if let Some(code) = killed::parent() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let binaries = Binaries::find();
    if let Err(reason) = &binaries {
        eprintln!("all tests of the real control plane are ignored: {reason}");
    }
    let without_kine = binaries.as_ref().is_ok_and(|it| it.kine.is_none());
    if without_kine {
        eprintln!("tests on kine are ignored: it was not built (it needs a C compiler)");
    }
    let trial = |&(name, test): &(&'static str, Test)| {
        let ignored = binaries.is_err() || (without_kine && name.starts_with("kine"));
        let binaries = binaries.as_ref().ok().cloned();
        let run = move || test(binaries.ok_or("the programs are not there")?);
        Trial::test(name, run).with_ignored_flag(ignored)
    };
    libtest_mimic::run(&arguments, TESTS.iter().map(trial).collect()).exit_code()
}

fn run(test: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(test)
}
