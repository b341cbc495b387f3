//! `loadgen subjects new`: files for an operator of one's own, drafted from the definition of its kind.
//!
//! Guarantees: nothing that exists is overwritten, and either all files are written or none is begun. Leaves to others:
//! what is in them (`spec::outline`).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use crate::cli::means;
use crate::cli::run::dns_label;
use crate::error::Usage;
use crate::spec::outline;
use crate::target::cluster::Cluster;
use crate::target::context::{Target, TargetArgs};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[derive(Args, Clone, Debug)]
pub struct NewArgs {
    /// What the operator is called in reports; NAME.toml and the folder NAME are written here
    #[arg(value_name = "NAME", value_parser = dns_label)]
    name: String,
    /// File with the CustomResourceDefinition of what it works on [default: asked of the cluster, by --kind]
    #[arg(long, value_name = "FILE", required_unless_present = "kind")]
    crd: Option<PathBuf>,
    /// The definition, such as gadgets.example.com, on the cluster or among several of the file
    #[arg(long, value_name = "PLURAL.GROUP")]
    kind: Option<String>,
    #[command(flatten)]
    target: TargetArgs,
}

pub fn run(args: NewArgs) -> anyhow::Result<ExitCode> {
    let crd = definition(&args)?;
    let mut drafts =
        outline::drafts(&args.name, &crd).map_err(|error| refused(&args, &error.to_string()))?;
    let definition = serde_saphyr::to_string(&crd).context("the definition cannot be written")?;
    drafts.push((format!("{}/crd.yaml", args.name), definition));
    if let Some((there, _)) = drafts.iter().find(|(file, _)| Path::new(file).exists()) {
        return Err(Usage(format!(
            "{there} is there already; choose another name, or remove it"
        ))
        .into());
    }
    std::fs::create_dir_all(&args.name)
        .with_context(|| format!("cannot make the folder {}", args.name))?;
    for (file, text) in &drafts {
        std::fs::write(file, text).with_context(|| format!("cannot write {file}"))?;
    }
    let name = &args.name;
    let files: String = drafts.iter().map(|(file, _)| format!("{file}\n")).collect();
    println!(
        "{files}Next: say in {name}.toml how it is started, and look at the comments of {name}/object.yaml and {name}/workload.toml; \
         then\n  loadgen lint ./{name}\n  \
         loadgen bench --subject {name}.toml --subjects {name}/mine --objects 0,200 --bursts-only --skip-conformance"
    );
    Ok(ExitCode::SUCCESS)
}

fn refused(args: &NewArgs, why: &str) -> Usage {
    let from = match (&args.crd, &args.kind) {
        (Some(file), _) => file.display().to_string(),
        (None, kind) => kind.clone().unwrap_or_default(),
    };
    Usage(format!("{from}: {why}"))
}

/// From the file, or from the cluster without what the server has added.
fn definition(args: &NewArgs) -> anyhow::Result<Value> {
    if let Some(file) = &args.crd {
        let text =
            std::fs::read_to_string(file).map_err(|error| refused(args, &error.to_string()))?;
        let documents = serde_saphyr::from_multiple::<Value>(&text).map_err(|error| {
            let error = error.to_string();
            let line = error.lines().next().unwrap_or_default();
            refused(args, &format!("not YAML: {line}"))
        })?;
        let found = outline::definition(&documents, args.kind.as_deref());
        return Ok(found.map_err(|error| refused(args, &error.to_string()))?);
    }
    let kind = args.kind.clone().unwrap_or_default();
    let mut crd = means::runtime()?.block_on(async {
        let target = Target::choose(&args.target).await?;
        let (context, url) = (target.context.clone(), target.url.clone());
        let cluster = Cluster::of(target.config)?;
        let path = format!("{DEFINITIONS}/{kind}");
        let asked = cluster.get::<Value>(&path).await;
        asked.map_err(|error| {
            let why = error.words();
            anyhow::Error::from(Usage(format!(
                "{kind}: context {context:?} at {url}: {why}; kubectl get crd lists the names"
            )))
        })
    })?;
    crd["metadata"] = serde_json::json!({ "name": kind });
    if let Some(crd) = crd.as_object_mut() {
        crd.remove("status");
    }
    Ok(crd)
}
