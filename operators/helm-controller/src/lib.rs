//! HelmCharts of k3s, by controllers without a store.
//!
//! What k3s-io/helm-controller v0.17 makes of a HelmChart and its HelmChartConfig, field by field: a Secret with values, a ConfigMap
//! with the chart, a ServiceAccount with a ClusterRoleBinding, and a Job that runs Helm.
//!
//! Guarantees: a chart that the other program has installed is left as it is. Memory does not depend on how many charts,
//! Secrets or Jobs there are.

pub mod chart;
pub mod digest;
pub mod go_duration;
pub mod job;
pub mod objects;
pub mod owned;
pub mod reconcile;
pub mod settings;
pub mod yaml;

use std::sync::Arc;

use futures::SinkExt;
use futures::channel::mpsc::{SendError, Sender, channel};
use futures::future::{join, join_all};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use tare_runtime::app::front::{Place, Shared};
use tare_runtime::free::{Action, Controller, back_off};

use crate::chart::{HelmChart, HelmChartConfig, SecretSpec};
use crate::objects::Objects;
use crate::reconcile::{Context, reconcile};
use crate::settings::Options;

/// The CRDs, as helm-controller has them.
pub const CRDS: [(&str, &str); 2] = [
    (
        "helmcharts.helm.cattle.io",
        include_str!("../../../workloads/helmchart/crds/helmcharts.yaml"),
    ),
    (
        "helmchartconfigs.helm.cattle.io",
        include_str!("../../../workloads/helmchart/crds/helmchartconfigs.yaml"),
    ),
];

/// HelmCharts that wait because a Secret that their HelmChartConfig names has changed.
const CHANGED: usize = 16;

/// Runs both controllers in each place until the program ends.
pub async fn run(shared: Shared, options: Options) {
    let context = Arc::new(Context {
        objects: Objects(shared.client.clone()),
        settings: options.settings,
        controller: options.controller,
    });
    let works = shared.places().into_iter().map(|place| {
        let (sender, changed) = channel(CHANGED);
        let charts = charts(&place).reconcile_on(changed);
        let charts = shared.run_one(charts, reconcile, back_off, Arc::clone(&context));
        let configs = shared.run_one(configs(&place), changes, back_off, Arc::new(sender));
        join(charts, configs)
    });
    join_all(works).await;
}

fn charts(place: &Place) -> Controller<HelmChart> {
    let secrets = |chart: &HelmChart| named(&chart.spec.values_secrets, chart.namespace());
    Controller::new(place.objects::<HelmChart>(), place.selected())
        .owns(place.objects::<Job>(), Config::default())
        .owns(place.objects::<ConfigMap>(), Config::default())
        .owns(place.objects::<ServiceAccount>(), Config::default())
        .owns(place.objects::<Secret>(), Config::default())
        .index(place.objects::<Secret>(), Config::default(), secrets)
        .watches_metadata(
            place.objects::<HelmChartConfig>(),
            Config::default(),
            of_its_name,
        )
        .watches_metadata(
            place.objects::<ClusterRoleBinding>(),
            Config::default(),
            owner,
        )
}

/// The chart that a HelmChartConfig changes.
fn of_its_name(config: PartialObjectMeta<HelmChartConfig>) -> Option<ObjectRef<HelmChart>> {
    let namespace = config.namespace()?;
    Some(ObjectRef::new(&config.name_any()).within(&namespace))
}

/// The chart that a ClusterRoleBinding, which no namespaced object can own, was made for.
fn owner(binding: PartialObjectMeta<ClusterRoleBinding>) -> Option<ObjectRef<HelmChart>> {
    let (namespace, name) = owned::owner_of(binding.annotations())?;
    Some(ObjectRef::new(name).within(namespace))
}

/// A HelmChartConfig is reconciled for the Secrets that it names: their changes are its chart's.
fn configs(place: &Place) -> Controller<HelmChartConfig> {
    let secrets = |config: &HelmChartConfig| named(&config.spec.values_secrets, config.namespace());
    Controller::new(place.objects::<HelmChartConfig>(), Config::default()).index(
        place.objects::<Secret>(),
        Config::default(),
        secrets,
    )
}

async fn changes(
    config: Arc<HelmChartConfig>,
    charts: Arc<Sender<ObjectRef<HelmChart>>>,
) -> Result<Action, SendError> {
    let namespace = config.namespace().unwrap_or_default();
    let chart = ObjectRef::new(&config.name_any()).within(&namespace);
    Sender::clone(&charts).send(chart).await?;
    Ok(Action::await_change())
}

/// The Secrets whose change is an upgrade.
fn named(secrets: &[SecretSpec], namespace: Option<String>) -> Vec<ObjectRef<Secret>> {
    let namespace = namespace.unwrap_or_default();
    let followed = secrets.iter().filter(|secret| !secret.ignore_updates);
    followed
        .map(|secret| ObjectRef::new(&secret.name).within(&namespace))
        .collect()
}
