//! The operator as it is shipped, on a real node: its scratch image in a pod under the restricted
//! profile and the shipped limit, roles and account; EdgeApps that become real pods.
//!
//! Needs root, containerd, runc, the CNI plugins, a C compiler, `loadgen control-plane build --node`
//! and the image (`just image`); `just node-test` sees to the last two. Ignored without, with a line
//! that says what is missing. One node for all scenarios, one scenario at a time; each begins by
//! installing what is shipped. Logs are kept in `target/tmp/logs/node`.

mod change;
mod check;
mod image;
mod install;
mod memory;
mod removal;
mod site;
mod tour;
mod work;

use std::process::ExitCode;
use std::sync::Arc;

use controlplane::shared::Shared;
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use site::{Needs, Site};

type Scenario = (&'static str, for<'a> fn(&'a Site) -> BoxFuture<'a, ()>);

macro_rules! scenarios {
    ($($file:ident::$name:ident),+ $(,)?) => {
        &[$((stringify!($name), |site| Box::pin($file::$name(site)))),+]
    };
}

/// The one that removes everything last: what it leaves is nothing.
const SCENARIOS: &[Scenario] = scenarios![
    install::as_shipped_it_runs_restricted_and_within_its_limit,
    install::its_roles_allow_what_it_does_and_nothing_else,
    work::edgeapps_become_pods_and_status_follows,
    work::a_deleted_pod_comes_back,
    work::a_killed_operator_goes_on_where_it_was,
    memory::an_out_of_memory_kill_is_seen_and_survived,
    change::a_newer_install_and_back_restarts_no_child,
    check::the_verdict_is_that_it_works,
    tour::a_log_is_followed_and_a_container_entered,
    removal::in_the_documented_order_nothing_is_left,
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share an installation, of which there is one in a cluster.
    arguments.test_threads = Some(1);
    let needs = Needs::find();
    if let Err(reason) = &needs {
        eprintln!("ignored, all tests on a node: {reason}");
    }
    match trials(needs.ok()) {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn trials(needs: Option<Needs>) -> std::io::Result<Vec<Trial>> {
    let ignored = needs.is_none();
    let shared = Shared::new(move || {
        let needs = needs.clone();
        async move {
            let needs = needs.ok_or("something is missing")?;
            Site::start(&needs).await
        }
    })?;
    let shared = Arc::new(shared);
    let trial = |&(name, scenario): &Scenario| {
        let shared = Arc::clone(&shared);
        let run = move || {
            let run = async |site: &Site| scenario(site).await;
            shared.alone(run).map_err(Failed::from)
        };
        Trial::test(name, run).with_ignored_flag(ignored)
    };
    Ok(SCENARIOS.iter().map(trial).collect())
}
