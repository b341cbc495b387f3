//! A child as it is on the server, as its plan wants it, and the digests that are kept of it.
//!
//! Guarantees: managedFields stay JSON, and a status that no plan looks at is skipped while decoding. Of a planned body
//! only what a plan may say is left. Leaves to others: what a difference is (`fields`), what is done about it
//! (`children`).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::api::{Child, MANAGED_BY_LABEL, Operator, is_labelled, kind_index, may_be_labelled};
use crate::http::paths::place_labels;
use crate::model::{
    ChildId, ChildState, Content, KindId, Labels, LastApplied, Meta, ObjectKey, PartialMetadata,
    SeenChild, SeenChildren, Text, Uid, decoded, hash64, more64, owner_label_value, place_hash,
    refusal, sealed_uid, uid_in,
};
use crate::reconcile::fields::{Found, Mark, Planned, copy_of};

const LAST_APPLIED_BY_KUBECTL: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What a plan may say of the metadata of a child.
const PLANABLE_METADATA: [&str; 2] = ["labels", "annotations"];

/// A child as it is on the server, as far as the comparison and the writes need it.
#[derive(Debug)]
pub struct Actual {
    pub key: ObjectKey,
    pub uid: Uid,
    pub resource_version: u64,
    pub deleting: bool,
    /// uid of its controller, of whatever kind that is, else of the owner that its labels name.
    pub owner: Option<Uid>,
    /// How a message names its controller.
    pub owner_text: Option<String>,
    /// API group of its controller.
    pub owner_group: Option<Box<str>>,
    /// How many owner references it has, those of others among them.
    pub references: usize,
    pub state: ChildState,
    /// The words with which its pods are refused.
    pub refusal: Option<String>,
    /// Digest of its labels, its annotations and its controller.
    pub marks: u32,
    /// Labels, annotations and everything outside `metadata` and `status`, without the mark of its plan.
    pub value: Value,
    /// Which plan it was written from.
    pub(crate) mark: Option<Mark>,
    /// See [`Found::copy`].
    copy: Option<usize>,
    /// Its managedFields as JSON, where they were sent.
    managed: Option<Box<str>>,
}

impl Actual {
    /// Decodes a child of `O`, whose annotation `mark` says which plan it was written from. It may bear the uid of its owner
    /// as a label.
    ///
    /// # Errors
    /// The JSON is not an object of the API.
    pub fn of<O: Operator>(
        raw: &str,
        declared: &[&str],
        mark: &str,
    ) -> Result<Self, serde_json::Error> {
        let Wire {
            metadata,
            status,
            mut rest,
        } = serde_json::from_str(raw)?;
        let [labels, annotations] = [&metadata.labels, &metadata.annotations].map(Labels::value);
        let marks = metadata.marks();
        let controller = metadata.controller();
        let mut owner = controller.map(|reference| reference.uid);
        if may_be_labelled::<O>() && owner.is_none() {
            let [_, uid] = place_labels::<O>();
            owner = labels[uid].as_str().and_then(uid_in);
        }
        let mut planable = Map::new();
        planable.insert("labels".to_owned(), labels);
        let mut plan = None;
        if let Value::Object(mut annotations) = annotations {
            // A copy of the whole object.
            annotations.remove(LAST_APPLIED_BY_KUBECTL);
            plan = annotations.remove(mark);
            planable.insert("annotations".to_owned(), annotations.into());
        }
        rest.insert("metadata".to_owned(), planable.into());
        let managed = metadata.managed_fields.map(RawValue::get);
        let marked = managed.filter(|_| plan.is_some());
        let state = ChildState::read(metadata.generation, status, declared);
        Ok(Self {
            key: metadata.key(),
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            deleting: metadata.deleting(),
            owner,
            owner_text: controller
                .map(|reference| format!("{} {:?}", reference.kind, reference.name)),
            owner_group: controller.map(|reference| reference.group().into()),
            references: metadata.owner_references.len(),
            refusal: status.filter(|_| state.refused).and_then(refusal),
            state,
            marks,
            value: Value::Object(rest),
            mark: plan.and_then(|text| Mark::parse(text.as_str()?)),
            copy: marked.and_then(|json| copy_of(json, O::NAME, mark)),
            managed: managed.map(Into::into),
        })
    }

