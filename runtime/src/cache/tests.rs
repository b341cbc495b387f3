//! The rules of what is retained: older states change nothing, and what is gone stays gone.

use serde_json::{Value, json};

use crate::api::{Child, Children, DEPLOYMENT, Owner};
use crate::cache::*;
use crate::http::paths::Paths;
use crate::model::{
    ChildState, Content, Finalizers, KindId, LastApplied, Meta, PartialMetadata, SeenChild,
    SeenChildren, hash32,
};
use crate::reconcile::child::{digest, planned_body};
use crate::reconcile::fields::without_nulls;
use crate::reconcile::owner::remember;
use crate::test_operator::Sites;

/// The Deployments; the Services are before them.
fn deployments() -> KindId {
    KindId::child(1).expect("the second kind of child")
}

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
        ..ChildState::default()
    }
}

fn planned() -> (Value, crate::test_operator::SiteStatus) {
    let owner = Owner::<Sites>::new(
        Meta {
            name: "web".into(),
            namespace: "shop".into(),
            generation: 1,
            ..Default::default()
        },
        serde_json::from_str(r#"{"image":"web:1"}"#).expect("a spec"),
    );
    let mut children = Children::default();
    children.record(&DEPLOYMENT, "web", ready());
    let plan = Sites.plan(&owner, &children).expect("infallible");
    let body = plan.children[0].body.as_ref().expect("a Deployment");
    (
        planned_body::<Sites>(
            &Child::absent(DEPLOYMENT, "web"),
            body.clone(),
            &Meta {
                name: "web".into(),
                ..Meta::default()
            },
        ),
        plan.status,
    )
}

/// The owner `shop/web` with its Deployment, as a relist reports it.
fn converged(resource_version: u64, child_version: u64) -> OwnerState {
    let (body, mut status) = planned();
    let mut state = OwnerState::default();
    state.object.uid = uid(1);
    state.object.generation = 1;
    state.object.resource_version = resource_version;
    state.object.finalizers = Finalizers {
        ours: Some(0),
        retired: None,
        count: 1,
        orphan: false,
    };
    state.object.body = Some(r#"{"image":"web:1"}"#.into());
    state.object.status = remember::<Sites>(&mut status);
    state.children = SeenChildren::from_iter([record(child_version, Some(digest(&body)))]);
    state
}

fn record(resource_version: u64, plan: Option<u64>) -> SeenChild {
    let (body, _) = planned();
    let metadata = body["metadata"].to_string();
    SeenChild {
        kind: deployments(),
        place_hash: hash32("web"),
        uid_hash: uid(2).short(),
        resource_version,
        state: ready(),
        marks: serde_json::from_str::<PartialMetadata<'_>>(&metadata)
            .unwrap_or_default()
            .marks(),
        content: Content::Recorded(plan.map(|plan| {
            Box::new(LastApplied {
                uid: uid(2),
                body_digest: plan,
            })
        })),
    }
}

/// An event of the Deployment.
fn event(resource_version: u64, edit: impl FnOnce(&mut Value)) -> (ChildEvent, Vec<u8>) {
    let (mut object, _) = planned();
    object = without_nulls(&object);
    object["metadata"]["name"] = "web".into();
    object["metadata"]["namespace"] = "shop".into();
    object["metadata"]["uid"] = uid(2).to_string().into();
    object["metadata"]["resourceVersion"] = resource_version.to_string().into();
    object["metadata"]["generation"] = 1.into();
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v1", "kind": "Site",
        "name": "web", "uid": uid(1).to_string(), "controller": true}]);
    object["status"] = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1});
    edit(&mut object);
    let line = json!({"type": "MODIFIED", "object": object}).to_string();
    let object = object.to_string();
    let object = serde_json::from_str(&object).expect("an object");
    let event = crate::reconcile::observe::child_event::<Sites>(
        &object,
        deployments(),
        false,
        &Paths::of::<Sites>(&[], None),
    );
    (event.expect("a child").1, line.into_bytes())
}

fn pruned() -> Box<dyn Cache> {
    Mode::Pruned.cache(&Arc::new(Sites))
}

/// The work that an event of a child is for an idle owner, with the child as its entry has it.
fn on_event(cache: &mut dyn Cache, (mut event, line): (ChildEvent, Vec<u8>)) -> Option<OwnerState> {
    let mut owner = cache.on_child_event(ChildUpdate {
        owner: &"shop/web".into(),
        event: &mut event,
        line: &line,
        idle: true,
    })?;
    owner.observe(event.child, &|| Content::Unread);
    Some(owner)
}

