//! The child of an object, as a node reports on it: a soak changes its readiness.
//!
//! Guarantees: data of the workload. Leaves to others: when it is said, and that nobody else
//! says something different (only the simulated server leaves a child as it was told).

use std::sync::Arc;

use serde_json::Value;

use crate::spec::workload::template::{Error, Fill, Template};

/// The child whose readiness decides about the object's.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// Of its status.
    path: Arc<Template>,
    /// Merge patches.
    ready: Value,
    not_ready: Value,
}

impl Readiness {
    /// `path` is a text with `{{ namespace }}` and `{{ name }}`, those of the object.
    ///
    /// # Errors
    /// `path` is no template.
    pub fn new(path: &str, ready: Value, not_ready: Value) -> Result<Self, Error> {
        Ok(Self {
            path: Arc::new(Template::compile(&path.into())?),
            ready,
            not_ready,
        })
    }

    /// Path and bytes of the merge patch that makes it ready, or not.
    ///
    /// # Errors
    /// The path cannot be rendered for this object.
    pub fn status(
        &self,
        namespace: &str,
        name: &str,
        ready: bool,
    ) -> Result<(String, Vec<u8>), Error> {
        let path = self.path.render(&Fill::of(name, namespace, 0, 0))?;
        let status = match ready {
            true => &self.ready,
            false => &self.not_ready,
        };
        let path = path.as_str().unwrap_or_default().to_owned();
        Ok((path, status.to_string().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::workload;

    #[test]
    fn the_two_statuses_differ_and_go_to_the_objects_own_child() {
        let readiness = workload::default().expect("valid").readiness;
        let readiness = readiness.expect("it has one");
        let status = |ready| readiness.status("edge", "ea-7", ready).expect("a path");
        let (path, ready) = status(true);
        assert_eq!(
            path,
            "/apis/apps/v1/namespaces/edge/deployments/ea-7/status"
        );
        assert_ne!(ready, status(false).1);
    }
}
