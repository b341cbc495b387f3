//! One collection of objects on the API server: what is requested to list and to watch it.
//!
//! Guarantees: a token and a selector are encoded. Leaves to others: which collections there are (`paths`, `free`),
//! sending requests.

use std::sync::Arc;

use crate::http::request::{METADATA, METADATA_LIST, WHOLE, encode};

/// What a list keeps of the `managedFields` of an object that has a generation. (Without one they say whether anybody has
/// changed it, and are kept.)
#[derive(Debug, Clone)]
pub(crate) enum ManagedFields {
    None,
    /// The managers, and which of them have written the annotation that has this name there.
    Of(Arc<str>),
    All,
}

impl ManagedFields {
    /// Those of the annotation `name`.
    pub fn of(name: &str) -> Self {
        Self::Of(format!("f:{name}").into())
    }

    /// Whether the annotation with this name in `managedFields` is kept.
    pub fn keeps(&self, name: &[u8]) -> bool {
        matches!(self, Self::Of(kept) if kept.as_bytes() == name)
    }
}

/// A collection that is listed and watched.
#[derive(Debug, Clone)]
pub struct Collection {
    /// `/apis/apps/v1/namespaces/shop/deployments`.
    path: String,
    /// Of it, how long `/apis/apps/v1` is, and how long `deployments`.
    lengths: (usize, usize),
    /// By which labels and which fields its objects are selected; empty where by none.
    selectors: [String; 2],
    /// What a watch of it returns, and what a list.
    watched_as: &'static str,
    listed_as: &'static str,
    managed: ManagedFields,
    /// Its objects are in no namespace.
    is_of_cluster: bool,
}

impl Collection {
    /// The `plural` of the API at `root` (`/apis/apps/v1`), in one namespace or in all. Objects are listed without
    /// managedFields where they have a generation.
    pub fn new(root: &str, namespace: Option<&str>, plural: &str) -> Self {
        let within = namespace.map(|namespace| format!("/namespaces/{}", encode(namespace)));
        Self {
            path: format!("{root}{}/{plural}", within.unwrap_or_default()),
            lengths: (root.len(), plural.len()),
            selectors: Default::default(),
            watched_as: WHOLE,
            listed_as: WHOLE,
            managed: ManagedFields::None,
            is_of_cluster: false,
        }
    }

    /// Of a kind without namespaces: its objects have the same path in each.
    #[must_use]
    pub fn of_cluster(mut self) -> Self {
        self.is_of_cluster = true;
        self
    }

    /// Of it the objects that these selectors take.
    #[must_use]
    pub fn selected_by(mut self, labels: Option<&str>, fields: Option<&str>) -> Self {
        self.selectors = [labels, fields].map(|selector| selector.unwrap_or_default().to_owned());
        self
    }

