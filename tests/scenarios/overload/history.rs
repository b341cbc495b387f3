//! What was created in a namespace, as the server's own history has it.
//!
//! Guarantees: a create counts that was committed, whether or not its answer reached anybody. The audit log does not tell: it
//! has 504 for a create whose connection ended with its operator, committed or not. Leaves to others: what may be created how often (the cases).

use std::collections::BTreeSet;

use futures::StreamExt;
use http::Request;
use kube::core::WatchEvent;
use libtest_mimic::Failed;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::objects::text;

/// The history of a resource of a namespace from here on.
pub struct History {
    resource: &'static str,
    since: String,
}

impl History {
    pub async fn begin(cluster: &Cluster, resource: &'static str) -> History {
        let list = cluster.get(resource, "").await;
        History {
            resource,
            since: text(&list, "/metadata/resourceVersion"),
        }
    }

    /// How many objects were created under a name that had one before.
    pub async fn created_again(&self, cluster: &Cluster) -> Result<usize, Failed> {
        let names = self.created(cluster).await?;
        let distinct: BTreeSet<&String> = names.iter().collect();
        Ok(names.len() - distinct.len())
    }

    /// The name of every object that was created, in order.
    async fn created(&self, cluster: &Cluster) -> Result<Vec<String>, Failed> {
        let there = cluster.all(self.resource).await;
        let Some(newest) = there.iter().map(revision).max() else {
            return Ok(Vec::new());
        };
        let path = cluster.path(self.resource, "");
        let path = format!("{path}?watch=true&resourceVersion={}", self.since);
        let request = Request::get(path).body(Vec::new())?;
        let mut events = Box::pin(cluster.client.request_events::<Value>(request).await?);
        let mut names = Vec::new();
        while let Some(event) = events.next().await {
            let object = match event? {
                WatchEvent::Added(object) => {
                    names.push(text(&object, "/metadata/name"));
                    object
                }
                WatchEvent::Modified(object) | WatchEvent::Deleted(object) => object,
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => return Err(status.to_string().into()),
            };
            if revision(&object) >= newest {
                return Ok(names);
            }
        }
        Err(format!("the watch of {} ends before {newest}", self.resource).into())
    }
}

fn revision(object: &Value) -> u64 {
    let revision = text(object, "/metadata/resourceVersion");
    revision.parse().unwrap_or_default()
}
