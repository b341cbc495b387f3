//! One collection of objects on the API server: what is requested to list and to watch it.
//!
//! Guarantees: a token and a selector are encoded. Leaves to others: which collections there are (`paths`, `free`),
//! sending requests.

use crate::http::request::{METADATA, WHOLE, encode};

/// A collection that is listed and watched.
#[derive(Debug, Clone)]
pub struct Collection {
    /// `/apis/apps/v1/namespaces/shop/deployments`.
    path: String,
    /// Of it, how long `/apis/apps/v1` is, and how long `deployments`.
    lengths: (usize, usize),
    /// `&labelSelector=…`, or nothing.
    selector: String,
    /// What a watch of it returns.
    watched_as: &'static str,
}

impl Collection {
    /// The `plural` of the API at `root` (`/apis/apps/v1`), in one namespace or in all; whole objects. `selector`:
    /// `&labelSelector=…`, or nothing.
    pub fn new(root: &str, namespace: Option<&str>, plural: &str, selector: String) -> Self {
        let within = namespace.map(|namespace| format!("/namespaces/{}", encode(namespace)));
        Self {
            path: format!("{root}{}/{plural}", within.unwrap_or_default()),
            lengths: (root.len(), plural.len()),
            selector,
            watched_as: WHOLE,
        }
    }

    /// Watched as metadata only.
    #[must_use]
    pub fn as_metadata(mut self) -> Self {
        self.watched_as = METADATA;
        self
    }

    /// The path of the collection.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same collection in `namespace` alone; with none, without one.
    pub fn path_in(&self, namespace: &str) -> String {
        let (root, plural) = (&self.path[..self.lengths.0], self.plural());
        match namespace {
            "" => format!("{root}/{plural}"),
            _ => format!("{root}/namespaces/{}/{plural}", encode(namespace)),
        }
    }

    /// The object of that name in `namespace`.
    pub fn object_path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.path_in(namespace), encode(name))
    }

    /// `deployments`, ...
    pub fn plural(&self) -> &str {
        &self.path[self.path.len() - self.lengths.1..]
    }

    /// `&labelSelector=…`, or nothing.
    pub fn selector(&self) -> &str {
        &self.selector
    }

    /// What a watch returns: [`METADATA`] or [`WHOLE`].
    pub fn watched_as(&self) -> &'static str {
        self.watched_as
    }

    /// A page of at most `limit` objects, from the start or from the token `resume` on.
    pub fn list_path(&self, limit: u32, resume: Option<&str>) -> String {
        let mut path = format!("{}?limit={limit}{}", self.path, self.selector);
        if let Some(token) = resume {
            path.push_str("&continue=");
            path.push_str(&encode(token));
        }
        path
    }

    /// One object of the collection, whichever comes first: its list says where the server is now.
    pub fn revision_path(&self) -> String {
        format!("{}?limit=1", self.path)
    }

    /// A watch from `resource_version` on; the server ends it after `timeout_s`.
    pub fn watch_path(&self, resource_version: u64, timeout_s: u64) -> String {
        format!(
            "{}?watch=1&allowWatchBookmarks=true&resourceVersion={resource_version}&timeoutSeconds={timeout_s}{}",
            self.path, self.selector
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let selector = "&labelSelector=a%3Db".to_owned();
        let all = Collection::new("/api/v1", None, "services", selector);
        assert_eq!(all.plural(), "services");
        assert_eq!(
            all.list_path(5, Some("x=")),
            "/api/v1/services?limit=5&labelSelector=a%3Db&continue=x%3D"
        );
        assert_eq!(
            all.watch_path(7, 9),
            "/api/v1/services?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=9&labelSelector=a%3Db"
        );
        assert_eq!(all.path_in(""), all.path());
        assert_eq!(
            all.object_path("shop", "web"),
            "/api/v1/namespaces/shop/services/web"
        );
        let one = Collection::new("/api/v1", Some("shop"), "services", String::new());
        assert_eq!(
            (one.path(), one.path_in("shop").as_str()),
            (one.path(), one.path())
        );
    }
}
