//! The EdgeApps of a namespace that are not as planned, and in what.
//!
//! Guarantees: the plan is computed without the runtime, from the objects that the server has.
//! Leaves to others: what is planned and how it differs (`tests/shared/planned.rs`).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tare::edgeapp::EdgeApps;
use tare_runtime::api::{Kind, Operator};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::objects::{owner_uid, text};
use crate::overload::planned::{Difference, wanted};

/// Of so many a failure says what is wrong.
const SHOWN: usize = 5;

pub struct Tally {
    edgeapps: usize,
    /// Each with its name and the first difference.
    pub wrong: Vec<(String, Difference)>,
    /// To read them.
    pub took: Duration,
}

impl Tally {
    /// All EdgeApps of a namespace, as they are now.
    pub async fn of(cluster: &Cluster) -> Tally {
        let began = Instant::now();
        let edgeapps = cluster.all("edgeapps").await;
        let mut children = HashMap::new();
        for kind in EdgeApps::KINDS {
            for child in cluster.all(kind.plural).await {
                let key = (kind.plural, text(&child, "/metadata/name"));
                children.insert(key, child);
            }
        }
        let mut wrong = Vec::new();
        for owner in &edgeapps {
            if let Err(difference) = check(owner, &children) {
                wrong.push((text(owner, "/metadata/name"), difference));
            }
        }
        Tally {
            edgeapps: edgeapps.len(),
            wrong,
            took: began.elapsed(),
        }
    }

    pub fn is_as_planned(&self) -> bool {
        self.wrong.is_empty()
    }

    /// How many differ in this: a kind of children by its plural, or `status`.
    pub fn count(&self, of: &str) -> usize {
        let differ = self.wrong.iter().filter(|(_, one)| one.of == of);
        differ.count()
    }

    /// The first of them, in words.
    pub fn told(&self) -> String {
        let shown = self.wrong.iter().take(SHOWN);
        let lines: Vec<String> = shown
            .map(|(name, difference)| format!("  {name}: {}", difference.text))
            .collect();
        format!("{self}\n{}", lines.join("\n"))
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (wrong, all) = (self.wrong.len(), self.edgeapps);
        write!(f, "{wrong} of {all} EdgeApps are not as planned")?;
        for of in ["deployments", "services", "status"] {
            match self.count(of) {
                0 => {}
                count => write!(f, ", {of} {count}")?,
            }
        }
        Ok(())
    }
}

fn check(
    owner: &Value,
    children: &HashMap<(&'static str, String), Value>,
) -> Result<(), Difference> {
    let uid = text(owner, "/metadata/uid");
    let own = |kind: &Kind, name: &str| {
        let found = children.get(&(kind.plural, name.to_owned()));
        found.filter(|child| owner_uid(child) == uid).cloned()
    };
    wanted(&EdgeApps, owner, own).check(owner, own)
}
