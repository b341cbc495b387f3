//! A kind of Kubernetes itself as the owner.

use std::convert::Infallible;

use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::object::HasSpec;
use serde_json::{Value, json};
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Kind, NoStatus, Operator, Owner, Plan, Requeue,
};
use tare_runtime::cache::Mode;

use crate::cluster::simulated::{Simulated, config, pass};
use crate::cluster::user::{JSON, MERGE, send};

/// As much of a Namespace as this operator looks at.
#[derive(kube::Resource, serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
#[resource(inherit = Namespace)]
struct Space {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: SpaceSpec,
}

#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
struct SpaceSpec {}

impl HasSpec for Space {
    type Spec = SpaceSpec;

    fn spec(&self) -> &SpaceSpec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut SpaceSpec {
        &mut self.spec
    }
}

/// Each Namespace has a ConfigMap that says which team has it.
struct Spaces;

impl Operator for Spaces {
    type Resource = Space;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "spaces";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let team = owner.meta.labels.get("team");
        let map = |team: &String| {
            let data = json!({"data": {"team": team}});
            Child::new(CONFIG_MAP, "team", data).in_namespace(&*owner.meta.name)
        };
        Ok(Plan {
            children: team.map(map).into_iter().collect(),
            status: NoStatus,
            requeue: Requeue::Default,
        })
    }
}

pub async fn a_built_in_kind_is_an_owner(mode: Mode) {
    let cluster = Simulated::new(mode);
    let path = "/api/v1/namespaces";
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}});
    send(&cluster.client, Method::POST, path, JSON, &object)
        .await
        .expect("a Namespace");
    let operate = || cluster.operate_with(Spaces, cluster.server.client("tare"), config());
    let running = operate();
    let until_team = async |team: Value| {
        cluster
            .until(&format!("the team is {team}"), |cluster| {
                let map = cluster.server.object("configmaps", "shop", "team");
                map.unwrap_or_default()["data"]["team"] == team
            })
            .await;
    };
    let label = async |team: Value| {
        let patch = json!({"metadata": {"labels": {"team": team}}});
        let path = format!("{path}/shop");
        send(&cluster.client, Method::PATCH, &path, MERGE, &patch)
            .await
            .expect("label it");
    };
    let edit = async || {
        let path = format!("{path}/shop/configmaps/team");
        let patch = json!({"data": {"team": "nobody"}});
        send(&cluster.client, Method::PATCH, &path, MERGE, &patch)
            .await
            .expect("edit it");
    };
    until_team(json!("a")).await;
    pass(600).await;
    label(json!("b")).await;
    until_team(json!("b")).await;
    pass(600).await;
    edit().await;
    until_team(json!("b")).await;
    pass(600).await;
    let writes = cluster.writes();
    running.kill().await;
    let running = operate();
    pass(60).await;
    assert_eq!(cluster.writes(), writes, "a start changes nothing");
    running.kill().await;
    edit().await;
    let running = operate();
    until_team(json!("b")).await;
    label(Value::Null).await;
    until_team(Value::Null).await;
    running.stop().await;
}