/// What a worker would get for an owner of which only the uid is known.
fn taken(cache: &dyn Cache) -> OwnerState {
    let mut state = OwnerState::unread(uid(1), Triggers::default());
    cache.complete(&mut state);
    state
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
            edit: |object| object["metadata"]["labels"]["example.com/owner"] = "x".into(),
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
        assert!(cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9])));
        let asked = on_event(&mut *cache, event(10, case.edit));
        let differs = asked.as_ref().map(|state| state.children.are_pending());
        assert_eq!(differs, case.differs, "{}", case.name);
        if let Some(state) = asked {
            assert!(state.work.triggers.has(Triggers::CHECK), "{}", case.name);
            assert!(
                !state.work.triggers.has(Triggers::REFRESH),
                "{}: no read",
                case.name
            );
            assert_eq!(state.object.resource_version, 5, "{}", case.name);
        }
        let again = on_event(&mut *cache, event(10, case.edit));
        assert_eq!(again, None, "{}: the same event again", case.name);
    }
}

#[test]
fn what_is_older_than_what_is_kept_changes_nothing() {
    let mut cache = pruned();
    cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9]));
    let mut older = converged(4, 6);
    older.object.body = Some(r#"{"image":"web:0"}"#.into());
    assert!(cache.on_owner(&mut older, None));
    assert_eq!(taken(&*cache).object.resource_version, 5);
    assert_eq!(
        taken(&*cache).object.body.as_ref().map(|body| &*body.spec),
        Some(r#"{"image":"web:1"}"#)
    );
    let edit = |object: &mut Value| object["spec"]["replicas"] = 9.into();
    assert_eq!(on_event(&mut *cache, event(6, edit)), None, "our own write");
    assert!(taken(&*cache).children[0].content.last_applied().is_some());
}

#[test]
fn a_page_that_was_read_before_an_owner_went_does_not_bring_it_back() {
    let mut cache = pruned();
    cache.relist_began();
    cache.on_owner_gone(uid(1));
    assert!(!cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9])));
    cache.relist_ended(true);
    assert!(cache.is_empty());
    assert!(
        cache.on_owner(&mut converged(5, 6), None),
        "it was restored"
    );
}

#[test]
fn a_relist_forgets_the_owners_that_it_did_not_show() {
    for mode in [Mode::Metadata, Mode::Pruned] {
        let mut cache = mode.cache(&Arc::new(Sites));
        cache.on_owner(&mut converged(5, 6), None);
        cache.relist_began();
        cache.relist_ended(false);
        assert_eq!(cache.len(), 1, "{mode}: that relist failed");
        cache.relist_began();
        let mut other = converged(5, 6);
        other.object.uid = uid(3);
        cache.on_owner(&mut other, Some(&[9, 9, 9]));
        cache.relist_ended(true);
        assert_eq!(cache.len(), 1, "{mode}");
        cache.on_owner_gone(uid(3));
        assert!(cache.is_empty(), "{mode}");
    }
}

#[test]
fn a_child_that_no_page_shows_is_gone_unless_it_is_younger_than_the_page() {
    for (page_revision, left) in [(6, 0), (5, 1)] {
        let mut cache = pruned();
        cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9]));
        let mut state = converged(5, 6);
        state.children = SeenChildren::from_iter([]);
        cache.on_owner(&mut state, Some(&[page_revision; 3]));
        assert_eq!(
            taken(&*cache).children.len(),
            left,
            "page of {page_revision}"
        );
    }
}

#[test]
fn a_worker_does_not_bring_back_a_child_that_vanished_meanwhile() {
    let mut cache = pruned();
    cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9]));
    let mut state = taken(&*cache);
    let (mut event, line) = event(7, |_| {});
    event.child.content = Content::Gone;
    let asked = on_event(&mut *cache, (event, line)).expect("it is planned");
    assert!(
        asked.work.triggers.has(Triggers::REFRESH),
        "the owner may be gone, too"
    );
    assert_eq!(asked.children[0].content, Content::Gone);
    cache.record(&mut state);
    assert!(taken(&*cache).children.is_empty());
    state.children.retain(|_| false);
    state.children.record(record(8, None));
    cache.record(&mut state);
    assert_eq!(taken(&*cache).children.len(), 1, "made anew");
}

#[test]
fn metadata_tell_what_is_observed_from_what_was_kept() {
    let mut cache = Mode::Metadata.cache(&Arc::new(Sites));
    let metadata = || {
        let mut state = converged(7, 6);
        state.object.metadata_only = true;
        state.object.body = None;
        state.object.status = Default::default();
        state
    };
    let mut unknown = metadata();
    cache.on_owner(&mut unknown, None);
    assert!(
        unknown.object.own_triggers(true).has(Triggers::SPEC),
        "it is read"
    );
    cache.record(&mut converged(5, 6));
    let mut known = metadata();
    cache.on_owner(&mut known, None);
    assert!(known.object.own_triggers(true).is_empty());
    let mut changed = metadata();
    changed.object.generation = 2;
    cache.on_owner(&mut changed, None);
    assert!(changed.object.own_triggers(true).has(Triggers::SPEC));
}

