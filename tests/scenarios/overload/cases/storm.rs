//! Storms: other clients work on the children of idle EdgeApps while a burst of new ones fills the queue.
//!
//! Guarantees: a storm follows from its seed, but for the time that requests take. When the queue is empty all children and
//! statuses have to become as planned, without the periodic relist; what is not is counted and the first of it is told.
//! Leaves to others: what the clients do and when (`script`), what is planned (`planned`).
//!
//! `STORM_SEEDS=7,9` runs these seeds alone, `STORM_SEEDS=3..5` those from 3 to 4; `STORM_MODE=none` one cache mode alone.

mod script;
mod tally;

use std::time::Duration;

use futures::future::join_all;
use http::Method;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::user::JSON;
use crate::overload::record::{Figures, seconds};
use crate::overload::setting::{Operator, Setting};
use crate::overload::wait;
use script::Script;
use tally::Tally;

/// After so long without an end something is wrong with the test or the machine.
const SAFETY: Duration = Duration::from_secs(900);
/// So long a small storm is watched after the queue is empty: a busy machine is far below it.
const WATCHED: Duration = Duration::from_secs(300);
/// What must hold on the machine of the record, after the queue is empty.
const PLANNED_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(500);
/// A queue that was empty at each of so many looks is empty: a relist that is requested follows within less.
const LOOKS: u32 = 6;
/// Seeds of the record.
const SEEDS: u64 = 20;
const ROUNDS: u64 = 3;
/// In which all Deployments lose their readiness, by round.
const FLAPS_WITHIN: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
];

/// How large a storm is.
#[derive(Clone, Copy)]
struct Size {
    /// EdgeApps that are there, without work, before it begins.
    idle: usize,
    /// EdgeApps that are created during it.
    burst: usize,
    /// Other clients begin within so long after the burst has begun.
    window: Duration,
    /// All has to be as planned within so long after the queue is empty.
    within: Duration,
}

const SMALL: Size = Size {
    idle: 60,
    burst: 300,
    window: Duration::from_secs(6),
    within: WATCHED,
};
const FULL: Size = Size {
    idle: 400,
    burst: 1_500,
    window: Duration::from_secs(30),
    within: PLANNED_WITHIN,
};
const FLAP: Size = Size {
    idle: 1_000,
    burst: 2_000,
    window: FLAPS_WITHIN[0],
    within: PLANNED_WITHIN,
};

pub async fn sixty_idle_without_a_cache(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    small(setting, figures, Mode::None).await
}

pub async fn sixty_idle_with_a_cache_of_metadata(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    small(setting, figures, Mode::Metadata).await
}

pub async fn sixty_idle_with_a_pruned_cache(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    small(setting, figures, Mode::Pruned).await
}

async fn small(setting: &Setting, figures: &mut Figures, mode: Mode) -> Result<(), Failed> {
    let mut found = Vec::new();
    for seed in seeds(1)? {
        let sky = Sky::clear(setting, mode, SMALL).await?;
        found.push(sky.storm(seed, Script::of_clients).await?);
        sky.end(Leaving::Behind).await?;
    }
    tell(figures, mode, &found)
}

/// 400 idle EdgeApps, of which other clients edit, delete and disturb what they own.
pub async fn other_clients_beside_a_burst_of_1500(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut all = Ok(());
    for mode in modes() {
        let mut found = Vec::new();
        for seed in seeds(SEEDS)? {
            let sky = Sky::clear(setting, mode, FULL).await?;
            found.push(sky.storm(seed, Script::of_clients).await?);
            sky.end(Leaving::Nothing).await?;
        }
        all = all.and(tell(figures, mode, &found));
    }
    all
}

/// The Deployments of 1,000 idle EdgeApps lose their readiness and are ready again 1.9 s later.
pub async fn a_thousand_lose_readiness_beside_a_burst_of_2000(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut all = Ok(());
    for mode in modes() {
        let mut found = Vec::new();
        let mut sky = Sky::clear(setting, mode, FLAP).await?;
        for seed in seeds(ROUNDS)? {
            // All at nearly the same time, or one after the other.
            sky.size.window = FLAPS_WITHIN[seed as usize % FLAPS_WITHIN.len()];
            found.push(sky.storm(seed, Script::of_readiness).await?);
        }
        sky.end(Leaving::Nothing).await?;
        all = all.and(tell(figures, mode, &found));
    }
    all
}

/// The cache mode that `STORM_MODE` names, or all.
fn modes() -> Vec<Mode> {
    let named = std::env::var("STORM_MODE");
    let is_meant = |mode: &Mode| {
        named
            .as_ref()
            .map_or(true, |name| *name == mode.to_string())
    };
    Mode::ALL.into_iter().filter(is_meant).collect()
}

/// The seeds that `STORM_SEEDS` names, or as many from 0.
fn seeds(count: u64) -> Result<Vec<u64>, Failed> {
    let Ok(text) = std::env::var("STORM_SEEDS") else {
        return Ok((0..count).collect());
    };
    if let Some((first, end)) = text.split_once("..") {
        return Ok((first.parse()?..end.parse()?).collect());
    }
    let all: Result<_, _> = text.split(',').map(str::parse).collect();
    Ok(all?)
}

/// One storm, when it is over.
struct Found {
    seed: u64,
    tally: Tally,
    /// From the begin of the burst until the queue was empty, and from there until all was as planned.
    empty: Duration,
    planned: Duration,
}

/// Whether what a storm leaves is deleted before the next one begins.
enum Leaving {
    Behind,
    Nothing,
}

/// An operator with idle EdgeApps, before and after storms.
struct Sky {
    setting: Setting,
    operator: Operator,
    size: Size,
    mode: Mode,
}

