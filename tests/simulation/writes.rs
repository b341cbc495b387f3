//! The oracle of single writes: the object before and after each one that the operator made.
//!
//! Guarantees: a write is judged by the objects of the server, and by which replica made a child. With two replicas
//! everything holds that holds with one, but for the finalizer: it goes after the children that the same replica has made.
//! A replica that has not seen yet that the owner is deleted may make a child after the other one has listed the
//! children: the API server has no write of an owner that depends on them. Such a child names its owner, and the garbage
//! collector deletes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubesim::Server;
use serde_json::Value;

use crate::call::Call;
use crate::planned::controller;
use crate::subject::Subject;

/// Which replica made a child, by uid.
pub type Makers = Arc<Mutex<BTreeMap<String, u64>>>;

/// Judges the writes of a replica.
pub struct Writes {
    pub replica: u64,
    pub makers: Makers,
    pub subject: Subject,
    /// How often the cleanup of an owner succeeded, by uid.
    pub cleanups: Arc<Mutex<BTreeMap<String, u32>>>,
    /// The owners as the server has shown each to this replica when it was last read, by name.
    pub shown: Mutex<BTreeMap<String, Value>>,
}

/// What a write found.
pub struct Before(Option<Value>);

impl Writes {
    /// A request arrives; for a write, what it finds.
    pub fn arrives(&self, server: &Server, call: &Call) -> Option<Before> {
        let object = server.object(&call.resource, &call.namespace, &call.name);
        if call.is_write() {
            return Some(Before(object));
        }
        if call.verb == "get" && call.resource == self.subject.plural() {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.insert(call.name.clone(), object.unwrap_or_default());
        }
        None
    }

    /// What is wrong with a write that was executed.
    pub fn after(&self, server: &Server, call: &Call, before: Before) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_child = self
            .subject
            .kinds()
            .iter()
            .any(|kind| kind.plural == call.resource);
        if is_child {
            if before.0.is_none()
                && let Some(made) = server.object(&call.resource, &call.namespace, &call.name)
            {
                let uid = made["metadata"]["uid"].as_str().unwrap_or_default();
                self.makers().insert(uid.to_owned(), self.replica);
            }
            if let Some(object) = &before.0
                && !self.is_ours(object)
                && !self.is_adoption(server, call, object)
            {
                wrong.push(format!(
                    "{call}: the object is not ours: {}",
                    object["metadata"]
                ));
            }
        } else if call.resource == self.subject.plural() {
            self.owner(server, call, before.0, &mut wrong);
        } else if call.resource != "events" {
            wrong.push(format!("{call}: nothing of that kind is ours"));
        }
        wrong
    }

    fn is_of_another_replica(&self, child: &Value) -> bool {
        let uid = child["metadata"]["uid"].as_str().unwrap_or_default();
        let makers = self.makers();
        makers.get(uid).is_some_and(|maker| *maker != self.replica)
    }

    fn makers(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.makers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the controller of an object is one of our owners.
    fn is_ours(&self, object: &Value) -> bool {
        controller(object).is_some_and(|owner| owner["kind"] == self.subject.kind())
    }

    /// Whether the write made the owner that an orphan is labelled for its controller, and changed nothing else: the owner that
    /// the server showed when it was last read, and that was not being deleted. It may be gone when the write arrives: the API
    /// server has no write of a child that depends on its owner.
    fn is_adoption(&self, server: &Server, call: &Call, orphan: &Value) -> bool {
        let Some(after) = server.object(&call.resource, &call.namespace, &call.name) else {
            return false;
        };
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = labelled_owner(orphan).and_then(|name| shown.get(name));
        let is_its_controller = controller(&after)
            .zip(owner)
            .is_some_and(|(reference, owner)| {
                reference["uid"] == owner["metadata"]["uid"]
                    && owner["metadata"]["deletionTimestamp"].is_null()
            });
        let same = |pointer: &str| after.pointer(pointer) == orphan.pointer(pointer);
        let is_all = [
            "/spec",
            "/data",
            "/metadata/labels",
            "/metadata/annotations",
        ];
        controller(orphan).is_none() && is_its_controller && is_all.into_iter().all(same)
    }

    fn owner(&self, server: &Server, call: &Call, before: Option<Value>, wrong: &mut Vec<String>) {
        let Some(before) = before else {
            return wrong.push(format!("{call}: an owner was made"));
        };
        if call.verb == "delete" {
            return wrong.push(format!("{call}: an owner was deleted"));
        }
        let after = server.object(&call.resource, &call.namespace, &call.name);
        let uid = before["metadata"]["uid"].as_str().unwrap_or_default();
        if let Some(after) = &after
            && after["metadata"]["uid"] == uid
        {
            if after["spec"] != before["spec"] {
                wrong.push(format!("{call}: the spec of an owner was changed"));
            }
            let observed = |object: &Value| object["status"]["observedGeneration"].as_i64();
            if observed(after) < observed(&before) {
                wrong.push(format!(
                    "{call}: observedGeneration went from {:?} back to {:?}",
                    observed(&before),
                    observed(after)
                ));
            }
        }
        let Some(finalizer) = self.subject.finalizer() else {
            return;
        };
        let has = |object: &Value| {
            let all = object["metadata"]["finalizers"].as_array();
            all.is_some_and(|all| all.iter().any(|one| one == finalizer))
        };
        if !has(&before) || after.as_ref().is_some_and(has) {
            return;
        }
        // With it the children stay, and the garbage collector frees them of their owner.
        let finalizers = before["metadata"]["finalizers"].as_array();
        let orphans = finalizers.is_some_and(|all| all.iter().any(|one| one == "orphan"));
        let cleanups = self.cleanups.lock().unwrap_or_else(PoisonError::into_inner);
        if !cleanups.contains_key(uid) {
            wrong.push(format!("{call}: the finalizer went without a cleanup"));
        }
        for kind in self.subject.kinds() {
            for child in server.objects(kind.plural) {
                let owned = controller(&child).is_some_and(|owner| owner["uid"] == uid);
                if owned && !orphans && !self.is_of_another_replica(&child) {
                    wrong.push(format!(
                        "{call}: the finalizer went before {} {}",
                        kind.plural, child["metadata"]["name"]
                    ));
                }
            }
        }
    }
}

/// Name of the owner that the labels of an object name.
pub fn labelled_owner(object: &Value) -> Option<&str> {
    let labels = object["metadata"]["labels"].as_object()?;
    let (_, name) = labels.iter().find(|(label, _)| label.ends_with("/owner"))?;
    name.as_str()
}
