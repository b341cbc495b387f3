//! The record of each run against its memory over time.
//!
//! Guarantees: no sample of converging, and of settling until the idle window, is above the recorded peak
//! by more than a tolerance. Cannot know: samples that are too low, and those of other steps.

use crate::record::Run;
use crate::record::series::Series;
use crate::report::verify::Beside;

/// Steps by their names in the record.
const CREATED: &str = "create";
const SETTLED: &str = "settle";

/// The kernel counts RSS per thread and adds it up later, so that a sample and the peak may differ by
/// this much, and by a hundredth.
const TOLERANCE_BYTES: u64 = 1_000_000;

pub const SERIES: Beside<Series> = Beside {
    folder: "series",
    parse: |text| Series::parse(text).map_err(|error| error.to_string()),
    judge: |run, series| Some(above_peak(run, series)),
    changed: |record, what| format!("{what} of {record}"),
};

/// The first sample that is above the peak that covers it.
fn above_peak(run: &Run, series: &Series) -> Option<String> {
    let from_ms = run.steps.iter().find(|span| span.step == CREATED)?.from_ms;
    let phases = [
        (CREATED, "burst", run.memory.burst),
        (SETTLED, "settled", run.memory.settled),
    ];
    // The sample is taken within the idle window, which ends with the step.
    let idle_ms = run.idle.as_ref().map_or(0.0, |idle| idle.window_s * 1e3) as u64;
    phases.into_iter().find_map(|(step, phase, sampled)| {
        let span = run.steps.iter().find(|span| span.step == step)?;
        let to_ms = match step {
            SETTLED => span.to_ms.saturating_sub(idle_ms),
            _ => span.to_ms,
        };
        let peak_bytes = sampled?.peak_bytes?;
        let most_bytes = peak_bytes + peak_bytes / 100 + TOLERANCE_BYTES;
        let within = |at_ms: u64| (from_ms..=to_ms).contains(&at_ms);
        let sampled = series.rows.iter().filter(|row| within(row.at_ms));
        let mut sampled = sampled.filter_map(|row| Some((row.at_ms, row.rss_bytes?)));
        let (at_ms, rss_bytes) = sampled.find(|(_, rss_bytes)| *rss_bytes > most_bytes)?;
        Some(format!(
            "rss_bytes {rss_bytes} at {at_ms} ms is above memory.{phase}.peak_bytes {peak_bytes}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};
    use crate::record::series::SeriesRow;
    use crate::record::{Sampled, StepSpan};
    use crate::spec::step::Step;
    use tare_procstat::Memory;

    const MB: u64 = 1_000_000;

    /// Objects were created from 1 to 2 s, with a peak of 100 MB.
    fn run() -> Run {
        let mut run = Run::empty(&Cell {
            subject: "tare/none".into(),
            objects: 500,
            repeat: 1,
            kind: Kind::Drain,
            per_s: None,
        });
        run.steps = vec![StepSpan {
            step: CREATED.into(),
            from_ms: 1_000,
            to_ms: 2_000,
            of_workload: false,
            times: None,
            operator: None,
        }];
        run.memory.burst = Some(Sampled {
            memory: Memory {
                rss_bytes: 80 * MB,
                pss_bytes: 0,
                anon_bytes: 0,
            },
            peak_bytes: Some(100 * MB),
            cgroup: None,
            did_settle: None,
            api_server_rss_bytes: None,
        });
        run
    }

    #[test]
    fn no_sample_is_above_the_peak_that_covers_it() {
        assert_eq!(Step::Create { per_s: None }.name(), CREATED);
        for (name, at_ms, rss_bytes, is_above) in [
            ("below", 1_500, Some(90 * MB), false),
            ("within the tolerance", 1_500, Some(102 * MB), false),
            ("above", 1_500, Some(102 * MB + 1), true),
            ("before the first object", 900, Some(200 * MB), false),
            ("in a later step", 2_100, Some(200 * MB), false),
            ("not known", 1_500, None, false),
        ] {
            let row = SeriesRow {
                at_ms,
                rss_bytes,
                ..SeriesRow::default()
            };
            let series = Series {
                every_ms: 250,
                rows: vec![row],
            };
            assert_eq!(above_peak(&run(), &series).is_some(), is_above, "{name}");
        }
    }
}
