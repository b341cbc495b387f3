//! What a user does: a sequence of creations, edits and deletions as data.
//!
//! Guarantees: the same sequence does the same to every server. An edit is a merge patch that makes the spec the
//! given one. The answer to each request is recorded, so that two servers can be compared.
//! Leaves to others: the values (`schema`), what must follow (`oracle`).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use http::Method;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::cluster::user::{JSON, MERGE, User};
use crate::objects::schema;
use crate::objects::subject::Subject;

/// Few, so that they meet again; with dots, and longer than what a label holds.
const NAMES: [&str; 6] = [
    "a",
    "web",
    "x-1",
    "shop.web",
    "n23456789-123456789-123456789-123456789-123456789-123456789-123",
    "n23456789-123456789-123456789-123456789-123456789-123456789-123456789",
];

/// Operations of one case.
const LENGTH: RangeInclusive<usize> = 1..=80;

/// One act of a user.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Creates the object, or gives it this spec.
    Put { name: &'static str, spec: Value },
    /// Deletes the object; then edits what may still be there.
    Delete {
        name: &'static str,
        edit: Option<Value>,
    },
    /// Lets time pass.
    Wait { ms: u64 },
}

/// Sequences of operations on objects of the subject.
pub fn sequences<S: Subject>() -> impl Strategy<Value = Vec<Operation>> {
    let spec = schema::value(&schema::of_spec(S::CRD));
    // Names that most kinds accept come more often.
    let name = || prop_oneof![6 => 0..3usize, 1 => 3..NAMES.len()].prop_map(|at| NAMES[at]);
    let put = (name(), spec.clone()).prop_map(|(name, spec)| Operation::Put { name, spec });
    let edit = prop_oneof![3 => Just(None), 1 => spec.prop_map(Some)];
    let delete = (name(), edit).prop_map(|(name, edit)| Operation::Delete { name, edit });
    let waits = proptest::sample::select(vec![1, 20, 100, 1_000, 3_000]);
    let wait = waits.prop_map(|ms| Operation::Wait { ms });
    vec(prop_oneof![8 => put, 2 => delete, 2 => wait], LENGTH)
}

/// How the server answered a request: its verb and name, and the status code with the fields that it names.
pub type Answer = (String, u16, Vec<String>);

/// A user who works through a sequence.
pub struct Hand<'a> {
    user: &'a User,
    resource: String,
    object: fn(&str, &Value) -> Value,
    /// What the user knows to exist.
    specs: BTreeMap<&'static str, Value>,
    pub answers: Vec<Answer>,
    /// No wait is longer.
    pub longest_wait: Duration,
}

impl<'a> Hand<'a> {
    pub fn of<S: Subject>(user: &'a User) -> Self {
        Hand {
            user,
            resource: S::resource(),
            object: S::object,
            specs: BTreeMap::new(),
            answers: Vec::new(),
            longest_wait: Duration::MAX,
        }
    }

    pub async fn run(&mut self, operations: &[Operation]) -> Result<(), String> {
        for operation in operations {
            match operation {
                Operation::Put { name, spec } => match self.specs.get(name).cloned() {
                    Some(before) => self.edit(name, &before, spec).await?,
                    None => self.create(name, spec).await?,
                },
                Operation::Delete { name, edit } => {
                    let Some(before) = self.specs.remove(name) else {
                        continue;
                    };
                    self.delete(name).await?;
                    if let Some(spec) = edit {
                        // Whether it is still there is a matter of time.
                        let path = self.user.path(&self.resource, name);
                        let patch = json!({ "spec": difference(&before, spec) });
                        let _ = self.user.request(Method::PATCH, &path, MERGE, &patch).await;
                    }
                }
                Operation::Wait { ms } => {
                    let wait = Duration::from_millis(*ms).min(self.longest_wait);
                    tokio::time::sleep(wait).await;
                }
            }
        }
        Ok(())
    }

    async fn create(&mut self, name: &'static str, spec: &Value) -> Result<(), String> {
        self.user.until_gone(&self.resource, name).await;
        let path = self.user.path(&self.resource, "");
        let object = (self.object)(name, spec);
        let created = self.user.request(Method::POST, &path, JSON, &object).await;
        if self.record("create", name, created)? {
            self.specs.insert(name, spec.clone());
        }
        Ok(())
    }

    async fn edit(
        &mut self,
        name: &'static str,
        before: &Value,
        spec: &Value,
    ) -> Result<(), String> {
        let path = self.user.path(&self.resource, name);
        let patch = json!({ "spec": difference(before, spec) });
        let edited = self.user.request(Method::PATCH, &path, MERGE, &patch).await;
        if self.record("edit", name, edited)? {
            self.specs.insert(name, spec.clone());
        }
        Ok(())
    }

    pub async fn delete(&mut self, name: &'static str) -> Result<(), String> {
        let path = self.user.path(&self.resource, name);
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        });
        let deleted = self
            .user
            .request(Method::DELETE, &path, JSON, &options)
            .await;
        self.record("delete", name, deleted).map(drop)
    }

    /// Whether the server accepted it. That it refuses an object is an answer too, any other error is not.
    fn record(
        &mut self,
        verb: &str,
        name: &str,
        answer: Result<Value, kube::Error>,
    ) -> Result<bool, String> {
        let (code, fields) = match answer {
            Ok(_) => (200, Vec::new()),
            Err(kube::Error::Api(status)) if status.code == 422 => (422, refused_fields(&status)),
            Err(error) => return Err(format!("{verb} {name}: {error}")),
        };
        self.answers.push((format!("{verb} {name}"), code, fields));
        Ok(code == 200)
    }
}

/// The fields that a refusal names.
pub fn refused_fields(status: &kube::core::Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.field.clone()).collect()
}

/// A merge patch that makes `after` of `before`.
fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        match before.get(key) {
            Some(known) if known == value => {}
            Some(known) => drop(patch.insert(key.clone(), difference(known, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}
