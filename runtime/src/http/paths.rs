//! The paths of one operator's objects on the API server.
//!
//! Guarantees: names and selectors are encoded. Leaves to others: sending requests.

use std::borrow::Cow;
use std::sync::Arc;

use kube::core::Resource;

use crate::api::{
    Kind, MANAGED_BY_LABEL, Operator, is_namespaced, mark_annotation, may_be_labelled,
};
use crate::http::collection::{Collection, ManagedFields};
use crate::http::request::encode;
use crate::model::{
    KindId, ObjectKey, PartialMetadata, Uid, group, owner_label_value, sealed_uid, uid_in,
};

/// The collections that an operator lists and watches: the owners (0) and its kinds of children (from 1).
#[derive(Debug, Clone)]
pub struct Paths {
    /// Kind of the owners.
    pub owner_kind: String,
    /// `group/version` of the owners.
    pub owner_api_version: String,
    /// Label on every child that names its owner.
    pub owner_label: String,
    /// Labels on a child that its owner cannot be the controller of: the namespace and the uid of that. `None` where no
    /// child is like that.
    place_labels: Option<[String; 2]>,
    /// Whether owners are in namespaces.
    is_namespaced: bool,
    /// Field manager of every write.
    pub manager: &'static str,
    /// The owners, the kinds of children, and the kinds that owners refer to: of each one part for each namespace, in the order
    /// of keys, or one for all.
    collections: Vec<Vec<Arc<Collection>>>,
    /// How many of them are owners and children.
    ours: usize,
    /// The namespaces; empty where it is all of them.
    namespaces: Vec<String>,
}

/// The owner of a child, as the child says.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnerOf<'a> {
    /// Its namespace; empty where it has none.
    pub namespace: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its identity, where the child says it.
    pub uid: Option<Uid>,
}

impl OwnerOf<'_> {
    /// Its key.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }
}

/// Of these parts only metadata are watched.
fn watch_metadata(parts: &mut [Arc<Collection>]) {
    for part in parts {
        *part = Arc::new(Collection::clone(part).watched_as_metadata());
    }
}

/// Each of them once, in the order of the keys in them: `-` sorts before `/`. They are few, and a sort is 2 KB of code.
fn in_order_of_keys(namespaces: &[String]) -> Vec<String> {
    let mut sorted: Vec<String> = Vec::with_capacity(namespaces.len());
    for namespace in namespaces {
        let key = format!("{namespace}/");
        let place = sorted.partition_point(|other| format!("{other}/") < key);
        if sorted.get(place) != Some(namespace) {
            sorted.insert(place, namespace.clone());
        }
    }
    sorted
}

/// The labels that name the namespace and the uid of an owner of `O`, beside the one that names the owner.
pub(crate) fn place_labels<O: Operator>() -> [String; 2] {
    ["namespace", "uid"].map(|part| format!("{}-{part}", O::owner_label()))
}

