//! The names that children have had, as patterns around the name of their owner: a child that left the plan is
//! looked for by name, so that nobody has to name it and no list is needed.
//!
//! Guarantees: bounded for each kind, whatever the number of objects. Every child that exists is covered: it was
//! planned by this process, or a page of the first relist has shown it, or an event has. A kind whose names do
//! not follow from those of the owners, or follow in too many ways, is listed by the label of its owner.
//! Leaves to others: whether such a child exists and is ours (`children`).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::{Child, Operator, kind_index};
use crate::model::{KindId, ObjectKey};

/// Patterns that are kept of one kind. An operator has one or two; each that is not planned costs a read for
/// every spec that changes.
const PATTERNS: usize = 8;

/// The names of children around those of their owners, for each kind of child.
#[derive(Debug)]
pub struct ChildNames {
    kinds: Mutex<Vec<Names>>,
    /// Whether a relist has shown what earlier processes left.
    complete: AtomicBool,
}

#[derive(Debug, Clone)]
enum Names {
    /// What stands before and after the owner's name.
    Patterns(Vec<(Box<str>, Box<str>)>),
    /// They do not follow from the owner's name.
    Irregular,
    /// Nor does their namespace from the owner's.
    Elsewhere,
}

impl ChildNames {
    /// Nothing is known of the names of `kinds` kinds of children.
    pub fn new(kinds: usize) -> Self {
        Self {
            kinds: Mutex::new(vec![Names::Patterns(Vec::new()); kinds]),
            complete: AtomicBool::new(false),
        }
    }

    /// The owner `owner` has or had a child with this namespace and name.
    pub(crate) fn learn(&self, kind: KindId, owner: &ObjectKey, (namespace, child): (&str, &str)) {
        let mut kinds = self.lock();
        let Some(names) = kind
            .index()
            .checked_sub(1)
            .and_then(|index| kinds.get_mut(index))
        else {
            return;
        };
        if namespace != owner.namespace() {
            *names = Names::Elsewhere;
        }
        let Names::Patterns(patterns) = names else {
            return;
        };
        match around(owner.name(), child) {
            Some((before, after)) => {
                let is_known = |(b, a): &(Box<str>, Box<str>)| (&**b, &**a) == (before, after);
                if patterns.iter().any(is_known) {
                    return;
                }
                match patterns.len() < PATTERNS {
                    true => patterns.push((before.into(), after.into())),
                    false => *names = Names::Irregular,
                }
            }
            None => *names = Names::Irregular,
        }
    }

    /// A relist has shown all children.
    pub(crate) fn relisted(&self) {
        self.complete.store(true, Relaxed);
    }

    /// Whether a relist has shown what earlier processes left.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.load(Relaxed)
    }

    /// The children that `owner` may have beside those of its plan, as absent.
    pub(crate) fn unplanned<O: Operator>(&self, owner: &ObjectKey, plan: &[Child]) -> Vec<Child> {
        let (namespace, owner) = owner.parts();
        let mut unplanned = Vec::new();
        let kinds = KindId::children(O::KINDS.len()).zip(O::KINDS);
        for (names, (id, kind)) in self.lock().iter().zip(kinds) {
            let Names::Patterns(patterns) = names else {
                continue;
            };
            for (before, after) in patterns {
                let name = [&**before, owner, &**after].concat();
                if !is_planned::<O>(plan, id, namespace, (namespace, &name)) {
                    unplanned.push(Child::absent(*kind, name));
                }
            }
        }
        unplanned
    }

    /// Whether the names of this kind do not follow from those of the owners.
    pub(crate) fn is_irregular(&self, kind: KindId) -> bool {
        kind.of(&self.lock())
            .is_some_and(|names| !matches!(names, Names::Patterns(_)))
    }

    /// Whether children of this kind may be where their owners are not.
    pub(crate) fn are_elsewhere(&self, kind: KindId) -> bool {
        let is_elsewhere = |names: &Names| matches!(names, Names::Elsewhere);
        !self.is_complete() || kind.of(&self.lock()).is_some_and(is_elsewhere)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Names>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the plan of an owner in the namespace `of_owner` speaks of the child, as one that exists or as one that is absent.
pub(crate) fn is_planned<O: Operator>(
    plan: &[Child],
    kind: KindId,
    of_owner: &str,
    place: (&str, &str),
) -> bool {
    plan.iter().any(|child| {
        child.is_at(of_owner, place) && kind_index(O::KINDS, &child.kind) == Some(kind)
    })
}

/// What stands before and after the owner's name in that of a child.
fn around<'a>(owner: &str, child: &'a str) -> Option<(&'a str, &'a str)> {
    let separates = |c: Option<char>| c.is_none_or(|c| matches!(c, '-' | '.'));
    let ends = |before: &str, after: &str| {
        separates(before.chars().next_back()) && separates(after.chars().next())
    };
    let mut places = child.match_indices(owner).map(|(start, _)| {
        let (before, rest) = child.split_at(start);
        (before, &rest[owner.len()..])
    });
    places
        .clone()
        .find(|(before, after)| ends(before, after))
        .or_else(|| places.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_operator::Sites;

    fn kind(place: usize) -> KindId {
        KindId::child(place).expect("a kind of child")
    }

    fn learn(names: &ChildNames, kind: KindId, owner: &str, child: &str) {
        names.learn(kind, &ObjectKey::new("default", owner), ("default", child));
    }

    fn names(names: &ChildNames, owner: &str, plan: &[Child]) -> Vec<String> {
        let unplanned = names.unplanned::<Sites>(&ObjectKey::new("default", owner), plan);
        unplanned
            .into_iter()
            .map(|child| format!("{}/{}", child.kind.plural, child.name))
            .collect()
    }

    #[test]
    fn a_child_that_left_the_plan_is_looked_for_by_its_name() {
        let known = ChildNames::new(2);
        learn(&known, kind(0), "shop", "shop-front");
        learn(&known, kind(0), "blog", "blog-front");
        learn(&known, kind(1), "shop", "shop");
        let [service, deployment] = [crate::api::SERVICE, crate::api::DEPLOYMENT];
        assert_eq!(
            names(&known, "web", &[Child::absent(deployment, "web")]),
            ["services/web-front"]
        );
        let all = [
            Child::absent(deployment, "web"),
            Child::absent(service, "web-front"),
        ];
        assert!(names(&known, "web", &all).is_empty(), "no read too many");
    }

    #[test]
    fn the_name_of_the_owner_is_a_whole_word_where_it_can_be() {
        assert_eq!(around("w", "web-w"), Some(("web-", "")));
        assert_eq!(around("web", "web-w"), Some(("", "-w")));
        assert_eq!(around("eb", "web"), Some(("w", "")));
        assert_eq!(around("shop", "web"), None);
    }

    #[test]
    fn names_that_do_not_follow_from_the_owner_are_listed() {
        let known = ChildNames::new(2);
        learn(&known, kind(0), "shop", "settings");
        assert!(known.is_irregular(kind(0)));
        for n in 0..=PATTERNS {
            assert!(!known.is_irregular(kind(1)));
            learn(&known, kind(1), "shop", &format!("shop-{n}"));
        }
        assert!(known.is_irregular(kind(1)), "in too many ways");
        known.relisted();
        assert!(!known.are_elsewhere(kind(1)));
        known.learn(kind(1), &"default/shop".into(), ("infra", "shop"));
        assert!(known.is_irregular(kind(1)) && known.are_elsewhere(kind(1)));
    }
}