    /// The same kind in `namespace` alone; empty: in all, or of a kind without namespaces. Nothing is selected.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        Self {
            path: self.path_in(namespace),
            selectors: Default::default(),
            ..self.clone()
        }
    }

    /// Watched as metadata only.
    #[must_use]
    pub fn watched_as_metadata(mut self) -> Self {
        self.watched_as = METADATA;
        self
    }

    /// Listed as metadata only.
    #[must_use]
    pub fn listed_as_metadata(mut self) -> Self {
        self.listed_as = METADATA_LIST;
        self
    }

    /// Listed with so much of the managedFields.
    #[must_use]
    pub(crate) fn listed_with(mut self, managed: ManagedFields) -> Self {
        self.managed = managed;
        self
    }

    /// What a list returns.
    pub fn listed_as(&self) -> &'static str {
        self.listed_as
    }

    /// What a list keeps of the managedFields.
    pub(crate) fn managed(&self) -> &ManagedFields {
        &self.managed
    }

    /// The path of the collection.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same collection in `namespace` alone; with none, without one.
    pub fn path_in(&self, namespace: &str) -> String {
        let (root, plural) = (&self.path[..self.lengths.0], self.plural());
        match namespace.is_empty() || self.is_of_cluster {
            true => format!("{root}/{plural}"),
            false => format!("{root}/namespaces/{}/{plural}", encode(namespace)),
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

    /// A list that has the object if it is selected, and nothing else; `None` where all objects are selected.
    /// The server finds it by its name, as cheaply as [`object_path`](Self::object_path).
    pub fn selected_object_path(&self, namespace: &str, name: &str) -> Option<String> {
        let [labels, fields] = &self.selectors;
        if labels.is_empty() && fields.is_empty() {
            return None;
        }
        let mut named = format!("metadata.name={name}");
        if !fields.is_empty() {
            named = format!("{named},{fields}");
        }
        let path = self.path_in(namespace);
        Some(format!("{path}?{}", &selection(labels, &named)[1..]))
    }

    /// The objects of the selected ones that `term` takes, by their labels; in `namespace`, or in all of the collection.
    pub fn labelled_path(&self, namespace: Option<&str>, term: &str) -> String {
        let [labels, fields] = &self.selectors;
        let path = match namespace {
            Some(namespace) => self.path_in(namespace),
            None => self.path.clone(),
        };
        let labels = format!("{labels},{term}");
        format!(
            "{path}?{}",
            &selection(labels.trim_start_matches(','), fields)[1..]
        )
    }

    /// What a watch returns: [`METADATA`] or [`WHOLE`].
    pub fn watched_as(&self) -> &'static str {
        self.watched_as
    }

    /// A page of at most `limit` objects, from the start or from the token `resume` on.
    pub fn list_path(&self, limit: u32, resume: Option<&str>) -> String {
        let [labels, fields] = &self.selectors;
        let selection = selection(labels, fields);
        let mut path = format!("{}?limit={limit}{selection}", self.path);
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
        let [labels, fields] = &self.selectors;
        let selection = selection(labels, fields);
        format!(
            "{}?watch=1&allowWatchBookmarks=true&resourceVersion={resource_version}&timeoutSeconds={timeout_s}{selection}",
            self.path
        )
    }
}

/// `&fieldSelector=…&labelSelector=…`, without what is empty.
fn selection(labels: &str, fields: &str) -> String {
    let mut selection = String::new();
    for (parameter, selector) in [("fieldSelector", fields), ("labelSelector", labels)] {
        if !selector.is_empty() {
            selection = format!("{selection}&{parameter}={}", encode(selector));
        }
    }
    selection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let all = Collection::new("/api/v1", None, "services").selected_by(Some("a=b"), None);
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
        let of_cluster = Collection::new("/api/v1", None, "nodes").of_cluster();
        assert_eq!(of_cluster.object_path("shop", "one"), "/api/v1/nodes/one");
        let one = Collection::new("/api/v1", Some("shop"), "services");
        assert_eq!(one.selected_object_path("shop", "web"), None);
        let one = one.selected_by(Some("a=b"), Some("x=y"));
        assert_eq!(
            one.selected_object_path("shop", "web").as_deref(),
            Some(
                "/api/v1/namespaces/shop/services?fieldSelector=metadata.name%3Dweb%2Cx%3Dy&labelSelector=a%3Db"
            )
        );
        assert_eq!(
            all.labelled_path(Some("shop"), "c in (d)"),
            "/api/v1/namespaces/shop/services?labelSelector=a%3Db%2Cc%20in%20%28d%29"
        );
        let within = one.within("park").selected_by(Some("c=d"), None);
        assert_eq!(
            within.list_path(5, None),
            "/api/v1/namespaces/park/services?limit=5&labelSelector=c%3Dd"
        );
        assert_eq!(one.within("").path(), "/api/v1/services");
        assert_eq!(
            (one.path(), one.path_in("shop").as_str()),
            (one.path(), one.path())
        );
    }
}