impl Paths {
    /// The collections of `O` in these namespaces, or in all of them where none is named. `selector` selects owners by label.
    pub fn of<O: Operator>(namespaces: &[String], selector: Option<&str>) -> Self {
        let namespaces = in_order_of_keys(namespaces);
        let root = |api_version: &str| match api_version.contains('/') {
            true => format!("/apis/{api_version}"),
            false => format!("/api/{api_version}"),
        };
        let owner_api_version = <O::Resource as Resource>::api_version(&()).into_owned();
        let collection = |api_version: &str, plural: &str, namespaced: bool, labels| {
            let part = |within: Option<&str>| {
                let collection = Collection::new(&root(api_version), within, plural);
                let collection = match namespaced {
                    true => collection,
                    false => collection.of_cluster(),
                };
                Arc::new(collection.selected_by(labels, None))
            };
            match namespaced && !namespaces.is_empty() {
                true => namespaces.iter().map(|within| part(Some(within))).collect(),
                false => vec![part(None)],
            }
        };
        let plural = <O::Resource as Resource>::plural(&());
        let ours = format!("{MANAGED_BY_LABEL}={}", O::NAME);
        let mark = ManagedFields::of(&mark_annotation::<O>());
        let children = O::KINDS.iter().map(|kind| {
            let ours = Some(ours.as_str());
            let parts = collection(kind.api_version, kind.plural, kind.namespaced, ours);
            // A list says who has written their marks.
            let marked =
                |part: Arc<Collection>| Arc::unwrap_or_clone(part).listed_with(mark.clone());
            parts
                .into_iter()
                .map(|part| Arc::new(marked(part)))
                .collect()
        });
        let references = O::REFERENCES.iter().map(|kind| {
            let mut named = collection(kind.api_version, kind.plural, kind.namespaced, None);
            watch_metadata(&mut named);
            named
        });
        let owners = collection(&owner_api_version, &plural, is_namespaced::<O>(), selector);
        let collections = std::iter::once(owners).chain(children);
        Self {
            owner_kind: <O::Resource as Resource>::kind(&()).into_owned(),
            owner_api_version,
            owner_label: O::owner_label().into_owned(),
            place_labels: may_be_labelled::<O>().then(place_labels::<O>),
            is_namespaced: is_namespaced::<O>(),
            manager: O::NAME,
            collections: collections.chain(references).collect(),
            ours: 1 + O::KINDS.len(),
            namespaces,
        }
    }

    /// API group of the owners; empty for the core group.
    pub fn owner_group(&self) -> &str {
        group(&self.owner_api_version)
    }

    /// The owner of a child, where that is of our kind: by the controller reference, else by the labels.
    pub fn owner_of<'a>(&self, child: &'a PartialMetadata<'_>) -> Option<OwnerOf<'a>> {
        let Some(reference) = child.controller() else {
            return self.labelled_owner_of(child);
        };
        let is_ours = reference.kind == self.owner_kind && reference.group() == self.owner_group();
        is_ours.then(|| OwnerOf {
            namespace: self.beside(child),
            name: Cow::Borrowed(&*reference.name),
            uid: Some(reference.uid),
        })
    }

    /// The owner of a child as its labels say, which name an owner with a name that a label can hold. Another controller may
    /// have taken the child over since.
    pub fn labelled_owner_of<'a>(&self, child: &'a PartialMetadata<'_>) -> Option<OwnerOf<'a>> {
        let name = Cow::Owned(child.label(&self.owner_label)?);
        let labels = self
            .place_labels
            .as_ref()
            .map(|labels| labels.each_ref().map(|label| child.label(label)));
        Some(match labels {
            Some([Some(namespace), uid]) => OwnerOf {
                namespace: Cow::Owned(namespace),
                name,
                uid: uid.and_then(|uid| uid_in(&uid)),
            },
            _ => OwnerOf {
                namespace: self.beside(child),
                name,
                uid: None,
            },
        })
    }

    /// Whether a child bears labels that name its owner where that cannot be its controller, and they are not true together:
    /// somebody has removed or changed one, and whose it is cannot be told.
    pub fn is_mislabelled(&self, child: &PartialMetadata<'_>) -> bool {
        let Some(labels) = &self.place_labels else {
            return false;
        };
        let [namespace, uid] = labels.each_ref().map(|label| child.label(label));
        if child.controller().is_some() || (namespace.is_none() && uid.is_none()) {
            return false;
        }
        let sealed = |owner: &OwnerOf<'_>| Some(sealed_uid(owner.uid?, &owner.key()));
        let owner = self
            .labelled_owner_of(child)
            .filter(|_| namespace.is_some());
        uid.is_none() || owner.as_ref().and_then(sealed) != uid
    }

    /// The namespace of an owner whose child is beside it.
    fn beside<'a>(&self, child: &'a PartialMetadata<'_>) -> Cow<'a, str> {
        match self.is_namespaced {
            true => Cow::Borrowed(&*child.namespace),
            false => Cow::Borrowed(""),
        }
    }

