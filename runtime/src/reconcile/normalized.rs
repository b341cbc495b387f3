//! Fields that the server stores in another form than they are planned: the server's word.
//!
//! A patch whose answer has the resourceVersion that it was sent with changed nothing, so the child is as
//! planned, whatever the comparison says. What differed then is remembered, so that it costs one patch and not
//! one for each event or relist.
//!
//! Guarantees: at most [`FIELDS`] paths for each kind, and no memory where there are none. A value that
//! the server has not confirmed for a field is still a difference, until [`FORMS`] pairs of values of that
//! field were confirmed: from then on the server is taken to rewrite the field.
//! Leaves to others: what differs (`drift`), sending the patch (`children`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::model::{KindId, hash64};
use crate::reconcile::asked::{Asked, Turn};

/// Paths remembered for each kind at most. A field beyond them costs a patch whenever it is compared.
pub const FIELDS: usize = 64;

/// Pairs of a planned and a stored value that are told apart for each path.
const FORMS: usize = 4;

/// What the server has confirmed, of all kinds of children.
#[derive(Debug, Default)]
pub struct NormalizedFields {
    fields: Mutex<Vec<Field>>,
    asked: Asked,
}

#[derive(Debug)]
struct Field {
    kind: Option<KindId>,
    /// JSON pointer with `*` for each index of a list.
    path: Box<str>,
    forms: Forms,
}

#[derive(Debug)]
enum Forms {
    /// Digests of planned values and of what is stored for them.
    These(Vec<(u64, u64)>),
    /// Digest of what is stored whatever is planned: the server drops the field, or sets it itself.
    Stored(u64),
    /// The server rewrites every value.
    Any,
}

impl NormalizedFields {
    /// Whether `found` is known to be what the server stores for `planned`.
    pub fn accepts(
        &self,
        kind: Option<KindId>,
        path: &str,
        planned: &Value,
        found: &Value,
    ) -> bool {
        let fields = self.lock();
        if fields.is_empty() {
            return false;
        }
        let path = pattern(path);
        let mut fields = fields.iter();
        let Some(field) = fields.find(|field| field.kind == kind && *field.path == *path) else {
            return false;
        };
        match &field.forms {
            Forms::These(pairs) => pairs.contains(&(digest(planned), digest(found))),
            Forms::Stored(stored) => *stored == digest(found),
            Forms::Any => true,
        }
    }

    /// The server has confirmed that it stores `found` for `planned`.
    pub(crate) fn learn(&self, kind: Option<KindId>, path: &str, planned: &Value, found: &Value) {
        let path = pattern(path);
        let pair = (digest(planned), digest(found));
        let mut fields = self.lock();
        let of_kind = fields.iter().filter(|field| field.kind == kind).count();
        let known = fields
            .iter_mut()
            .find(|field| field.kind == kind && *field.path == *path);
        match known {
            Some(field) => field.forms.learn(pair),
            None if of_kind < FIELDS => fields.push(Field {
                kind,
                path: path.into(),
                forms: Forms::These(vec![pair]),
            }),
            None => {}
        }
    }

    /// The turn to ask the server about a field, where nobody has; else waits until it has answered.
    pub(super) async fn turn(&self, kind: Option<KindId>, path: &str) -> Option<Turn<'_>> {
        self.asked.turn(kind, &pattern(path)).await
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Field>> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Forms {
    fn learn(&mut self, pair: (u64, u64)) {
        match self {
            Self::These(pairs) if pairs.contains(&pair) => {}
            Self::These(pairs) if pairs.len() < FORMS => pairs.push(pair),
            Self::These(pairs) => {
                let same = pairs.iter().all(|(_, stored)| *stored == pair.1);
                *self = if same {
                    Self::Stored(pair.1)
                } else {
                    Self::Any
                };
            }
            Self::Stored(stored) if *stored != pair.1 => *self = Self::Any,
            Self::Stored(_) | Self::Any => {}
        }
    }
}

/// The path with `*` for each index of a list: items of one list are normalised alike.
fn pattern(path: &str) -> String {
    let is_index =
        |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    let segments = path.split('/');
    let segments = segments.map(|segment| if is_index(segment) { "*" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

fn digest(value: &Value) -> u64 {
    serde_json::to_vec(value).map_or(0, |json| hash64(&json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(index: usize) -> Option<KindId> {
        KindId::child(index)
    }

    #[test]
    fn a_confirmed_pair_is_accepted_in_every_item_and_another_value_is_not() {
        let fields = NormalizedFields::default();
        let (planned, found) = (json!("1024Mi"), json!("1Gi"));
        fields.learn(kind(0), "/spec/volumes/0/size", &planned, &found);
        assert!(fields.accepts(kind(0), "/spec/volumes/3/size", &planned, &found));
        assert!(!fields.accepts(kind(0), "/spec/volumes/0/size", &planned, &json!("2Gi")));
        assert!(!fields.accepts(kind(0), "/spec/volumes/0/other", &planned, &found));
        assert!(!fields.accepts(kind(1), "/spec/volumes/0/size", &planned, &found));
    }

    #[test]
    fn a_field_that_the_server_always_drops_is_recognised_and_one_that_is_set_is_not() {
        let fields = NormalizedFields::default();
        for n in 0..=FORMS {
            fields.learn(kind(0), "/spec/gated", &json!(n + 1), &Value::Null);
        }
        assert!(fields.accepts(kind(0), "/spec/gated", &json!(99), &Value::Null));
        assert!(!fields.accepts(kind(0), "/spec/gated", &json!(99), &json!(5)));
    }

    #[test]
    fn a_field_that_the_server_rewrites_in_many_forms_is_accepted_in_all() {
        let fields = NormalizedFields::default();
        for n in 0..=FORMS {
            fields.learn(kind(0), "/spec/size", &json!(n), &json!(format!("{n}Gi")));
        }
        assert!(fields.accepts(kind(0), "/spec/size", &json!(99), &json!("99Gi")));
    }

    #[test]
    fn at_most_64_paths_are_remembered_for_each_kind() {
        let fields = NormalizedFields::default();
        for n in 0..100 {
            for index in 0..2 {
                fields.learn(
                    kind(index),
                    &format!("/data/f{n}"),
                    &json!("a"),
                    &json!("b"),
                );
            }
        }
        assert_eq!(fields.lock().len(), 2 * FIELDS);
        assert!(fields.accepts(kind(1), "/data/f63", &json!("a"), &json!("b")));
        assert!(!fields.accepts(kind(1), "/data/f64", &json!("a"), &json!("b")));
    }
}
