//! The relist against a naive model: whatever the owners, the children and the page size, it finds
//! every owner with work once and no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::Operator;
use crate::api::{Child, Children, DEPLOYMENT, Owner};
use crate::http::request::Api;
use crate::metrics::{Metrics, Verb};
use crate::model::{ChildState, Meta, Retention};
use crate::reconcile::child::planned_body;
use crate::reconcile::child_names::ChildNames;
use crate::reconcile::compare::Comparer;
use crate::reconcile::fields::without_nulls;
use crate::relist::*;
use crate::test_operator::{Site, Sites};

/// What is wrong with an owner, or with what it should have.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    NoFinalizer,
    NotObserved,
    Deleting,
    ChildMissing,
    ChildEdited,
    ChildForeign,
    StatusStale,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::None),
        1 => Just(Fault::NoFinalizer),
        1 => Just(Fault::NotObserved),
        1 => Just(Fault::Deleting),
        1 => Just(Fault::ChildMissing),
        1 => Just(Fault::ChildEdited),
        1 => Just(Fault::ChildForeign),
        1 => Just(Fault::StatusStale),
    ]
}

/// The collections of a server, by path, in the order in which it lists them.
type Collections = Arc<BTreeMap<&'static str, Vec<Value>>>;

fn uid(n: usize) -> String {
    format!("00000000-0000-0000-0000-{n:012x}")
}

/// An owner and its Deployment as they are after a calm life, but for the fault.
fn world(n: usize, name: &str, fault: Fault) -> (Value, Option<Value>) {
    let mut owner = json!({
        "apiVersion": "example.com/v1", "kind": "Site",
        "metadata": {"namespace": "n", "name": name, "uid": uid(n), "resourceVersion": "7",
            "generation": 1, "finalizers": ["example.com/cleanup"]},
        "spec": {"image": "web:1"},
    });
    let spec = serde_json::from_value(owner["spec"].clone()).expect("a spec");
    let meta = Meta {
        name: name.into(),
        namespace: "n".into(),
        generation: 1,
        ..Default::default()
    };
    let state = ChildState {
        generation: 1,
        observed_generation: 1,
        replicas: 1,
        updated_replicas: 1,
        ready_replicas: 1,
        available_replicas: 1,
        stalled: false,
        ..ChildState::default()
    };
    let mut children = Children::default();
    children.record(&DEPLOYMENT, name, state);
    let plan = Sites
        .plan(&Owner::new(meta, spec), &children)
        .expect("infallible");
    owner["status"] = serde_json::to_value(&plan.status).expect("a status");

    let body = plan.children[0].body.clone().expect("a body");
    let mut child = without_nulls(&planned_body::<Sites>(
        &Child::absent(DEPLOYMENT, name),
        body,
        &Meta {
            name: name.into(),
            ..Meta::default()
        },
    ));
    child["metadata"]["name"] = name.into();
    child["metadata"]["namespace"] = "n".into();
    child["metadata"]["uid"] = uid(n + 1_000).into();
    child["metadata"]["resourceVersion"] = "8".into();
    child["metadata"]["generation"] = 1.into();
    child["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v1", "kind": "Site",
        "name": name, "uid": uid(n), "controller": true}]);
    child["status"] = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1});
    match fault {
        Fault::None => {}
        Fault::NoFinalizer => owner["metadata"]["finalizers"] = json!([]),
        Fault::NotObserved => owner["metadata"]["generation"] = 2.into(),
        Fault::Deleting => owner["metadata"]["deletionTimestamp"] = "2026-11-21T00:00:00Z".into(),
        Fault::ChildMissing => return (owner, None),
        Fault::ChildEdited => child["spec"]["replicas"] = 9.into(),
        Fault::ChildForeign => {
            child["metadata"]["ownerReferences"][0]["uid"] = uid(n + 2_000).into()
        }
        Fault::StatusStale => child["status"]["readyReplicas"] = 0.into(),
    }
    (owner, Some(child))
}

/// Serves lists in pages; a page holds at most `page` objects whatever the limit.
fn client(collections: Collections, page: usize) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let collections = Arc::clone(&collections);
        async move {
            let path = request.uri().path().to_owned();
            let path = path.replace("/namespaces/n/", "/");
            let mut all = collections.get(path.as_str()).cloned().unwrap_or_default();
            let query = request.uri().query().unwrap_or_default();
            let codes = [
                ("%2F", "/"),
                ("%20", " "),
                ("%28", "("),
                ("%29", ")"),
                ("%2C", ","),
            ];
            let decoded = codes.iter().fold(query.to_owned(), |text, (code, sign)| {
                text.replace(code, sign)
            });
            if let Some((_, rest)) = decoded.split_once("example.com/owner in (") {
                let names = rest.split(')').next().unwrap_or_default();
                all.retain(|object| {
                    let owner = object["metadata"]["labels"]["example.com/owner"].as_str();
                    names.split(',').any(|name| owner == Some(name))
                });
            }
            let limited = query.contains("limit=");
            let start: usize = query
                .split("continue=")
                .nth(1)
                .and_then(|rest| rest.split('&').next()?.parse().ok())
                .unwrap_or(0);
            let end = match limited {
                true => (start + page).min(all.len()),
                false => all.len(),
            };
            let resume = if end < all.len() {
                end.to_string()
            } else {
                String::new()
            };
            let list = json!({"metadata": {"resourceVersion": "9", "continue": resume}, "items": all[start..end]});
            let body = http_body_util::Full::new(bytes::Bytes::from(list.to_string()));
            Ok::<_, tower::BoxError>(Response::new(body))
        }
    });
    Client::new(service, "default")
}