    /// Which object this is, and as of when.
    pub(crate) fn version(&self) -> (Uid, u64) {
        (self.uid, self.resource_version)
    }

    /// What is known of it, the child `id`.
    pub(crate) fn seen(&self, (kind, place_hash): ChildId, content: Content) -> SeenChild {
        SeenChild {
            kind,
            place_hash,
            uid_hash: self.uid.short(),
            resource_version: self.resource_version,
            state: self.state.clone(),
            marks: self.marks,
            content,
        }
    }

    /// Tells it from others of its kind of an owner in the namespace `of_owner`.
    pub(crate) fn place_hash(&self, of_owner: &str) -> u32 {
        let (namespace, name) = self.key.parts();
        place_hash(of_owner, namespace, name)
    }

    /// Without its managedFields, where a generation says whether somebody has changed its spec.
    #[must_use]
    pub(crate) fn into_listed(mut self) -> Self {
        self.managed = self.managed.filter(|_| self.state.generation == 0);
        self
    }

    /// What a comparison with its plan sees of it.
    pub(crate) fn found(&self) -> Found<'_> {
        Found {
            value: &self.value,
            generation: self.state.generation,
            mark: self.mark,
            copy: self.copy,
            managed: self.managed.as_deref(),
        }
    }
}

/// What an [`Actual`] needs of an object, in one pass. (`#[serde(flatten)]` would first collect the whole
/// object.)
struct Wire<'a> {
    metadata: PartialMetadata<'a>,
    status: Option<&'a RawValue>,
    rest: Map<String, Value>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Wire<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Wire<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of the API")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Wire<'de>, A::Error> {
                let (mut metadata, mut status, mut rest) = (None, None, Map::new());
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "metadata" => metadata = Some(map.next_value()?),
                        "status" => status = map.next_value::<Option<&RawValue>>()?,
                        "apiVersion" | "kind" => drop(map.next_value::<IgnoredAny>()?),
                        _ => drop(rest.insert(key.into_owned(), map.next_value()?)),
                    }
                }
                Ok(Wire {
                    metadata: metadata.ok_or_else(|| de::Error::missing_field("metadata"))?,
                    status,
                    rest,
                })
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A child's body as it is compared and written: with the labels that make it that of `owner`, without what is not for a
/// plan to say (the type, the name, the status), and with `stringData` of a Secret as the `data` that the
/// server makes of it.
pub(crate) fn planned_body<O: Operator>(child: &Child, mut body: Value, owner: &Meta) -> Value {
    let kind = &child.kind;
    let Value::Object(map) = &mut body else {
        return body;
    };
    for of_server in ["apiVersion", "kind", "status"] {
        map.remove(of_server);
    }
    if (kind.api_version, kind.kind) == ("v1", "Secret") {
        encode_string_data(map);
    }
    let metadata = map
        .entry("metadata")
        .or_insert_with(|| Value::Object(Default::default()));
    if let Value::Object(metadata) = metadata {
        metadata.retain(|field, _| PLANABLE_METADATA.contains(&field.as_str()));
        let labels = metadata
            .entry("labels")
            .or_insert_with(|| Value::Object(Default::default()));
        labels[MANAGED_BY_LABEL] = O::NAME.into();
        labels[&*O::owner_label()] = owner_label_value(&owner.name).into();
        if is_labelled::<O>(child) {
            let [namespace, uid] = place_labels::<O>();
            labels[namespace] = (*owner.namespace).into();
            labels[uid] = sealed_uid(owner.uid, &owner.key()).into();
        }
    }
    body
}

/// `stringData` can only be written: the server moves it to `data`, where it replaces what is there.
fn encode_string_data(secret: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let data = secret
        .entry("data")
        .or_insert_with(|| Value::Object(Default::default()));
    if let Value::Object(data) = data {
        data.extend(texts.into_iter().map(|(key, text)| match text {
            Value::String(text) => (key, STANDARD.encode(text).into()),
            other => (key, other),
        }));
    }
}

