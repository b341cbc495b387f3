//! What one EdgeApp costs the operator when it is created or changed, on a simulated cluster.
//!
//! Guarantees: an operation ends when the EdgeApp is Running; clocks stand still while anything can run.
//! Leaves to others: how often it is repeated, and which of the costs is reported.

use std::ops::{AddAssign, Sub};
use std::time::Duration;

use criterion::Bencher;
use criterion::measurement::Measurement;
use serde_json::json;
use tare_runtime::cache::Mode;
use tokio::runtime::Runtime;

use super::scenario::{Running, Simulated, pass};
use super::steps::{paused, post};
use super::support::object::Template;

/// What an operation has cost the operator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Within the reconcile function.
    pub spent: Duration,
    /// Reads and writes of objects; lists and watches serve all EdgeApps and are left out.
    pub requests: u64,
}

impl Sub for Cost {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            spent: self.spent.saturating_sub(before.spent),
            requests: self.requests - before.requests,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Self) {
        self.spent += more.spent;
        self.requests += more.requests;
    }
}

/// Repeats one operation on EdgeApps, in one cache mode.
pub fn repeat<M: Measurement>(
    mode: Mode,
    operation: fn(&mut PausedCluster) -> Cost,
    of: fn(Cost) -> M::Value,
) -> impl FnMut(&mut Bencher<'_, M>) {
    let mut cluster = None;
    move |bencher: &mut Bencher<'_, M>| {
        let cluster = cluster.get_or_insert_with(|| PausedCluster::new(mode));
        bencher.iter_custom(|times| {
            let mut sum = Cost::default();
            for _ in 0..times {
                sum += operation(cluster);
            }
            of(sum)
        });
    }
}

/// A simulated cluster with an operator and one EdgeApp that is Running.
pub struct PausedCluster {
    running: Running,
    cluster: Simulated,
    runtime: Runtime,
    template: Template,
    operations: usize,
}

impl PausedCluster {
    fn new(mode: Mode) -> Self {
        let runtime = paused().expect("a runtime");
        let template = Template::read().expect("the scenario");
        let (cluster, running) = runtime.block_on(async {
            let cluster = Simulated::new(mode);
            let running = cluster.operate();
            running.until_ready().await;
            post(&cluster, template.object("kept", 0)).await;
            cluster.until_phase("kept", "Running").await;
            pass(5).await;
            (cluster, running)
        });
        Self {
            running,
            cluster,
            runtime,
            template,
            operations: 0,
        }
    }

    /// Creates an EdgeApp and waits until it is Running. Its removal is not counted.
    pub fn create(&mut self) -> Cost {
        self.operations += 1;
        let name = format!("ea-{}", self.operations);
        let object = self.template.object(&name, self.operations);
        let before = self.so_far();
        self.runtime.block_on(async {
            post(&self.cluster, object).await;
            self.cluster.until_phase(&name, "Running").await;
            pass(5).await;
        });
        let cost = self.so_far() - before;
        self.runtime.block_on(async {
            self.cluster.delete(&name).await;
            self.cluster.until_gone("edgeapps", &name).await;
            pass(5).await;
        });
        cost
    }

    /// Changes the image of an EdgeApp and waits until it is Running again.
    pub fn change(&mut self) -> Cost {
        self.operations += 1;
        let image = format!("web:{}", self.operations);
        let before = self.so_far();
        self.runtime.block_on(async {
            self.cluster.change("kept", json!({"image": image})).await;
            let generation = self.cluster.get("edgeapps", "kept")["metadata"]["generation"].clone();
            let followed = |cluster: &Simulated| {
                let status = &cluster.get("edgeapps", "kept")["status"];
                status["observedGeneration"] == generation && status["phase"] == "Running"
            };
            self.cluster.until("the change is Running", followed).await;
            pass(5).await;
        });
        self.so_far() - before
    }

    fn so_far(&self) -> Cost {
        let requests = self.cluster.server.requests();
        let ours = requests.entries.iter().filter(|entry| entry.user == "tare");
        let own = ours.filter(|entry| !matches!(entry.verb.as_str(), "list" | "watch"));
        Cost {
            spent: self.spent(),
            requests: own.map(|entry| entry.requests).sum(),
        }
    }

    /// The sum of the operator's own histogram.
    fn spent(&self) -> Duration {
        let mut text = String::new();
        self.running
            .metrics
            .reconcile
            .render("reconcile", "", &mut text);
        let sum = text
            .lines()
            .find_map(|line| line.strip_prefix("reconcile_sum "));
        let seconds = sum.and_then(|sum| sum.parse().ok());
        Duration::from_secs_f64(seconds.expect("a histogram has a sum"))
    }
}
