//! What Go costs: as it was measured on a real control plane, and as others have published it.
//!
//! Guarantees: a figure comes from the newest `summary.json` below `results/` of a real kube-apiserver that has it for
//! the Go operators of this repository, and from `results/claims.toml`, never from this file; only valid runs count;
//! what is not there is called not measured. Claims are marked as such.
//! Leaves to others: what of ours stands beside them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::figure::Unit;

/// What a figure of ours is held beside.
#[derive(Debug, Clone)]
pub struct Counterpart {
    /// In the words of the report.
    pub what: String,
    /// Of the figure in the summary.
    pub unit: Unit,
    /// Name of a figure of a run, or path within the subject where `run` is `None`.
    pub metric: &'static str,
    /// Cell and number of objects.
    pub run: Option<(&'static str, u64)>,
    /// Metric and number of objects by which `claims.toml` names the same thing.
    pub claim: Option<(&'static str, Option<u64>)>,
}

/// The figures of others.
#[derive(Debug)]
pub struct Published {
    /// Of a real kube-apiserver and Go operators, the newest first.
    summaries: Vec<Summary>,
    claims: Vec<Claim>,
}

#[derive(Debug)]
struct Summary {
    folder: String,
    json: Value,
}

#[derive(Debug, Deserialize)]
struct Claims {
    claim: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    claim: String,
    source: String,
    claimed: f64,
    unit: String,
    subject: String,
    #[serde(rename = "meaning")]
    meanings: Vec<Meaning>,
}

/// One of the things that the source of a claim may mean.
#[derive(Debug, Deserialize)]
struct Meaning {
    /// `None` where no bench measures it.
    metric: Option<String>,
    objects: Option<u64>,
}

impl Claim {
    /// Whether the claim can mean this metric at this number of objects.
    fn can_mean(&self, metric: &str, objects: Option<u64>) -> bool {
        self.meanings
            .iter()
            .any(|meaning| meaning.metric.as_deref() == Some(metric) && meaning.objects == objects)
    }
}

impl Published {
    /// Reads the folder `results`.
    ///
    /// # Errors
    /// A file in it cannot be read or is not what it should be.
    pub fn read(results: &Path) -> anyhow::Result<Self> {
        let path = results.join("claims.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let claims: Claims = toml::from_str(&text)
            .with_context(|| format!("{} is no list of claims", path.display()))?;
        let mut summaries = Vec::new();
        for folder in folders(results)? {
            let path = folder.join("summary.json");
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let json: Value = serde_json::from_str(&text)
                .with_context(|| format!("{} is not JSON", path.display()))?;
            let name = folder.strip_prefix(results).unwrap_or(&folder).display();
            let summary = Summary {
                folder: format!("results/{name}"),
                json,
            };
            if summary.is_real() && summary.go().next().is_some() {
                summaries.push(summary);
            }
        }
        summaries.sort_by(|one, other| other.started_at().cmp(one.started_at()));
        Ok(Self {
            summaries,
            claims: claims.claim,
        })
    }

    /// What is known of Go, a line for the measured and one for the claimed.
    pub fn beside(&self, counterpart: &Counterpart) -> [String; 2] {
        [self.measured(counterpart), self.claimed(counterpart)]
    }

    fn measured(&self, of: &Counterpart) -> String {
        let value = |subject: &Value| match of.run {
            None => number(subject, of.metric),
            Some((cell, objects)) => typical(subject, cell, objects, of.metric),
        };
        let has_it = |summary: &&Summary| summary.go().any(|subject| value(subject).is_some());
        let Some(summary) = self.summaries.iter().find(has_it) else {
            return format!(
                "Go, {}: not measured in any folder of results on a real kube-apiserver",
                of.what
            );
        };
        let show = |subject: &Value| match value(subject) {
            Some(value) => format!("{} {}", name(subject), of.unit.show(value)),
            None => format!("{} not measured", name(subject)),
        };
        let figures: Vec<String> = summary.go().map(show).collect();
        format!(
            "Go, {}, measured on kube-apiserver {} ({}): {}",
            of.what,
            summary.kubernetes(),
            summary.folder,
            figures.join(", ")
        )
    }

    fn claimed(&self, of: &Counterpart) -> String {
        let claim = of.claim.and_then(|(metric, objects)| {
            self.claims.iter().find(|claim| {
                claim.subject.starts_with("controller-runtime/") && claim.can_mean(metric, objects)
            })
        });
        match claim {
            Some(claim) => format!(
                "Go, claimed, not measured: {} {} ({}; source: {})",
                claim.claimed, claim.unit, claim.claim, claim.source
            ),
            None => format!("Go, {}: no published claim", of.what),
        }
    }
}

impl Summary {
    fn is_real(&self) -> bool {
        self.json["environment"]["control_plane"] == "kube"
    }

    /// RFC 3339 in UTC: compares as text.
    fn started_at(&self) -> &str {
        self.json["environment"]["started_at"]
            .as_str()
            .unwrap_or_default()
    }

    fn kubernetes(&self) -> &str {
        self.json["environment"]["kubernetes_version"]
            .as_str()
            .unwrap_or("of an unknown version")
    }

    /// The EdgeApp operator in Go; operators of other people have other resources.
    fn go(&self) -> impl Iterator<Item = &Value> {
        let subjects = self.json["subjects"].as_array().into_iter().flatten();
        subjects.filter(|subject| subject["name"] == "controller-runtime")
    }
}

/// `controller-runtime/tuned`.
fn name(subject: &Value) -> String {
    let part = |field: &str| subject[field].as_str().unwrap_or("?").to_owned();
    format!("{}/{}", part("name"), part("variant"))
}

/// The median over the valid runs of a cell.
fn typical(subject: &Value, cell: &str, objects: u64, metric: &str) -> Option<f64> {
    let runs = subject["runs"].as_array().into_iter().flatten();
    let mut values: Vec<f64> = runs
        .filter(|run| run["valid"] == true && run["objects"] == objects && run["cell"] == cell)
        // By its name since schema 5, by its path in the folders before.
        .filter_map(|run| {
            run["values"][metric]
                .as_f64()
                .or_else(|| number(run, metric))
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The number at a path such as `memory.settled.rss_bytes`.
fn number(value: &Value, path: &str) -> Option<f64> {
    value
        .pointer(&format!("/{}", path.replace('.', "/")))?
        .as_f64()
}

/// The folders with a `summary.json`: those of `results` and of its folders.
fn folders(results: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders_in(results)? {
        found.extend(folders_in(&folder)?);
        found.push(folder);
    }
    found.retain(|folder| folder.join("summary.json").exists());
    Ok(found)
}

fn folders_in(parent: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot_read = || format!("cannot read {}", parent.display());
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(parent).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    Ok(folders)
}