/// Which child this is. Of a child beside its owner, no namespace is named, and no plan has one of a kind that is not declared.
pub(crate) fn child_id<O: Operator>(child: &Child) -> ChildId {
    let kind = kind_index(O::KINDS, &child.kind).unwrap_or(KindId::OWNER);
    let namespace = child.namespace.as_deref().unwrap_or_default();
    (kind, place_hash("", namespace, &child.name))
}

/// Whether nothing is known of a child that is to exist.
pub(crate) fn is_unknown<O: Operator>(children: &SeenChildren, child: &Child) -> bool {
    child.body.is_some() && !children.has(child_id::<O>(child))
}

/// The digest of `body`, which a child satisfies; the next planned body is compared with it.
pub(crate) fn last_applied(uid: Uid, body: &Value) -> Box<LastApplied> {
    Box::new(LastApplied {
        uid,
        body_digest: digest(body),
    })
}

/// A planned body as a child is compared with it. `is_new`: no child was written for that spec yet.
pub(crate) fn planned<'a, O: Operator>(
    body: &'a Value,
    immutable: &'a [&'a str],
    is_new: bool,
) -> Planned<'a> {
    Planned {
        body,
        mark: Mark {
            digest: digest(body),
            generation: 1,
            immutable: immutable_digest(body, immutable),
        },
        immutable,
        manager: O::NAME,
        is_new,
    }
}

/// Digest of a planned body, without its JSON being made.
pub(crate) fn digest(body: &Value) -> u64 {
    fold(hash64(&[]), body)
}

fn fold(sum: u64, value: &Value) -> u64 {
    let text = |sum: u64, tag: u8, text: &str| {
        // No byte of a text is 0xff.
        [&[tag], text.as_bytes(), &[0xff]]
            .into_iter()
            .fold(sum, more64)
    };
    match value {
        Value::Null => more64(sum, b"n"),
        Value::Bool(truth) => more64(sum, &[b'b', u8::from(*truth)]),
        Value::Number(number) => text(sum, b'#', &number.to_string()),
        Value::String(string) => text(sum, b'"', string),
        Value::Array(items) => more64(items.iter().fold(more64(sum, b"["), fold), b"]"),
        Value::Object(members) => {
            let member = |sum, (name, value): (&String, &Value)| fold(text(sum, b'.', name), value);
            more64(members.iter().fold(more64(sum, b"{"), member), b"}")
        }
    }
}

/// Digest of the fields of a planned body that only a new object can change.
fn immutable_digest(body: &Value, immutable: &[&str]) -> u64 {
    immutable
        .iter()
        .filter_map(|pointer| body.pointer(pointer))
        .fold(0, |sum: u64, field| sum.rotate_left(1) ^ digest(field))
}

/// The object of a watch event, kept until a worker compares it. What cannot be decoded is read again.
pub(crate) fn held(line: &[u8]) -> Content {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        object: &'a RawValue,
    }
    decoded::<Event<'_>>(line).map_or(Content::Unread, |event| {
        Content::Held(event.object.get().into())
    })
}

#[cfg(test)]
mod tests {
    fn web() -> Meta {
        Meta {
            name: "web".into(),
            ..Meta::default()
        }
    }

