//! The runs of an experiment in their order: timed runs alone, one after the other; of the others
//! several under way at once.
//!
//! Guarantees: while a timed run is under way, no other run is. Of the others only one works at a
//! time; while its subject is idle, the next one may work. A timed run during which something else
//! went on is kept and measured again, as often as the setting says. Each run is written when it
//! ends. Leaves to others: which cells there are, and a single run (`session`).

use std::collections::BTreeMap;

use futures::StreamExt;

use crate::engine::{Ending, Runs, Setting, session};
use crate::plan::Plan;
use crate::plan::cell::{Cell, Kind};
use crate::record::Run;
use crate::record::evidence;
use crate::terminal::interrupt::Interrupt;

/// An experiment under way.
pub struct Campaign<'a> {
    pub plan: &'a Plan,
    pub setting: &'a Setting,
    pub stop: &'a Interrupt,
    pub runs: Runs,
    /// Attempts of timed runs that were invalid.
    pub attempts: BTreeMap<Cell, u32>,
    pub done: usize,
    pub of: usize,
}

/// What becomes of a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stays, valid or not.
    Keep,
    /// Something disturbed it: it is kept as an attempt, and the cell is measured again.
    Again,
}

impl Fate {
    fn of(run: &Run, most_attempts: u32) -> Self {
        match !run.disturbed_by().is_empty() && run.attempt < most_attempts {
            true => Fate::Again,
            false => Fate::Keep,
        }
    }
}

impl Campaign<'_> {
    /// Every run that is not there yet, measured and written, in this order.
    pub async fn all(&mut self, cells: &[Cell]) -> Result<Ending, evidence::Error> {
        for group in cells.chunk_by(|a, b| a.kind.is_timed() == b.kind.is_timed()) {
            let is_missing = |cell: &&Cell| !self.runs.contains_key(cell);
            let missing: Vec<Cell> = group.iter().filter(is_missing).cloned().collect();
            self.done += group.len() - missing.len();
            self.setting.place.progress.runs(self.done, self.of);
            let is_timed = group.first().is_some_and(|cell| cell.kind.is_timed());
            let ending = match is_timed {
                true => self.one_by_one(&missing).await?,
                false => self.overlapping(&missing).await?,
            };
            if ending == Ending::Stopped {
                return Ok(Ending::Stopped);
            }
        }
        Ok(Ending::Complete)
    }

    /// Timed runs: each begins when the servers and the subject of the last one are gone.
    async fn one_by_one(&mut self, cells: &[Cell]) -> Result<Ending, evidence::Error> {
        for cell in cells {
            loop {
                let attempt = self.attempts.get(cell).copied().unwrap_or(0) + 1;
                // Dropping the run under way ends its subject and servers.
                let measured = measure(self.plan, self.setting, cell, attempt);
                let Some(outcome) = self.stop.or(measured).await else {
                    return Ok(Ending::Stopped);
                };
                let Some(outcome) = outcome? else {
                    break;
                };
                match Fate::of(&outcome.run, self.setting.attempts) {
                    Fate::Keep => {
                        self.keep(outcome)?;
                        break;
                    }
                    Fate::Again => self.keep_attempt(&outcome.run)?,
                }
            }
        }
        Ok(Ending::Complete)
    }

    async fn overlapping(&mut self, cells: &[Cell]) -> Result<Ending, evidence::Error> {
        let (setting, plan, stop) = (self.setting, self.plan, self.stop);
        let runs = cells.iter().map(|cell| measure(plan, setting, cell, 1));
        let mut ended = futures::stream::iter(runs).buffer_unordered(setting.overlap);
        loop {
            match stop.or(ended.next()).await {
                None => return Ok(Ending::Stopped),
                Some(None) => return Ok(Ending::Complete),
                Some(Some(outcome)) => outcome?.map_or(Ok(()), |outcome| self.keep(outcome))?,
            }
        }
    }

    fn keep(&mut self, outcome: session::Outcome) -> Result<(), evidence::Error> {
        self.write(&outcome)?;
        self.done += 1;
        let progress = &self.setting.place.progress;
        progress.runs(self.done, self.of);
        let counted = format!("[{}/{}]", self.done, self.of);
        progress.say(&format!("{counted} {}", sentence(&outcome.run)));
        self.runs.insert(outcome.run.cell.clone(), outcome.run);
        Ok(())
    }

    fn keep_attempt(&mut self, run: &Run) -> Result<(), evidence::Error> {
        let Run { cell, attempt, .. } = run;
        let (evidence, stem) = (&self.setting.place.evidence, cell.file_stem());
        let kept_as = format!("{stem}-attempt-{attempt}");
        evidence.pack_logs(&format!("logs/{stem}"), &format!("logs/{kept_as}"))?;
        evidence.write_json(&format!("runs/{kept_as}.json"), run)?;
        self.attempts.insert(cell.clone(), *attempt);
        self.setting.place.progress.say(&format!(
            "{}; measured again (attempt {} of at most {})",
            sentence(run),
            attempt + 1,
            self.setting.attempts
        ));
        Ok(())
    }

    /// The run comes last: with it the cell is done, and everything else of it is there.
    fn write(&self, outcome: &session::Outcome) -> Result<(), evidence::Error> {
        let (evidence, stem) = (&self.setting.place.evidence, outcome.run.cell.file_stem());
        let logs = format!("logs/{stem}");
        evidence.pack_logs(&logs, &logs)?;
        if let Some(samples) = &outcome.samples {
            evidence.write_gzip(&format!("samples/{stem}.tsv.gz"), samples.as_bytes())?;
        }
        if let Some(series) = &outcome.series {
            let series = series.to_tsv();
            evidence.write_gzip(&format!("series/{stem}.tsv.gz"), series.as_bytes())?;
        }
        if let Some(changes) = &outcome.metrics {
            evidence.write_gzip(&format!("metrics/{stem}.tsv.gz"), changes.as_bytes())?;
        }
        evidence.write_json(&format!("runs/{stem}.json"), &outcome.run)
    }
}

