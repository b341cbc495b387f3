//! A running API server and subject, and the requests and waits of the scenario.
//!
//! Guarantees: every wait ends by the deadline of a step, with the state seen last; where the subject or
//! the control plane has ended, the failure says so; every process started here ends with the session.
//! Leaves to others: the steps (`steps`) and what they expect.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;
use tare_procstat::process::Process;

use crate::measure::admin;
use crate::model::conformance::Failure;
use crate::model::subject::{Places, Subject};
use crate::model::workload::conformance::ConformanceScenario;
use crate::model::workload::conformance::expectation::{Check, Mismatch};
use crate::run::conformance::{Gate, failure};
use crate::run::crds;
use crate::run::folder;
use crate::run::launch::{readiness, spawn};
use crate::run::workspace::Workspace;
use crate::target::cluster::{Cluster, JSON};
use crate::target::{HARNESS, Order, SUBJECT, Server};

/// Time between two polls of a wait.
const POLL: Duration = Duration::from_millis(20);
/// The field manager of the changes that the scenario makes beside the subject.
const SOMEBODY: &str = "somebody";

pub struct Session<'a> {
    subject: &'a Subject,
    pub(super) scenario: &'a ConformanceScenario,
    server: Server,
    cluster: Cluster,
    process: Process,
    admin: SocketAddr,
    places: Places,
    log: PathBuf,
    step_deadline: Duration,
}

