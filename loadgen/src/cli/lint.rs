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
    describe(&workload, args.objects);
    if args.target.kubeconfig.is_none() && args.target.context.is_none() {
        println!("no cluster was asked; --context NAME tries an object of each template on one");
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let problems = runtime.block_on(on_server(&args, &workload))?;
    problems
        .iter()
        .for_each(|problem| println!("FAIL {problem}"));
    Ok(match problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn describe(workload: &Workload, objects: usize) {
    let (scenario, resource) = (&workload.scenario, &workload.scenario.resource);
    println!(
        "{}: {} of {}, {} bytes each; {} have {:.1} MB",
        workload.name,
        resource.kinds(),
        resource.full_name(),
        grouped(scenario.object_bytes),
        grouped(objects),
        (scenario.object_bytes * objects) as f64 / 1e6
    );
}

/// What the server rejects, a line each.
async fn on_server(args: &LintArgs, workload: &Workload) -> anyhow::Result<Vec<String>> {
    let target = Target::choose(&args.target).await?;
    let cluster = Cluster::of(target.config)?;
    let mut problems = Vec::new();
    let tried = [
        ("object.template", Some(&workload.scenario)),
        ("object.rejected", workload.rejected.as_ref()),
    ];
    for (field, scenario) in tried {
        let Some(scenario) = scenario else {
            continue;
        };
        match dry_run(&cluster, scenario, &args.namespace).await? {
            None => println!("ok   {field}: the server accepts an object"),
            Some(rejected) => problems.push(format!("{field}: {rejected}")),
        }
    }
    for verb in VERBS {
        let resource = &workload.scenario.resource;
        match may(&cluster, resource, &args.namespace, verb).await {
            Some(true) => println!("ok   you may {verb} {}", resource.full_name()),
            Some(false) => problems.push(format!(
                "permissions: you may not {verb} {} in namespace {}; ask for a Role that allows it",
                resource.full_name(),
                args.namespace
            )),
            None => {
                println!(
                    "?    the server does not say whether you may {verb} {}",
                    resource.full_name()
                );
            }
        }
    }
    Ok(problems)
}

/// The server's words, where it rejects an object.
async fn dry_run(
    cluster: &Cluster,
    scenario: &Scenario,
    namespace: &str,
) -> anyhow::Result<Option<String>> {
    let scenario = scenario.clone().of_run("lint", namespace);
    let resource = &scenario.resource;
    let object = scenario.object(&resource.longest_name(), 0, 1)?;
    let path = format!("{}?dryRun=All&fieldValidation=Strict", resource.path());
    let tried = cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object);
    match tried.await {
        Ok(_) => Ok(None),
        Err(error) if error.code() == Some(404) => Ok(Some(format!(
            "the server does not serve {} in namespace {namespace}; install its CRD, or choose a namespace that exists with --namespace",
            resource.full_name()
        ))),
        Err(error) if error.code().is_some() => Ok(Some(error.words())),
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
