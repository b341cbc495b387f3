//! `loadgen lint`: whether a workload can be used, without creating anything.
//!
//! Guarantees: files are checked first, then, where a cluster is named, the server is asked to try one object
//! of each template (a dry run) and what the user may do. Nothing is written. Leaves to others: whether
//! the operator converges the objects.

use std::process::ExitCode;

use clap::Args;
use http::Method;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::cli::run::dns_label;
use crate::model::error::Usage;
use crate::model::workload;
use crate::model::workload::{Resource, Scenario, Workload};
use crate::report::table::grouped;
use crate::target::cluster::{Cluster, JSON};
use crate::target::context::{Target, TargetArgs};
use crate::target::fixtures;

#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// A shipped workload, or the folder of one
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

/// What a run does to its objects.
const VERBS: [&str; 5] = ["create", "list", "watch", "patch", "delete"];

pub fn run(args: LintArgs) -> anyhow::Result<ExitCode> {
    let found = workload::find(&args.workload, None);
    let workload = found.map_err(|error| Usage(error.to_string()))?;
    describe(&workload.name, &workload.scenario, args.objects);
    if args.target.kubeconfig.is_none() && args.target.context.is_none() {
        println!("no cluster was asked; --context NAME tries an object of each template on one");
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let target = Target::choose(&args.target).await?;
        let cluster = Cluster::of(target.config)?;
        let problems = on_server(&cluster, &workload, &args.namespace).await?;
        Ok(said(&problems))
    })
}

/// Prints the problems, a line each; the exit code.
pub fn said(problems: &[String]) -> ExitCode {
    problems
        .iter()
        .for_each(|problem| println!("FAIL {problem}"));
    match problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
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

/// What the server rejects, a line each. What it accepts is printed.
///
/// # Errors
/// It cannot be asked.
pub async fn on_server(
    cluster: &Cluster,
    workload: &Workload,
    namespace: &str,
) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let source = &workload.source;
    let mut tried = vec![(source.clone(), "object.template", &workload.scenario)];
    let rejected = workload.rejected.iter();
    tried.extend(rejected.map(|rejected| (source.clone(), "object.rejected", rejected)));
    let also = workload.scenario.also.iter().enumerate();
    tried.extend(also.map(|(number, also)| (source.part("also", number), "object.template", also)));
    for (source, field, scenario) in &tried {
        match dry_run(cluster, scenario, namespace).await? {
            None => println!("ok   {field}: the server accepts an object"),
            Some(Rejected { field: of, message }) => {
                let error = source.error(of.unwrap_or(field), message);
                problems.push(error.to_string());
            }
        }
    }
    for (source, field, scenario) in tried
        .iter()
        .filter(|(_, field, _)| *field == "object.template")
    {
        let resource = &scenario.resource;
        let name = resource.full_name();
        let place = match resource.namespaced {
            true => format!(" in namespace {}", namespace),
            false => String::new(),
        };
        for verb in VERBS {
            match may(cluster, resource, namespace, verb).await {
                Some(true) => println!("ok   you may {verb} {name}"),
                Some(false) => {
                    let message =
                        format!("you may not {verb} {name}{place}; ask for a Role that allows it");
                    problems.push(source.error(field, message).to_string());
                }
                None => println!("?    the server does not say whether you may {verb} {name}"),
            }
        }
    }
    for (fixture, resource) in workload
        .fixtures
        .iter()
        .zip(fixtures::resources(cluster, &workload.fixtures, namespace).await?)
    {
        match resource {
            Some(_) => println!(
                "ok   fixture {} {}: its kind is served",
                fixture.kind, fixture.name
            ),
            None => problems.push(fixtures::not_served(fixture).to_string()),
        }
    }
    Ok(problems)
}

/// An object that the server does not take.
struct Rejected {
    /// That of the template without.
    field: Option<&'static str>,
    message: String,
}

/// The server's words, where it rejects an object.
async fn dry_run(
    cluster: &Cluster,
    scenario: &Scenario,
    namespace: &str,
) -> anyhow::Result<Option<Rejected>> {
    let scenario = scenario.clone().of_run("lint", namespace);
    let resource = &scenario.resource;
    let object = scenario.object(&resource.longest_name(), 0, 1)?;
    let path = format!("{}?dryRun=All&fieldValidation=Strict", resource.path());
    let tried = cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object);
    match tried.await {
        Ok(_) => Ok(None),
        Err(error) if error.code() == Some(404) => Ok(Some(Rejected {
            field: Some("object.plural"),
            message: format!(
                "the server does not serve {} {} in namespace {namespace}; install its CRD, or choose a namespace that exists with --namespace",
                resource.full_name(),
                resource.version
            ),
        })),
        Err(error) if error.code() == Some(403) => Ok(Some(Rejected {
            field: None,
            message: format!("{}; ask for a Role that allows it", error.words()),
        })),
        Err(error) if error.code().is_some() => Ok(Some(Rejected {
            field: None,
            message: format!(
                "the server rejects an object: {}; correct the template",
                error.words()
            ),
        })),
        Err(error) => Err(error.into()),
    }
}

/// `None` where the server does not tell.
async fn may(cluster: &Cluster, resource: &Resource, namespace: &str, verb: &str) -> Option<bool> {
    let mut attributes =
        json!({"verb": verb, "group": resource.group, "resource": resource.plural});
    if resource.namespaced {
        attributes["namespace"] = namespace.into();
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let body = review.to_string().into_bytes();
    let asked = cluster.ask::<Value>(Method::POST, path, Some(JSON), body);
    asked.await.ok()?["status"]["allowed"].as_bool()
}