    use super::*;
    use crate::api::{DEPLOYMENT, SECRET, SERVICE};
    use crate::test_operator::Sites;
    use serde_json::json;

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "01234567-89ab-cdef-0123-456789abcdef",
                "resourceVersion": "42", "generation": 3, "labels": {"a": "b"},
                "annotations": {"x": "y"}, "managedFields": [{"fieldsV1": {"f:spec": {"[\"}]": {}}}}],
                "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Site", "name": "web",
                    "uid": "01234567-89ab-cdef-0123-456789abcdee", "controller": true}]},
            "spec": {"replicas": 2}, "status": {"observedGeneration": 3, "readyReplicas": 1}})
    }

    #[test]
    fn of_a_child_everything_that_a_plan_may_say_is_kept() -> Result<(), serde_json::Error> {
        let json = deployment().to_string();
        let actual = Actual::of::<Sites>(&json, DEPLOYMENT.status, "x/plan")?;
        assert_eq!(
            actual.value,
            json!({"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {"replicas": 2}})
        );
        assert_eq!(
            (actual.key.as_str(), actual.resource_version),
            ("shop/web", 42)
        );
        assert_eq!(
            (actual.state.generation, actual.state.ready_replicas),
            (3, 1)
        );
        assert_eq!(actual.owner_text.as_deref(), Some("Site \"web\""));
        assert_eq!(actual.owner_group.as_deref(), Some("example.com"));
        assert!(Actual::of::<Sites>("{\"spec\":{}}", DEPLOYMENT.status, "x/plan").is_err());
        Ok(())
    }

    #[test]
    fn of_a_child_its_mark_and_its_managed_fields_are_kept_apart() -> Result<(), serde_json::Error>
    {
        let mut object = deployment();
        object["metadata"]["annotations"]["x/plan"] = "abc-3".into();
        let actual = Actual::of::<Sites>(&object.to_string(), DEPLOYMENT.status, "x/plan")?;
        let found = actual.found();
        assert_eq!(found.value["metadata"]["annotations"], json!({"x": "y"}));
        assert_eq!(found.mark, Mark::parse("abc-3"));
        let managed = object["metadata"]["managedFields"].to_string();
        assert_eq!(found.managed, Some(managed.as_str()));
        Ok(())
    }

    #[test]
    fn what_is_held_is_the_whole_object() -> Result<(), serde_json::Error> {
        let line = json!({"type": "MODIFIED", "object": deployment()}).to_string();
        let Content::Held(kept) = held(line.as_bytes()) else {
            panic!("nothing is held");
        };
        assert_eq!(serde_json::from_str::<Value>(&kept)?, deployment());
        assert!(matches!(held(b"{\"object\""), Content::Unread));
        Ok(())
    }

    #[test]
    fn a_child_that_its_owner_cannot_control_names_it_by_labels() {
        let child = Child::absent(SERVICE, "web").in_namespace("infra");
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        let owner = Meta {
            namespace: "shop".into(),
            uid: Uid::parse(uid).unwrap_or_default(),
            ..web()
        };
        let body = planned_body::<Sites>(&child, json!({}), &owner);
        let labels = json!({
            "app.kubernetes.io/managed-by": "sites", "example.com/owner": "web",
            "example.com/owner-namespace": "shop", "example.com/owner-uid": format!("{uid}.eb78a544"),
        });
        assert_eq!(body["metadata"]["labels"], labels);
    }

    #[test]
    fn a_planned_body_is_what_a_plan_may_say() {
        let body = json!({"apiVersion": "v1", "kind": "Service", "status": {},
            "metadata": {"name": "web", "creationTimestamp": null, "annotations": {"a": "b"}},
            "stringData": {"a": "b"}, "spec": {}});
        let labels = json!({"app.kubernetes.io/managed-by": "sites", "example.com/owner": "web"});
        assert_eq!(
            planned_body::<Sites>(&Child::absent(SERVICE, "web"), body, &web()),
            json!({"metadata": {"labels": labels, "annotations": {"a": "b"}},
                "stringData": {"a": "b"}, "spec": {}})
        );
    }

    #[test]
    fn string_data_of_a_secret_is_compared_and_written_as_data() {
        let body = json!({"data": {"key": "b2xk", "other": "b3RoZXI="}, "stringData": {"key": "new", "gone": null}});
        let body = planned_body::<Sites>(&Child::absent(SECRET, "web"), body, &web());
        assert_eq!(
            body["data"],
            json!({"key": "bmV3", "other": "b3RoZXI=", "gone": null})
        );
        assert_eq!(body["stringData"], Value::Null);
    }

    #[test]
    fn digests_tell_another_body_and_another_immutable_field() {
        let body = json!({"spec": {"clusterIP": "None", "ports": [1]}});
        let mut ports = body.clone();
        ports["spec"]["ports"] = json!([2]);
        let mut cluster = body.clone();
        cluster["spec"]["clusterIP"] = Value::Null;
        let pointers = ["/spec/clusterIP"];
        let [body, ports, cluster] =
            [&body, &ports, &cluster].map(|body| planned::<Sites>(body, &pointers, false).mark);
        assert!(body.digest != ports.digest && body.immutable == ports.immutable);
        assert!(body.digest != cluster.digest && body.immutable != cluster.immutable);
    }
}
