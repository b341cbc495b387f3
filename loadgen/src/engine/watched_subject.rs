//! A subject's process, with all that it starts, in a memory cgroup of its own, sampled over time.
//!
//! Guarantees: a restarted subject has a new cgroup, so that its peak is its own; the process ends
//! before its cgroup is removed. What this machine does not tell is `None`. Leaves to others: when it
//! is started, and what it is given to do.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tare_procstat::process::Process;
use tare_procstat::{Memory, MemoryCgroup, Tree};

use crate::engine::launch::spawn;
use crate::engine::session::Reason;
use crate::load::journal::Journal;
use crate::record::Sampled;
use crate::record::series::Series;
use crate::spec::bounds::Bounds;
use crate::spec::subject::{Places, Subject};
use crate::watch::series::{Sampler, Watched};

/// Fields are dropped in this order.
pub struct WatchedSubject {
    sampler: Sampler,
    pub process: Process,
    cgroup: Option<Arc<Mutex<MemoryCgroup>>>,
    bounds: Bounds,
}

impl WatchedSubject {
    /// Samples it together with the process `server`, on the journal's clock.
    pub async fn start(
        subject: &Subject,
        places: &Places,
        log: &Path,
        server: Option<u32>,
        journal: &Arc<Journal>,
        bounds: Bounds,
    ) -> Result<Self, Reason> {
        let cgroup = cgroup(bounds)?;
        let process = spawn(subject, places, log, cgroup.as_ref()).await?;
        let cgroup = cgroup.map(|cgroup| Arc::new(Mutex::new(cgroup)));
        let watched = Watched {
            subject: Some(tree(&process, cgroup.as_ref())),
            server,
            cgroup: cgroup.clone(),
        };
        let shared = Arc::clone(journal);
        let ready = Box::new(move || Some(shared.timeline().progress().ready));
        let sampler = Sampler::start(journal.began(), watched, ready);
        Ok(Self {
            sampler: sampler.map_err(|e| format!("cannot sample it over time: {e}"))?,
            process,
            cgroup,
            bounds,
        })
    }

    /// Ends the process with SIGTERM, and with SIGKILL if it has not ended in time.
    pub async fn stop(&mut self, within: Duration) -> Result<ExitStatus, Reason> {
        self.sampler.follow(None);
        let ended = self.process.terminate(within).await;
        ended.map_err(|e| e.to_string())
    }

    /// Starts it again, once it was stopped.
    pub async fn start_again(
        &mut self,
        subject: &Subject,
        places: &Places,
        log: &Path,
    ) -> Result<(), Reason> {
        let cgroup = cgroup(self.bounds)?;
        self.process = spawn(subject, places, log, cgroup.as_ref()).await?;
        match (&self.cgroup, cgroup) {
            (Some(shared), Some(new)) => *lock(shared) = new,
            _ => self.cgroup = None,
        }
        self.sampler.follow(Some(self.tree()));
        Ok(())
    }

    /// Ends it for good; memory and CPU over time.
    pub async fn end(self) -> Series {
        let Self {
            sampler,
            mut process,
            cgroup,
            ..
        } = self;
        let series = sampler.stop().series;
        // A subject that cannot be signalled is gone, and dropping kills what is not.
        let _ = process.terminate(Duration::from_secs(5)).await;
        drop(process);
        drop(cgroup);
        series
    }

    /// Its process with all that this has started: a wrapper is not what is measured.
    pub fn tree(&self) -> Tree {
        tree(&self.process, self.cgroup.as_ref())
    }

    /// A subject that has ended has no memory.
    pub fn memory(&self) -> Option<Memory> {
        self.tree().memory().ok()
    }

    /// The same, as the node accounts for it too, with the peak since [`Self::reset_peak`].
    pub fn sampled(&self) -> Option<Sampled> {
        let cgroup = self.cgroup.as_ref();
        Some(Sampled {
            memory: self.memory()?,
            peak_bytes: self.tree().peak_bytes().ok(),
            cgroup: cgroup.and_then(|cgroup| lock(cgroup).memory().ok()),
            did_settle: None,
            api_server_rss_bytes: None,
        })
    }

    /// Whether the kernel has killed it because it needed more than its limit.
    pub fn was_killed_for_memory(&self) -> bool {
        let cgroup = self.cgroup.as_ref();
        cgroup.is_some_and(|cgroup| lock(cgroup).kills().is_ok_and(|kills| kills > 0))
    }

    /// From here on peaks count. Returns what the kernel refused, a sentence each.
    pub fn reset_peak(&self) -> Vec<String> {
        let own = self.tree().reset_peak().err();
        let of_cgroup = self.cgroup.as_ref();
        let of_cgroup = of_cgroup.and_then(|cgroup| lock(cgroup).reset_peak().err());
        let own = own.map(|e| format!("peaks count from the start of the process: {e}"));
        let of_cgroup = of_cgroup
            .map(|e| format!("peaks of the cgroup count from the start of the process: {e}"));
        own.into_iter().chain(of_cgroup).collect()
    }
}

fn tree(process: &Process, cgroup: Option<&Arc<Mutex<MemoryCgroup>>>) -> Tree {
    match cgroup {
        Some(cgroup) => Tree::of(process.pid(), Some(&lock(cgroup))),
        None => Tree::of(process.pid(), None),
    }
}

/// Without a bound a subject is measured also where there are no cgroups.
fn cgroup(bounds: Bounds) -> Result<Option<MemoryCgroup>, Reason> {
    if bounds.are_none() {
        return Ok(MemoryCgroup::create().ok());
    }
    let mut cgroup =
        MemoryCgroup::create().map_err(|e| format!("memory and CPU cannot be limited: {e}"))?;
    if let Some(bytes) = bounds.memory_bytes {
        let limited = cgroup.limit(bytes);
        limited.map_err(|e| format!("memory cannot be limited: {e}"))?;
    }
    if let Some(cores) = bounds.cpu_cores {
        let limited = cgroup.limit_cpu(cores);
        limited.map_err(|e| format!("CPU cannot be limited: {e}"))?;
    }
    Ok(Some(cgroup))
}

fn lock(cgroup: &Mutex<MemoryCgroup>) -> MutexGuard<'_, MemoryCgroup> {
    // It is a path, and whole after a panic too.
    cgroup.lock().unwrap_or_else(PoisonError::into_inner)
}
