//! Requests for objects that do not concern the operator: one for each of them, at its time.
//!
//! Guarantees: in the order of the kinds, and of the numbers within a kind; the first answer that is an error ends it.
//! Leaves to others: what the objects look like (`spec::bystanders`), and when they are made, changed and deleted.

use std::future::Future;
use std::time::Instant;

use futures::StreamExt;
use http::Method;
use serde::de::IgnoredAny;

use crate::load::timetable::Pace;
use crate::spec::bystanders;
use crate::spec::bystanders::Bystanders;
use crate::target::cluster::{CONNECTIONS, Cluster, Error, JSON, MERGE_PATCH};

/// One request for one of them.
pub struct Request {
    pub method: Method,
    path: String,
    content_type: Option<&'static str>,
    body: Vec<u8>,
}

impl Request {
    pub fn create(
        kind: &Bystanders,
        index: usize,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Self {
        Self {
            method: Method::POST,
            path: kind.path(namespace),
            content_type: Some(JSON),
            body: kind.object(index, namespace, labels),
        }
    }

    /// `nth`, which counts from 1, is in the change, so that it is one.
    pub fn change(kind: &Bystanders, index: usize, namespace: &str, nth: u64) -> Self {
        Self {
            method: Method::PATCH,
            path: format!("{}/{}", kind.path(namespace), kind.name(index)),
            content_type: Some(MERGE_PATCH),
            body: bystanders::change(nth),
        }
    }

    pub fn delete(kind: &Bystanders, index: usize, namespace: &str) -> Self {
        Self {
            method: Method::DELETE,
            path: format!("{}/{}", kind.path(namespace), kind.name(index)),
            content_type: None,
            body: vec![],
        }
    }

    /// # Errors
    /// The server rejects it, or does not answer.
    pub async fn ask(&self, cluster: &Cluster) -> Result<(), Error> {
        let (method, body) = (self.method.clone(), self.body.clone());
        let asked = cluster.ask::<IgnoredAny>(method, &self.path, self.content_type, body);
        asked.await.map(drop)
    }
}

/// Asks for each object of all kinds, at its time; `answered` is told how many answers there are.
///
/// # Errors
/// That of the first request that fails.
pub async fn send<F: Future<Output = Result<(), Error>>>(
    kinds: &[Bystanders],
    pace: &Pace,
    request: impl Fn(&Bystanders, usize) -> Request,
    ask: impl Fn(Request) -> F,
    mut answered: impl FnMut(u64),
) -> Result<(), Error> {
    let started = Instant::now();
    let all = kinds
        .iter()
        .flat_map(|kind| (0..kind.objects).map(move |index| (kind, index)));
    let asked = all.enumerate().map(|(nth, (kind, index))| {
        let due = started + pace.due(nth);
        let answer = ask(request(kind, index));
        async move {
            tokio::time::sleep_until(due.into()).await;
            answer.await
        }
    });
    let mut answers = futures::stream::iter(asked).buffer_unordered(CONNECTIONS);
    let mut count = 0;
    while let Some(answer) = answers.next().await {
        answer?;
        count += 1;
        answered(count);
    }
    Ok(())
}
