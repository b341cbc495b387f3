//! A scenario and the clusters that it runs on; the list of tests that follows from it.
//!
//! Guarantees: a scenario is a test once for each cluster and cache mode that it can run on; where it
//! cannot, it is listed as ignored, and the listing has the reason.
//! Leaves to others: what the scenarios are (`main`), what they do.

use std::sync::Arc;

use controlplane::shared::Shared;
use controlplane::{Binaries, Datastore};
use futures::future::LocalBoxFuture;
use libtest_mimic::{Failed, Trial};
use tare_runtime::cache::Mode;
use tokio::runtime::Builder;

use crate::cluster::Cluster;
use crate::cluster::plane::{Setting, SharedPlane};
use crate::cluster::simulated::Simulated;
use crate::permission_table::{self, Case};

/// A story and where it can take place.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The file that it is in.
    pub noun: &'static str,
    pub name: &'static str,
    pub story: Story,
    /// It runs on kine too, not only on etcd.
    on_kine: bool,
    /// It disturbs all others on the same control plane.
    alone: bool,
    kubectl: bool,
    /// It runs without an operator, or counts what holds only in mode `none`.
    storeless: bool,
}

/// What a scenario needs says where it can run.
#[derive(Clone, Copy)]
pub enum Story {
    /// No cluster: a function of the program.
    Pure(fn()),
    /// The same story on a simulated and on a real cluster.
    Anywhere(fn(Cluster) -> LocalBoxFuture<'static, ()>),
    /// Only the simulated cluster has what it needs, here in words. It starts that cluster itself.
    Simulated(&'static str, fn(Mode) -> LocalBoxFuture<'static, ()>),
    /// Only a real cluster has what it needs, here in words.
    Real(&'static str, fn(Cluster) -> LocalBoxFuture<'static, ()>),
}

impl Scenario {
    pub const fn new(noun: &'static str, name: &'static str, story: Story) -> Scenario {
        Scenario {
            noun,
            name,
            story,
            on_kine: false,
            alone: false,
            kubectl: false,
            storeless: false,
        }
    }

    pub const fn on_kine(mut self) -> Scenario {
        self.on_kine = true;
        self
    }

    pub const fn alone(mut self) -> Scenario {
        self.alone = true;
        self
    }

    pub const fn kubectl(mut self) -> Scenario {
        self.kubectl = true;
        self
    }

    pub const fn storeless(mut self) -> Scenario {
        self.storeless = true;
        self
    }

    fn modes(&self) -> &'static [Mode] {
        match self.storeless {
            true => &Mode::ALL[..1],
            false => &Mode::ALL,
        }
    }

    fn path(&self) -> String {
        format!("{}::{}", self.noun, self.name)
    }
}

/// All tests of these scenarios.
///
/// # Errors
/// The runtime of a control plane cannot be built.
pub fn trials(scenarios: &[Scenario], shipped: &[Scenario]) -> std::io::Result<Vec<Trial>> {
    let mut trials = simulated(scenarios);
    for place in [
        Place::new("kube", Datastore::Etcd, Setting::Installed),
        Place::new("kine", Datastore::Kine, Setting::Installed),
    ] {
        trials.extend(place.trials(scenarios)?);
    }
    trials.extend(Place::new("shipped", Datastore::Etcd, Setting::Bare).trials(shipped)?);
    Ok(trials)
}

/// Tests that need no other process.
fn simulated(scenarios: &[Scenario]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for &scenario in scenarios {
        let path = scenario.path();
        match scenario.story {
            Story::Pure(run) => trials.push(Trial::test(path, move || {
                run();
                Ok(())
            })),
            Story::Real(needs, _) => trials.push(ignored(format!("simulated::{path}"), needs)),
            Story::Anywhere(run) => trials.extend(scenario.modes().iter().map(|&mode| {
                Trial::test(format!("simulated::{mode}::{path}"), move || {
                    on_paused_time(async move {
                        run(Cluster::simulated(Simulated::slow(mode))).await;
                    })
                })
            })),
            Story::Simulated(_, run) => trials.extend(scenario.modes().iter().map(|&mode| {
                Trial::test(format!("simulated::{mode}::{path}"), move || {
                    on_paused_time(run(mode))
                })
            })),
        }
    }
    trials
}

fn on_paused_time(story: impl Future<Output = ()>) -> Result<(), Failed> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(story);
    Ok(())
}

/// A control plane that is started by the first test that needs it.
struct Place {
    prefix: &'static str,
    datastore: Datastore,
    setting: Setting,
}

