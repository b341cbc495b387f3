//! A summary from the raw data of a folder.
//!
//! Guarantees: pure, so that the same raw data gives the same summary; a figure that was not
//! measured is `null`. Leaves to others: the figures of one run (`figures`), why one is null
//! (`notes`).

use crate::analyse::compare;
use crate::analyse::noise;
use crate::analyse::statistics::line_fit;
use crate::model::cell::Kind;
use crate::model::record::{Environment, Record, SCHEMA, SubjectRecord};
use crate::model::summary::{BytesPerObject, Run, Scenario, Subject, Summary};
use crate::report::{claims, figures, notes};

/// The summary of a folder's raw data.
pub fn summarise(record: &Record) -> Summary {
    let experiment = &record.experiment;
    let origin = &experiment.origin;
    let version = record
        .runs
        .values()
        .find_map(|run| run.kubernetes_version.clone());
    let subjects = origin
        .subjects
        .iter()
        .map(|subject| summarise_subject(subject, record))
        .collect();
    let mut summary = Summary {
        schema: SCHEMA,
        environment: Environment {
            kubernetes_version: version,
            ..origin.environment.clone()
        },
        scenario: Scenario {
            name: origin.scenario.name.clone(),
            object_bytes: origin.scenario.object_bytes,
            service: origin.scenario.service.clone(),
            seed: origin.seed,
            ready_delay_ms: experiment.ready_delay_ms,
            profile: experiment.profile,
        },
        noise_floor: None,
        subjects,
        comparisons: Vec::new(),
        claims: Vec::new(),
        notes: Vec::new(),
    };
    let floors = noise::floors(&summary);
    summary.noise_floor = floors.iter().find(|f| f.metric == noise::SHOWN).cloned();
    summary.comparisons = compare::comparisons(&summary, &floors);
    summary.claims = claims::judged(&summary);
    summary.notes = notes::notes(&summary, record);
    summary
}

fn summarise_subject(subject: &SubjectRecord, record: &Record) -> Subject {
    let id = subject.subject.id();
    let own = record.runs.iter().filter(|(cell, _)| cell.subject == id);
    let image = record.images.get(&id);
    let runs: Vec<Run> = own.map(|(_, run)| figures::of(run)).collect();
    Subject {
        name: subject.subject.name.clone(),
        variant: subject.subject.variant.clone(),
        language: subject.subject.language,
        target: subject.target.clone(),
        profile: subject.subject.profile.clone(),
        allocator: subject.subject.allocator.clone(),
        binary_bytes: subject.binary_bytes,
        image_bytes_compressed: image.map(|image| image.zstd_bytes),
        image_bytes_unpacked: image.map(|image| image.unpacked_bytes),
        bytes_per_object: bytes_per_object(&runs),
        runs,
    }
}

/// The slope of settled anonymous bytes over the sizes of the valid bursts.
fn bytes_per_object(runs: &[Run]) -> Option<BytesPerObject> {
    let bursts = runs
        .iter()
        .filter(|run| run.valid && run.cell == Kind::Burst);
    let points: Vec<(f64, f64)> = bursts
        .filter_map(|run| Some((run.objects as f64, run.memory.settled?.anon_bytes as f64)))
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
    })
}
