//! The operator's scenarios on a real control plane: `tare` as a process, kube-apiserver on etcd in
//! every cache mode (`kube::SCENARIO`, `kube::metadata::SCENARIO`, `kube::pruned::SCENARIO`), and the
//! main ones on kine too (`kine::SCENARIO`).
//!
//! Ignored where the binaries are not there, with a line that says how to get them. One control
//! plane for each datastore, started by the first scenario that needs it; each scenario has a
//! namespace and an operator of its own. `cargo test -p tare --test real -- kine::killed` runs
//! those with that in the name; logs are kept in `target/tmp/logs`.

mod audit;
mod children;
mod disturbance;
mod kubectl;
mod lifecycle;
mod many;
mod operator;
mod site;
mod tour;
mod world;

// The example, and somebody who types its commands.
#[path = "../pods/desk.rs"]
#[allow(dead_code)] // used in whole by `tests/pods`
mod desk;
#[path = "../../examples/pods/main.rs"]
#[allow(dead_code)] // what `main` does with a terminal and a kubeconfig
mod pods;

use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use site::Site;
use testbed::control_plane::{Binaries, Datastore};
use testbed::stand::Stand;
use world::World;

/// Scenarios mostly wait: for a server, for readiness.
const THREADS: usize = 8;

/// One story with its end.
#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    /// `kine`: it runs there too; `alone`: it disturbs all others; `kubectl`: it needs that;
    /// `storeless`: what it counts is that of cache mode `none`, or there is no operator in it.
    marks: &'static [&'static str],
    run: fn(World) -> BoxFuture<'static, ()>,
}

impl Scenario {
    fn is(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }
}

macro_rules! scenarios {
    ($($file:ident::$name:ident $([$($mark:ident),+])?),+ $(,)?) => {
        &[$(Scenario {
            name: stringify!($name),
            marks: &[$($(stringify!($mark)),+)?],
            run: |world| Box::pin($file::$name(world)),
        }),+]
    };
}

/// Those that take longest first, those that are alone last.
const SCENARIOS: &[Scenario] = scenarios![
    many::three_hundred_at_once_cost_five_writes_each_and_no_read [kine, storeless],
    many::two_operators_by_accident_do_no_harm,
    disturbance::killed_again_and_again_in_a_burst [kine],
    disturbance::terminated_in_a_burst_it_ends_in_time,
    disturbance::what_was_missed_while_it_was_down_is_found_at_the_start [kine],
    disturbance::a_terminating_namespace_is_left_to_end [kine],
    kubectl::in_the_hands_of_kubectl [kine, kubectl],
    tour::the_tour_of_the_client [kine, storeless, kubectl],
    tour::pods_are_shown_as_kubectl_shows_them [kine, storeless, kubectl],
    children::what_the_server_refuses_is_told_once_and_heals,
    children::a_field_somebody_keeps_setting_is_not_fought_over,
    children::an_edited_child_is_set_back_and_what_others_add_stays [kine],
    children::a_deleted_child_comes_back [kine],
    children::a_foreign_deployment_of_the_same_name_survives_us [kine],
    children::a_collision_that_goes_away_heals,
    children::a_missing_permission_is_named_on_the_object,
    lifecycle::scale_image_and_env_follow_the_spec [kine],
    lifecycle::an_edgeapp_becomes_ready_with_its_children [kine],
    lifecycle::what_cannot_be_changed_is_made_anew_and_what_is_not_asked_for_goes,
    lifecycle::every_quantity_the_server_normalises_is_no_drift,
    lifecycle::teardown_is_ordered_and_waits_for_other_peoples_finalizers [kine],
    lifecycle::orphaned_children_stay,
    lifecycle::deleted_and_created_again_under_the_same_name,
    lifecycle::bad_input_is_refused_with_what_is_wrong,
    disturbance::an_api_server_that_restarts_is_met_again [kine, alone],
    disturbance::a_history_that_was_compacted_is_joined_anew [kine, alone],
    disturbance::a_crd_removed_while_running_is_waited_for [kine, alone],
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The cache modes; the first is the default.
const MODES: [&str; 3] = ["none", "metadata", "pruned"];

/// The modes that a scenario runs in: all of them on etcd.
fn modes(datastore: Datastore, scenario: &Scenario) -> &'static [&'static str] {
    match datastore {
        Datastore::Etcd if !scenario.is("storeless") => &MODES,
        _ => &MODES[..1],
    }
}

fn name(prefix: &str, mode: &str, scenario: &Scenario) -> String {
    match mode == MODES[0] {
        true => format!("{prefix}::{}", scenario.name),
        false => format!("{prefix}::{mode}::{}", scenario.name),
    }
}

fn ignored(name: String) -> Trial {
    Trial::test(name, || Err("it is ignored".into())).with_ignored_flag(true)
}

fn trials() -> std::io::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for (prefix, datastore) in [("kube", Datastore::Etcd), ("kine", Datastore::Kine)] {
        let scenarios = SCENARIOS
            .iter()
            .filter(|one| datastore == Datastore::Etcd || one.is("kine"));
        let scenarios = scenarios.flat_map(|one| {
            let modes = modes(datastore, one).iter();
            modes.map(move |mode| (*mode, one))
        });
        let binaries = Binaries::find().map_err(|error| error.to_string());
        let binaries = binaries.and_then(|found| match (datastore, &found.kine) {
            (Datastore::Kine, None) => Err("no kine; run `loadgen control-plane build`".to_owned()),
            _ => Ok(found),
        });
        match binaries {
            Ok(binaries) => trials.extend(on(datastore, prefix, binaries, scenarios)?),
            Err(reason) => {
                eprintln!("ignored, {prefix}::: {reason}");
                trials.extend(scenarios.map(|(mode, one)| ignored(name(prefix, mode, one))));
            }
        }
    }
    Ok(trials)
}

fn on<'a>(
    datastore: Datastore,
    prefix: &str,
    binaries: Binaries,
    scenarios: impl Iterator<Item = (&'static str, &'a Scenario)>,
) -> std::io::Result<Vec<Trial>> {
    let has_kubectl = binaries.kubectl.is_some();
    if !has_kubectl {
        eprintln!("ignored, {prefix}::*kubectl: no kubectl; run `loadgen control-plane build`");
    }
    let stand = Stand::new(move || {
        let binaries = binaries.clone();
        async move { Site::start(&binaries, datastore).await.map(Arc::new) }
    })?;
    let stand = Arc::new(stand);
    let trials = scenarios.map(|(mode, &scenario)| {
        let name = name(prefix, mode, &scenario);
        if scenario.is("kubectl") && !has_kubectl {
            return ignored(name);
        }
        let stand = Arc::clone(&stand);
        Trial::test(name, move || {
            let run = async |site: &Arc<Site>| (scenario.run)(World::new(site, mode).await).await;
            let done = match scenario.is("alone") {
                true => stand.alone(run),
                false => stand.beside_others(run),
            };
            done.map_err(Failed::from)
        })
    });
    Ok(trials.collect())
}
