//! Each permission of the shipped role, and the scenario that fails without it.
//!
//! For each permission a service account gets the role without it, and the scenario runs with an
//! operator under that account. The scenario must not finish, and the operator's log must name the
//! permission; where it is one to list or to watch, `/readyz` must name it too. Then the account gets
//! the permission, and the same run must finish. So it was this permission alone that was missing.
//!
//! Guarantees: a permission of the role that is not in the table fails, and so does one of the table
//! that is not in the role or not in `deploy/README.md`.
//! Leaves to others: that all scenarios pass with the whole role (every other test on a real cluster).

use std::sync::Arc;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::{Instant, sleep};

use crate::cluster::plane::SharedPlane;
use crate::cluster::{Cluster, account, process};
use crate::suite::{Scenario, Story};

/// How long a scenario must not finish after the operator has named the permission: longer than any of
/// them takes with the whole role.
const STILL: Duration = Duration::from_secs(8);
const NAMED_WITHIN: Duration = Duration::from_secs(60);

const BECOMES_READY: &str = "an_edgeapp_becomes_ready_with_its_children";
const FOLLOWS: &str = "scale_image_and_env_follow_the_spec";
const COMES_BACK: &str = "a_deleted_child_comes_back";
const SET_BACK: &str = "an_edited_child_is_set_back_and_what_others_add_stays";
const MADE_ANEW: &str = "an_immutable_field_recreates_the_service_and_without_a_port_it_is_deleted";
const RECREATED: &str = "a_deployment_with_another_selector_is_recreated";
const FREED: &str = "an_edgeapp_of_0_1_0_is_freed_of_its_finalizer";
const FOREIGN: &str = "a_foreign_deployment_of_the_same_name_survives_us";
const REVISION: &str = "the_revision_of_the_crd_is_known";

/// What the operator does once it has the permission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It retries within seconds.
    Retries,
    /// It does not: an Event belongs to a moment, and the CRD is read once a minute.
    LeavesIt,
}
use Then::{LeavesIt, Retries};

/// A row of the table: API group, resource, verb, the scenario that needs it, what happens then.
type Row = (&'static str, &'static str, &'static str, &'static str, Then);

const TABLE: &[Row] = &[
    ("tare.dev", "edgeapps", "list", BECOMES_READY, Retries),
    ("tare.dev", "edgeapps", "watch", BECOMES_READY, Retries),
    ("tare.dev", "edgeapps", "get", COMES_BACK, Retries),
    ("tare.dev", "edgeapps", "patch", FREED, Retries),
    (
        "tare.dev",
        "edgeapps/status",
        "patch",
        BECOMES_READY,
        Retries,
    ),
    (
        "tare.dev",
        "edgeapps/finalizers",
        "update",
        BECOMES_READY,
        Retries,
    ),
    ("apps", "deployments", "list", BECOMES_READY, Retries),
    ("apps", "deployments", "watch", BECOMES_READY, Retries),
    ("apps", "deployments", "get", FOLLOWS, Retries),
    ("apps", "deployments", "create", BECOMES_READY, Retries),
    ("apps", "deployments", "patch", FOLLOWS, Retries),
    ("apps", "deployments", "delete", RECREATED, Retries),
    ("", "services", "list", BECOMES_READY, Retries),
    ("", "services", "watch", BECOMES_READY, Retries),
    ("", "services", "get", FOLLOWS, Retries),
    ("", "services", "create", BECOMES_READY, Retries),
    ("", "services", "patch", SET_BACK, Retries),
    ("", "services", "delete", MADE_ANEW, Retries),
    ("", "events", "create", FOREIGN, LeavesIt),
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "get",
        REVISION,
        LeavesIt,
    ),
];

/// One permission, and the scenario that needs it.
#[derive(Clone, Copy)]
pub struct Case {
    group: &'static str,
    resource: &'static str,
    verb: &'static str,
    pub scenario: Scenario,
    then: Then,
}

/// One case for each row.
pub fn cases(scenarios: &[Scenario]) -> Vec<Case> {
    let case = |&(group, resource, verb, name, then): &Row| {
        let scenario = scenarios.iter().find(|one| one.name == name);
        let scenario = *scenario.unwrap_or_else(|| panic!("there is no scenario {name}"));
        Case {
            group,
            resource,
            verb,
            scenario,
            then,
        }
    };
    TABLE.iter().map(case).collect()
}

