//! What a run found, as text and as one line of JSON.
//!
//! Guarantees: pure, but for the clock; what is printed follows from the record alone. Leaves to others: joining
//! the records of shards (`merged`).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::cli::run::account;
use crate::cli::run::account::Account;
use crate::cli::run::operator::Watched;
use crate::cli::run::steps::StepRecord;
use crate::load::timeline::Timeline;
use crate::load::timeout::Ended;
use crate::record::Convergence;
use crate::report::steps;
use crate::report::steps::Repeated;
use crate::report::table::{Table, mb};
use crate::spec::rate::Rate;
use crate::spec::shard::Shard;

/// Changes with every field.
pub const FORMAT: u32 = 4;

/// A run, or one shard of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    pub format: u32,
    /// Version of loadgen.
    pub loadgen: String,
    pub workload: String,
    /// URL of the API server.
    pub cluster: String,
    /// The value of the run's label.
    pub run: String,
    pub shard: Shard,
    pub seed: u64,
    /// Objects of all shards.
    pub count: u32,
    /// Of all shards, as it was given; `None` for all at once.
    pub rate: Option<Rate>,
    /// By the clock of the machine that loadgen runs on.
    pub first_sent_unix_ms: u64,
    pub account: Account,
    pub times: Convergence,
    pub ended: Ended,
    /// Those of the workload, after the creation.
    pub steps: Vec<StepRecord>,
    pub operator: Option<Watched>,
    /// Most resident memory of loadgen itself; of shards the most of one. `None` where the kernel does not tell.
    pub own_peak_bytes: Option<u64>,
}

impl RunRecord {
    /// Whether all converged, nothing is left, and the operator was not disturbed.
    pub fn is_sound(&self) -> bool {
        self.steps.iter().all(StepRecord::is_sound)
            && self.account.is_sound()
            && self.operator.as_ref().is_none_or(Watched::is_sound)
    }

    /// Tables, and a line for whatever else there is to say. `clean`: the command that removes what is left.
    pub fn text(&self, clean: &str) -> String {
        let mut text = String::new();
        let mut add = |part: &str| {
            text.push_str(part);
            text.push('\n');
        };
        let table = account::latencies(&self.times);
        let title = match &self.rate {
            Some(rate) => format!("{}, --rate {rate}", table.title),
            None => table.title,
        };
        add(&Table { title, ..table }.plain());
        add(&self.account.table().plain());
        if let Some(operator) = &self.operator {
            add(&operator.table().plain());
        }
        let steps: Vec<Repeated<'_>> = self
            .steps
            .iter()
            .map(|step| Repeated {
                name: step.span.step.clone(),
                spans: vec![&step.span],
            })
            .collect();
        if !steps.is_empty() {
            add(&steps::table("Steps of the workload", &steps).plain());
        }
        // Of objects that all come at once, a backlog is no news.
        let times = Convergence {
            saturated: self.times.saturated && self.rate.is_some(),
            ..self.times.clone()
        };
        let lines = self.account.warnings(&times, self.ended, clean);
        lines.iter().for_each(|line| add(line));
        let warnings = self.steps.iter().filter_map(StepRecord::warning);
        warnings.for_each(|line| add(&line));
        if !self.account.failures.is_empty() {
            add(
                "loadgen lint tries an object of each template on a cluster and says which file is wrong",
            );
        }
        if let Some(operator) = &self.operator {
            operator.lines().iter().for_each(|line| add(line));
        }
        if let Some(bytes) = self.own_peak_bytes {
            add(&format!(
                "loadgen itself needed up to {} MB",
                mb(Some(bytes as f64))
            ));
        }
        text
    }
}

/// When the first object was sent, ms since 1970; when the run began where none was.
pub fn first_sent_unix_ms(began: Instant, timeline: &Timeline) -> u64 {
    let sent = timeline
        .in_wave()
        .iter()
        .filter_map(|object| object.sent_ns);
    let first = began + Duration::from_nanos(sent.min().unwrap_or(0));
    let at = SystemTime::now() - first.elapsed();
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
