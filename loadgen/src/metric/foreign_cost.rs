//! What foreign objects cost an operator: its cold starts on a cluster without them, with those of one kind, and with many
//! of all kinds.
//!
//! Guarantees: pure; every figure follows from the runs of the folder: their repeats have the offers in turn.
//! Leaves to others: the runs (`cli::bystanders`), and what the figures look like (`report::foreign_cost`).

use serde::{Deserialize, Serialize};

use crate::metric::statistics::median;
use crate::plan::profile::Profile;
use crate::record::Run;
use crate::spec::bystanders;

/// The file of a folder.
pub const FOREIGN_COST: &str = "bystanders.json";

/// What was found for one subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignCost {
    /// `name/variant`.
    pub subject: String,
    pub command_line: String,
    pub control_plane: String,
    pub kubernetes_version: Option<String>,
    pub profile: Profile,
    /// As in the evidence of a bench.
    pub loadgen_commit: String,
    /// As in the evidence of a bench.
    #[serde(default)]
    pub started_at: Option<String>,
    /// What was there before a start, as in `--bystanders`; `none` without. The repeats of the runs have them in turn.
    pub offers: Vec<String>,
    /// One for each offer, as far as there are runs.
    pub starts: Vec<ForeignStart>,
}

/// Cold starts on the same foreign objects; figures are medians of the runs that have them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignStart {
    pub offer: String,
    pub objects: usize,
    pub runs: usize,
    /// Once it has settled.
    pub anon_bytes: Option<f64>,
    pub rss_bytes: Option<f64>,
    /// Highest RSS since the start of the process.
    pub peak_bytes: Option<f64>,
    /// The most that a run found in memory: an upper bound.
    pub in_memory: Option<usize>,
    /// Why a run ended early, each reason once.
    pub failures: Vec<String>,
}

impl ForeignStart {
    /// From the runs with these foreign objects.
    fn of(offer: &str, runs: &[&Run]) -> Self {
        let settled = |of: fn(&Run) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(|run| of(run)).collect();
            median(&values)
        };
        let found = runs.iter().filter(|run| !run.bystanders.is_empty());
        let found = found.map(|run| run.bystanders.iter().map(|kind| kind.in_memory).sum());
        let mut failures: Vec<String> = Vec::new();
        for failure in runs.iter().filter_map(|run| run.failure.as_ref()) {
            if !failures.contains(&failure.reason) {
                failures.push(failure.reason.clone());
            }
        }
        let kinds = bystanders::parse(offer).unwrap_or_default();
        Self {
            offer: offer.to_owned(),
            objects: kinds.iter().map(|kind| kind.objects).sum(),
            runs: runs.len(),
            anon_bytes: settled(|run| Some(run.memory.settled?.memory.anon_bytes as f64)),
            rss_bytes: settled(|run| Some(run.memory.settled?.memory.rss_bytes as f64)),
            peak_bytes: settled(|run| Some(run.memory.settled?.peak_bytes? as f64)),
            in_memory: found.max(),
            failures,
        }
    }

    /// Anonymous memory for each foreign object, beyond that of a start `without` any.
    pub fn bytes_per_object(&self, without: &ForeignStart) -> Option<f64> {
        let more = self.anon_bytes? - without.anon_bytes?;
        (self.objects > 0).then(|| more / self.objects as f64)
    }
}

impl ForeignCost {
    /// The start without foreign objects.
    pub fn without(&self) -> Option<&ForeignStart> {
        self.starts.iter().find(|start| start.objects == 0)
    }

    /// The offer of a repeat, which counts from 1.
    pub fn offer(&self, repeat: u32) -> Option<&str> {
        let offers = self.offers.iter().cycle();
        let mut from = offers.skip((repeat as usize).checked_sub(1)?);
        from.next().map(String::as_str)
    }

    /// The same with what its runs say.
    pub fn with_runs(mut self, runs: &[Run]) -> Self {
        let mut versions = runs.iter().filter_map(|run| run.kubernetes_version.clone());
        self.kubernetes_version = versions.next_back();
        let start = |offer: &String| {
            let offered = |run: &&Run| self.offer(run.cell.repeat) == Some(offer.as_str());
            let own: Vec<&Run> = runs.iter().filter(offered).collect();
            (!own.is_empty()).then(|| ForeignStart::of(offer, &own))
        };
        self.starts = self.offers.iter().filter_map(start).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};
    use crate::record::{Failure, Sampled};
    use crate::spec::bystanders::Found;

    fn run(anon_bytes: u64, found: Option<(&str, usize, usize)>) -> Run {
        let mut run = Run::empty(&Cell {
            subject: "mine/first".into(),
            objects: 0,
            repeat: 1,
            kind: Kind::Memory,
            per_s: None,
        });
        run.memory.settled = Some(Sampled {
            peak_bytes: Some(anon_bytes + 500),
            ..Sampled::settled(anon_bytes)
        });
        run.bystanders = found
            .map(|(kind, objects, in_memory)| Found {
                kind: kind.into(),
                objects,
                in_memory,
                waited_s: 0,
            })
            .into_iter()
            .collect();
        run
    }

    /// Of runs that have these offers in turn.
    fn cost(offers: &[&str], runs: Vec<Run>) -> ForeignCost {
        let numbered = runs.into_iter().zip(1..).map(|(mut run, repeat)| {
            run.cell.repeat = repeat;
            run
        });
        ForeignCost {
            subject: "mine/first".into(),
            command_line: String::new(),
            control_plane: "kubesim".into(),
            kubernetes_version: None,
            profile: Profile::Quick,
            loadgen_commit: String::new(),
            started_at: None,
            offers: offers.iter().map(|offer| (*offer).to_owned()).collect(),
            starts: vec![],
        }
        .with_runs(&numbered.collect::<Vec<_>>())
    }

    #[test]
    fn a_foreign_object_costs_what_a_start_with_it_holds_beyond_one_without() {
        let runs = vec![
            run(1_000_000, None),
            run(3_000_000, Some(("secrets", 1_000, 990))),
            run(2_000_000, None),
            run(5_000_000, Some(("secrets", 1_000, 1_000))),
        ];
        let cost = cost(&["none", "secrets=1000"], runs);
        let [without, secrets] = &cost.starts[..] else {
            panic!("{cost:?}");
        };
        assert_eq!((without.objects, without.runs), (0, 2));
        assert_eq!(without.in_memory, None);
        assert_eq!(secrets.bytes_per_object(without), Some(2_500.0));
        assert_eq!(secrets.in_memory, Some(1_000));
        assert_eq!(secrets.peak_bytes, Some(4_000_500.0));
        assert_eq!(without.bytes_per_object(without), None);
        assert_eq!(cost.without(), Some(without));
    }

    #[test]
    fn a_start_that_failed_says_why_and_costs_nothing() {
        let mut killed = run(0, None);
        killed.memory.settled = None;
        killed.failure = Some(Failure {
            reason: "was killed for memory".into(),
            last_log_lines: vec![],
        });
        let runs = vec![run(5, None), killed.clone(), run(5, None), killed];
        let cost = cost(&["none", "secrets=2,pods=3"], runs);
        let start = &cost.starts[1];
        assert_eq!((start.objects, start.runs), (5, 2));
        assert_eq!(start.failures, ["was killed for memory"]);
        assert_eq!(start.bytes_per_object(&cost.starts[0]), None);
    }
}