impl<'a> Session<'a> {
    /// Starts a server with the namespace, and a subject, and waits until the subject is ready. `None` where
    /// the server does not serve the objects of the scenario: the subject has others.
    pub async fn start(
        gate: &Gate<'_>,
        subject: &'a Subject,
        scenario: &'a ConformanceScenario,
    ) -> Result<Option<Session<'a>>, Failure> {
        let server_failed =
            |error: &dyn std::fmt::Display| failure("the API server", "an answer", error);
        let dir = folder::next(gate.temp_dir);
        std::fs::create_dir_all(&dir)
            .map_err(|error| failure(&dir.display().to_string(), "a folder", error))?;
        let order = Order {
            source: gate.source,
            dir: &dir,
            crds: crds::files(subject, &dir)
                .map_err(|error| failure(&subject.id(), "its CRDs", error))?,
            ready_delay_ms: gate.ready_delay_ms,
            logs: gate.log(subject),
            audit: false,
            default_flags: false,
        };
        let server = Server::start(order).await.map_err(|e| server_failed(&e))?;
        let cluster = Cluster::connect(&server.kubeconfig(HARNESS)).await;
        let cluster = cluster.map_err(|e| server_failed(&e))?;
        let namespace = cluster.ensure_namespace(&scenario.resource.namespace).await;
        namespace.map_err(|e| server_failed(&e))?;
        let path = scenario.resource.path();
        let listed = cluster.ask::<Value>(Method::GET, &path, None, vec![]);
        match listed.await {
            Err(error) if error.code() == Some(404) => return Ok(None),
            other => drop(other.map_err(|e| server_failed(&e))?),
        }
        let places = Places {
            kubeconfig: server.kubeconfig(SUBJECT),
            bin: Workspace::bin_of(gate.bin, subject),
            dir,
            ..Places::default()
        };
        let mut log = gate.log(subject).into_os_string();
        log.push(".log");
        let log = PathBuf::from(log);
        let (process, admin) = start(subject, &places, &log).await?;
        let mut session = Session {
            subject,
            scenario,
            server,
            cluster,
            process,
            admin,
            places,
            log,
            step_deadline: gate.step_deadline,
        };
        session.until_ready().await?;
        Ok(Some(session))
    }

    /// Ends the subject and the server.
    pub async fn teardown(self) {
        let Session {
            mut process,
            server,
            ..
        } = self;
        // A process that cannot be signalled has ended; dropping the session kills one that has not.
        let _ = process.terminate(Duration::from_secs(5)).await;
        let _ = server.stop().await;
    }

    /// Ends the subject with SIGTERM; it has to exit within the deadline.
    pub async fn stop_subject(&mut self) -> Result<(), Failure> {
        use std::os::unix::process::ExitStatusExt;
        let id = self.subject.id();
        let failed = |seen: String| failure(&id, "to end on SIGTERM", seen);
        self.check_alive()?;
        let status = self.process.terminate(self.step_deadline).await;
        let status = status.map_err(|e| failed(e.to_string()))?;
        match status.signal() {
            // 9 is SIGKILL: the deadline had passed.
            Some(9) => Err(failed(format!(
                "still running after {} s",
                self.step_deadline.as_secs()
            ))),
            _ => Ok(()),
        }
    }

    /// Starts the subject again, on a new port: the old one may still be in use.
    pub async fn start_subject(&mut self) -> Result<(), Failure> {
        (self.process, self.admin) = start(self.subject, &self.places, &self.log).await?;
        self.until_ready().await
    }

    async fn until_ready(&mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + self.step_deadline;
        loop {
            self.check_alive()?;
            let Some(last) = readiness(self.subject, &self.process, self.admin).await else {
                return Ok(());
            };
            if Instant::now() > deadline {
                let expected = format!("to be ready within {} s", self.step_deadline.as_secs());
                return Err(failure(&self.subject.id(), &expected, last));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn check_alive(&mut self) -> Result<(), Failure> {
        let ended = |who: &str, seen: String| failure(who, "to run", seen);
        let id = self.subject.id();
        match self.process.exited() {
            Ok(None) => {}
            Ok(Some(status)) => {
                let last = self.process.last_log_lines(1).pop().unwrap_or_default();
                return Err(ended(&id, format!("that it ended ({status}): {last}")));
            }
            Err(error) => return Err(ended(&id, error.to_string())),
        }
        match self.server.exited() {
            Ok(None) => Ok(()),
            Ok(Some(ended_by)) => Err(ended("the control plane", ended_by)),
            Err(error) => Err(ended("the API server", error.to_string())),
        }
    }

    /// What an object is called in a failure.
    pub fn called(&self, kind: &str, name: &str) -> String {
        let resource = &self.scenario.resource;
        match resource.namespaced || kind != resource.kind {
            true => format!("{kind} {}/{name}", resource.namespace),
            false => format!("{kind} {name}"),
        }
    }

    /// Path of the collection; the scenario was checked, so there is one.
    fn path(&self, kind: &str) -> String {
        self.scenario.path(kind).unwrap_or_default()
    }

    /// Creates an object with a field manager that is not the subject's.
    pub async fn create(&self, kind: &str, object: &Value) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}?fieldManager={SOMEBODY}", self.path(kind));
        let body = object.to_string().into_bytes();
        let created = self.cluster.ask(Method::POST, &path, Some(JSON), body);
        created
            .await
            .map_err(|error| failure(&self.called(kind, name), "to be created", error))
    }

    /// Changes an object with a field manager that is not the subject's: with a JSON patch where it is a list,
    /// else with a merge patch.
    pub async fn change(&self, kind: &str, name: &str, patch: &Value) -> Result<Value, Failure> {
        let path = format!("{}/{name}?fieldManager={SOMEBODY}", self.path(kind));
        let content_type = match patch.is_array() {
            true => "application/json-patch+json",
            false => "application/merge-patch+json",
        };
        let body = patch.to_string().into_bytes();
        let changed = self
            .cluster
            .ask(Method::PATCH, &path, Some(content_type), body);
        changed
            .await
            .map_err(|error| failure(&self.called(kind, name), &format!("to take {patch}"), error))
    }

    /// Sends an object, or a merge patch of one, that the API server must reject as invalid.
    pub async fn refuse(
        &self,
        method: Method,
        kind: &str,
        name: &str,
        body: &Value,
    ) -> Result<(), Failure> {
        let collection = self.path(kind);
        let (path, content_type) = match method {
            Method::PATCH => (
                format!("{collection}/{name}"),
                "application/merge-patch+json",
            ),
            _ => (collection, JSON),
        };
        let sent = body.to_string().into_bytes();
        let answer = self
            .cluster
            .ask::<Value>(method, &path, Some(content_type), sent);
        let (object, expected) = (self.called(kind, name), "422 from the API server");
        match answer.await {
            Err(error) if error.code() == Some(422) => Ok(()),
            Err(error) => Err(failure(&object, expected, error)),
            Ok(_) => Err(failure(&object, expected, "that it was taken")),
        }
    }

    /// The object that a child of this name belongs to; nothing where it does not exist.
    pub async fn owner(&self, kind: &str, name: &str) -> Result<Value, Failure> {
        let own = &self.scenario.resource.kind;
        match kind == own {
            // An expectation of the object itself asks for nothing else.
            true => Ok(Value::Null),
            false => Ok(self.get(own, name).await?.unwrap_or_default()),
        }
    }

    pub async fn delete(&self, kind: &str, name: &str) -> Result<(), Failure> {
        let path = format!("{}/{name}", self.path(kind));
        let options =
            br#"{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}"#;
        let gone = self
            .cluster
            .ask::<Value>(Method::DELETE, &path, Some(JSON), options.to_vec());
        gone.await
            .map(drop)
            .map_err(|error| failure(&self.called(kind, name), "to be deleted", error))
    }

    /// The object; `None` where it does not exist.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Option<Value>, Failure> {
        let path = format!("{}/{name}", self.path(kind));
        match self
            .cluster
            .ask::<Value>(Method::GET, &path, None, vec![])
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(failure(&self.called(kind, name), "an answer", error)),
        }
    }

    /// Waits until the object meets an expectation, and returns it.
    pub async fn until(
        &mut self,
        kind: &str,
        name: &str,
        is: impl Fn(&Value) -> Check,
    ) -> Result<Value, Failure> {
        let deadline = Instant::now() + self.step_deadline;
        loop {
            let object = self.get(kind, name).await?;
            let mismatch = match &object {
                Some(object) => is(object),
                None => Err(Mismatch {
                    expected: "to be there".into(),
                    seen: "no such object".into(),
                }),
            };
            match (mismatch, object) {
                (Ok(()), Some(object)) => return Ok(object),
                (Err(mismatch), _) if Instant::now() > deadline => {
                    return Err(self.late(kind, name, mismatch));
                }
                _ => {}
            }
            self.check_alive()?;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Checks that its deletion has removed the object at once: nobody had to act for it.
    pub async fn expect_gone(&self, kind: &str, name: &str) -> Result<(), Failure> {
        match self.get(kind, name).await? {
            None => Ok(()),
            Some(object) => Err(failure(
                &self.called(kind, name),
                "to be gone at once when it is deleted",
                held_by(&object),
            )),
        }
    }

    pub async fn until_gone(&mut self, kind: &str, name: &str) -> Result<(), Failure> {
        let deadline = Instant::now() + self.step_deadline;
        while let Some(object) = self.get(kind, name).await? {
            if Instant::now() > deadline {
                let mismatch = Mismatch {
                    expected: "to be gone".into(),
                    seen: held_by(&object),
                };
                return Err(self.late(kind, name, mismatch));
            }
            self.check_alive()?;
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    fn late(&self, kind: &str, name: &str, mismatch: Mismatch) -> Failure {
        let within = self.step_deadline.as_secs_f64();
        let expected = format!("{} within {within} s", mismatch.expected);
        failure(&self.called(kind, name), &expected, mismatch.seen)
    }
}

/// What an object says of a deletion that has not ended.
fn held_by(object: &Value) -> String {
    let meta = &object["metadata"];
    format!(
        "finalizers {}, deletionTimestamp {}",
        meta["finalizers"], meta["deletionTimestamp"]
    )
}

async fn start(
    subject: &Subject,
    places: &Places,
    log: &Path,
) -> Result<(Process, SocketAddr), Failure> {
    let failed = |seen: &dyn std::fmt::Display| failure(&subject.id(), "to start", seen);
    let ports = admin::free_addresses().map_err(|e| failed(&e))?;
    let places = places.clone().listening(ports);
    let process = spawn(subject, &places, log, None)
        .await
        .map_err(|e| failed(&e))?;
    Ok((process, ports[0]))
}
