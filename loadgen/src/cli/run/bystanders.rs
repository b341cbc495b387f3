//! Objects that do not concern the operator, made by a step of a workload: what they cost it.
//!
//! Guarantees: they are in a namespace that the run makes for them, and carry its label; that namespace is removed
//! with the run, or by `loadgen clean`. Leaves to others: what they look like (`model::bystanders`).

use std::time::{Duration, Instant};

use http::Method;

use crate::load::bystanders::{Request, send};
use crate::load::timetable::Pace;
use crate::model::bystanders;
use crate::model::bystanders::Bystanders;
use crate::model::run_id;
use crate::model::workload::steps::LoadStep;
use crate::model::workload::{BYSTANDERS_LABEL, RUN_LABEL};
use crate::target::cluster::{Cluster, Error};
use crate::terminal::progress::Progress;

/// How long a new namespace may be without its ServiceAccount.
const ACCOUNT: Duration = Duration::from_secs(10);
/// Between two tries.
const BETWEEN: Duration = Duration::from_millis(200);

/// What is said before a run whose steps make some; empty where none does.
pub fn intent(steps: &[LoadStep]) -> String {
    let kinds: Vec<Bystanders> = steps.iter().flat_map(LoadStep::bystanders).collect();
    match kinds.is_empty() {
        true => String::new(),
        false => format!(
            "; later {} that do not concern the operator",
            bystanders::text(&kinds)
        ),
    }
}

/// What is made for one run.
pub struct ForeignObjects<'a> {
    pub cluster: &'a Cluster,
    pub run: &'a str,
    pub kinds: &'a [Bystanders],
    pub pace: Pace,
    pub progress: &'a Progress,
}

impl ForeignObjects<'_> {
    fn namespace(&self) -> String {
        format!("{}-bystanders", run_id::namespace(self.run))
    }

    /// Those that are there already, from a step before, stay as they are.
    ///
    /// # Errors
    /// One line: the server rejects one of them.
    pub async fn create(&self) -> Result<(), String> {
        let namespace = self.namespace();
        let labels = [(RUN_LABEL, self.run), (BYSTANDERS_LABEL, "true")];
        let made = self.cluster.make_namespace(&namespace, &labels).await;
        made.map_err(|error| format!("cannot create namespace {namespace}: {}", error.words()))?;
        self.send("bystanders created", |kind, index| {
            Request::create(kind, index, &namespace, &[(RUN_LABEL, self.run)])
        })
        .await
    }

    /// Changes each once; `nth` is in the change, so that it is one.
    ///
    /// # Errors
    /// As for [`ForeignObjects::create`].
    pub async fn change(&self, nth: u64) -> Result<(), String> {
        let namespace = self.namespace();
        self.send("bystanders changed", |kind, index| {
            Request::change(kind, index, &namespace, nth)
        })
        .await
    }

    /// A request for each, on the timetable.
    async fn send(
        &self,
        what: &str,
        request: impl Fn(&Bystanders, usize) -> Request,
    ) -> Result<(), String> {
        let objects: usize = self.kinds.iter().map(|kind| kind.objects).sum();
        let answered = |count| self.progress.count(what, count, objects as u64);
        let ask = |request| self.ask(request);
        let sent = send(self.kinds, &self.pace, request, ask, answered).await;
        sent.map_err(|error| format!("bystanders: {}", error.words()))
    }

    async fn ask(&self, request: Request) -> Result<(), Error> {
        let creates = request.method == Method::POST;
        let give_up = Instant::now() + ACCOUNT;
        loop {
            match request.ask(self.cluster).await {
                Err(error) if creates && error.code() == Some(409) => return Ok(()),
                Err(error) if waits_for_account(&error.words()) && Instant::now() < give_up => {
                    tokio::time::sleep(BETWEEN).await;
                }
                other => return other,
            }
        }
    }
}

/// A Pod is rejected until its namespace has the ServiceAccount `default`, which a controller makes.
fn waits_for_account(words: &str) -> bool {
    words.contains("error looking up service account")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_service_account_is_waited_for() {
        // As the ServiceAccount admission of Kubernetes v1.36.4 says it.
        let missing = "pods \"bystander-0\" is forbidden: error looking up service account \
            loadgen-1-bystanders/default: serviceaccount \"default\" not found";
        assert!(waits_for_account(missing));
        assert!(!waits_for_account("pods is forbidden: exceeded quota"));
    }
}
