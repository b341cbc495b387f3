//! Namespaces: the name label, the finalizer of the namespace controller, the phase.

use serde_json::{Value, json};

use crate::defaults::default;
use crate::model::json::{as_map, map_at, meta_mut, meta_str};

pub(crate) fn shape(object: &mut Value, old: Option<&Value>) {
    let name = meta_str(object, "name").to_owned();
    let labels = as_map(meta_mut(object).entry("labels").or_insert(json!({})));
    labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    match old {
        None => {
            map_at(object, "spec").insert("finalizers".to_owned(), json!(["kubernetes"]));
            object["status"] = json!({"phase": "Active"});
        }
        Some(old) => {
            if let Some(kept) = old.pointer("/spec/finalizers") {
                default(map_at(object, "spec"), "finalizers", kept.clone());
            }
        }
    }
}
