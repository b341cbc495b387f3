//! The rules of what is kept: what is older changes nothing, what is gone stays gone.

use serde_json::{Value, json};

use crate::api::{Children, DEPLOYMENT, Owner};
use crate::cache::*;
use crate::edgeapp::EdgeApps;
use crate::model::object::{ChildState, hash32};
use crate::queue::{Finalizers, Proof, Slot};
use crate::reconcile::child::{digest, with_labels};
use crate::reconcile::drift;
use crate::reconcile::owner::remember;

/// Place of the Deployment among the kinds; the Service is before it.
const DEPLOYMENTS: u8 = 1;

fn uid(n: u8) -> Uid {
    Uid::parse(&format!("00000000-0000-0000-0000-0000000000{n:02x}")).unwrap_or_default()
}

fn ready() -> ChildState {
    ChildState {
        generation: 1,
        observed_generation: 1,
        replicas: 1,
        updated_replicas: 1,
        ready_replicas: 1,
        available_replicas: 1,
        stalled: false,
    }
}

fn planned() -> (Value, crate::edgeapp::EdgeAppStatus) {
    let owner = Owner::<EdgeApps> {
        meta: crate::model::object::Meta {
            name: "web".into(),
            namespace: "shop".into(),
            generation: 1,
            ..Default::default()
        },
        spec: serde_json::from_str(r#"{"image":"web:1"}"#).expect("a spec"),
    };
    let mut children = Children::default();
    children.record::<EdgeApps>(&DEPLOYMENT, "web", ready());
    let plan = EdgeApps.plan(&owner, &children).expect("infallible");
    let body = plan.children[0].body.as_ref().expect("a Deployment");
    (with_labels::<EdgeApps>(body.clone(), "web"), plan.status)
}

/// The owner `shop/web` with its Deployment, as a join hands it over.
fn converged(resource_version: u64, child_version: u64) -> Work {
    let (body, mut status) = planned();
    Work {
        uid: uid(1),
        generation: 1,
        resource_version,
        finalizers: Finalizers {
            ours: Some(0),
            count: 1,
            orphan: false,
        },
        spec: Some(r#"{"image":"web:1"}"#.into()),
        status: remember::<EdgeApps>(&mut status),
        slots: vec![slot(child_version, Some(digest(&body)))],
        slots_complete: true,
        ..Work::default()
    }
}

fn slot(resource_version: u64, plan: Option<u64>) -> Slot {
    Slot {
        kind: DEPLOYMENTS,
        name_hash: hash32("web"),
        resource_version,
        state: ready(),
        proof: plan.map(|plan| {
            Box::new(Proof {
                uid: uid(2),
                plan,
                fixed: 0,
            })
        }),
    }
}

/// An event of the Deployment.
fn event(resource_version: u64, edit: impl FnOnce(&mut Value)) -> (ChildNews, Vec<u8>) {
    let (mut object, _) = planned();
    object = drift::without_nulls(&object);
    object["metadata"]["name"] = "web".into();
    object["metadata"]["namespace"] = "shop".into();
    object["metadata"]["uid"] = uid(2).to_string().into();
    object["metadata"]["resourceVersion"] = resource_version.to_string().into();
    object["metadata"]["generation"] = 1.into();
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "name": "web", "uid": uid(1).to_string(), "controller": true}]);
    object["status"] =
        json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1});
    edit(&mut object);
    let line = json!({"type": "MODIFIED", "object": object}).to_string();
    let lean = object.to_string();
    let lean = serde_json::from_str(&lean).expect("an object");
    let news = crate::watch::child_news::<EdgeApps>(&lean, DEPLOYMENTS.into(), false, "EdgeApp");
    (news.expect("a child").1, line.into_bytes())
}

fn pruned() -> Box<dyn Cache> {
    Mode::Pruned.cache(&Arc::new(EdgeApps))
}

fn hear(cache: &mut dyn Cache, (mut news, line): (ChildNews, Vec<u8>)) -> Option<Work> {
    cache.heard(Heard {
        owner: "shop/web",
        news: &mut news,
        line: &line,
        at_rest: true,
    })
}

/// What a worker would get for an owner of which only the uid is known.
fn taken(cache: &dyn Cache) -> Work {
    let mut work = Work {
        uid: uid(1),
        ..Work::default()
    };
    cache.complete(&mut work);
    work
}

#[test]
fn a_childs_event_asks_only_for_what_it_changes() {
    struct Case {
        name: &'static str,
        edit: fn(&mut Value),
        differs: Option<bool>,
    }
    let cases = [
        Case {
            name: "an annotation",
            edit: |object| object["metadata"]["annotations"] = json!({"a": "b"}),
            differs: None,
        },
        Case {
            name: "a field outside the plan",
            edit: |object| object["spec"]["paused"] = true.into(),
            differs: None,
        },
        Case {
            name: "a field of the plan",
            edit: |object| object["spec"]["replicas"] = 9.into(),
            differs: Some(true),
        },
        Case {
            name: "a label",
            edit: |object| object["metadata"]["labels"]["tare.dev/owner"] = "x".into(),
            differs: Some(true),
        },
        Case {
            name: "no longer ready",
            edit: |object| object["status"]["readyReplicas"] = 0.into(),
            differs: Some(false),
        },
    ];
    for case in cases {
        let mut cache = pruned();
        assert!(cache.seen(&mut converged(5, 6), Some(&[9, 9, 9])));
        let asked = hear(&mut *cache, event(10, case.edit));
        let differs = asked.as_ref().map(|work| !work.shown.is_empty());
        assert_eq!(differs, case.differs, "{}", case.name);
        if let Some(work) = asked {
            assert!(work.reasons.has(Reasons::CHECK), "{}", case.name);
            assert!(
                !work.reasons.has(Reasons::REFRESH),
                "{}: no read",
                case.name
            );
            assert_eq!(work.resource_version, 5, "{}", case.name);
        }
        let again = hear(&mut *cache, event(10, case.edit));
        assert_eq!(again, None, "{}: the same event again", case.name);
    }
}

