//! A page shows an owner as it was before its work was done, and newer children.

use crate::queue::tests::*;

/// The resourceVersions of the first pages: of the owners, and of two kinds of children.
const REVISIONS: [u64; 3] = [5, 20, 20];

/// The owner `a/x` as a page shows it from before its work was done, with these children.
fn page(children: Vec<SeenChild>) -> OwnerState {
    let mut state = observed(owner_at(1, 5), true);
    state.children = children.into_iter().collect();
    state
}

fn at(resource_version: u64, change: impl FnOnce(&mut ChildState)) -> SeenChild {
    let mut record = record(resource_version);
    change(&mut record.state);
    record
}

/// `a/x` waits for its child, which was written at 8.
fn waiting(queue: &mut Queue) {
    queue.admit_owner(&"a/x".into(), owner_at(1, 5), Triggers::default());
    let (key, mut owner) = take(queue);
    (owner.object.own_version, owner.object.resource_version) = (9, 9);
    owner.children.record(at(8, |state| state.generation = 1));
    owner.children.complete = true;
    queue.finish(&key, observed(owner, false), WRITTEN, 0);
}

#[test]
fn what_only_a_page_shows_of_the_children_is_work() {
    let child = || at(8, |state| state.generation = 1);
    let ready = at(12, |state| {
        (state.generation, state.ready_replicas) = (1, 1)
    });
    let edited = at(12, |state| state.generation = 2);
    let ungenerated = at(12, |state| state.generation = 0);
    let mut other = child();
    other.place_hash += 1;
    let nothing = (Triggers::default(), vec![]);
    let look = |content: Content| (Triggers::default(), vec![content]);
    for (what, children, want) in [
        ("as written", vec![child()], nothing.clone()),
        (
            "older",
            vec![at(7, |state| state.generation = 2)],
            nothing.clone(),
        ),
        ("it became ready", vec![ready], (Triggers::STATUS, vec![])),
        ("its spec was edited", vec![edited], look(Content::Unread)),
        (
            "nothing tells what changed",
            vec![ungenerated],
            look(Content::Unread),
        ),
        ("another one", vec![child(), other], look(Content::Unread)),
        (
            "it is gone",
            vec![],
            (Triggers::REFRESH, vec![Content::Gone]),
        ),
    ] {
        let mut queue = queue(Limits::default());
        waiting(&mut queue);
        queue.admit_past(&"a/x".into(), &page(children), &REVISIONS);
        let found = queue.take().map_or(nothing.clone(), |(_, owner)| {
            let looks = owner.children.into_iter().map(|child| child.content);
            (
                owner.work.triggers,
                looks.filter(Content::is_pending).collect(),
            )
        });
        assert_eq!(found, want, "{what}");
    }
}

#[test]
fn a_child_that_is_newer_than_the_page_is_not_gone() {
    let mut queue = queue(Limits::default());
    waiting(&mut queue);
    let admission = queue.admit_past(&"a/x".into(), &page(vec![]), &[5, 7, 7]);
    assert_eq!((admission, queue.depth()), (Admission::Idle, 0));
}

#[test]
fn the_children_of_an_owner_whose_entry_is_gone_are_compared() {
    let mut queue = queue(Limits::default());
    let admission = queue.admit_past(&"a/x".into(), &page(vec![]), &REVISIONS);
    assert_eq!(admission, Admission::Accepted);
    assert!(take(&mut queue).1.work.triggers.has(Triggers::CHECK));
}

#[test]
fn an_owner_that_a_worker_has_is_looked_at_again() {
    let mut queue = queue(Limits::default());
    waiting(&mut queue);
    let again = page(vec![at(12, |state| state.generation = 2)]);
    queue.admit_past(&"a/x".into(), &again, &REVISIONS);
    let (key, owner) = take(&mut queue);
    // The worker relies on what was retained before this page.
    queue.admit_past(&key, &page(vec![]), &REVISIONS);
    queue.finish(&key, observed(owner, true), WRITTEN, 0);
    let triggers = take(&mut queue).1.work.triggers;
    assert!(triggers.has(Triggers::CHECK.with(Triggers::READ)));
}