/// One attempt at a cell; `None` for a subject that the plan does not have.
async fn measure(
    plan: &Plan,
    setting: &Setting,
    cell: &Cell,
    attempt: u32,
) -> Result<Option<session::Outcome>, evidence::Error> {
    let Some(subject) = plan.subject(&cell.subject) else {
        return Ok(None);
    };
    let logs = format!("logs/{}", cell.file_stem());
    setting.place.evidence.remove_logs(&logs)?;
    Ok(Some(session::run(setting, subject, cell, attempt).await))
}

/// What a run brought, in one line.
fn sentence(run: &Run) -> String {
    let cell = &run.cell;
    if let Some(failure) = &run.failure {
        return format!("{cell}: FAILED: {}", failure.reason);
    }
    let mut parts = Vec::new();
    if let Some(settled) = run.memory.settled {
        let rss_mb = settled.memory.rss_bytes as f64 / 1e6;
        parts.push(match settled.did_settle {
            Some(false) => format!("did not settle, {rss_mb:.1} MB RSS"),
            _ => format!("settled at {rss_mb:.1} MB RSS"),
        });
    }
    if let Some(convergence) = &run.convergence {
        let drained_s = convergence.drain_s;
        parts.extend(drained_s.map(|s| format!("converged in {s:.1} s")));
        let p99 = convergence.observed_from_intended.quantiles();
        parts.extend(
            p99.filter(|_| cell.kind == Kind::Rate)
                .map(|q| format!("observed P99 {:.1} ms", q.p99_ms)),
        );
    }
    if run.invalid_because.is_empty() {
        let disturbed = run.disturbed_by().into_iter();
        parts.extend(disturbed.map(|by| format!("disturbed: {by}")));
    }
    parts.extend(
        run.invalid_because
            .iter()
            .map(|because| format!("NOT VALID: {because}")),
    );
    format!("{cell}: {} ({:.0} s)", parts.join(", "), run.wall_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::machine_use::MachineUse;

    #[test]
    fn a_disturbed_run_is_measured_again_until_the_last_attempt() {
        let cell = Cell {
            subject: "a/x".into(),
            objects: 5,
            repeat: 1,
            kind: Kind::Drain,
            per_s: None,
        };
        let machine_use = |outside_cpu_s| MachineUse {
            wall_s: 10.0,
            cores: 2,
            outside_cpu_s: Some(outside_cpu_s),
            steal_s: None,
            cpu_pressure_share: None,
            probe_before_ms: 20.0,
            probe_after_ms: 20.0,
        };
        for (name, outside_cpu_s, attempt, want) in [
            ("calm", Some(0.0), 1, Fate::Keep),
            ("disturbed", Some(5.0), 1, Fate::Again),
            ("disturbed again", Some(5.0), 2, Fate::Again),
            ("disturbed to the end", Some(5.0), 3, Fate::Keep),
            ("not timed", None, 1, Fate::Keep),
        ] {
            let mut run = Run::empty(&cell);
            run.attempt = attempt;
            run.machine_use = outside_cpu_s.map(machine_use);
            assert_eq!(Fate::of(&run, 3), want, "{name}");
        }
        let mut late = Run::empty(&cell);
        late.invalid_because.push("the generator was late".into());
        assert_eq!(
            Fate::of(&late, 3),
            Fate::Keep,
            "another attempt would be late too"
        );
    }
}