#[test]
fn what_came_of_a_child_before_its_owner_is_not_forgotten() {
    // A worker has read the owner and made the child; the watch of the owners is behind.
    let mut cache = pruned();
    let mut state = converged(5, 11);
    state.children[0].state = ChildState::default();
    cache.record(&mut state);
    let (shown, line) = event(12, |object| {
        object["status"]["availableReplicas"] = 1.into()
    });
    state.observe(shown.child.clone(), &|| Content::Unread);
    assert!(state.has_work());
    assert!(on_event(&mut *cache, (shown, line)).is_none());
    let mut created = converged(4, 0);
    created.object.resource_version = 4;
    created.children = SeenChildren::default();
    assert!(cache.on_owner(&mut created, None));
    cache.complete(&mut state);
    assert_eq!(
        (
            state.children[0].state.clone(),
            state.object.resource_version
        ),
        (ready(), 5)
    );
    assert!(state.children.complete);

    // What the cache knows better stays.
    cache.record(&mut state);
    on_event(
        &mut *cache,
        event(14, |object| object["status"]["readyReplicas"] = 0.into()),
    );
    cache.complete(&mut state);
    assert_eq!(state.children[0].state.ready_replicas, 0);
}

#[test]
fn what_was_applied_to_an_earlier_object_of_that_name_is_forgotten() {
    let mut cache = pruned();
    assert!(cache.on_owner(&mut converged(5, 6), Some(&[6, 6, 6])));
    assert!(taken(&*cache).children[0].content.last_applied().is_some());
    // Nothing tells the cache that the Deployment went: it had another controller. A worker has made another one,
    // which becomes ready while the worker still has the owner.
    let mut state = converged(5, 11);
    let Content::Recorded(Some(applied)) = &mut state.children[0].content else {
        panic!("it was applied");
    };
    applied.uid = uid(3);
    let (mut shown, line) = event(12, |_| {});
    cache.on_child_event(ChildUpdate {
        owner: &"shop/web".into(),
        event: &mut shown,
        line: &line,
        idle: false,
    });
    cache.record(&mut state);
    let known = taken(&*cache).children;
    assert_eq!(known[0].resource_version, 12);
    assert_eq!(known[0].content, Content::Recorded(None));
}

#[test]
fn a_child_that_a_worker_has_found_to_be_gone_is_read_before_it_is_relied_on() {
    // No event tells it: another controller had taken the Deployment over.
    let mut cache = pruned();
    assert!(cache.on_owner(&mut converged(5, 6), Some(&[6, 6, 6])));
    let mut state = taken(&*cache);
    state.children.retain(|_| false);
    cache.record(&mut state);
    assert_eq!(taken(&*cache).children[0].content, Content::Recorded(None));
}

#[test]
fn modes_are_named_as_they_are_parsed() {
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse::<Mode>().ok(), Some(mode));
    }
    let error = "warm".parse::<Mode>().expect_err("no mode").to_string();
    assert!(error.contains("none, metadata and pruned"), "{error}");
}

#[test]
fn a_deletion_of_a_child_hides_no_older_change_of_another() {
    let mut cache = pruned();
    let mut owner = converged(5, 6);
    owner.children = SeenChildren::default();
    assert!(cache.on_owner(&mut owner, None));
    let (mut deleted, line) = event(12, |_| {});
    deleted.child.kind = KindId::child(0).expect("the Services");
    deleted.child.content = Content::Gone;
    on_event(&mut *cache, (deleted, line));
    // The Deployment was created before that, and the watch of Deployments is behind.
    on_event(&mut *cache, event(11, |_| {}));
    assert_eq!(taken(&*cache).children[0].state.ready_replicas, 1);

    // The same from a worker: the Deployment may be the child that was deleted, so that it is read.
    let mut cache = pruned();
    assert!(cache.on_owner(&mut owner, None));
    let (mut deleted, line) = event(12, |_| {});
    deleted.child.kind = KindId::child(0).expect("the Services");
    deleted.child.content = Content::Gone;
    on_event(&mut *cache, (deleted, line));
    cache.record(&mut converged(5, 11));
    let known = taken(&*cache).children;
    assert_eq!(
        (known[0].state.clone(), known[0].content.last_applied()),
        (ready(), None)
    );
}

#[test]
fn what_a_worker_saw_before_the_page_of_a_relist_is_newer_than_the_page() {
    let mut cache = pruned();
    cache.relist_began();
    // An event of the child came before the page that shows its owner, and nothing had to be written.
    cache.record(&mut converged(5, 12));
    let mut page = converged(5, 6);
    page.children[0].state = ChildState::default();
    assert!(cache.on_owner(&mut page, Some(&[9, 9, 9])));
    let taken = taken(&*cache);
    assert_eq!(taken.children[0].resource_version, 12);
    assert_eq!(taken.children[0].state, ready());
    cache.relist_ended(true);
    assert_eq!(cache.len(), 1);
}

#[test]
fn a_child_that_a_worker_did_not_find_is_read_before_it_is_relied_on() {
    let mut cache = pruned();
    cache.on_owner(&mut converged(5, 6), Some(&[9, 9, 9]));
    // It knew the owner by its name alone, because another controller had taken the child over before it was deleted.
    let mut state = converged(5, 6);
    state.children = SeenChildren::default();
    cache.record(&mut state);
    assert_eq!(taken(&*cache).children[0].content, Content::Recorded(None));
}