impl Sky {
    /// A namespace of its own with `size.idle` EdgeApps that are Running.
    async fn clear(beside: &Setting, mode: Mode, size: Size) -> Result<Sky, Failed> {
        let setting = Setting::in_mode(&beside.cluster.as_real().plane, mode).await?;
        let operator = setting.operate(setting.direct()).await?;
        wait::create(&setting.cluster, "idle", size.idle, &spec()).await;
        let sky = Sky {
            setting,
            operator,
            size,
            mode,
        };
        let mut waited = Figures::default();
        let cluster = &sky.setting.cluster;
        wait::until_running(cluster, "idle", size.idle, SAFETY, &mut waited).await?;
        sky.until_empty().await?;
        Ok(sky)
    }

    /// A burst, and beside it what the `scripts` of this seed say of each idle EdgeApp.
    async fn storm(
        &self,
        seed: u64,
        scripts: fn(u64, usize, Duration) -> Vec<Script>,
    ) -> Result<Found, Failed> {
        let Size {
            idle,
            burst,
            window,
            within,
        } = self.size;
        let cluster = &self.setting.cluster;
        let scripts = scripts(seed, idle, window);
        let began = Instant::now();
        let (prefix, spec) = (format!("burst-{seed}"), spec());
        let play = scripts.iter().map(|script| script.play(cluster, began));
        let ((), played) =
            tokio::join!(wait::create(cluster, &prefix, burst, &spec), join_all(play));
        played.into_iter().collect::<Result<(), Failed>>()?;
        self.until_empty().await?;
        let empty = began.elapsed();
        let mut tally = Tally::of(cluster).await;
        while !tally.is_as_planned() && began.elapsed() < empty + within {
            sleep(POLL_EVERY.max(2 * tally.took)).await;
            tally = Tally::of(cluster).await;
        }
        let planned = began.elapsed() - empty;
        let relists = self.operator.figure("tare_relists_completed_total");
        println!(
            "{} seed {seed}: queue empty after {:.1} s, {tally} {:.1} s later, {} relists",
            self.mode,
            empty.as_secs_f64(),
            planned.as_secs_f64(),
            relists.await?
        );
        Ok(Found {
            seed,
            tally,
            empty,
            planned,
        })
    }

    /// Waits until no owner waits for a worker and none has one.
    async fn until_empty(&self) -> Result<(), Failed> {
        let (began, mut looks) = (Instant::now(), 0);
        while looks < LOOKS {
            let depth = self.operator.figure("tare_queue_depth").await?;
            let in_flight = self.operator.figure("tare_in_flight").await?;
            looks = match depth + in_flight > 0.0 {
                true => 0,
                false => looks + 1,
            };
            if began.elapsed() > SAFETY {
                return Err(format!("{depth} wait for a worker after {SAFETY:?}").into());
            }
            sleep(POLL_EVERY).await;
        }
        Ok(())
    }

    async fn end(mut self, leaving: Leaving) -> Result<(), Failed> {
        self.operator.check_alive()?;
        self.operator.kill();
        let cluster = self.setting.cluster;
        if matches!(leaving, Leaving::Nothing) {
            // The garbage collector would take minutes, beside the next storm.
            for resource in ["edgeapps", "deployments", "services"] {
                delete_all(&cluster, resource).await?;
            }
        }
        cluster.end().await;
        Ok(())
    }
}

/// What one request has deleted when its time is over is gone for the next.
async fn delete_all(cluster: &Cluster, resource: &str) -> Result<(), Failed> {
    let began = Instant::now();
    let options =
        json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
    let path = cluster.path(resource, "");
    loop {
        let deleted = cluster.request(Method::DELETE, &path, JSON, &options).await;
        match deleted {
            Ok(_) => return Ok(()),
            Err(error) if began.elapsed() > SAFETY => return Err(error.into()),
            Err(_) => sleep(POLL_EVERY).await,
        }
    }
}

fn spec() -> Value {
    let mut spec = web();
    spec["replicas"] = json!(script::REPLICAS);
    spec
}

/// The figures of the storms of one mode; fails where something is not as planned.
fn tell(figures: &mut Figures, mode: Mode, found: &[Found]) -> Result<(), Failed> {
    let wrong = |one: &Found| one.tally.wrong.len() as f64;
    let row = |one: &Found| {
        let of = |what: &str| one.tally.count(what) as f64;
        vec![
            one.seed as f64,
            wrong(one),
            of("deployments"),
            of("services"),
            of("status"),
            seconds(one.empty),
            seconds(one.planned),
        ]
    };
    let columns = [
        "seed",
        "EdgeApps that are not as planned",
        "of these in the Deployment",
        "in the Service",
        "in the status",
        "queue empty after, s",
        "then watched for, s",
    ];
    let rows: Vec<_> = found.iter().map(row).collect();
    figures.samples(&format!("{mode}: storms"), &columns, rows);
    figures.tell(&format!("{mode}: storms"), found.len() as f64, "");
    let all: f64 = found.iter().map(wrong).sum();
    let name = format!("{mode}: EdgeApps that are not as planned");
    figures.at_most(&name, all, "", 0.0);
    let longest = found.iter().map(|one| one.planned).max();
    let name = format!("{mode}: longest until all are as planned");
    figures.took(&name, longest.unwrap_or_default());
    let bad = found.iter().filter(|one| !one.tally.is_as_planned());
    let told: Vec<String> = bad
        .map(|one| {
            format!(
                "STORM_MODE={mode} STORM_SEEDS={}: {}",
                one.seed,
                one.tally.told()
            )
        })
        .collect();
    match told.is_empty() {
        true => Ok(()),
        false => Err(told.join("\n").into()),
    }
}
