//! The operator's scenarios on a real control plane: `tare` as a process, kube-apiserver on etcd in
//! every cache mode (`kube::SCENARIO`, `kube::metadata::SCENARIO`, `kube::pruned::SCENARIO`), and the
//! main ones on kine too (`kine::SCENARIO`).
//!
//! Operators run under the shipped service account with exactly the roles of `deploy/install.yaml`;
//! `kube::without_VERB_RESOURCE::SCENARIO` shows for each right of them that it is needed (`rights`).
//! `shipped::` is `deploy/` in the hands of a cluster's administrator, on a control plane of its own
//! with the real controllers of Pods (`shipped`).
//!
//! Ignored where the binaries are not there, with a line that says how to get them. One control
//! plane for each of the three, started by the first scenario that needs it; each scenario has a
//! namespace and an operator of its own. `cargo test -p tare --test real -- kine::killed` runs
//! those with that in the name; logs are kept in `target/tmp/logs`.

mod account;
mod alerts;
mod audit;
mod children;
mod disturbance;
mod examples;
mod kubectl;
mod lifecycle;
mod many;
mod operator;
mod rights;
mod shipped;
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

use controlplane::{Binaries, Datastore};
use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use site::{Setting, Site};
use controlplane::shared::Shared;
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
    many::an_edgeapp_near_the_largest_size_works_as_those_beside_it [kine],
    many::two_operators_by_accident_do_no_harm,
    disturbance::killed_again_and_again_in_a_burst [kine],
    disturbance::terminated_in_a_burst_it_ends_in_time,
    disturbance::what_was_missed_while_it_was_down_is_found_at_the_start [kine],
    disturbance::a_terminating_namespace_is_left_to_end [kine],
    disturbance::a_terminating_namespace_is_no_missing_right,
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
    examples::webapp_applies_heals_and_goes [kine],
    examples::webapp_leaves_a_foreign_deployment_alone,
    examples::myservice_makes_both_follows_and_heals_after_a_restart [kine],
    examples::inference_service_is_refused_or_ready [kine],
    examples::echo_survives_a_kill_at_either_end [kine],
    lifecycle::the_revision_of_the_crd_is_known,
    alerts::alerts_and_dashboard_speak_of_what_is_there,
    disturbance::an_api_server_that_restarts_is_met_again [kine, alone],
    disturbance::a_history_that_was_compacted_is_joined_anew [kine, alone],
    disturbance::a_crd_removed_while_running_is_waited_for [kine, alone],
];

