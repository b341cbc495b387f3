//! One HelmChart: which Job is to run, and what becomes of it.
//!
//! Guarantees: the order and the conditions are those of helm-controller v0.17 (`OnChange` and `OnRemove` in
//! `pkg/controllers/chart/chart.go`): a Job is created suspended and resumed once the controller of Jobs has seen it; one whose pods
//! would be others is deleted when no pod of it is left; a chart whose release bears the digest is left alone.
//! Leaves to others: what a Job is (`job`), requests (`objects`).

use std::sync::Arc;

use kube::ResourceExt;
use serde_json::{Value, json};
use tare_runtime::free::Action;

use crate::chart::{Chart, HelmChart, HelmChartCondition, HelmChartConfigSpec, HelmChartStatus};
use crate::job::{self, CONFIG_HASH, Settings};
use crate::objects::{Objects, like};
use crate::owned;

const API_VERSION: &str = "helm.cattle.io/v1";
/// Held until what the chart has installed is gone.
const FINALIZER: &str = "wrangler.cattle.io/on-helm-chart-remove";
/// The controller that a chart belongs to.
const MANAGED_BY: &str = "helmcharts.cattle.io/managed-by";
/// Nobody touches a chart with it.
const UNMANAGED: &str = "helmcharts.helm.cattle.io/unmanaged";
/// Where the content of a chart comes from.
const CHART_URL: &str = "helm.cattle.io/chart-url";
/// A Job with it is deleted soon, and is not resumed.
const REPLACE_WAIT: &str = "helmcharts.helm.cattle.io/replace-wait";

/// What all reconciles share.
pub struct Context {
    pub objects: Objects,
    pub settings: Settings,
    /// Its name: charts bear it, and events.
    pub controller: String,
}

/// Reconciles one chart.
///
/// # Errors
/// A request failed.
pub async fn reconcile(
    chart: Arc<HelmChart>,
    context: Arc<Context>,
) -> Result<Action, kube::Error> {
    let is_deleted = chart.metadata.deletion_timestamp.is_some();
    if !context.manages(&chart, is_deleted).await? {
        return Ok(Action::await_change());
    }
    let (name, namespace) = (chart.name_any(), chart.namespace().unwrap_or_default());
    let config = context.config(&name, &namespace, is_deleted).await?;
    let one = One {
        context: &context,
        object: &chart,
        chart: Chart {
            name: &name,
            namespace: &namespace,
            spec: &chart.spec,
            config: config.as_ref(),
            is_deleted,
        },
    };
    match is_deleted {
        true => one.remove().await,
        false => one.install().await,
    }
}

impl Context {
    /// Whether the chart is ours. One that is nobody's becomes ours, with the finalizer, which is the change that brings it back.
    async fn manages(&self, chart: &HelmChart, is_deleted: bool) -> Result<bool, kube::Error> {
        let (annotations, finalizers) = (chart.annotations(), chart.finalizers());
        let has_chart = !chart.spec.chart.is_empty() || !chart.spec.chart_content.is_empty();
        if !has_chart || annotations.contains_key(UNMANAGED) {
            return Ok(false);
        }
        let is_held = finalizers.iter().any(|one| one == FINALIZER);
        match annotations.get(MANAGED_BY) {
            Some(manager) if *manager != self.controller => return Ok(false),
            Some(_) if is_held => return Ok(true),
            // Without the finalizer there is nothing to remove, and it cannot be added any more.
            _ if is_deleted && !is_held => return Ok(false),
            _ => {}
        }
        let others = finalizers.iter().filter(|one| *one != FINALIZER);
        let finalizers: Vec<_> = others.map(String::as_str).chain([FINALIZER]).collect();
        let patch = json!({"metadata": {
            "resourceVersion": chart.metadata.resource_version, "finalizers": finalizers,
            "annotations": {MANAGED_BY: self.controller},
        }});
        let (name, namespace) = (chart.name_any(), chart.namespace().unwrap_or_default());
        let chart = like(API_VERSION, "HelmChart", &namespace, &name);
        self.objects.merge(&chart, "", &patch).await?;
        Ok(false)
    }

