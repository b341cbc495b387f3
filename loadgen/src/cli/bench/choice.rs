//! Which workload a bench is about, and what that means for its subjects.
//!
//! Guarantees: every subject has objects, a convergence and definitions when this is done; what cannot be
//! measured of a workload is refused. Leaves to others: reading workloads (`spec::workload`).

use crate::cli::bench::args::BenchArgs;
use crate::error::Usage;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject::{Convergence, Subject};
use crate::spec::workload;
use crate::spec::workload::{Scenario, Workload};

/// The workload of the experiment. A subject that serves another one gets the objects of that.
///
/// # Errors
/// A workload cannot be used, or an option is not for it.
pub fn choose(args: &BenchArgs, subjects: &mut [Subject]) -> Result<Workload, Usage> {
    let named = args.workload.as_deref();
    let all = subjects.iter().map(|subject| of(subject, named));
    let all: Vec<Workload> = all.collect::<Result<_, _>>().map_err(Usage::of)?;
    let default = workload::default().map_err(Usage::of)?;
    let is_default = |workload: &&Workload| workload.name == default.name;
    let chosen = all.iter().find(is_default).or(all.first()).cloned();
    let chosen = chosen.unwrap_or_else(|| default.clone());
    for subject in subjects.iter().filter(|_| named.is_some()) {
        serves(subject, &chosen, &default)?;
    }
    for (subject, own) in subjects.iter_mut().zip(&all) {
        if own.name != chosen.name {
            subject.objects = Some(own.scenario.clone());
        }
        prepare(subject, own).map_err(Usage::of)?;
    }
    refuse(args, subjects, &chosen)?;
    Ok(chosen)
}

/// The workload of one subject that is measured alone, `named` or its own; the subject gets what the workload says.
///
/// # Errors
/// The workload cannot be used, or is none that the subject serves.
pub fn alone(subject: &mut Subject, named: Option<&str>) -> Result<Workload, Usage> {
    let workload = of(subject, named).map_err(Usage::of)?;
    if named.is_some() {
        let default = workload::default().map_err(Usage::of)?;
        serves(subject, &workload, &default)?;
    }
    prepare(subject, &workload).map_err(Usage::of)?;
    Ok(workload)
}

/// The workload that is named, or the first one that the subject serves.
///
/// # Errors
/// It cannot be used.
fn of(subject: &Subject, named: Option<&str>) -> Result<Workload, workload::Error> {
    let first = subject.workloads.first().map(String::as_str);
    match named {
        Some(_) => workload::named(named, None),
        None => workload::named(first, subject.base.as_deref()),
    }
}

/// # Errors
/// The subject says that it serves other workloads. A file of the user that says nothing is believed.
fn serves(subject: &Subject, chosen: &Workload, default: &Workload) -> Result<(), Usage> {
    let served: Vec<String> = match &subject.workloads[..] {
        [] if subject.base.is_some() => return Ok(()),
        [] => vec![default.name.clone()],
        named => named
            .iter()
            .map(|name| workload::find(name, subject.base.as_deref()).map(|found| found.name))
            .collect::<Result<_, _>>()
            .map_err(Usage::of)?,
    };
    match served.contains(&chosen.name) {
        true => Ok(()),
        false => Err(Usage(format!(
            "--workload {}: {} serves {}; name other subjects with --subjects, or the workload in the subject's file",
            chosen.name,
            subject.id(),
            served.join(", ")
        ))),
    }
}

/// What a subject does not say, its workload says.
///
/// # Errors
/// A fixture of the subject cannot be used.
fn prepare(subject: &mut Subject, workload: &Workload) -> Result<(), workload::Error> {
    if subject.convergence == Convergence::default() {
        subject.convergence = workload.convergence.clone();
    }
    subject.crds = workload.crds.clone();
    subject.made_before = subject.read_fixtures()?;
    subject.made_before.extend(workload.fixtures.clone());
    Ok(())
}

/// # Errors
/// The first option that is not for these objects.
fn refuse(args: &BenchArgs, subjects: &[Subject], chosen: &Workload) -> Result<(), Usage> {
    let name = &chosen.name;
    let lacks = |option: &str, what: &str| {
        Err(Usage(format!(
            "{option}: workload {name} has no {what}; leave it out, or add that to its workload.toml"
        )))
    };
    if args.unhealthy && chosen.rejected.is_none() {
        return lacks("--unhealthy", "object.rejected");
    }
    if args.soak_events.is_some() && chosen.readiness.is_none() {
        return lacks("--soak-events", "[readiness]");
    }
    if args.soak_events.is_some() && !chosen.scenario.also.is_empty() {
        return Err(Usage(format!(
            "--soak-events: workload {name} has several kinds, and only the first one's children are known; leave it out"
        )));
    }
    if args.deletions && chosen.scenario.children.is_empty() {
        return lacks("--deletions", "[[children]]");
    }
    let asked = [
        (args.unhealthy, "--unhealthy"),
        (args.update_storm, "--update-storm"),
        (args.deletions, "--deletions"),
        (args.soak_events.is_some(), "--soak-events"),
        (args.object_bytes.is_some(), "--object-bytes"),
    ];
    let asked = asked.iter().find(|(asked, _)| *asked);
    let other = subjects.iter().find(|subject| subject.objects.is_some());
    if let (Some((_, option)), Some(subject)) = (asked, other) {
        return Err(Usage(format!(
            "{option} is for {}, and {} has objects of its own; leave one of them out",
            chosen.scenario.kinds(),
            subject.id()
        )));
    }
    let objects = subjects
        .iter()
        .filter_map(|subject| subject.objects.as_ref());
    let parts = objects.chain([&chosen.scenario]).flat_map(Scenario::parts);
    let mut resources = parts.map(|part| &part.resource);
    if args.means.control_plane == ControlPlane::Existing
        && let Some(resource) = resources.find(|resource| !resource.namespaced)
    {
        return Err(Usage(format!(
            "--control-plane existing: {} are of the whole cluster, and loadgen measures in a namespace of its own there; use kube or kine",
            resource.kinds()
        )));
    }
    Ok(())
}

/// # Errors
/// The size is not one that an object of the workload can have.
pub fn object_bytes(asked: Option<usize>, workload: &Workload) -> Result<usize, Usage> {
    let Some(asked) = asked else {
        return Ok(workload.scenario.object_bytes);
    };
    let sizes = workload.sizes().map_err(Usage::of)?;
    match sizes {
        (least, most) if (least..=most).contains(&asked) => Ok(asked),
        (least, most) => Err(Usage(format!(
            "--object-bytes {asked}: an object of workload {} has {least} to {most} bytes",
            workload.name
        ))),
    }
}
