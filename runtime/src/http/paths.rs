//! The paths of one operator's objects on the API server.
//!
//! Guarantees: names and selectors are encoded. Leaves to others: sending requests.

use std::borrow::Cow;
use std::sync::Arc;

use kube::core::Resource;

use crate::api::{Kind, MANAGED_BY_LABEL, Operator};
use crate::http::collection::Collection;
use crate::http::request::encode;
use crate::model::{KindId, ObjectKey, PartialMetadata, group, owner_label_value};

/// The collections that an operator lists and watches: the owners (0) and its kinds of children (from 1).
#[derive(Debug, Clone)]
pub struct Paths {
    /// Kind of the owners.
    pub owner_kind: String,
    /// `group/version` of the owners.
    pub owner_api_version: String,
    /// Label on every child that names its owner.
    pub owner_label: String,
    /// Field manager of every write.
    pub manager: &'static str,
    /// The owners, the kinds of children, and the kinds that owners refer to.
    collections: Vec<Arc<Collection>>,
    /// How many of them are owners and children.
    ours: usize,
}

impl Paths {
    /// The collections of `O` in one namespace or in all of them. `selector` selects owners by label.
    pub fn of<O: Operator>(namespace: Option<String>, selector: Option<&str>) -> Self {
        let root = |api_version: &str| match api_version.contains('/') {
            true => format!("/apis/{api_version}"),
            false => format!("/api/{api_version}"),
        };
        let owner_api_version = <O::Resource as Resource>::api_version(&()).into_owned();
        let collection = |api_version: &str, plural: &str, labels| {
            let collection = Collection::new(&root(api_version), namespace.as_deref(), plural);
            Arc::new(collection.selected_by(labels, None))
        };
        let plural = <O::Resource as Resource>::plural(&());
        let ours = format!("{MANAGED_BY_LABEL}={}", O::NAME);
        let children = O::KINDS
            .iter()
            .map(|kind| collection(kind.api_version, kind.plural, Some(ours.as_str())));
        let references = O::REFERENCES.iter().map(|kind| {
            let named = collection(kind.api_version, kind.plural, None);
            Arc::new(Collection::clone(&named).watched_as_metadata())
        });
        let owners = collection(&owner_api_version, &plural, selector);
        let collections = std::iter::once(owners).chain(children);
        Self {
            owner_kind: <O::Resource as Resource>::kind(&()).into_owned(),
            owner_api_version,
            owner_label: O::owner_label().into_owned(),
            manager: O::NAME,
            collections: collections.chain(references).collect(),
            ours: 1 + O::KINDS.len(),
        }
    }

    /// API group of the owners; empty for the core group.
    pub fn owner_group(&self) -> &str {
        group(&self.owner_api_version)
    }

    /// Name of the owner of a child, where that is of our kind.
    pub fn owner_of<'a>(&self, child: &'a PartialMetadata<'_>) -> Option<Cow<'a, str>> {
        let kind = (self.owner_group(), self.owner_kind.as_str());
        child.owner_name(kind, &self.owner_label)
    }

    /// Name of the owner that a child had before another controller took it over, as its label says.
    pub fn former_owner_of<'a>(&self, child: &'a PartialMetadata<'_>) -> Option<Cow<'a, str>> {
        let labels = child.labels.as_ref()?;
        labels.get(&self.owner_label).map(Cow::Owned)
    }

    /// Watches metadata only, except for the kinds of children whose status a plan looks at.
    #[must_use]
    pub fn watched_as_metadata<O: Operator>(mut self) -> Self {
        let children = O::KINDS.iter().map(Kind::has_status);
        let whole = std::iter::once(false).chain(children);
        for (collection, whole) in self.collections.iter_mut().zip(whole) {
            if !whole {
                *collection = Arc::new(Collection::clone(collection).watched_as_metadata());
            }
        }
        self
    }

    /// The collection of `kind`. There is one for each kind of the operator, and one for each that owners refer to.
    pub fn collection(&self, kind: KindId) -> &Arc<Collection> {
        &self.collections[kind.index()]
    }

    /// The collection with this index in [`Operator::REFERENCES`].
    pub fn reference(&self, index: usize) -> &Arc<Collection> {
        &self.collections[self.ours + index]
    }

