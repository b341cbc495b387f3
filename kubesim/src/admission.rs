//! Mutating admission: a closure may rewrite every object that is about to be written.
//!
//! Guarantees: as with kube-apiserver it comes after the ownership of fields is recorded, so that what it rewrites belongs
//! to whoever has sent the request; a generation moves only if something differs from what is stored after it. Without
//! a closure nothing changes. It is not called for subresources and deletions. Leaves to others: validating.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

/// What the closure is given beside the object.
#[derive(Debug)]
pub struct AdmissionFacts<'a> {
    /// The field manager of the request.
    pub manager: &'a str,
    pub resource: &'a str,
    pub namespace: &'a str,
}

type Hook = Arc<dyn Fn(&AdmissionFacts<'_>, &mut Value) + Send + Sync>;

/// The policy in force; none to begin with.
#[derive(Default)]
pub struct Admission {
    hook: RwLock<Option<Hook>>,
}

impl Admission {
    /// Replaces the closure that rewrites objects. It must be quick and must not call the server.
    pub fn rewrite(&self, hook: impl Fn(&AdmissionFacts<'_>, &mut Value) + Send + Sync + 'static) {
        *self.hook.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hook));
    }

    /// Nothing is rewritten from here on.
    pub fn clear(&self) {
        *self.hook.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether `object` was rewritten.
    pub(crate) fn admit(&self, facts: &AdmissionFacts<'_>, object: &mut Value) -> bool {
        let hook = self.hook.read().unwrap_or_else(PoisonError::into_inner);
        let Some(hook) = hook.clone() else {
            return false;
        };
        let before = object.clone();
        hook(facts, object);
        *object != before
    }
}
