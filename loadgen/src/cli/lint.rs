//! `loadgen lint`: whether a workload or a subject can be used, without creating anything.
//!
//! Guarantees: files are checked first, then a server is asked to try one object of each template and each fixture (a
//! dry run): the cluster that is named, which also says what the user may do, or the simulated server with the
//! definitions of the workload. Nothing is written. Leaves to others:
//! whether the operator converges the objects.

mod dry_run;
mod permissions;
mod simulated;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::cli::run::dns_label;
use crate::cli::{exit_code, means};
use crate::error::Usage;
use crate::report::table::grouped;
use crate::spec::subject::Subject;
use crate::spec::workload;
use crate::spec::workload::{Resource, Scenario, Workload};
use crate::target::cluster::Cluster;
use crate::target::context::{Target, TargetArgs};
use crate::target::fixtures;

#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// A shipped workload, the folder of one, or the file of a subject
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    /// Number of objects whose size is printed
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    objects: usize,
    /// Namespace of the dry run; has to exist
    #[arg(long, value_name = "NS", default_value = "default", value_parser = dns_label)]
    namespace: String,
    #[command(flatten)]
    target: TargetArgs,
}

pub fn run(args: LintArgs) -> anyhow::Result<ExitCode> {
    let file = Path::new(&args.workload);
    if file
        .extension()
        .is_some_and(|extension| extension == "toml")
        && file.is_file()
    {
        return subject(file);
    }
    let workload = workload::find(&args.workload, None).map_err(Usage::of)?;
    describe(&workload.name, &workload.scenario, args.objects);
    let target = &args.target;
    let named = target.kubeconfig.is_some() || target.context.is_some();
    let named = named || std::env::var_os("KUBECONFIG").is_some_and(|files| !files.is_empty());
    means::runtime()?.block_on(async {
        let problems = match named {
            true => {
                let target = Target::choose(target).await?;
                let cluster = Cluster::of(target.config)?;
                on_server(&cluster, &workload, &args.namespace).await?
            }
            false => simulated::on_server(&workload, &args.namespace).await?,
        };
        Ok(said(&problems))
    })
}

/// Whether a subject can be used: its file, its fixtures, and the workloads that it serves.
fn subject(file: &Path) -> anyhow::Result<ExitCode> {
    let subject = Subject::from_file(file).map_err(Usage::of)?;
    let fixtures = subject.read_fixtures().map_err(Usage::of)?;
    let mut served = Vec::new();
    for named in &subject.workloads {
        let found = workload::find(named, subject.base.as_deref());
        served.push(found.map_err(Usage::of)?.name);
    }
    println!(
        "ok   {}: {}, serves {}; {} fixtures",
        subject.id(),
        match &subject.build {
            Some(_) => "built by loadgen",
            None => "a program that exists",
        },
        match served.is_empty() {
            true => "the default workload".to_owned(),
            false => served.join(", "),
        },
        fixtures.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// Prints the problems, a line each; the exit code.
pub fn said(problems: &[workload::Error]) -> ExitCode {
    problems
        .iter()
        .for_each(|problem| println!("FAIL {problem}"));
    exit_code(problems.is_empty())
}

/// Prints how many objects of each kind there are among so many, and their size.
pub fn describe(name: &str, scenario: &Scenario, objects: usize) {
    for (place, part) in scenario.parts().enumerate() {
        let of_kind = (0..objects).filter(|index| scenario.part_index(*index) == place);
        let of_kind = of_kind.count();
        println!(
            "{name}: {} of {}, {} bytes each; {} have {:.1} MB",
            part.resource.kinds(),
            part.resource.full_name(),
            grouped(part.object_bytes),
            grouped(of_kind),
            (part.object_bytes * of_kind) as f64 / 1e6
        );
    }
}

/// What the server rejects and what the user may not do, a line each.
///
/// # Errors
/// It cannot be asked.
pub async fn on_server(
    cluster: &Cluster,
    workload: &Workload,
    namespace: &str,
) -> anyhow::Result<Vec<workload::Error>> {
    let resources = fixtures::resources(cluster, &workload.fixtures, namespace).await?;
    let needed = permissions::needed(workload, &resources, namespace);
    let answers = permissions::ask(cluster, &needed).await;
    let may_create = |resource: &Resource| answers.may_create(resource);
    let mut problems = rejected(cluster, workload, namespace, may_create).await?;
    for (fixture, resource) in workload.fixtures.iter().zip(&resources) {
        problems.extend(match resource {
            None => Some(fixtures::not_served(fixture)),
            Some(resource) if !answers.may_create(resource) => None,
            Some(resource) => dry_run::fixture(cluster, fixture, resource, namespace).await?,
        });
    }
    problems.extend(answers.problems);
    Ok(problems)
}

/// What the server rejects of the objects that a run would send, of the kinds that are to be tried.
async fn rejected(
    cluster: &Cluster,
    workload: &Workload,
    namespace: &str,
    is_to_be_tried: impl Fn(&Resource) -> bool,
) -> anyhow::Result<Vec<workload::Error>> {
    let (mut problems, mut rejected) = (Vec::new(), Vec::new());
    for tried in dry_run::objects(workload, namespace)? {
        let path = tried.resource.path();
        // What is wrong with an object is wrong with it after an update, too.
        if rejected.contains(&path) || !is_to_be_tried(&tried.resource) {
            continue;
        }
        if let Some(problem) = tried.ask(cluster).await? {
            problems.push(problem);
            rejected.push(path);
        }
    }
    Ok(problems)
}