/// The table has every permission of the shipped role and no other, and the README has the table.
pub fn has_the_permissions_of_the_role_and_of_the_readme() -> Result<(), Failed> {
    let rules = account::shipped_rules();
    let granted: Vec<Granted> = rules.iter().flat_map(granted).collect();
    let is_of =
        |one: &Granted, row: &Row| (one.group, one.resource, one.verb) == (row.0, row.1, row.2);
    let readme = include_str!("../../deploy/README.md");
    for one in &granted {
        let Some((.., scenario, _)) = TABLE.iter().find(|row| is_of(one, row)) else {
            return Err(format!(
                "no scenario needs the permission to {} {} ({}): remove it from deploy/base/rbac.yaml, \
                 or name the scenario in tests/scenarios/permission_table.rs",
                one.verb, one.resource, one.group
            )
            .into());
        };
        let line = format!("| `{}` | `{}` |", one.resource, one.verb);
        let has_it = |text: &str| text.starts_with(&line) && text.contains(scenario);
        if !readme.lines().any(has_it) {
            return Err(format!("deploy/README.md has no line {line} … {scenario}").into());
        }
    }
    let beyond = TABLE
        .iter()
        .find(|row| !granted.iter().any(|one| is_of(one, row)));
    match beyond {
        Some((_, resource, verb, ..)) => {
            Err(format!("the shipped role does not grant {verb} {resource}").into())
        }
        None => Ok(()),
    }
}

/// A permission that a rule grants.
struct Granted<'a> {
    group: &'a str,
    resource: &'a str,
    verb: &'a str,
}

/// Each combination of a rule's groups, resources and verbs.
fn granted(rule: &Value) -> Vec<Granted<'_>> {
    let texts = |field: &str| {
        let values = rule[field].as_array().into_iter().flatten();
        values.filter_map(Value::as_str)
    };
    let mut all = Vec::new();
    for group in texts("apiGroups") {
        for resource in texts("resources") {
            all.extend(texts("verbs").map(|verb| Granted {
                group,
                resource,
                verb,
            }));
        }
    }
    all
}

impl Case {
    /// `without_get_edgeapps::a_deleted_child_comes_back`.
    pub fn name(&self) -> String {
        let resource = self.resource.replace('/', "_");
        format!("without_{}_{resource}::{}", self.verb, self.scenario.name)
    }

    pub async fn run(self, plane: &Arc<SharedPlane>) {
        let account = format!("without-{}-{}", self.verb, self.resource.replace('/', "-"));
        let fewer: Vec<Value> = account::shipped_rules()
            .iter()
            .filter_map(|rule| self.without(rule))
            .collect();
        account::make_with(&plane.client, &account, &fewer).await;
        plane.log_in(&account).await;
        let cluster = Cluster::real(plane, Mode::None).await.under(&account);
        let mut run = self.story()(cluster.clone());
        let needless = format!("{} does not need {}", self.scenario.name, self.words());
        tokio::select! {
            () = &mut run => panic!("{needless}"),
            () = self.named(&cluster) => {}
        }
        tokio::select! {
            () = &mut run => panic!("{needless}"),
            () = sleep(STILL) => {}
        }
        if matches!(self.verb, "list" | "watch") {
            self.assert_not_ready(&cluster).await;
        }
        account::change(&plane.client, &account, &account::shipped_rules()).await;
        match self.then {
            Retries => run.await,
            LeavesIt => {
                drop(run);
                cluster.end().await;
            }
        }
    }

    fn story(&self) -> fn(Cluster) -> LocalBoxFuture<'static, ()> {
        match self.scenario.story {
            Story::Anywhere(run) | Story::Real(_, run) => run,
            Story::Pure(_) | Story::Simulated(..) => {
                panic!("{} does not run on a real cluster", self.scenario.name)
            }
        }
    }

    /// `list services in the core API group`, as the operator writes it.
    fn words(&self) -> String {
        let group = match self.group {
            "" => "the core API group".to_owned(),
            group => format!("API group {group}"),
        };
        format!("{} {} in {group}", self.verb, self.resource)
    }

    /// The rule without this permission; `None` where nothing is left of it.
    fn without(&self, rule: &Value) -> Option<Value> {
        let mut rule = rule.clone();
        if rule["apiGroups"] == json!([self.group]) && rule["resources"] == json!([self.resource]) {
            let verbs = rule["verbs"].as_array_mut().expect("a rule has verbs");
            verbs.retain(|verb| verb != self.verb);
        }
        (rule["verbs"] != json!([])).then_some(rule)
    }

    /// Waits until one line of the operator's log names the permission.
    async fn named(&self, cluster: &Cluster) {
        let wanted = format!("may not {}", self.words());
        let deadline = Instant::now() + NAMED_WITHIN;
        let log = cluster.log();
        let names_it = |line: &str| {
            serde_json::from_str::<Value>(line).is_ok_and(|line| {
                let message = line["message"].as_str().unwrap_or_default();
                line["level"] == "WARN" && message.starts_with(&wanted)
            })
        };
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.lines().any(names_it) {
                return;
            }
            let log = log.display();
            assert!(Instant::now() < deadline, "no line {wanted:?} in {log}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn assert_not_ready(&self, cluster: &Cluster) {
        let admin = cluster.admin().expect("an operator was started");
        let answer = process::get(admin, "/readyz").await.expect("/readyz");
        let wanted = format!("may not {}", self.words());
        assert!(
            answer.starts_with("HTTP/1.1 503") && answer.contains(&wanted),
            "{answer}"
        );
    }
}