#[test]
fn what_is_older_than_what_is_kept_changes_nothing() {
    let mut cache = pruned();
    cache.seen(&mut converged(5, 6), Some(&[9, 9, 9]));
    let mut older = converged(4, 6);
    older.spec = Some(r#"{"image":"web:0"}"#.into());
    assert!(cache.seen(&mut older, None));
    assert_eq!(taken(&*cache).resource_version, 5);
    assert_eq!(taken(&*cache).spec.as_deref(), Some(r#"{"image":"web:1"}"#));
    let edit = |object: &mut Value| object["spec"]["replicas"] = 9.into();
    assert_eq!(hear(&mut *cache, event(6, edit)), None, "our own write");
    assert!(taken(&*cache).slots[0].proof.is_some());
}

#[test]
fn a_page_that_was_read_before_an_owner_went_does_not_bring_it_back() {
    let mut cache = pruned();
    cache.join_began();
    cache.gone(uid(1));
    assert!(!cache.seen(&mut converged(5, 6), Some(&[9, 9, 9])));
    cache.join_ended(true);
    assert!(cache.is_empty());
    assert!(cache.seen(&mut converged(5, 6), None), "it was restored");
}

#[test]
fn a_join_forgets_the_owners_that_it_did_not_show() {
    for mode in [Mode::Metadata, Mode::Pruned] {
        let mut cache = mode.cache(&Arc::new(EdgeApps));
        cache.seen(&mut converged(5, 6), None);
        cache.join_began();
        cache.join_ended(false);
        assert_eq!(cache.len(), 1, "{mode}: that join broke off");
        cache.join_began();
        let mut other = Work {
            uid: uid(3),
            ..converged(5, 6)
        };
        cache.seen(&mut other, Some(&[9, 9, 9]));
        cache.join_ended(true);
        assert_eq!(cache.len(), 1, "{mode}");
        cache.gone(uid(3));
        assert!(cache.is_empty(), "{mode}");
    }
}

#[test]
fn a_child_that_no_page_shows_is_gone_unless_it_is_younger_than_the_page() {
    for (page_revision, left) in [(6, 0), (5, 1)] {
        let mut cache = pruned();
        cache.seen(&mut converged(5, 6), Some(&[9, 9, 9]));
        let mut work = Work {
            slots: Vec::new(),
            ..converged(5, 6)
        };
        cache.seen(&mut work, Some(&[page_revision; 3]));
        assert_eq!(taken(&*cache).slots.len(), left, "page of {page_revision}");
    }
}

#[test]
fn a_worker_does_not_bring_back_a_child_that_vanished_meanwhile() {
    let mut cache = pruned();
    cache.seen(&mut converged(5, 6), Some(&[9, 9, 9]));
    let mut work = taken(&*cache);
    let (mut news, line) = event(7, |_| {});
    news.deleted = true;
    let asked = hear(&mut *cache, (news, line)).expect("it is planned");
    assert!(
        asked.reasons.has(Reasons::REFRESH),
        "the owner may be gone, too"
    );
    assert_eq!(asked.shown[0].sight, Sight::Gone);
    cache.learn(&mut work);
    assert!(taken(&*cache).slots.is_empty());
    work.slots = vec![slot(8, None)];
    cache.learn(&mut work);
    assert_eq!(taken(&*cache).slots.len(), 1, "made anew");
}

#[test]
fn metadata_tell_what_is_observed_from_what_was_kept() {
    let mut cache = Mode::Metadata.cache(&Arc::new(EdgeApps));
    let metadata = || Work {
        identity_only: true,
        spec: None,
        status: Default::default(),
        ..converged(7, 6)
    };
    let mut unknown = metadata();
    cache.seen(&mut unknown, None);
    assert!(unknown.own_reasons(true).has(Reasons::SPEC), "it is read");
    cache.learn(&mut converged(5, 6));
    let mut known = metadata();
    cache.seen(&mut known, None);
    assert!(known.own_reasons(true).is_empty());
    let mut changed = Work {
        generation: 2,
        ..metadata()
    };
    cache.seen(&mut changed, None);
    assert!(changed.own_reasons(true).has(Reasons::SPEC));
}

#[test]
fn modes_are_named_as_they_are_parsed() {
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse::<Mode>().ok(), Some(mode));
    }
    let error = "warm".parse::<Mode>().expect_err("no mode").to_string();
    assert!(error.contains("none, metadata and pruned"), "{error}");
}