/// Each begins by taking away what there is of ours, so all of them are alone.
const SHIPPED: &[Scenario] = scenarios![
    shipped::install_yaml_is_applied_as_it_is_and_its_pod_is_admitted [alone, kubectl],
    shipped::a_pod_without_one_of_its_settings_is_refused [alone, kubectl],
    shipped::a_newer_install_over_an_older_one_restarts_no_child [alone, kubectl],
    shipped::the_crd_deleted_while_the_operator_is_down_goes_once_it_is_started [alone, kubectl],
    shipped::the_crd_deleted_while_there_is_no_operator_goes_by_hand [alone, kubectl],
    shipped::removal_in_the_documented_order_leaves_nothing [alone, kubectl],
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

/// A control plane, and what is run on it.
struct Place {
    prefix: &'static str,
    datastore: Datastore,
    setting: Setting,
    scenarios: &'static [Scenario],
}

const PLACES: [Place; 3] = [
    Place {
        prefix: "kube",
        datastore: Datastore::Etcd,
        setting: Setting::Installed,
        scenarios: SCENARIOS,
    },
    Place {
        prefix: "kine",
        datastore: Datastore::Kine,
        setting: Setting::Installed,
        scenarios: SCENARIOS,
    },
    Place {
        prefix: "shipped",
        datastore: Datastore::Etcd,
        setting: Setting::Bare,
        scenarios: SHIPPED,
    },
];

impl Place {
    /// Everything that is run here, with its name after the prefix.
    fn runs(&self) -> Vec<(String, Run)> {
        let mut runs = Vec::new();
        if self.prefix == "kube" {
            let cases = rights::cases(SCENARIOS).into_iter();
            runs.extend(cases.map(|case| (case.name(), Run::Without(case))));
        }
        let everything = self.datastore == Datastore::Etcd;
        let scenarios = self.scenarios.iter();
        for &scenario in scenarios.filter(|one| everything || one.is("kine")) {
            for &mode in self.modes(&scenario) {
                let name = match mode == MODES[0] {
                    true => scenario.name.to_owned(),
                    false => format!("{mode}::{}", scenario.name),
                };
                runs.push((name, Run::Scenario(scenario, mode)));
            }
        }
        runs
    }

    /// The modes that a scenario runs in: all of them on etcd.
    fn modes(&self, scenario: &Scenario) -> &'static [&'static str] {
        match (self.datastore, self.setting) {
            (Datastore::Etcd, Setting::Installed) if !scenario.is("storeless") => &MODES,
            _ => &MODES[..1],
        }
    }

    fn trials(&self) -> std::io::Result<Vec<Trial>> {
        let prefix = self.prefix;
        let binaries = Binaries::find().map_err(|error| error.to_string());
        let binaries = binaries.and_then(|found| match (self.datastore, &found.kine) {
            (Datastore::Kine, None) => Err("no kine; run `loadgen control-plane build`".to_owned()),
            _ => Ok(found),
        });
        let binaries = match binaries {
            Ok(binaries) => binaries,
            Err(reason) => {
                eprintln!("ignored, {prefix}::: {reason}");
                let names = self.runs().into_iter().map(|(name, _)| name);
                return Ok(names
                    .map(|name| ignored(format!("{prefix}::{name}")))
                    .collect());
            }
        };
        let has_kubectl = binaries.kubectl.is_some();
        let (datastore, setting) = (self.datastore, self.setting);
        let shared = Arc::new(Shared::new(move || {
            let binaries = binaries.clone();
            async move {
                Site::start(&binaries, datastore, setting)
                    .await
                    .map(Arc::new)
            }
        })?);
        let trials = self.runs().into_iter().map(|(name, run)| {
            let name = format!("{prefix}::{name}");
            if run.needs("kubectl") && !has_kubectl {
                eprintln!("ignored, {name}: no kubectl; run `loadgen control-plane build`");
                return ignored(name);
            }
            let shared = Arc::clone(&shared);
            Trial::test(name, move || {
                let on = async |site: &Arc<Site>| run.on(site).await;
                let done = match run.needs("alone") {
                    true => shared.alone(on),
                    false => shared.beside_others(on),
                };
                done.map_err(Failed::from)
            })
        });
        Ok(trials.collect())
    }
}

/// What one test runs.
#[derive(Clone, Copy)]
enum Run {
    /// A scenario in a cache mode, with the shipped role.
    Scenario(Scenario, &'static str),
    /// One with a right less.
    Without(rights::Case),
}

impl Run {
    fn needs(&self, mark: &str) -> bool {
        match self {
            Run::Scenario(scenario, _) => scenario.is(mark),
            Run::Without(_) => false,
        }
    }

    async fn on(self, site: &Arc<Site>) {
        match self {
            Run::Scenario(scenario, mode) => (scenario.run)(World::new(site, mode).await).await,
            Run::Without(case) => case.run(site).await,
        }
    }
}

fn ignored(name: String) -> Trial {
    Trial::test(name, || Err("it is ignored".into())).with_ignored_flag(true)
}

fn trials() -> std::io::Result<Vec<Trial>> {
    let mut trials = vec![Trial::test(
        "rights::the_table_is_that_of_the_role_and_of_the_readme",
        rights::the_table_is_that_of_the_role_and_of_the_readme,
    )];
    for place in &PLACES {
        trials.extend(place.trials()?);
    }
    Ok(trials)
}