    async fn config(
        &self,
        name: &str,
        namespace: &str,
        is_deleted: bool,
    ) -> Result<Option<HelmChartConfigSpec>, kube::Error> {
        if is_deleted {
            return Ok(None);
        }
        let config = like(API_VERSION, "HelmChartConfig", namespace, name);
        let found = self.objects.get(&config).await?;
        let spec = found.map(|mut found| serde_json::from_value(found["spec"].take()));
        spec.transpose().map_err(kube::Error::SerdeError)
    }
}

/// The newest release of a chart.
#[derive(Default)]
struct Release {
    revision: i64,
    hash: String,
    status: String,
}

/// A chart that is reconciled.
struct One<'a> {
    context: &'a Context,
    object: &'a HelmChart,
    chart: Chart<'a>,
}

impl One<'_> {
    async fn install(&self) -> Result<Action, kube::Error> {
        let chart = self.chart;
        if let Some(version) = self.unsupported() {
            let message =
                format!("Unsupported Helm version {version}: only v3 charts are supported");
            let reason = "Unsupported version";
            let told = "Only Helm v3 charts are supported";
            let conditions = vec![
                HelmChartCondition::new("JobCreated", false, "", ""),
                HelmChartCondition::new("Failed", true, reason, told),
            ];
            let status = HelmChartStatus {
                conditions,
                ..self.status()
            };
            if self.write_status(&status).await? {
                self.tell("Warning", "UnsupportedVersion", &message).await;
            }
            return Ok(Action::await_change());
        }
        let found = self.job().await?;
        let applying = format!("Applying HelmChart using Job {}", self.job_place());
        if is(&found, "Failed") {
            let why = "Job has reached configured number of retries without succeeding";
            let conditions = vec![
                HelmChartCondition::new("JobCreated", true, "Job created", &*applying),
                HelmChartCondition::new("Failed", true, "Job failed", why),
            ];
            let status = HelmChartStatus {
                conditions,
                ..self.status()
            };
            if self.write_status(&status).await? {
                self.tell("Warning", "JobFailed", why).await;
            }
        }
        if self.resumed(&found).await? {
            return Ok(Action::await_change());
        }

        let secrets = self.followed().await?;
        let mut made = job::make(chart, &self.context.settings, &secrets);
        let release = self.release().await?;
        let is_done = match &found {
            Some(_) if is(&found, "Complete") => {
                release.status == "deployed" && release.hash == made.config_hash
            }
            Some(found) => !job::is_other(found, &made.job),
            None => false,
        };
        if is_done {
            return Ok(Action::await_change());
        }
        job::expect(&mut made.job, release.revision, &made.config_hash);
        let objects = [made.values, made.content].into_iter().flatten();
        let objects = objects.chain(self.account());
        let is_written = self.apply(objects, made.job, &found).await?;
        let conditions = vec![
            HelmChartCondition::new("JobCreated", true, "Job created", applying),
            HelmChartCondition::new("Failed", false, "", ""),
        ];
        let job_name = chart.job_name();
        self.write_status(&HelmChartStatus {
            job_name,
            conditions,
        })
        .await?;
        if is_written {
            let url = self.object.annotations().get(CHART_URL).map(String::as_str);
            let (source, job) = (chart.source(url), self.job_place());
            let message = format!("Applying HelmChart from {source} using Job {job} ");
            self.tell("Normal", "ApplyJob", &message).await;
        }
        Ok(Action::await_change())
    }

    async fn remove(&self) -> Result<Action, kube::Error> {
        let (chart, job_name) = (self.chart, self.chart.job_name());
        if self.unsupported().is_some() {
            return self.release_object().await;
        }
        let found = self.job().await?;
        if self.resumed(&found).await? {
            return Ok(Action::await_change());
        }
        let (account, job) = (self.account(), format!("Job {}", self.job_place()));
        if is(&found, "Complete") {
            let message = format!("Uninstalled HelmChart using {job}, removing resources");
            self.tell("Normal", "RemoveJob", &message).await;
            for object in account.iter().chain(&found) {
                self.context.objects.delete(object).await?;
            }
            return self.release_object().await;
        }
        let mut made = job::make(chart, &self.context.settings, &[]);
        if found
            .as_ref()
            .is_some_and(|found| !job::is_other(found, &made.job))
        {
            return Ok(Action::await_change());
        }
        let release = self.release().await?;
        job::expect(&mut made.job, release.revision, &made.config_hash);
        let status = HelmChartStatus {
            job_name,
            ..self.status()
        };
        self.write_status(&status).await?;
        match self.apply(account, made.job, &found).await {
            Ok(is_written) => {
                if is_written {
                    let message = format!("Uninstalling HelmChart using {job} ");
                    self.tell("Normal", "RemoveJob", &message).await;
                }
                Ok(Action::await_change())
            }
            // All that is in the namespace goes with it.
            Err(error) if is_terminating(&error) => self.release_object().await,
            Err(error) => Err(error),
        }
    }

    /// The version of Helm that the chart wants and nobody has.
    fn unsupported(&self) -> Option<&str> {
        let version = &*self.chart.spec.helm_version;
        (!["", "v3"].contains(&version)).then_some(version)
    }

    fn like(&self) -> Value {
        like(
            API_VERSION,
            "HelmChart",
            self.chart.namespace,
            self.chart.name,
        )
    }

    /// Namespace and name of its Job, for a person.
    fn job_place(&self) -> String {
        format!("{}/{}", self.chart.namespace, self.chart.job_name())
    }

    /// As whom the Job works, and what it may do.
    fn account(&self) -> [Value; 2] {
        let role = &self.context.settings.cluster_role;
        [
            owned::service_account(self.chart),
            owned::role_binding(self.chart, role),
        ]
    }

    fn status(&self) -> HelmChartStatus {
        self.object.status.clone().unwrap_or_default()
    }

    async fn job(&self) -> Result<Option<Value>, kube::Error> {
        let (namespace, name) = (self.chart.namespace, self.chart.job_name());
        let job = like("batch/v1", "Job", namespace, &name);
        self.context.objects.get(&job).await
    }

    /// The data of the Secrets that are followed, as far as they are there.
    async fn followed(&self) -> Result<Vec<Value>, kube::Error> {
        let mut all = Vec::new();
        for name in self.chart.followed_secrets() {
            let secret = like("v1", "Secret", self.chart.namespace, name);
            let found = self.context.objects.get(&secret).await?;
            all.extend(found.map(|mut secret| secret["data"].take()));
        }
        Ok(all)
    }

    async fn release(&self) -> Result<Release, kube::Error> {
        let (chart, namespace) = (self.chart, self.chart.target_namespace());
        let selected = format!("labelSelector=owner%3Dhelm%2Cname%3D{}", chart.name);
        let path = match &*chart.spec.driver {
            "configmap" => format!("/api/v1/namespaces/{namespace}/configmaps?{selected}"),
            _ => {
                let of_helm = "fieldSelector=type%3Dhelm.sh%2Frelease.v1";
                format!("/api/v1/namespaces/{namespace}/secrets?{of_helm}&{selected}")
            }
        };
        let mut newest = Release::default();
        for metadata in self.context.objects.metadata(&path).await? {
            let label = |name: &str| {
                metadata["labels"][name]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let revision = label("version").parse().unwrap_or(0);
            if revision > newest.revision {
                let (hash, status) = (label(CONFIG_HASH), label("status"));
                newest = Release {
                    revision,
                    hash,
                    status,
                };
            }
        }
        Ok(newest)
    }

    /// Resumes a Job that has never run, once the controller of Jobs has seen it.
    async fn resumed(&self, found: &Option<Value>) -> Result<bool, kube::Error> {
        let Some(job) = found else {
            return Ok(false);
        };
        let is_new = job["metadata"]["generation"] == 1 && job["spec"]["suspend"] == true;
        let waits = job["metadata"]["annotations"].get(REPLACE_WAIT).is_some();
        if !is_new || waits || !is(found, "Suspended") {
            return Ok(false);
        }
        if self.context.objects.suspend(job, false).await? {
            let message = format!("Resumed synced Job {}", self.job_place());
            self.tell("Normal", "ResumeJob", &message).await;
        }
        Ok(true)
    }

    /// Writes the objects, and after them the Job. Whether anything was written.
    async fn apply(
        &self,
        objects: impl IntoIterator<Item = Value>,
        mut job: Value,
        found: &Option<Value>,
    ) -> Result<bool, kube::Error> {
        let (chart, api) = (self.chart, &self.context.objects);
        let uid = self.object.uid().unwrap_or_default();
        let set = owned::set_id(chart, &self.context.controller);
        let is_as_wanted = found.as_ref().is_some_and(|found| {
            let same = |field| job::has(&found["spec"][field], &job["spec"][field]);
            same("template") && same("backoffLimit")
        });
        if let Some(found) = found
            && !is_as_wanted
            && found["spec"]["suspend"] == false
            && api.suspend(found, true).await?
        {
            let message = format!("Suspended Job {} for delete", self.job_place());
            self.tell("Normal", "SuspendJob", &message).await;
        }
        let mut is_written = false;
        for mut object in objects {
            owned::mark(&mut object, chart, &uid, &set);
            // Where there is a Job, there is what it reads.
            is_written |= api.ensure(&object, found.is_some()).await?;
        }
        owned::mark(&mut job, chart, &uid, &set);
        let Some(found) = found else {
            return Ok(api.create(&job).await? || is_written);
        };
        if is_as_wanted {
            return Ok(is_written);
        }
        if found["metadata"]["annotations"].get(REPLACE_WAIT).is_none() {
            let waits = json!({"metadata": {"annotations": {REPLACE_WAIT: "true"}}});
            api.merge(&job, "", &waits).await?;
        }
        // Once its controller has seen it and no pod of it is left; each is a change of the Job.
        let status = &found["status"];
        let is_seen = status["conditions"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        let pods = ["active", "terminating"].map(|count| status[count].as_i64().unwrap_or(0));
        if is_seen && pods == [0, 0] {
            api.delete(found).await?;
            is_written |= api.create(&job).await?;
        }
        Ok(is_written)
    }

    /// Writes a status that differs from the one that the chart has; whether it did.
    async fn write_status(&self, status: &HelmChartStatus) -> Result<bool, kube::Error> {
        if self.object.status.as_ref() == Some(status) {
            return Ok(false);
        }
        let patch = json!({ "status": status });
        let objects = &self.context.objects;
        objects.merge(&self.like(), "/status", &patch).await?;
        Ok(true)
    }

    /// Takes the finalizer away.
    async fn release_object(&self) -> Result<Action, kube::Error> {
        let kept = self.object.finalizers().iter();
        let kept: Vec<_> = kept.filter(|one| *one != FINALIZER).collect();
        let patch = json!({"metadata": {
            "resourceVersion": self.object.metadata.resource_version, "finalizers": kept,
        }});
        let objects = &self.context.objects;
        objects.merge(&self.like(), "", &patch).await?;
        Ok(Action::await_change())
    }

    /// An Event about the chart. One that the server does not take is lost: what it tells has happened.
    async fn tell(&self, type_: &str, reason: &str, message: &str) {
        let meta = &self.object.metadata;
        let now = k8s_openapi::jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "type": type_, "reason": reason, "message": message,
            "metadata": {"generateName": format!("{}.", self.chart.name), "namespace": self.chart.namespace},
            "involvedObject": {
                "apiVersion": API_VERSION, "kind": "HelmChart", "name": meta.name,
                "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": meta.resource_version,
            },
            "source": {"component": self.context.controller}, "count": 1,
            "firstTimestamp": now, "lastTimestamp": now,
        });
        if let Err(error) = self.context.objects.create(&event).await {
            tracing::debug!(%error, reason, "an Event is lost");
        }
    }
}

/// Whether a Job has this condition.
fn is(job: &Option<Value>, type_: &str) -> bool {
    let conditions = job
        .as_ref()
        .and_then(|job| job["status"]["conditions"].as_array());
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|condition| condition["type"] == type_);
    found.is_some_and(|condition| condition["status"] == "True")
}

/// Whether a write was refused because its namespace goes.
fn is_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403
        && causes
            .into_iter()
            .any(|cause| cause.reason == "NamespaceTerminating")
}
