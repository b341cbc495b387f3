//! What happens before a run creates anything: the cluster is read, and the user is asked.
//!
//! Guarantees: nothing is written; whatever cannot work is refused here in one line. Leaves to others: creating the
//! objects.

use std::sync::Arc;

use crate::cli::question;
use crate::cli::run::capacity::Capacity;
use crate::cli::run::operator::Watching;
use crate::cli::run::pods::Pods;
use crate::cli::run::{ClusterRun, capacity};
use crate::report::table::grouped;
use crate::spec::bystanders;
use crate::spec::bystanders::Bystanders;
use crate::spec::step::Step;

impl ClusterRun {
    /// Prints what will be created, and asks where the cluster is not local or pods do not fit. Returns
    /// false if the user declines.
    pub(super) async fn prepare(&mut self) -> anyhow::Result<bool> {
        self.read_cluster().await?;
        self.progress
            .say(&format!("run {}: {}", self.run, self.intent()));
        if let Some(line) = self.stand_in_intent() {
            self.progress.say(&line);
        }
        let fit = self.say_whether_pods_fit().await;
        if self.args.target.yes || (self.target.local && fit) {
            return Ok(true);
        }
        Ok(question::ask("Create them?").await?)
    }

    /// Learns what the cluster has, and refuses what cannot work there.
    pub(super) async fn read_cluster(&mut self) -> anyhow::Result<()> {
        self.installed().await?;
        // One of the shards is enough.
        if let (Some(name), 0) = (&self.args.operator, self.shard().index) {
            self.operator = Some(Watching::find(&self.cluster, name).await?);
        }
        self.pods = match self.most_pods() {
            None => Pods::Unknown,
            Some(_) => {
                let nodes = capacity::nodes(&self.cluster).await?;
                Pods::of(self.target.local, &nodes, self.args.pods)
            }
        };
        self.check_steps()?;
        if self.pods == Pods::NotAsked {
            self.scenario = Arc::new(self.scenario.as_ref().clone().without_pods());
        }
        Ok(())
    }

    /// Prints how many of the pods that are asked for would fit; false where it is known that not all do.
    pub(super) async fn say_whether_pods_fit(&self) -> bool {
        if self.pods != Pods::Asked {
            return true;
        }
        let wanted = self.most_pods().unwrap_or(0);
        let capacity = Capacity::read(&self.cluster).await;
        self.progress.say(&capacity::sentence(wanted, &capacity));
        !capacity.is_ok_and(|known| known.fit() < wanted)
    }

    /// What this run creates, and where.
    pub(super) fn intent(&self) -> String {
        let pods = match self.pods {
            Pods::NoneRun => "it has no nodes, so no pod will run",
            Pods::Asked => "each asks for a pod",
            Pods::NotAsked => "replicas: 0, so no pod is asked for (--pods asks for them)",
            Pods::Unknown => "the workload names no field that asks for pods",
        };
        let shards = self.shard().of;
        let pace = match &self.args.rate {
            Some(rate) if rate.phases().is_empty() => {
                format!("at {}/s", rate.last_per_s() / shards as f64)
            }
            Some(rate) if shards > 1 => format!("at rate {rate} of all shards together"),
            Some(rate) => format!("at rate {rate}"),
            None => "all at once".to_owned(),
        };
        let shard = match self.args.shard {
            Some(shard) => format!(" (shard {shard} of {})", grouped(self.args.count as usize)),
            None => String::new(),
        };
        let namespace = match (self.args.dry_run, &self.args.namespace) {
            // The next run has another name.
            (true, None) => "a namespace of its own".to_owned(),
            _ => format!("namespace {}", self.scenario.resource.namespace),
        };
        let foreign = foreign(&self.workload.steps);
        format!(
            "{} {}{shard} {pace} in {namespace} of context {} ({}); {pods}{foreign}",
            grouped(self.objects()),
            self.scenario.kinds(),
            self.target.context,
            self.target.url,
        )
    }

    /// Checks that the server serves the resource and that the user may read it.
    async fn installed(&self) -> anyhow::Result<()> {
        let (workload, target) = (&self.workload, &self.target);
        let named = self.args.workload.as_deref().unwrap_or(&workload.name);
        for resource in self.scenario.resources() {
            match self.cluster.serves(&resource).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => anyhow::bail!(
                    "cannot use context {} at {}: {}",
                    target.context,
                    target.url,
                    error.words()
                ),
            }
            let way = match workload.crds.is_empty() {
                true => String::new(),
                false => {
                    format!(": loadgen workloads {named} --crds | kubectl apply --server-side -f -")
                }
            };
            let message = format!(
                "{} does not serve {}; install its CRD first{way}",
                target.url,
                resource.full_name(),
            );
            anyhow::bail!(workload.source.error("object.plural", message));
        }
        Ok(())
    }
}

/// What is said before a run whose steps make objects that do not concern the operator; empty where none does.
fn foreign(steps: &[Step]) -> String {
    let kinds: Vec<Bystanders> = steps.iter().flat_map(Step::bystanders).collect();
    match kinds.is_empty() {
        true => String::new(),
        false => format!(
            "; later {} that do not concern the operator",
            bystanders::text(&kinds)
        ),
    }
}
