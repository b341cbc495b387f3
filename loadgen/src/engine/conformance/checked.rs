//! The objects of a conformance scenario: requests for them, and waits until they are as expected.
//!
//! Guarantees: every wait ends by the deadline of a step, with the state seen last; where the subject or the control plane
//! has ended, the failure says so. Leaves to others: the steps (`steps`), what they expect, and the subject (`engine::session`).

use std::time::{Duration, Instant};

use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::conformance::failure;
use crate::engine::ready;
use crate::engine::session::Session;
use crate::record::conformance::Failure;
use crate::spec::workload::conformance::ConformanceScenario;
use crate::spec::workload::conformance::expectation::{Check, Mismatch};
use crate::target::cluster::{Cluster, Error, JSON, MERGE_PATCH};
use crate::watch::log_tail::end_of_log;

/// Time between two polls of a wait.
const POLL: Duration = Duration::from_millis(20);
/// The field manager of the changes that the scenario makes beside the subject.
const SOMEBODY: &str = "somebody";

/// A subject that is taken through a scenario.
pub struct Checked<'a> {
    pub session: Session<'a>,
    pub scenario: &'a ConformanceScenario,
    /// The rules from which it deviates.
    pub deviates: &'a [String],
    pub step_deadline: Duration,
}

impl Checked<'_> {
    pub fn deviates(&self, rule: Option<&str>) -> bool {
        self.deviates.iter().any(|one| Some(one.as_str()) == rule)
    }

    fn cluster(&self) -> &Cluster {
        &self.session.load.cluster
    }

    fn id(&self) -> String {
        self.session.subject.id()
    }

    /// Ends the subject with SIGTERM; it has to exit within the deadline.
    pub async fn stop_subject(&mut self) -> Result<(), Failure> {
        use std::os::unix::process::ExitStatusExt;
        self.alive()?;
        let failed = |seen: String| failure(&self.session.subject.id(), "to end on SIGTERM", seen);
        let status = self.session.running.stop(self.step_deadline).await;
        match status.map_err(failed)?.signal() {
            // 9 is SIGKILL: the deadline had passed.
            Some(9) => {
                let within_s = self.step_deadline.as_secs();
                Err(failure(
                    &self.id(),
                    "to end on SIGTERM",
                    format!("still running after {within_s} s"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Starts the subject again, until it works.
    pub async fn start_subject(&mut self) -> Result<(), Failure> {
        let id = self.id();
        let failed = |seen: String| failure(&id, "to start", seen);
        let offered = ready::offer_canary(&mut self.session).await;
        offered.map_err(failed)?;
        self.session.start_subject().await.map_err(failed)?;
        self.started().await
    }

    /// Waits until the subject says that it is ready, and has observed an object.
    pub async fn started(&mut self) -> Result<(), Failure> {
        let started = ready::started(&mut self.session, self.step_deadline).await;
        started.map(drop).map_err(|seen| {
            let log = end_of_log(&self.session.running.process.last_log_lines(3));
            failure(&self.id(), "to start", format!("{seen}{log}"))
        })
    }

    fn alive(&mut self) -> Result<(), Failure> {
        let (id, alive) = (self.id(), self.session.check_alive());
        alive.map_err(|seen| {
            let lines = self.session.running.process.last_log_lines(3).join(" | ");
            failure(&id, "to run", format!("{seen}: {lines}"))
        })
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

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<T, Error> {
        let body = body.to_string().into_bytes();
        let sent = self.cluster().ask(method, path, Some(content_type), body);
        sent.await
    }

    /// Creates an object with a field manager that is not the subject's.
    pub async fn create(&self, kind: &str, object: &Value) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}?fieldManager={SOMEBODY}", self.path(kind));
        let created = self.send(Method::POST, &path, JSON, object).await;
        created.map_err(|error| failure(&self.called(kind, name), "to be created", error))
    }

    /// Changes an object with a field manager that is not the subject's: with a JSON patch where it is a list,
    /// else with a merge patch.
    pub async fn change(&self, kind: &str, name: &str, patch: &Value) -> Result<Value, Failure> {
        let path = format!("{}/{name}?fieldManager={SOMEBODY}", self.path(kind));
        let content_type = match patch.is_array() {
            true => "application/json-patch+json",
            false => MERGE_PATCH,
        };
        let changed = self.send(Method::PATCH, &path, content_type, patch).await;
        changed
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
            Method::PATCH => (format!("{collection}/{name}"), MERGE_PATCH),
            _ => (collection, JSON),
        };
        let answer = self.send::<Value>(method, &path, content_type, body);
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
        let gone = self.cluster().delete_at(&path).await;
        gone.map_err(|error| failure(&self.called(kind, name), "to be deleted", error))
    }

    /// The object; `None` where it does not exist.
    pub async fn get(&self, kind: &str, name: &str) -> Result<Option<Value>, Failure> {
        let path = format!("{}/{name}", self.path(kind));
        let found = self.cluster().find(&path).await;
        found.map_err(|error| failure(&self.called(kind, name), "an answer", error))
    }

    /// Waits until the object meets an expectation, and returns it.
    pub async fn until(
        &mut self,
        kind: &str,
        name: &str,
        is: impl Fn(&Value) -> Check,
    ) -> Result<Value, Failure> {
        let met = |object: Option<Value>| match object {
            Some(object) => is(&object).map(|()| object),
            None => Err(Mismatch {
                expected: "to be there".into(),
                seen: "no such object".into(),
            }),
        };
        self.wait(kind, name, met).await
    }

    /// Waits until what is there of an object is as it has to be.
    async fn wait<T>(
        &mut self,
        kind: &str,
        name: &str,
        met: impl Fn(Option<Value>) -> Result<T, Mismatch>,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + self.step_deadline;
        loop {
            match met(self.get(kind, name).await?) {
                Ok(met) => return Ok(met),
                Err(Mismatch { expected, seen }) if Instant::now() > deadline => {
                    let within = self.step_deadline.as_secs_f64();
                    let expected = format!("{expected} within {within} s");
                    return Err(failure(&self.called(kind, name), &expected, seen));
                }
                Err(_) => {}
            }
            self.alive()?;
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
        let met = |object: Option<Value>| match object {
            None => Ok(()),
            Some(object) => Err(Mismatch {
                expected: "to be gone".into(),
                seen: held_by(&object),
            }),
        };
        self.wait(kind, name, met).await
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
