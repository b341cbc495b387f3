//! Status writes that the watch has not shown yet.
//!
//! Guarantees: a reconcile can tell that its copy of an app is older than what was last written to
//! it. Without that, the predicate that drops one's own events would let an outdated decision stand.
//! Holds an entry per write under way, not per app.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use baseline_kube_rs::edgeapp::EdgeApp;
use kube::ResourceExt;

#[derive(Debug, Default)]
pub struct Unseen(Mutex<HashMap<String, u64>>);

impl Unseen {
    /// The app as it is after a write.
    pub fn wrote(&self, app: &EdgeApp) {
        if let (Some(uid), Some(version)) = (app.uid(), version(app)) {
            self.versions().insert(uid, version);
        }
    }

    /// The app as the watch shows it.
    pub fn seen(&self, app: &EdgeApp) {
        if !self.is_outdated(app) {
            self.forget(app);
        }
    }

    pub fn forget(&self, app: &EdgeApp) {
        if let Some(uid) = &app.metadata.uid {
            self.versions().remove(uid);
        }
    }

    /// This copy was read before the last write.
    pub fn is_outdated(&self, app: &EdgeApp) -> bool {
        let uid = app.metadata.uid.as_ref();
        let written = uid.and_then(|uid| self.versions().get(uid).copied());
        written.is_some_and(|written| version(app).is_some_and(|seen| seen < written))
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        // A panic elsewhere leaves a whole map behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers can be compared, as KEP-5504 has it; what is none is never held to be outdated.
fn version(app: &EdgeApp) -> Option<u64> {
    app.metadata.resource_version.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(version: &str) -> EdgeApp {
        let spec = serde_json::json!({ "image": "web:1" });
        let mut app = EdgeApp::new("web", serde_json::from_value(spec).expect("a spec"));
        app.metadata.uid = Some("u-1".to_owned());
        app.metadata.resource_version = Some(version.to_owned());
        app
    }

    #[test]
    fn a_copy_is_outdated_until_the_watch_has_shown_the_write() {
        let unseen = Unseen::default();
        assert!(!unseen.is_outdated(&app("7")));
        unseen.wrote(&app("9"));
        unseen.seen(&app("8"));
        assert!(unseen.is_outdated(&app("8")));
        assert!(!unseen.is_outdated(&app("9")));
        // A relist may skip versions.
        unseen.seen(&app("12"));
        assert!(!unseen.is_outdated(&app("8")), "nothing is held");
    }
}
