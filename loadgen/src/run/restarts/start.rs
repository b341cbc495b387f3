//! One start on objects that are there already.
//!
//! Guarantees: the subject is weighed once it is ready and has been quiet; what the server did is
//! counted from before its start until then; it is ended whatever happens. Leaves to others: the
//! objects (`world`), the words (`page`).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tare_procstat::process::Process;

use crate::measure::admin;
use crate::measure::log_tail::log_tail;
use crate::measure::settle::{Rule, SettleDetector, Verdict};
use crate::model::record::{Failure, Peaked};
use crate::model::subject::{Places, Subject};
use crate::run::restarts::Setting;
use crate::run::restarts::account::{Account, Spent};
use crate::run::restarts::world::{Reason, World};
use crate::run::session::{readiness, spawn};
use crate::run::step::settle;
use crate::target::SUBJECT;

/// Between two looks at whether it is quiet.
const POLL: Duration = Duration::from_millis(500);

/// One start, as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    pub subject: String,
    pub objects: usize,
    pub repeat: u32,
    pub failure: Option<Failure>,
    /// From its start until it said that it was ready.
    pub ready_s: Option<f64>,
    /// Whether it was quiet in the end; else it was weighed at work.
    pub was_quiet: bool,
    pub memory: Option<Peaked>,
    pub cpu_s: Option<f64>,
    /// Events of the objects: 0 where it changed none.
    pub events: u64,
    pub server: Option<Spent>,
}

impl Start {
    /// Which one it is.
    pub fn name(&self) -> String {
        format!(
            "{} on {} objects, start {}",
            self.subject, self.objects, self.repeat
        )
    }
}

/// Starts it, weighs it and ends it.
pub async fn measure(
    setting: &Setting,
    world: &mut World,
    subject: &Subject,
    repeat: u32,
) -> Start {
    let mut start = Start {
        subject: subject.id(),
        objects: world.objects,
        repeat,
        failure: None,
        ready_s: None,
        was_quiet: false,
        memory: None,
        cpu_s: None,
        events: 0,
        server: None,
    };
    setting.progress.step(&start.name());
    let failed = |reason, lines: &[String]| Failure {
        reason,
        last_log_lines: log_tail(lines),
    };
    let events = world.journal.timeline().events;
    let before = Account::take(world, &setting.scenario.resource.plural).await;
    let mut running = match Running::spawn(setting, world, subject).await {
        Ok(running) => running,
        Err(reason) => {
            start.failure = Some(failed(reason, &[]));
            return start;
        }
    };
    start.ready_s = Some(running.process.spawned_at().elapsed().as_secs_f64());
    match running.settle(setting, world).await {
        Ok(quiet) => start.was_quiet = quiet,
        Err(reason) => {
            start.failure = Some(failed(reason, &running.process.last_log_lines(8)));
            return start;
        }
    }
    start.memory = running.weigh();
    start.cpu_s = running.cpu_s();
    let after = Account::take(world, &setting.scenario.resource.plural).await;
    start.server = before
        .zip(after)
        .map(|(before, after)| after.since(&before));
    start.events = world.journal.timeline().events - events;
    running.end().await;
    start
}

/// A subject that is ready.
pub struct Running {
    pub process: Process,
    id: String,
}

impl Running {
    /// # Errors
    /// It cannot be started, ends by itself or is not ready in time.
    pub async fn spawn(
        setting: &Setting,
        world: &mut World,
        subject: &Subject,
    ) -> Result<Running, Reason> {
        let admin = admin::free_address().map_err(|e| format!("no free port on loopback: {e}"))?;
        let places = Places {
            admin: admin.to_string(),
            kubeconfig: world.server.kubeconfig(SUBJECT),
            bin: setting.bin.clone(),
            dir: world.dir.clone(),
        };
        let (id, objects) = (subject.id(), world.objects);
        let log = format!("logs/{}-{objects}.log", id.replace('/', "-"));
        let process = spawn(subject, &places, &setting.evidence.path(&log)).await?;
        let mut running = Running { process, id };
        running.until_ready(setting, world, subject, admin).await?;
        Ok(running)
    }

    async fn until_ready(
        &mut self,
        setting: &Setting,
        world: &mut World,
        subject: &Subject,
        admin: SocketAddr,
    ) -> Result<(), Reason> {
        // A minute, and what reading each object may take of a server that has little time.
        let timeout = Duration::from_secs(60) + Duration::from_millis(5) * world.objects as u32;
        let deadline = Instant::now() + setting.deadline.unwrap_or(timeout);
        while let Some(last) = readiness(subject, &self.process, admin).await {
            self.check_alive()?;
            world.check_alive()?;
            if Instant::now() > deadline {
                let words = log_tail(&self.process.last_log_lines(3)).join(" ");
                return Err(format!(
                    "{} was not ready in time: {last}; {words}",
                    self.id
                ));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Waits until it is quiet; false where it was still at work in the end.
    ///
    /// # Errors
    /// It or the server has ended.
    pub async fn settle(&mut self, setting: &Setting, world: &mut World) -> Result<bool, Reason> {
        let rule = Rule {
            quiet: setting.quiet,
            steady: None,
            at_most: setting.quiet * 4 + Duration::from_secs(30),
        };
        let started = Instant::now();
        let pid = self.process.pid();
        let look = |world: &World| settle::look(pid, &world.journal, started);
        let mut detector = SettleDetector::new(rule, look(world));
        loop {
            tokio::time::sleep(POLL).await;
            self.check_alive()?;
            world.check_alive()?;
            match detector.look(look(world)) {
                Verdict::Restless => {}
                Verdict::Settled => return Ok(true),
                Verdict::GaveUp => return Ok(false),
            }
        }
    }

    /// `None` where the kernel does not say.
    pub fn weigh(&self) -> Option<Peaked> {
        let pid = self.process.pid();
        tare_procstat::memory(pid).ok().map(|memory| Peaked {
            memory,
            peak_bytes: tare_procstat::peak_bytes(pid).ok(),
        })
    }

    /// All that it has used.
    pub fn cpu_s(&self) -> Option<f64> {
        tare_procstat::cpu_seconds(self.process.pid()).ok()
    }

    /// # Errors
    /// It has ended.
    pub fn check_alive(&mut self) -> Result<(), Reason> {
        match self.process.exited().map_err(|e| e.to_string())? {
            Some(status) => Err(format!("{} ended by itself ({status})", self.id)),
            None => Ok(()),
        }
    }

    /// Ends it with SIGTERM, or else kills it.
    pub async fn end(mut self) {
        // What cannot be signalled is gone, and dropping kills what is not.
        let _ = self.process.terminate(Duration::from_secs(10)).await;
    }
}