    /// Watches metadata only, except for the kinds of children whose status a plan looks at.
    #[must_use]
    pub fn watched_as_metadata<O: Operator>(mut self) -> Self {
        let children = O::KINDS.iter().map(Kind::has_status);
        let whole = std::iter::once(false).chain(children);
        for (parts, whole) in self.collections.iter_mut().zip(whole) {
            if !whole {
                watch_metadata(parts);
            }
        }
        self
    }

    /// The collection of `kind`, of which any object can be named. There is one for each kind of the operator, and one for
    /// each that owners refer to.
    pub fn collection(&self, kind: KindId) -> &Arc<Collection> {
        &self.parts(kind)[0]
    }

    /// What is listed and watched of `kind`: one part for each namespace, in the order of keys.
    pub fn parts(&self, kind: KindId) -> &[Arc<Collection>] {
        &self.collections[kind.index()]
    }

    /// What is watched of the kind with this index in [`Operator::REFERENCES`]; of the first part any object can be named.
    pub fn references(&self, index: usize) -> &[Arc<Collection>] {
        &self.collections[self.ours + index]
    }

    /// Whether what happens in this namespace is seen; empty: where a kind has none.
    pub fn are_in(&self, namespace: &str) -> bool {
        let is_it = |watched: &String| watched == namespace;
        namespace.is_empty() || self.namespaces.is_empty() || self.namespaces.iter().any(is_it)
    }

    /// The number of kinds: the owners and every kind of child.
    pub fn len(&self) -> usize {
        self.ours
    }

    /// How many parts each kind has, the owners first.
    pub fn part_counts(&self) -> impl Iterator<Item = usize> {
        self.collections[..self.ours].iter().map(Vec::len)
    }

    /// There is always one: the owners.
    pub fn is_empty(&self) -> bool {
        self.ours == 0
    }

    /// `deployments`, ...
    pub fn plural(&self, kind: KindId) -> &str {
        self.collection(kind).plural()
    }

    /// Whether children may be where an owner in a namespace is not.
    pub fn may_be_labelled(&self) -> bool {
        self.place_labels.is_some()
    }

