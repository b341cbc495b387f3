//! `loadgen run --dry-run`: what a run would create, and whether the server would take it.
//!
//! Guarantees: nothing is created and nobody is asked; the same is refused as before a run. Leaves to others:
//! what the server is asked (`cli::lint`).

use std::process::ExitCode;

use serde::de::IgnoredAny;

use crate::cli::lint;
use crate::cli::run::ClusterRun;
use crate::cli::run::most_objects::Objects;
use crate::spec::step::Step;

/// Every cluster has it.
const NAMESPACE: &str = "default";

impl ClusterRun {
    /// # Errors
    /// As before a run: nothing could be created.
    pub(super) async fn dry_run(mut self) -> anyhow::Result<ExitCode> {
        self.read_cluster().await?;
        println!("dry run, nothing is created: {}", self.intent());
        if let Some(line) = self.stand_in_intent() {
            println!("{line}");
        }
        self.say_whether_pods_fit().await;
        lint::describe(&self.workload.name, &self.scenario, self.objects());
        let objects = Objects::of(&self.workload, self.args.count as usize);
        println!("in all {objects}");
        let offer_s = self.pace().due(self.objects()).as_secs_f64();
        if offer_s > 0.0 {
            println!("all are sent after {offer_s:.0} s");
        }
        for step in &self.workload.steps {
            println!("step: {}{}", step.name(), at_rate(step));
        }
        let namespace = self.namespace_of_dry_run().await?;
        let tried = lint::on_server(&self.cluster, &self.workload, &namespace);
        Ok(lint::said(&tried.await?))
    }

    /// The server tries an object only in a namespace that exists.
    async fn namespace_of_dry_run(&self) -> anyhow::Result<String> {
        let Some(namespace) = &self.args.namespace else {
            return Ok(NAMESPACE.to_owned());
        };
        let path = format!("/api/v1/namespaces/{namespace}");
        let asked = self.cluster.get::<IgnoredAny>(&path);
        match asked.await {
            Err(error) if error.code() == Some(404) => {
                println!(
                    "namespace {namespace} is not there yet; the server tries objects in {NAMESPACE}"
                );
                Ok(NAMESPACE.to_owned())
            }
            // Whoever may not read namespaces may use one.
            Err(error) if error.code() == Some(403) => Ok(namespace.clone()),
            other => Ok(other.map(|_| namespace.clone())?),
        }
    }
}

fn at_rate(step: &Step) -> String {
    let per_s = step.per_s().map(|per_s| format!(" at {per_s}/s"));
    per_s.unwrap_or_default()
}