/// What one test on a control plane runs.
#[derive(Clone, Copy)]
enum Run {
    Scenario(Scenario, fn(Cluster) -> LocalBoxFuture<'static, ()>, Mode),
    /// A scenario under the shipped role with one permission less.
    Without(Case),
}

impl Place {
    fn new(prefix: &'static str, datastore: Datastore, setting: Setting) -> Place {
        Place {
            prefix,
            datastore,
            setting,
        }
    }

    fn trials(&self, scenarios: &[Scenario]) -> std::io::Result<Vec<Trial>> {
        let (runs, mut trials) = self.runs(scenarios);
        let binaries = match self.binaries() {
            Ok(binaries) => binaries,
            Err(reason) => {
                eprintln!("ignored, {}::: {reason}", self.prefix);
                let names = runs.into_iter().map(|(name, _)| name);
                trials.extend(names.map(|name| ignored(name, "needs binaries")));
                return Ok(trials);
            }
        };
        let has_kubectl = binaries.kubectl.is_some();
        let (datastore, setting) = (self.datastore, self.setting);
        let shared = Arc::new(Shared::new(move || {
            let binaries = binaries.clone();
            async move {
                let plane = SharedPlane::start(&binaries, datastore, setting).await;
                plane.map(Arc::new)
            }
        })?);
        trials.extend(runs.into_iter().map(|(name, run)| {
            let marks = run.scenario();
            if marks.kubectl && !has_kubectl {
                return ignored(name, "needs kubectl: run `loadgen control-plane build`");
            }
            let shared = Arc::clone(&shared);
            Trial::test(name, move || {
                let on = async |plane: &Arc<SharedPlane>| run.on(plane).await;
                let done = match marks.alone {
                    true => shared.alone(on),
                    false => shared.beside_others(on),
                };
                done.map_err(Failed::from)
            })
        }));
        Ok(trials)
    }

    fn binaries(&self) -> Result<Binaries, String> {
        let found = Binaries::find().map_err(|error| error.to_string())?;
        match (self.datastore, &found.kine) {
            (Datastore::Kine, None) => Err("no kine; run `loadgen control-plane build`".to_owned()),
            _ => Ok(found),
        }
    }

    /// What runs here, each with its name; and what is ignored here.
    fn runs(&self, scenarios: &[Scenario]) -> (Vec<(String, Run)>, Vec<Trial>) {
        let prefix = self.prefix;
        let (mut runs, mut trials) = (Vec::new(), Vec::new());
        if (self.datastore, self.setting) == (Datastore::Etcd, Setting::Installed) {
            let cases = permission_table::cases(scenarios).into_iter();
            runs.extend(
                cases.map(|case| (format!("{prefix}::{}", case.name()), Run::Without(case))),
            );
        }
        for &scenario in scenarios {
            let path = scenario.path();
            let run = match scenario.story {
                Story::Pure(_) => continue,
                Story::Simulated(needs, _) => {
                    if self.datastore == Datastore::Etcd {
                        trials.push(ignored(format!("{prefix}::{path}"), needs));
                    }
                    continue;
                }
                Story::Anywhere(run) | Story::Real(_, run) => run,
            };
            for &mode in self.modes(&scenario) {
                let name = format!("{prefix}::{mode}::{path}");
                runs.push((name, Run::Scenario(scenario, run, mode)));
            }
        }
        // A scenario that is alone waits until the others have ended.
        runs.sort_by_key(|(_, run)| run.scenario().alone);
        (runs, trials)
    }

    /// All modes on etcd; what could differ with the datastore once on kine.
    fn modes(&self, scenario: &Scenario) -> &'static [Mode] {
        match (self.datastore, self.setting) {
            (Datastore::Etcd, Setting::Installed) => scenario.modes(),
            (Datastore::Kine, _) if !scenario.on_kine => &[],
            _ => &Mode::ALL[..1],
        }
    }
}

impl Run {
    fn scenario(&self) -> Scenario {
        match self {
            Run::Scenario(scenario, ..) => *scenario,
            Run::Without(case) => case.scenario,
        }
    }

    async fn on(self, plane: &Arc<SharedPlane>) {
        match self {
            Run::Scenario(_, run, mode) => run(Cluster::real(plane, mode).await).await,
            Run::Without(case) => case.run(plane).await,
        }
    }
}

fn ignored(name: String, reason: &str) -> Trial {
    Trial::test(name, || Err("it is ignored".into()))
        .with_kind(reason)
        .with_ignored_flag(true)
}
