//! `summary.json`: its shape, and how it follows from the raw data.
//!
//! Guarantees: pure, so that the same raw data gives the same summary; a figure that was not
//! measured is `null`. Leaves to others: why it is null (`notes`), and checking (`schema`).

use serde::Serialize;

use crate::analyse::compare;
use crate::analyse::compare::Comparison;
use crate::analyse::noise;
use crate::analyse::noise::NoiseFloor;
use crate::analyse::statistics::line_fit;
use crate::model::record;
use crate::model::record::Record;
use crate::model::subject::Language;
use crate::report::claims;
use crate::report::claims::Judged;
use crate::report::notes;
pub use crate::report::run::Run;
use crate::report::run::summarise_run;

#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub schema: u32,
    pub environment: Environment,
    pub scenario: Scenario,
    pub noise_floor: Option<NoiseFloor>,
    pub subjects: Vec<Subject>,
    pub comparisons: Vec<Comparison>,
    pub claims: Vec<Judged>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    pub control_plane: String,
    pub control_plane_flags: String,
    pub kubernetes_version: Option<String>,
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    pub cores: Option<usize>,
    pub memory_bytes: Option<u64>,
    pub page_size_bytes: Option<u64>,
    pub transparent_huge_pages: Option<String>,
    pub filesystem: Option<String>,
    pub cgroup: Option<tare_procstat::weigh::Cgroup>,
    pub swap: Option<bool>,
    pub tare_revision: String,
    pub started_at: String,
    pub command_line: String,
    pub host_label: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    pub name: String,
    pub object_bytes: usize,
    pub service: String,
    pub seed: u64,
    pub ready_delay_ms: u64,
    pub profile: crate::model::profile::Profile,
}

#[derive(Debug, Clone, Serialize)]
pub struct Subject {
    pub name: String,
    pub variant: String,
    pub language: Language,
    pub target: String,
    pub profile: Option<String>,
    pub allocator: Option<String>,
    pub binary_bytes: Option<u64>,
    pub image_bytes_compressed: Option<u64>,
    pub image_bytes_unpacked: Option<u64>,
    pub runs: Vec<Run>,
    pub bytes_per_object: Option<BytesPerObject>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BytesPerObject {
    pub slope: f64,
    pub ci95: Option<[f64; 2]>,
    pub intercept_bytes: i64,
    pub sizes: Vec<usize>,
}

/// The summary of a folder's raw data.
pub fn summarise(record: &Record) -> Summary {
    let experiment = &record.experiment;
    let origin = &experiment.origin;
    let machine = &origin.machine;
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
        schema: 1,
        environment: Environment {
            control_plane: origin.control_plane.clone(),
            control_plane_flags: origin.control_plane_flags.clone(),
            kubernetes_version: version,
            kernel: machine.kernel.clone(),
            cpu_model: machine.cpu_model.clone(),
            cores: machine.cores,
            memory_bytes: machine.memory_bytes,
            page_size_bytes: machine.page_size_bytes,
            transparent_huge_pages: machine.transparent_huge_pages.clone(),
            filesystem: experiment.filesystem.clone(),
            cgroup: machine.cgroup,
            swap: machine.swap,
            tare_revision: origin.tare_revision.clone(),
            started_at: origin.started_at.clone(),
            command_line: origin.command_line.clone(),
            host_label: origin.host_label.clone(),
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

fn summarise_subject(subject: &record::SubjectRecord, record: &Record) -> Subject {
    let id = subject.subject.id();
    let own = record.runs.iter().filter(|(cell, _)| cell.subject == id);
    let image = record.images.get(&id);
    let runs: Vec<Run> = own.map(|(_, run)| summarise_run(run)).collect();
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
    let bursts = runs.iter().filter(|run| run.valid && run.cell == "burst");
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

impl Subject {
    pub fn id(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }
}
