//! `loadgen clean`: removes what runs left behind, by their label.
//!
//! Guarantees: says what it found, run by run, before it deletes; asks first on a cluster that is
//! not local. A run that is still going on looks like one that left something behind: name yours
//! with `--run` where others work too. Leaves to others: the deleting (`target::cleanup`).

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::cli::question;
use crate::cli::run::account::Removal;
use crate::cli::run::dns_label;
use crate::cli::{exit_code, means};
use crate::error::Usage;
use crate::report::table::grouped;
use crate::spec::workload;
use crate::target::cleanup;
use crate::target::cleanup::{Found, Made, Scope};
use crate::target::cluster::{Cluster, Error};
use crate::target::context::{Target, TargetArgs};
use crate::target::fixtures;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

#[derive(Args, Clone, Debug)]
pub struct CleanArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Workload whose objects are removed: a shipped one, or its folder
    /// [default: that of loadgen run without a name]
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Only in this namespace [default: all]
    #[arg(long, value_name = "NS", value_parser = dns_label)]
    namespace: Option<String>,
    /// Only what this run left [default: any run]
    #[arg(long, value_name = "ID", value_parser = dns_label)]
    run: Option<String>,
    /// Give up when nothing was deleted for S seconds
    #[arg(long, value_name = "S", default_value_t = cleanup::STALL_S,
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    wait_s: u64,
}

pub fn run(args: CleanArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(clean(args))
}

async fn clean(args: CleanArgs) -> anyhow::Result<ExitCode> {
    let target = Target::choose(&args.target).await?;
    target.may_be_touched(args.target.yes)?;
    let stop = Interrupt::on_signals().context("cannot listen for Ctrl-C")?;
    let progress = Progress::default();
    let cleaned = stop.or(find_and_remove(&args, &target, &progress)).await;
    progress.finish();
    cleaned.unwrap_or_else(|| {
        progress.say("stopped: what is left can be removed with the same command");
        Ok(ExitCode::from(130))
    })
}

async fn find_and_remove(
    args: &CleanArgs,
    target: &Target,
    progress: &Progress,
) -> anyhow::Result<ExitCode> {
    let cluster = Cluster::of(target.config.clone())?;
    let workload = workload::named(args.workload.as_deref(), None).map_err(Usage::of)?;
    let resources = workload.scenario.resources();
    let scopes = resources.iter().map(|resource| Scope {
        resource,
        made: Made::Offered,
        stall: Duration::from_secs(args.wait_s),
        namespace: args.namespace.as_deref(),
        run: args.run.as_deref(),
    });
    let scopes: Vec<Scope<'_>> = scopes.collect();
    // Of the first kind, for what all have in common.
    let scope = scopes[0];
    let failed = |error: Error| {
        let way_out = if error.code() == Some(403) && args.namespace.is_none() {
            "; name one namespace with --namespace"
        } else {
            ""
        };
        anyhow::anyhow!(
            "cannot look for objects in context {} at {}: {}{way_out}",
            target.context,
            target.url,
            error.words()
        )
    };
    let namespaces = match cleanup::namespaces(&cluster, &scope).await {
        // Whoever may not list them could not make one either.
        Err(error) if error.code() == Some(403) => vec![],
        other => other.map_err(failed)?,
    };
    let in_namespace = args.namespace.as_deref().unwrap_or("default");
    let fixtures = fixtures::to_remove(&cluster, &workload.fixtures, in_namespace);
    let fixtures = fixtures.await.map_err(failed)?;
    let mut there = Vec::new();
    let of_fixtures = fixtures.iter().map(|kind| scope.of_fixture(kind));
    for scope in scopes.iter().copied().chain(of_fixtures) {
        let found = cleanup::objects(&cluster, &scope).await.map_err(failed)?;
        if !found.is_empty() {
            there.push((scope.resource.kinds(), found));
        }
    }
    if there.is_empty() && namespaces.is_empty() {
        println!(
            "nothing to remove: no run left anything in {} of context {}",
            args.namespace.as_deref().unwrap_or("any namespace"),
            target.context
        );
        return Ok(ExitCode::SUCCESS);
    }
    for line in inventory(&there, &namespaces) {
        progress.say(&line);
    }
    if !target.local && !args.target.yes && !question::ask("Remove them?").await? {
        progress.say("nothing was removed");
        return Ok(ExitCode::from(130));
    }
    let cleaned = cleanup::run(&cluster, &scopes, &fixtures, progress).await;
    progress.finish();
    let kinds = workload.scenario.kinds();
    let removal = Removal::of(&cleaned);
    let namespaces = cleaned.namespaces_gone();
    match removal.deleted + removal.left + cleaned.fixtures {
        0 => println!(
            "removed {namespaces} namespaces, with all that was in them; no {kinds} were found, and objects of another workload \
             in other namespaces are found with --workload"
        ),
        _ => println!(
            "removed {} {kinds}{} and {namespaces} namespaces; {} {kinds} left",
            grouped(removal.deleted),
            match cleaned.fixtures {
                0 => String::new(),
                fixtures => format!(", {fixtures} fixtures"),
            },
            grouped(removal.left)
        ),
    }
    removal.warnings.iter().for_each(|line| println!("{line}"));
    Ok(exit_code(cleaned.is_complete()))
}

/// What is there, a line for each run, kind and namespace.
fn inventory(there: &[(String, Vec<Found>)], namespaces: &[Found]) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for (kinds, objects) in there {
        for found in objects {
            let key = (found.run(), kinds.as_str(), found.namespace.as_str());
            *counts.entry(key).or_default() += 1;
        }
    }
    let objects = counts.into_iter().map(|((run, kinds, namespace), count)| {
        let place = match namespace {
            "" => String::new(),
            namespace => format!(" in namespace {namespace}"),
        };
        format!("run {run}: {} {kinds}{place}", grouped(count))
    });
    let namespaces = namespaces.iter().map(|ns| {
        format!(
            "run {}: namespace {}, made by it, with all that is in it",
            ns.run(),
            ns.name
        )
    });
    objects.chain(namespaces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::cleanup::Labels;

    fn found(run: &str, namespace: &str, name: &str) -> Found {
        Found {
            name: name.into(),
            namespace: namespace.into(),
            labels: Labels {
                run: run.to_owned(),
                of_bystanders: false,
            },
            ..Found::default()
        }
    }

    #[test]
    fn an_inventory_counts_by_run_and_namespace() {
        let objects = vec![
            found("b", "shop", "ea-b-0"),
            found("a", "shop", "ea-a-0"),
            found("a", "shop", "ea-a-1"),
        ];
        assert_eq!(
            inventory(
                &[("Widgets".to_owned(), objects)],
                &[found("b", "", "loadgen-b")]
            ),
            [
                "run a: 2 Widgets in namespace shop",
                "run b: 1 Widgets in namespace shop",
                "run b: namespace loadgen-b, made by it, with all that is in it",
            ]
        );
    }
}
