//! A server with converged objects and nobody who looks after them.
//!
//! Guarantees: every object was ready before the subject was ended; the server ends with this.
//! Leaves to others: who is started on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::load::generator::{Act, Offer};
use crate::load::journal::Journal;
use crate::load::observer::Observer;
use crate::load::timeout::Timeout;
use crate::load::timetable::Pace;
use crate::model::record::Peaked;
use crate::model::subject::Subject;
use crate::run::restarts::Setting;
use crate::run::restarts::start::Running;
use crate::run::session::AbortOnDrop;
use crate::target::cluster::Cluster;
use crate::target::{HARNESS, Order, Server};

const POLL: Duration = Duration::from_millis(100);

/// Why there is none, in words.
pub type Reason = String;

pub struct World {
    pub server: Server,
    pub cluster: Cluster,
    pub journal: Arc<Journal>,
    pub objects: usize,
    pub version: String,
    pub filled: Filled,
    /// Private to this world.
    pub dir: PathBuf,
    _observer: AbortOnDrop,
}

/// How the objects came to be what they are, and what that took the subject.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Filled {
    /// From the first object until all were ready.
    pub drain_s: f64,
    /// Until it had settled, its start on an empty server included.
    pub cpu_s: Option<f64>,
    /// Settled, and the largest since its start.
    pub memory: Option<Peaked>,
}

impl World {
    /// # Errors
    /// The server, the subject or the objects did not come to where they should, in time.
    pub async fn converge(
        setting: &Setting,
        first: &Subject,
        objects: usize,
    ) -> Result<World, Reason> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let stem = format!("restarts-{objects}");
        let dir = setting.private.join(&stem);
        std::fs::create_dir_all(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        setting
            .progress
            .step(&format!("{objects} objects: starting a server"));
        let crd = first.crd(&setting.workspace);
        let server = Server::start(Order {
            source: &setting.source,
            dir: &dir,
            crd: &crd,
            ready_delay_ms: setting.scenario.ready_delay_ms,
            logs: setting.evidence.path(&format!("logs/{stem}")),
            audit: false,
            default_flags: false,
        });
        let server = server.await.map_err(|e| text(&e))?;
        let cluster = Cluster::connect(&server.kubeconfig(HARNESS)).await;
        let cluster = cluster.map_err(|e| text(&e))?;
        let version = cluster.version().await.map_err(|e| text(&e))?;
        let resource = setting.scenario.resource.clone();
        let namespace = cluster.ensure_namespace(&resource.namespace).await;
        namespace.map_err(|e| text(&e))?;
        let journal = Arc::new(Journal::of(objects));
        let observer = Observer {
            cluster: cluster.clone(),
            resource,
            convergence: first.convergence.clone(),
            journal: journal.clone(),
        };
        let observer = AbortOnDrop(tokio::spawn(observer.run()).abort_handle());
        let mut world = World {
            server,
            cluster,
            journal,
            objects,
            version,
            filled: Filled::default(),
            dir,
            _observer: observer,
        };
        world.fill(setting, first).await?;
        Ok(world)
    }

    async fn fill(&mut self, setting: &Setting, first: &Subject) -> Result<(), Reason> {
        let objects = self.objects;
        let mut running = Running::spawn(setting, self, first).await?;
        let timeout = Timeout::of(objects, Pace::Burst, setting.deadline);
        let started = Instant::now();
        let mut sending = JoinSet::new();
        let offer = Offer {
            cluster: self.cluster.clone(),
            scenario: setting.scenario.clone(),
            child: None,
            seed: setting.seed,
            journal: self.journal.clone(),
            act: Act::Create,
            pace: Pace::Burst,
            objects,
        };
        sending.spawn(offer.send());
        let (mut last, mut moved) = (Default::default(), Instant::now());
        while !self.journal.timeline().all(|object| object.ready) {
            running.check_alive()?;
            self.check_alive()?;
            let progress = self.journal.timeline().progress();
            let what = format!("{objects} objects under {}: converged", first.id());
            setting
                .progress
                .count(&what, progress.ready, objects as u64);
            if let Some((message, times)) = self.journal.timeline().failed() {
                return Err(format!(
                    "{times} creates were refused, the first with: {message}"
                ));
            }
            if progress != last {
                (last, moved) = (progress, Instant::now());
            }
            if started.elapsed() > timeout.deadline || moved.elapsed() > timeout.stall {
                return Err(format!(
                    "{} converged within {:.0} s",
                    progress.ready,
                    started.elapsed().as_secs_f64()
                ));
            }
            tokio::time::sleep(POLL).await;
        }
        let drain_s = started.elapsed().as_secs_f64();
        running.settle(setting, self).await?;
        self.filled = Filled {
            drain_s,
            cpu_s: running.cpu_s(),
            memory: running.weigh(),
        };
        running.end().await;
        Ok(())
    }

    /// # Errors
    /// The server has ended.
    pub fn check_alive(&mut self) -> Result<(), Reason> {
        match self.server.exited().map_err(|e| e.to_string())? {
            Some(ended) => Err(ended),
            None => Ok(()),
        }
    }

    /// Takes the server down, with its data.
    pub async fn teardown(self) {
        let World { server, dir, .. } = self;
        // What cannot be stopped is killed with this process, and its folder goes with the one above.
        let _ = server.stop().await;
        let _ = std::fs::remove_dir_all(dir);
    }
}
