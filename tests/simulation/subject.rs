//! The operators that are simulated: EdgeApp, and the WebApp of the examples with a ConfigMap that comes and goes
//! and with something outside the cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, DEPLOYMENT, DeletedOwner, Kind, Operator, Owner, Plan, PlanError,
    Retry, Writes,
};

use crate::planned::{Wanted, wanted};
use crate::rng::Rng;
use crate::webapp::{WebApp, WebAppStatus, WebApps};

/// The namespace of everything.
pub const NAMESPACE: &str = "default";

/// One of the operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    EdgeApp,
    WebApp,
}

impl Subject {
    pub const ALL: [Subject; 2] = [Subject::EdgeApp, Subject::WebApp];

    pub fn crd(self) -> &'static str {
        match self {
            Subject::EdgeApp => tare::edgeapp::CRD_YAML,
            Subject::WebApp => include_str!("../../examples/webapp/crd.yaml"),
        }
    }

    pub fn api_version(self) -> &'static str {
        match self {
            Subject::EdgeApp => "tare.dev/v1alpha1",
            Subject::WebApp => "example.com/v1",
        }
    }

    pub fn group(self) -> &'static str {
        let version = self.api_version();
        version.split_once('/').map_or("", |(group, _)| group)
    }

    pub fn kind(self) -> &'static str {
        match self {
            Subject::EdgeApp => "EdgeApp",
            Subject::WebApp => "WebApp",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            Subject::EdgeApp => "edgeapps",
            Subject::WebApp => "webapps",
        }
    }

    pub fn finalizer(self) -> Option<&'static str> {
        match self {
            Subject::EdgeApp => EdgeApps::FINALIZER,
            Subject::WebApp => Outside::FINALIZER,
        }
    }

    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Subject::EdgeApp => EdgeApps::KINDS,
            Subject::WebApp => Outside::KINDS,
        }
    }

    /// The owners and their children.
    pub fn resources(self) -> Vec<&'static str> {
        let children = self.kinds().iter().map(|kind| kind.plural);
        std::iter::once(self.plural()).chain(children).collect()
    }

    /// A valid spec.
    pub fn spec(self, rng: &mut Rng) -> Value {
        let image = format!("web:{}", rng.below(4));
        let replicas = rng.below(4);
        if self == Subject::WebApp {
            return json!({ "image": image, "replicas": replicas });
        }
        let mut spec = json!({ "image": image, "replicas": replicas });
        if !rng.one_in(3) {
            spec["port"] = json!(8080 + rng.below(2));
            spec["headless"] = json!(rng.one_in(2));
        }
        match rng.below(4) {
            0 => spec["env"] = json!([{ "name": "A" }, { "name": "B", "value": "2" }]),
            1 => spec["env"] = json!([{ "name": "A", "value": "1" }]),
            _ => {}
        }
        spec
    }

    /// The kind of child that comes and goes with the spec.
    pub fn optional_child(self) -> &'static str {
        match self {
            Subject::EdgeApp => "services",
            Subject::WebApp => "configmaps",
        }
    }

    /// A valid spec with that child, or without it.
    pub fn spec_with(self, rng: &mut Rng, is_there: bool) -> Value {
        let mut spec = self.spec(rng);
        match self {
            Subject::EdgeApp if is_there => spec["port"] = json!(8080),
            Subject::EdgeApp => {
                let image = spec["image"].take();
                spec = json!({ "image": image, "replicas": spec["replicas"] });
            }
            Subject::WebApp => spec["replicas"] = json!(2 + u8::from(is_there)),
        }
        spec
    }

    /// What should exist for an owner, and its status; `child` finds the children that are there.
    pub fn wanted(self, owner: &Value, child: impl Fn(&Kind, &str) -> Option<Value>) -> Wanted {
        match self {
            Subject::EdgeApp => wanted(&EdgeApps, owner, child),
            Subject::WebApp => wanted(&Outside::default(), owner, child),
        }
    }
}

/// WebApps with a ConfigMap for an odd number of replicas, which the plan does not name for an even one, and with
/// something outside the cluster.
#[derive(Clone, Default)]
pub struct Outside {
    /// How often the cleanup of an owner succeeded, by uid.
    pub cleanups: Arc<Mutex<BTreeMap<String, u32>>>,
    /// How many cleanups fail before one succeeds.
    pub failures: Arc<Mutex<u32>>,
}

impl Outside {
    /// The next cleanups fail.
    pub fn fail(&self, times: u32) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = times;
    }
}

/// A cleanup that failed.
#[derive(Debug, thiserror::Error)]
#[error("the outside is away")]
pub struct Away;

impl PlanError for Away {
    fn reason(&self) -> &'static str {
        "Away"
    }
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

impl Operator for Outside {
    type Resource = WebApp;
    type Status = WebAppStatus;
    type Error = Away;
    type Observed = ();
    const NAME: &'static str = WebApps::NAME;
    const FINALIZER: Option<&'static str> = WebApps::FINALIZER;
    const KINDS: &'static [Kind] = &[CONFIG_MAP, DEPLOYMENT];
    const WRITES: Writes = WebApps::WRITES;
    const RETRY: Retry = WebApps::RETRY;

    fn plan(&self, app: &Owner<Self>, seen: &Children) -> Result<Plan<WebAppStatus>, Away> {
        let owner = Owner::<WebApps>::new(app.meta.clone(), app.spec.clone());
        // A plan sees a child by its kind's place among those of its operator.
        let mut deployment = Children::default();
        if let Some(state) = seen.get(&DEPLOYMENT, &app.meta.name) {
            deployment.record(&DEPLOYMENT, &app.meta.name, state.clone());
        }
        let mut plan = WebApps
            .plan(&owner, &deployment)
            .map_err(|never| match never {})?;
        if app.spec.replicas % 2 == 1 {
            let name = format!("{}-settings", app.meta.name);
            let body = json!({ "data": { "image": app.spec.image } });
            plan.children.push(Child::new(CONFIG_MAP, name, body));
        }
        Ok(plan)
    }

    async fn cleanup(&self, owner: &DeletedOwner<Self>) -> Result<(), Away> {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures > 0 {
            *failures -= 1;
            return Err(Away);
        }
        let mut cleanups = self.cleanups.lock().unwrap_or_else(PoisonError::into_inner);
        *cleanups.entry(owner.meta.uid.to_string()).or_default() += 1;
        Ok(())
    }
}