    /// The number of collections: the owners and every kind of child.
    pub fn len(&self) -> usize {
        self.ours
    }

    /// There is always one: the owners.
    pub fn is_empty(&self) -> bool {
        self.ours == 0
    }

    /// `deployments`, ...
    pub fn plural(&self, kind: KindId) -> &str {
        self.collection(kind).plural()
    }

    /// All children of `kind` whose owner label names one of `owners`: in their namespace if they share one,
    /// else in all that the operator watches.
    pub fn children_path<'a>(
        &self,
        kind: KindId,
        owners: impl Iterator<Item = &'a ObjectKey> + Clone,
    ) -> String {
        let mut namespaces = owners.clone().map(ObjectKey::namespace);
        let first = namespaces.next().filter(|first| !first.is_empty());
        let shared = first.filter(|first| namespaces.all(|other| other == *first));
        let names: Vec<_> = owners.map(|key| owner_label_value(key.name())).collect();
        let term = format!("{} in ({})", self.owner_label, names.join(","));
        self.collection(kind).labelled_path(shared, &term)
    }

    /// The owner `key`.
    pub fn owner_path(&self, key: &ObjectKey) -> String {
        self.collection(KindId::OWNER)
            .object_path(key.namespace(), key.name())
    }

    /// A list that has the owner `key` if it is selected, and nothing else; `None` where all owners are selected.
    /// The server finds it by its name, as cheaply as [`owner_path`](Self::owner_path).
    pub fn selected_owner_path(&self, key: &ObjectKey) -> Option<String> {
        self.collection(KindId::OWNER)
            .selected_object_path(key.namespace(), key.name())
    }

    /// A child, or the collection it is created in where `name` is empty.
    pub fn child_path(kind: &Kind, namespace: &str, name: &str) -> String {
        let root = if kind.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let mut path = format!(
            "/{root}/{}/namespaces/{}/{}",
            kind.api_version,
            encode(namespace),
            kind.plural
        );
        if !name.is_empty() {
            path.push('/');
            path.push_str(&encode(name));
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::DEPLOYMENT;
    use crate::test_operator::Sites;

    #[test]
    fn paths() {
        let children_kind = KindId::child(0).expect("a kind of child");
        let all = Paths::of::<Sites>(None, Some("a=b"));
        assert_eq!(
            all.collection(KindId::OWNER).list_path(5, None),
            "/apis/example.com/v1/sites?limit=5&labelSelector=a%3Db"
        );
        assert_eq!(
            all.collection(children_kind).list_path(5, Some("x=")),
            "/api/v1/services?limit=5&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsites&continue=x%3D"
        );
        let children = |owners: &[&str]| {
            let owners: Vec<ObjectKey> = owners.iter().map(|key| (*key).into()).collect();
            all.children_path(children_kind, owners.iter())
        };
        let terms =
            "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsites%2Cexample.com%2Fowner%20in%20%28";
        assert_eq!(
            children(&["a/x", "a/y"]),
            format!("/api/v1/namespaces/a/services?{terms}x%2Cy%29")
        );
        assert_eq!(
            children(&["a/x", "b/y"]),
            format!("/api/v1/services?{terms}x%2Cy%29")
        );
        assert_eq!(
            all.selected_owner_path(&"shop/web".into()).as_deref(),
            Some(
                "/apis/example.com/v1/namespaces/shop/sites?fieldSelector=metadata.name%3Dweb&labelSelector=a%3Db"
            )
        );
        let one = Paths::of::<Sites>(Some("shop".to_owned()), None);
        assert_eq!(one.selected_owner_path(&"shop/web".into()), None);
        assert_eq!(
            one.collection(KindId::OWNER).watch_path(7, 9),
            "/apis/example.com/v1/namespaces/shop/sites?watch=1&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=9"
        );
        assert_eq!(
            one.owner_path(&"shop/web".into()),
            "/apis/example.com/v1/namespaces/shop/sites/web"
        );
        assert_eq!(
            Paths::child_path(&DEPLOYMENT, "shop", "web"),
            "/apis/apps/v1/namespaces/shop/deployments/web"
        );
    }
}
