//! A summary from the raw data of a folder.
//!
//! Guarantees: pure, so that the same raw data gives the same summary. Leaves to others: the figures of one run
//! (`metric`), why one was not measured (`notes`).

use crate::metric;
use crate::metric::compare;
use crate::metric::noise;
use crate::metric::statistics::line_fit;
use crate::plan::cell::Kind;
use crate::record;
use crate::record::summary::{BytesPerObject, Run, Scenario, Subject, Summary};
use crate::record::{Environment, Origin, Record, SCHEMA, SubjectRecord};
use crate::report::{answer, notes, rates, title};

/// The summary of a folder's raw data.
pub fn summarise(record: &Record) -> Summary {
    let experiment = &record.experiment;
    let origin = &experiment.origin;
    let version = record
        .runs
        .values()
        .find_map(|run| run.kubernetes_version.clone());
    let workloads = workloads(origin);
    let subjects = origin
        .subjects
        .iter()
        .map(|subject| {
            let mut summary = summarise_subject(subject, record);
            let own = workload(subject, origin);
            summary.workload = (workloads.len() > 1).then(|| own.to_owned());
            summary
        })
        .collect();
    let mut summary = Summary {
        schema: SCHEMA,
        environment: Environment {
            kubernetes_version: version,
            ..origin.environment.clone()
        },
        scenario: Scenario {
            name: workloads.join(", "),
            object_bytes: origin.scenario.object_bytes,
            service: origin.scenario.service.clone(),
            seed: origin.seed,
            ready_delay_ms: experiment.ready_delay_ms,
            profile: experiment.profile,
        },
        mixed: title::mixed(record),
        noise_floors: Vec::new(),
        small_node: None,
        subjects,
        comparisons: Vec::new(),
        notes: Vec::new(),
    };
    summary.small_node = answer::small_node(&summary.subjects);
    summary.noise_floors = noise::floors(&summary);
    summary.comparisons = compare::comparisons(&summary, &summary.noise_floors);
    summary.notes = notes::notes(&summary, record);
    summary
}

/// The workload of a subject.
fn workload<'a>(subject: &'a SubjectRecord, origin: &'a Origin) -> &'a str {
    let own = subject.subject.objects.as_ref();
    &own.unwrap_or(&origin.scenario).name
}

/// Those of all subjects, each once.
fn workloads(origin: &Origin) -> Vec<&str> {
    let mut names = Vec::new();
    for subject in &origin.subjects {
        let name = workload(subject, origin);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.is_empty() {
        true => vec![&origin.scenario.name],
        false => names,
    }
}

fn summarise_subject(subject: &SubjectRecord, record: &Record) -> Subject {
    let id = subject.subject.id();
    let own = record.runs.iter().filter(|(cell, _)| cell.subject == id);
    let image = record.images.get(&id);
    let cores = record.experiment.origin.environment.machine.cores;
    let sweep = rates::rate_sweep(own.clone().map(|(_, run)| run), cores);
    let runs: Vec<Run> = own.map(|(_, run)| figures(run)).collect();
    Subject {
        name: subject.subject.name.clone(),
        variant: subject.subject.variant.clone(),
        workload: None,
        language: subject.subject.language,
        target: subject.target.clone(),
        profile: subject.subject.profile.clone(),
        allocator: subject.subject.allocator.clone(),
        commit: subject.commit.clone(),
        binary_sha256: subject.binary_sha256.clone(),
        binary_bytes: subject.binary_bytes,
        image_bytes_compressed: image.map(|image| image.zstd_bytes),
        image_bytes_unpacked: image.map(|image| image.unpacked_bytes),
        bytes_per_object: bytes_per_object(&runs),
        rate_sweep: sweep,
        runs,
    }
}

/// The figures of a run.
pub fn figures(run: &record::Run) -> Run {
    let failed = run.failure.iter().map(|failure| failure.reason.clone());
    let invalid_because: Vec<String> = failed.chain(run.invalid_because.iter().cloned()).collect();
    let disturbed_by = match invalid_because.is_empty() {
        true => run.disturbed_by(),
        false => Vec::new(),
    };
    let cell = &run.cell;
    let figures = Run::without_figures(cell.kind, cell.objects, cell.repeat, invalid_because);
    Run {
        per_s: cell.per_s,
        attempt: run.attempt,
        disturbed_by,
        values: metric::values(run),
        unsettled: metric::unsettled(run),
        ..figures
    }
}

/// Smaller sizes are not part of a slope: the step from 0 to the first objects fills buffers and pools
/// that later objects share.
const SLOPE_FROM: usize = 500;

/// Of which there is a slope.
const SETTLED: &str = "memory.settled.anon_bytes";

/// The slope of settled anonymous bytes over the sizes of the valid memory runs.
fn bytes_per_object(runs: &[Run]) -> Option<BytesPerObject> {
    let settled = runs
        .iter()
        .filter(|run| run.valid && run.cell == Kind::Memory && run.objects >= SLOPE_FROM);
    let points: Vec<(f64, f64)> = settled
        .filter_map(|run| Some((run.objects as f64, run.value(SETTLED)?)))
        .collect();
    let line = line_fit(&points)?;
    let mut sizes: Vec<usize> = points
        .iter()
        .map(|(objects, _)| *objects as usize)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    Some(BytesPerObject {
        slope: line.slope,
        ci95: line.slope_ci95,
        intercept_bytes: line.intercept.round() as i64,
        sizes,
        runs: points.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(objects: usize, anon_bytes: u64) -> Run {
        let run = Run::without_figures(Kind::Memory, objects, 1, vec![]);
        run.with(SETTLED, anon_bytes as f64)
    }

    #[test]
    fn a_slope_needs_two_sizes_of_500_or_more() {
        let small = [settled(0, 100), settled(100, 90_000)];
        let with = |more: &[Run]| bytes_per_object(&[&small[..], more].concat());
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[settled(500, 1_000), settled(500, 1_100)]), None);
        let slope = with(&[settled(500, 1_000), settled(1_500, 3_000)]).expect("two sizes");
        assert_eq!((slope.slope, slope.runs), (2.0, 2));
        assert_eq!(slope.sizes, [500, 1_500]);
        assert_eq!(slope.ci95, None);
    }
}
