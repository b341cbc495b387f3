//! What a run of a workload does on a cluster, and whether the user may do it.
//!
//! Guarantees: each permission that is missing is one line with the place in the workload that needs it; the server
//! is asked by SelfSubjectAccessReview and nothing is written. Leaves to others: whether the objects are taken
//! (`dry_run`).

use http::Method;
use serde_json::{Value, json};

use crate::spec::step::Step;
use crate::spec::workload;
use crate::spec::workload::mix::list;
use crate::spec::workload::{Error, Resource, Workload, group_and_version};
use crate::target::cluster::{Cluster, JSON};

/// What a run does to its objects.
const OF_OBJECTS: &[&str] = &["create", "list", "watch", "patch", "delete"];
/// To what it makes once, such as fixtures and its own namespace.
const OF_FIXTURES: &[&str] = &["create", "list", "delete"];
const OF_CHILDREN: &[&str] = &["list", "delete"];
const OF_BYSTANDERS: &[&str] = &["create"];
const OF_CHANGED_BYSTANDERS: &[&str] = &["create", "patch"];
/// For who may not make a namespace.
const CLUSTER_ROLE: &str =
    "ask for a ClusterRole that allows it, or run in a namespace that exists with --namespace";

/// Verbs on one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Needed {
    verbs: &'static [&'static str],
    resource: Resource,
    /// Where the workload says so; the message is the way out.
    place: Error,
}

/// What a run of `workload` in `namespace` needs, in its order. `fixtures` are the resources of its fixtures as far as
/// the server serves them.
pub fn needed(workload: &Workload, fixtures: &[Option<Resource>], namespace: &str) -> Vec<Needed> {
    let source = &workload.source;
    let of = |verbs, resource, place| Needed {
        verbs,
        resource,
        place,
    };
    // Of the core group, and of the whole cluster.
    let plain = |plural: String| Resource {
        plural,
        ..Resource::default()
    };
    let place = source.error("object", CLUSTER_ROLE);
    let mut needed = vec![of(OF_FIXTURES, plain("namespaces".into()), place)];
    for (number, part) in workload.scenario.parts().enumerate() {
        let source = match number {
            0 => source.clone(),
            also => source.part("also", also - 1),
        };
        let resource = Resource {
            namespace: namespace.to_owned(),
            ..part.resource.clone()
        };
        let role = role(resource.namespaced);
        let place = source.error("object.template", role);
        needed.push(of(OF_OBJECTS, resource, place));
    }
    for (fixture, resource) in workload.fixtures.iter().zip(fixtures) {
        if let Some(resource) = resource {
            let place = fixture.error(role(resource.namespaced));
            needed.push(of(OF_FIXTURES, resource.clone(), place));
        }
    }
    let steps = workload.steps.iter();
    let deletes_children = |step: &Step| matches!(step, Step::DeleteChildren {});
    if steps.clone().any(deletes_children) {
        for (number, child) in workload.scenario.children.iter().enumerate() {
            let (group, _) = group_and_version(&child.api_version);
            let resource = Resource {
                group: group.to_owned(),
                namespace: namespace.to_owned(),
                namespaced: true,
                ..plain(child.plural.clone())
            };
            let place = source.part("children", number).error("plural", role(true));
            needed.push(of(OF_CHILDREN, resource, place));
        }
    }
    for (number, step) in steps.enumerate() {
        let changes = matches!(step, Step::Bystanders { changes, .. } if *changes > 0);
        let verbs = match changes {
            true => OF_CHANGED_BYSTANDERS,
            false => OF_BYSTANDERS,
        };
        for bystanders in step.bystanders() {
            let place = source.part("steps", number).error("objects", role(false));
            // In a namespace that the run makes.
            needed.push(of(verbs, plain(bystanders.kind), place));
        }
    }
    needed
}

fn role(namespaced: bool) -> &'static str {
    match namespaced {
        true => "ask for a Role that allows it",
        false => "ask for a ClusterRole that allows it",
    }
}

/// What the server said about what is needed.
#[derive(Debug, Default)]
pub struct Answers {
    /// What is missing, a line each.
    pub problems: Vec<workload::Error>,
    /// What cannot even be tried.
    denied: Vec<Needed>,
}

impl Answers {
    /// Whether the server did not deny the creation of such an object.
    pub fn may_create(&self, resource: &Resource) -> bool {
        let place = |resource: &Resource| {
            (
                resource.full_name(),
                resource.own_namespace().map(str::to_owned),
            )
        };
        let denied = &self.denied;
        !denied
            .iter()
            .any(|denied| place(&denied.resource) == place(resource))
    }
}

/// Asks the server, and prints what the user may do.
pub async fn ask(cluster: &Cluster, needed: &[Needed]) -> Answers {
    let mut answers = Answers::default();
    for one in needed {
        let (mut may, mut may_not, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for verb in one.verbs {
            match allowed(cluster, one, verb).await {
                Some(true) => may.push(*verb),
                Some(false) => may_not.push(*verb),
                None => unknown.push(*verb),
            }
        }
        let name = one.resource.full_name();
        if !may.is_empty() {
            println!("ok   you may {} {name}", list(may));
        }
        if !unknown.is_empty() {
            let verbs = list(unknown);
            println!("?    the server does not say whether you may {verbs} {name}");
        }
        if may_not.contains(&"create") {
            answers.denied.push(one.clone());
        }
        if !may_not.is_empty() {
            let (verbs, place) = (list(may_not), one.place());
            let message = format!("you may not {verbs} {name}{place}; {}", one.place.message);
            answers.problems.push(Error {
                message,
                ..one.place.clone()
            });
        }
    }
    answers
}

impl Needed {
    fn place(&self) -> String {
        let namespace = self.resource.own_namespace();
        namespace.map_or(String::new(), |namespace| {
            format!(" in namespace {namespace}")
        })
    }
}

/// `None` where the server does not tell.
async fn allowed(cluster: &Cluster, needed: &Needed, verb: &str) -> Option<bool> {
    let resource = &needed.resource;
    let mut attributes =
        json!({"verb": verb, "group": resource.group, "resource": resource.plural});
    if let Some(namespace) = resource.own_namespace() {
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