    /// All children of `kind` whose owner label names one of `owners`: in their namespace if they share one, unless
    /// children may be `elsewhere`; else in all that the operator watches, where each part has a path of its own.
    pub fn children_paths<'a>(
        &self,
        kind: KindId,
        owners: impl Iterator<Item = &'a ObjectKey> + Clone,
        elsewhere: bool,
    ) -> Vec<String> {
        let mut namespaces = owners.clone().map(ObjectKey::namespace);
        let first = namespaces
            .next()
            .filter(|first| !first.is_empty() && !elsewhere);
        let shared = first.filter(|first| namespaces.all(|other| other == *first));
        let names: Vec<_> = owners.map(|key| owner_label_value(key.name())).collect();
        let term = format!("{} in ({})", self.owner_label, names.join(","));
        let parts = match shared {
            Some(_) => &self.parts(kind)[..1],
            None => self.parts(kind),
        };
        let paths = parts.iter().map(|part| part.labelled_path(shared, &term));
        paths.collect()
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

    /// A child, or the collection it is created in where `name` is empty. `namespace` is empty where its kind has none.
    pub fn child_path(kind: &Kind, namespace: &str, name: &str) -> String {
        let root = if kind.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let mut path = format!("/{root}/{}", kind.api_version);
        if !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(&encode(namespace));
        }
        path.push('/');
        path.push_str(kind.plural);
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
    use crate::api::{CLUSTER_ROLE, DEPLOYMENT};
    use crate::test_operator::Sites;

    #[test]
    fn the_owner_of_a_child_is_its_controller_or_what_its_labels_name()
    -> Result<(), serde_json::Error> {
        let paths = Paths::of::<Sites>(&[], None);
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        let labels =
            |labels: &str| format!(r#"{{"name":"x","namespace":"infra","labels":{{{labels}}}}}"#);
        let controlled = |group: &str, kind: &str| {
            format!(
                r#"{{"name":"x","namespace":"shop","ownerReferences":[{{"apiVersion":"{group}/v1","kind":"{kind}",
                "name":"web","uid":"{uid}","controller":true}}]}}"#
            )
        };
        let sealed = sealed_uid(
            Uid::parse(uid).unwrap_or_default(),
            &ObjectKey::new("shop", "web"),
        );
        let place = format!(
            r#""example.com/owner":"web","example.com/owner-namespace":"shop","example.com/owner-uid":"{sealed}""#
        );
        let changed = |part: &str, by: &str| labels(&place.replace(part, by));
        #[rustfmt::skip]
        let cases = [
            (controlled("example.com", "Site"), Some(("shop/web", true)), false),
            (controlled("example.com", "WebApp"), None, false),
            (controlled("other.example.com", "Site"), None, false),
            (
                labels(r#""example.com/owner":"web""#),
                Some(("infra/web", false)),
                false,
            ),
            (labels(&place), Some(("shop/web", true)), false),
            (changed("owner-namespace", "other"), Some(("infra/web", false)), true),
            (changed(uid, "x"), Some(("shop/web", false)), true),
            (changed("shop", "other"), Some(("other/web", true)), true),
            (changed(r#""web""#, r#""other""#), Some(("shop/other", true)), true),
            (changed("01234567", "11234567"), Some(("shop/web", true)), false),
            (labels(r#""a":"b""#), None, false),
        ];
        for (metadata, want, is_wrong) in cases {
            let metadata: PartialMetadata<'_> = serde_json::from_str(&metadata)?;
            let found = paths.owner_of(&metadata);
            let found = found.map(|owner| (owner.key(), owner.uid.is_some()));
            let want = want.map(|(key, has_uid)| (ObjectKey::from(key), has_uid));
            assert_eq!(found, want, "{metadata:?}");
            assert_eq!(paths.is_mislabelled(&metadata), is_wrong, "{metadata:?}");
        }
        Ok(())
    }

    #[test]
    fn paths() {
        let children_kind = KindId::child(0).expect("a kind of child");
        let all = Paths::of::<Sites>(&[], Some("a=b"));
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
            all.children_paths(children_kind, owners.iter(), false)
        };
        let terms =
            "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dsites%2Cexample.com%2Fowner%20in%20%28";
        assert_eq!(
            children(&["a/x", "a/y"]),
            [format!("/api/v1/namespaces/a/services?{terms}x%2Cy%29")]
        );
        assert_eq!(
            children(&["a/x", "b/y"]),
            [format!("/api/v1/services?{terms}x%2Cy%29")]
        );
        assert_eq!(
            all.selected_owner_path(&"shop/web".into()).as_deref(),
            Some(
                "/apis/example.com/v1/namespaces/shop/sites?fieldSelector=metadata.name%3Dweb&labelSelector=a%3Db"
            )
        );
        let two = ["shop", "shop-a", "shop"].map(str::to_owned);
        let two = Paths::of::<Sites>(&two, None);
        let lists = two.parts(KindId::OWNER).iter().map(|part| part.path());
        let root = "/apis/example.com/v1/namespaces";
        let want = ["shop-a", "shop"].map(|namespace| format!("{root}/{namespace}/sites"));
        assert_eq!(lists.collect::<Vec<_>>(), want, "in the order of keys");
        assert_eq!(
            two.owner_path(&"shop/web".into()),
            format!("{root}/shop/sites/web")
        );
        let owners = ["shop/x", "shop-a/y"].map(ObjectKey::from);
        let lists = two.children_paths(children_kind, owners.iter(), false);
        assert_eq!(lists.len(), 2, "{lists:?}");
        let lists = two.children_paths(children_kind, owners[..1].iter(), false);
        assert!(
            lists.len() == 1 && lists[0].contains("/namespaces/shop/"),
            "{lists:?}"
        );
        let one = Paths::of::<Sites>(&["shop".to_owned()], None);
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
        assert_eq!(
            Paths::child_path(&CLUSTER_ROLE, "", "web"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/web"
        );
    }
}