async fn found(collections: Collections, page: usize, coverage: Coverage) -> Vec<String> {
    found_by(Sites, collections, page, coverage).await.0
}

/// What a relist of `operator` finds, and with how many lists.
async fn found_by<O: Operator>(
    operator: O,
    collections: Collections,
    page: usize,
    coverage: Coverage,
) -> (Vec<String>, u64) {
    let api = Api::new(
        client(collections, page),
        Arc::new(Metrics::default()),
        Duration::from_secs(5),
    );
    let paths = Arc::new(Paths::of::<O>(&[], None));
    let operator = Arc::new(operator);
    let names = Arc::new(ChildNames::new(O::KINDS.len()));
    let comparer = Comparer::new(operator, api.clone(), names, Retention::Nothing);
    let mut relist = Relist::new(comparer, api.clone(), paths, coverage);
    let mut keys = Vec::new();
    loop {
        match relist.next().await {
            Found::Opened { .. } | Found::Missing { .. } => {}
            Found::Owner { key, .. } => keys.push(key.to_string()),
            Found::Done { .. } => return (keys, api.metrics().requests(Verb::List)),
            Found::Failed(error) => panic!("{error:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn finds_every_owner_with_work_once_and_no_other(
        faults in proptest::collection::btree_map("[a-c][-.a-c]{0,3}[a-c]", fault(), 0..40),
        strays in proptest::collection::btree_set("[a-c]{1,4}x", 0..6),
        page in 1..9usize,
        shuffled in any::<bool>(),
    ) {
        let (mut owners, mut children) = (Vec::new(), Vec::new());
        for (n, (name, fault)) in faults.iter().enumerate() {
            let (owner, child) = world(n, name, *fault);
            owners.push(owner);
            children.extend(child);
        }
        // Children whose owner is gone: the garbage collector's business.
        for (n, name) in strays.iter().enumerate() {
            children.extend(world(5_000 + n, name, Fault::None).1);
        }
        let key = |object: &Value| format!("n/{}", object["metadata"]["name"].as_str().unwrap_or_default());
        owners.sort_by_key(key);
        children.sort_by_key(key);
        if shuffled {
            owners.reverse();
            children.reverse();
        }
        let collections: Collections = Arc::new(BTreeMap::from([
            ("/apis/example.com/v1/sites", owners),
            ("/apis/apps/v1/deployments", children),
            ("/api/v1/services", Vec::new()),
        ]));
        let last = faults.keys().next_back().cloned().unwrap_or_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let keys = runtime.block_on(found(Arc::clone(&collections), page, Coverage::All));
        let unique: BTreeSet<&String> = keys.iter().collect();
        prop_assert_eq!(unique.len(), keys.len(), "found twice: {:?}", keys);
        for (name, fault) in &faults {
            let key = format!("n/{name}");
            if *fault != Fault::None {
                prop_assert!(unique.contains(&key), "{key} with {fault:?} was not found");
            } else if !shuffled || *name != last {
                // The first owner is looked at before anything shows that there is no order: it may
                // be handed on without need.
                prop_assert!(!unique.contains(&key), "{key} has no work");
            }
        }
        let own = runtime.block_on(found(collections, page, Coverage::Owners));
        let wanted = faults.iter().filter(|(_, fault)| {
            matches!(fault, Fault::NoFinalizer | Fault::NotObserved | Fault::Deleting)
        });
        prop_assert_eq!(own.len(), wanted.count(), "owners with work of their own: {:?}", own);
    }
}

/// An earlier plan has made it, and no owner comes after it.
#[tokio::test]
async fn a_child_of_another_name_behind_the_last_owner_is_found() {
    let (owner, child) = world(1, "a", Fault::None);
    let mut left = child.clone().expect("a child");
    left["metadata"]["name"] = "z".into();
    for (services, want) in [(vec![left], vec!["n/a"]), (Vec::new(), Vec::new())] {
        let collections: Collections = Arc::new(BTreeMap::from([
            ("/apis/example.com/v1/sites", vec![owner.clone()]),
            ("/apis/apps/v1/deployments", child.iter().cloned().collect()),
            ("/api/v1/services", services),
        ]));
        assert_eq!(found(collections, 5, Coverage::All).await, want);
    }
}

/// Whether a relist says of each owner that it has all of its children, for a cache that keeps them; and what is to be
/// listed again.
async fn completeness(collections: Collections) -> (BTreeMap<String, bool>, bool) {
    let metrics = Arc::new(Metrics::default());
    let api = Api::new(client(collections, 100), metrics, Duration::from_secs(5));
    let comparer = Comparer::new(
        Arc::new(Sites),
        api.clone(),
        Arc::new(ChildNames::new(Sites::KINDS.len())),
        Retention::Specs,
    );
    let paths = Arc::new(Paths::of::<Sites>(&[], None));
    let mut relist = Relist::new(comparer, api, paths, Coverage::All);
    let mut complete = BTreeMap::new();
    loop {
        match relist.next().await {
            Found::Opened { .. } | Found::Missing { .. } => {}
            Found::Owner { key, state, .. } => {
                complete.insert(key.name().to_owned(), state.children.complete);
            }
            Found::Done { skipped, .. } => return (complete, skipped),
            Found::Failed(error) => panic!("{error:?}"),
        }
    }
}

/// Only owners that it may belong to, by its place in the list, are in doubt.
#[test]
fn a_child_that_cannot_be_decoded_is_not_taken_for_one_that_is_gone() {
    let names = ["a", "b", "c", "d"];
    let (mut owners, mut children) = (Vec::<Value>::new(), Vec::<Value>::new());
    for (n, name) in names.into_iter().enumerate() {
        let (mut owner, child) = world(n, name, Fault::None);
        // It has work: what is to be done relies on what is known of its children.
        owner["metadata"]["generation"] = 2.into();
        owners.push(owner);
        children.extend(child);
    }
    children[1]["metadata"]["finalizers"] = "none".into();
    let collections: Collections = Arc::new(BTreeMap::from([
        ("/apis/example.com/v1/sites", owners),
        ("/apis/apps/v1/deployments", children),
        ("/api/v1/services", Vec::new()),
    ]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (complete, skipped) = runtime.block_on(completeness(collections));
    let complete: Vec<(&str, bool)> = complete.iter().map(|(n, c)| (&**n, *c)).collect();
    assert_eq!(
        complete,
        [("a", true), ("b", false), ("c", true), ("d", true)]
    );
    assert!(skipped);
}

/// The type that the tests above list is the one that is served.
#[test]
fn the_resource_is_listed_where_it_is_served() {
    use kube::Resource;
    assert_eq!(Site::url_path(&(), None), "/apis/example.com/v1/sites");
}

/// An operator whose children are named `<owner>-deployment` and whose resource has no status.
struct Suffixed;

impl Operator for Suffixed {
    type Resource = Site;
    type Status = crate::api::NoStatus;
    type Error = std::convert::Infallible;
    type Observed = ();
    const NAME: &'static str = "suffixed";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [crate::api::Kind] = &[DEPLOYMENT];

    fn plan(
        &self,
        owner: &Owner<Self>,
        _: &Children,
    ) -> Result<crate::api::Plan<crate::api::NoStatus>, Self::Error> {
        let name = format!("{}-deployment", owner.meta.name);
        let body = json!({"spec": {"replicas": owner.spec.replicas}});
        Ok(crate::api::Plan {
            children: vec![Child::new(DEPLOYMENT, name, body)],
            status: crate::api::NoStatus,
            requeue: Default::default(),
        })
    }
}

/// `a-deployment` sorts after `a-b-deployment`, `a` before `a-b`: no one pass can join these.
#[test]
fn children_that_do_not_sort_like_their_owners_are_listed_in_groups() {
    let missing = |n: usize| n % 7 == 3;
    let edited = |n: usize| n % 11 == 5;
    let (mut owners, mut children, mut wanted) = (Vec::new(), Vec::new(), BTreeSet::new());
    for n in 0..230 {
        let name = format!("{}{}", "a-".repeat(n % 5), n);
        let (mut owner, _) = world(n, &name, Fault::None);
        owner["status"] = Value::Null;
        owner["metadata"]["finalizers"] = json!([]);
        owner["spec"]["replicas"] = 1.into();
        owners.push(owner);
        if missing(n) || edited(n) {
            wanted.insert(format!("n/{name}"));
        }
        if !missing(n) {
            children.push(json!({
                "metadata": {"namespace": "n", "name": format!("{name}-deployment"), "uid": uid(n + 1_000),
                    "resourceVersion": "8", "labels": {"example.com/owner": name, "app.kubernetes.io/managed-by": "suffixed"},
                    "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Site", "name": name, "uid": uid(n), "controller": true}]},
                "spec": {"replicas": if edited(n) { 9 } else { 1 }},
            }));
        }
    }
    let key = |object: &Value| {
        format!(
            "n/{}",
            object["metadata"]["name"].as_str().unwrap_or_default()
        )
    };
    owners.sort_by_key(key);
    children.sort_by_key(key);
    let collections: Collections = Arc::new(BTreeMap::from([
        ("/apis/example.com/v1/sites", owners),
        ("/apis/apps/v1/deployments", children),
    ]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (keys, lists) = runtime.block_on(found_by(Suffixed, collections, 100, Coverage::All));
    assert_eq!(keys.iter().cloned().collect::<BTreeSet<_>>(), wanted);
    assert_eq!(keys.len(), wanted.len(), "found twice: {keys:?}");
    // Three pages of owners, the first of children, and one list for all 230 owners.
    assert_eq!(lists, 3 + 1 + 1);
}
