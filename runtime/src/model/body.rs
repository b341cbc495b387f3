//! What a plan needs of an owner beside its identity and life cycle.
//!
//! Guarantees: it stays JSON until a plan is made; what kubectl keeps in an annotation, a copy of the whole object, is not
//! in it. Leaves to others: how long it is kept (`queue`, `cache`).

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::model::{Labels, PartialObject};

/// Spec, labels and annotations of an owner as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// The spec.
    pub spec: Box<str>,
    /// What most owners do not have.
    rest: Option<Box<Rest>>,
}

/// Labels, annotations and the status, JSON objects, or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rest {
    labels: Box<str>,
    annotations: Box<str>,
    /// Only where an observation is to see it.
    status: Box<str>,
}

impl Body {
    /// The body of `object`, `None` where it shows no spec, and a digest of its labels and annotations, which are kept if a plan
    /// `sees_labels`. The status is set where it is needed.
    pub(crate) fn of(object: &PartialObject<'_>, sees_labels: bool) -> (Option<Self>, u32) {
        let meta = &object.metadata;
        let marks = meta.marks();
        let kept = sees_labels.then(|| [&meta.labels, &meta.annotations].map(Labels::own_json));
        let kept = kept.filter(|kept| kept.iter().any(Option::is_some));
        let rest = kept.map(|[labels, annotations]| {
            Box::new(Rest {
                labels: labels.unwrap_or_default(),
                annotations: annotations.unwrap_or_default(),
                status: Box::default(),
            })
        });
        let body = object.spec.map(|spec| Self {
            spec: spec.get().into(),
            rest,
        });
        (body, marks)
    }

    /// Bytes that are held.
    pub(crate) fn len(&self) -> usize {
        let rest = self.rest.as_ref().map_or(0, |rest| {
            rest.labels.len() + rest.annotations.len() + rest.status.len()
        });
        self.spec.len() + rest
    }

    /// Its labels and its annotations.
    pub(crate) fn labels_and_annotations(&self) -> [BTreeMap<String, String>; 2] {
        let rest = self.rest.as_deref();
        let both = rest.map_or(["", ""], |rest| [&rest.labels, &rest.annotations]);
        both.map(|json| read(json).unwrap_or_default())
    }

    /// Its status, where that is kept and is an `S`.
    pub(crate) fn status<S: DeserializeOwned>(&self) -> Option<S> {
        read(&self.rest.as_ref()?.status)
    }

    /// Keeps its status.
    pub(crate) fn keep_status(&mut self, json: &str) {
        self.rest.get_or_insert_default().status = json.into();
    }
}

/// With this spec, without labels and annotations.
impl<S: Into<Box<str>>> From<S> for Body {
    fn from(spec: S) -> Self {
        Self {
            spec: spec.into(),
            rest: None,
        }
    }
}

fn read<T: DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_annotations_are_kept_without_the_copy_of_kubectl() -> Result<(), serde_json::Error>
    {
        let json = r#"{"metadata":{"name":"web","labels":{"a":"b"},"annotations":{
            "kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{}}","x":"y"}},"spec":{"n":1}}"#;
        let object: PartialObject<'_> = serde_json::from_str(json)?;
        assert_eq!(
            Body::of(&object, false),
            (Some(Body::from(r#"{"n":1}"#)), Body::of(&object, true).1)
        );
        let (body, marks) = Body::of(&object, true);
        let body = body.expect("a spec");
        assert_eq!(&*body.spec, r#"{"n":1}"#);
        let [labels, annotations] = body.labels_and_annotations();
        assert_eq!(labels["a"], "b");
        assert_eq!(
            Vec::from_iter(annotations),
            [("x".to_owned(), "y".to_owned())]
        );
        let without_spec = PartialObject {
            spec: None,
            ..object
        };
        assert_eq!(Body::of(&without_spec, true), (None, marks));
        let json = r#"{"metadata":{"name":"web","annotations":{
            "kubectl.kubernetes.io/last-applied-configuration":"{}"}},"spec":{}}"#;
        let object: PartialObject<'_> = serde_json::from_str(json)?;
        assert_eq!(Body::of(&object, true), (Some(Body::from("{}")), 0));
        Ok(())
    }

    #[test]
    fn a_digest_tells_a_label_from_an_annotation_and_one_value_from_another()
    -> Result<(), serde_json::Error> {
        let mut all = Vec::new();
        for marks in [
            r#""labels":{"a":"b"}"#,
            r#""annotations":{"a":"b"}"#,
            r#""labels":{"a":"c"}"#,
            r#""labels":{"a":"b"},"annotations":{"a":"b"}"#,
        ] {
            let json = format!(r#"{{"metadata":{{"name":"web",{marks}}},"spec":{{}}}}"#);
            all.push(Body::of(&serde_json::from_str(&json)?, true).1);
        }
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
        Ok(())
    }
}
