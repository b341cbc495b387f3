//! The objects of a workload: where they live, what they are made from, what is recorded of them.
//!
//! Guarantees: the same seed and index give the same bytes; an object is exactly `object_bytes`
//! long where its template leaves room. Leaves to others: what fills an object up (`fill`), the rate, and
//! the sending.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run_id;
use crate::spec::shard::Shard;
use crate::spec::subject::Convergence;
use crate::spec::workload::template::{Error, Fill, Template};
use crate::spec::workload::{
    ChildKind, FoundBy, RUN_LABEL, StandIn, fill, is_one, is_yes, one, patched, root, yes,
};

/// What narrows a list or a watch to the objects with these labels, in a query; ends in `&`.
pub fn label_selector(labels: &str) -> String {
    let encoded = form_urlencoded::byte_serialize(labels.as_bytes());
    format!("labelSelector={}&", encoded.collect::<String>())
}

/// The largest index that is measured.
pub const LAST_INDEX: usize = 9_999_999;

/// What is created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// `headless` or `cluster-ip`: what the report says was used.
    pub service: String,
    /// Size of one object as it is sent, JSON.
    pub object_bytes: usize,
    /// How long a child takes to become ready, where the control plane can be told.
    pub ready_delay_ms: u64,
    pub resource: Resource,
    pub(super) object: Value,
    /// A merge patch: what an update changes.
    pub(super) update: Value,
    /// Kinds of objects that the subject makes for each of these.
    #[serde(
        default = "deployment_and_service",
        skip_serializing_if = "is_deployment_and_service"
    )]
    pub children: Vec<ChildKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pods: Option<Pods>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) enlarge: Option<Enlarge>,
    /// What loadgen says of children on control planes of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_in: Vec<StandIn>,
    /// How many of `share` objects of each kind are of this one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub share: usize,
    /// When an object is observed and ready, of a kind that stands in `also`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
    /// Further kinds that are offered together with this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Scenario>,
    #[serde(skip)]
    pub(super) compiled: Compiled,
}

/// Where an object says how many pods it asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pods {
    /// A JSON pointer, such as `/spec/replicas`.
    pub field: String,
    /// Pods of an object that does not say.
    pub default: u64,
}

/// How an object grows that is larger than its annotations may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enlarge {
    /// A JSON pointer to a list.
    pub list: String,
    /// What is appended to it; `{{ part }}` counts from 0 and `{{ words }}` are up to 32,000 bytes.
    pub item: Value,
}

/// What the templates are once they are needed. A copy is compiled anew: copies are made to be changed.
#[derive(Debug, Default)]
pub struct Compiled(OnceLock<Templates>);

#[derive(Debug)]
struct Templates {
    object: Template,
    update: Template,
    item: Option<Template>,
}

impl Clone for Compiled {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Compiled {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What folders of results without `children` are about.
fn deployment_and_service() -> Vec<ChildKind> {
    let kind = |api_version: &str, kind: &str, plural: &str| ChildKind {
        api_version: api_version.into(),
        kind: kind.into(),
        plural: plural.into(),
        per_object: 1,
        found_by: FoundBy::default(),
    };
    vec![
        kind("apps/v1", "Deployment", "deployments"),
        kind("v1", "Service", "services"),
    ]
}

fn is_deployment_and_service(children: &[ChildKind]) -> bool {
    children == deployment_and_service()
}

/// Where the objects live, and how they are told from others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespace: String,
    /// The run that the objects belong to, where others may be around: it is in their names and
    /// in the label [`RUN_LABEL`], and only they are watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What their names begin with.
    #[serde(default = "first_prefix", skip_serializing_if = "is_first_prefix")]
    pub prefix: String,
    /// Whether they are in `namespace`, and not of the whole cluster.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub namespaced: bool,
    /// The part of a run that these objects are; others are created by other loadgens.
    #[serde(skip)]
    pub shard: Shard,
}

/// What folders of results without `prefix` have.
fn first_prefix() -> String {
    "ea".into()
}

fn is_first_prefix(prefix: &str) -> bool {
    prefix == first_prefix()
}

impl Resource {
    /// Objects are `<prefix>-0`, `<prefix>-1`, …, or `<prefix>-<run>-0`, `<prefix>-<run>-1`, …
    pub fn object_name(&self, index: usize) -> String {
        let (prefix, place) = (&self.prefix, self.shard.place(index));
        match &self.run {
            Some(run) => format!("{prefix}-{run}-{place}"),
            None => format!("{prefix}-{place}"),
        }
    }

    /// The longest of their names.
    pub fn longest_name(&self) -> String {
        self.object_name(LAST_INDEX)
    }

    /// The inverse of [`Resource::object_name`].
    pub fn object_index(&self, name: &str) -> Option<usize> {
        let rest = name.strip_prefix(self.prefix.as_str())?.strip_prefix('-')?;
        let place = match &self.run {
            Some(run) => rest.strip_prefix(run.as_str())?.strip_prefix('-')?,
            None => rest,
        };
        self.shard.index_of(place.parse().ok()?)
    }

    /// What narrows a list or a watch to these objects; ends in `&` unless it is empty.
    pub fn selector(&self) -> String {
        match &self.run {
            Some(run) => label_selector(&format!("{RUN_LABEL}={run}")),
            None => String::new(),
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// `widgets.example.com`, or `configmaps` in the core group.
    pub fn full_name(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// `None` for the whole cluster.
    pub fn own_namespace(&self) -> Option<&str> {
        self.namespaced.then_some(self.namespace.as_str())
    }

    /// What several are called in a sentence: `Widgets`.
    pub fn kinds(&self) -> String {
        format!("{}s", self.kind)
    }

    /// Path of the collection in every namespace.
    pub fn path_everywhere(&self) -> String {
        format!("{}/{}", root(&self.api_version()), self.plural)
    }

    /// Path of the collection.
    pub fn path(&self) -> String {
        let (root, plural) = (root(&self.api_version()), &self.plural);
        match self.namespaced {
            true => format!("{root}/namespaces/{}/{plural}", self.namespace),
            false => format!("{root}/{plural}"),
        }
    }
}

impl Scenario {
    /// When an object of this kind has converged: by its own word, or by that of the whole.
    pub fn converged_by<'a>(&'a self, whole: &'a Convergence) -> &'a Convergence {
        self.convergence.as_ref().unwrap_or(whole)
    }

    /// The same objects in the namespace of one bench, with the label by which `loadgen clean` finds them.
    /// Unlike those of [`Scenario::of_run`] they keep their names: nothing else is in that namespace.
    pub fn of_bench(self, run: &str) -> Self {
        self.each(|part| {
            part.resource.namespace = run_id::namespace(run);
            part.label(run);
        })
    }

    /// The same objects as those of one run in one namespace, with names and a label of their own.
    pub fn of_run(self, run: &str, namespace: &str) -> Self {
        self.each(|part| {
            part.resource.run = Some(run.to_owned());
            part.resource.namespace = namespace.to_owned();
            part.label(run);
        })
    }

    /// One shard of these objects.
    pub fn of_shard(self, shard: Shard) -> Self {
        self.each(|part| part.resource.shard = shard)
    }

    fn label(&mut self, run: &str) {
        self.object["metadata"]["labels"][RUN_LABEL] = run.into();
        self.compiled = Compiled::default();
    }

    /// The same objects, asking for no pods.
    pub fn without_pods(self) -> Self {
        self.each(|part| {
            if let Some(pods) = &part.pods {
                let patch = patch_at(&pods.field, 0.into());
                part.object = patched(&part.object, &patch);
                if part.update.pointer(&pods.field).is_some() {
                    part.update = patched(&part.update, &patch);
                }
                part.compiled = Compiled::default();
            }
        })
    }

    /// Pods that so many objects ask for; `None` where the workload does not say that they ask for any.
    pub fn pods_of(&self, objects: usize) -> Option<u64> {
        let per_object = |part: &Scenario| {
            let pods = part.pods.as_ref()?;
            let asked = part.object.pointer(&pods.field).and_then(Value::as_u64);
            Some(asked.unwrap_or(pods.default))
        };
        let asking: Vec<Option<u64>> = self.parts().map(per_object).collect();
        asking.iter().any(Option::is_some).then(|| {
            let of = |index| asking.get(self.part_index(index)).copied().flatten();
            (0..objects).filter_map(of).sum()
        })
    }

    /// The same objects; an update sets one field of those of the first kind.
    pub fn with_update_of(self, pointer: &str, value: &Value) -> Self {
        Self {
            update: patch_at(pointer, value.clone()),
            compiled: Compiled::default(),
            ..self
        }
    }

    /// The same objects; an update changes those of the first kind as one workload's differ from another's.
    pub fn with_update_between(self, from: &Scenario, to: &Scenario) -> Self {
        Self {
            update: difference(&from.object, &to.object),
            compiled: Compiled::default(),
            ..self
        }
    }

    /// Whether objects say in this field how many pods they ask for.
    pub fn asks_for_pods_by(&self, pointer: &str) -> bool {
        self.pods.as_ref().is_some_and(|pods| pods.field == pointer)
    }

    /// The same objects with one field of those of the first kind set.
    pub fn scaled(&self, pointer: &str, value: &Value) -> Self {
        self.patched(&patch_at(pointer, value.clone()))
    }

    /// The same objects with a merge patch on their template.
    pub(super) fn patched(&self, patch: &Value) -> Self {
        Self {
            object: patched(&self.object, patch),
            ..self.clone()
        }
    }

    /// Whether an object can be made as large as it should be.
    pub fn has_words(&self) -> bool {
        self.templates()
            .is_ok_and(|templates| templates.object.uses("words"))
    }

    /// Whether it can grow beyond what its annotations hold.
    pub fn grows(&self) -> bool {
        self.enlarge.is_some()
    }

    fn templates(&self) -> Result<&Templates, Error> {
        if let Some(templates) = self.compiled.0.get() {
            return Ok(templates);
        }
        let item = self.enlarge.as_ref();
        let templates = Templates {
            object: Template::compile(&self.object)?,
            update: Template::compile(&self.update)?,
            item: item.map(|e| Template::compile(&e.item)).transpose()?,
        };
        Ok(self.compiled.0.get_or_init(|| templates))
    }

    /// The bytes to POST.
    ///
    /// # Errors
    /// An expression of the template fails for this object.
    pub fn object(&self, name: &str, index: usize, seed: u64) -> Result<Vec<u8>, Error> {
        let (resource, templates) = (&self.resource, self.templates()?);
        let index = resource.shard.place(index);
        let fill = Fill::of(name, &resource.namespace, index, seed);
        let build = |words: &str, parts: &[String]| {
            let mut object = templates.object.render(&fill.with_words(words))?;
            object["apiVersion"] = resource.api_version().into();
            object["kind"] = resource.kind.as_str().into();
            object["metadata"]["name"] = name.into();
            if resource.namespaced {
                object["metadata"]["namespace"] = resource.namespace.as_str().into();
            }
            if let (Some(enlarge), Some(item)) = (&self.enlarge, &templates.item)
                && let Some(Value::Array(list)) = object.pointer_mut(&enlarge.list)
            {
                for (part, words) in parts.iter().enumerate() {
                    list.push(item.render(&fill.with_part(part, words))?);
                }
            }
            Ok(object.to_string().into_bytes())
        };
        fill::to(self.object_bytes, seed, index, build)
    }

    /// The bytes of the merge patch that gives object `index` its `wave`-th content.
    ///
    /// # Errors
    /// As for [`Scenario::object`].
    pub fn update(&self, name: &str, index: usize, seed: u64, wave: u64) -> Result<Vec<u8>, Error> {
        let namespace = &self.resource.namespace;
        let index = self.resource.shard.place(index);
        let fill = Fill::of(name, namespace, index, seed.wrapping_add(wave));
        let patch = self.templates()?.update.render(&fill)?;
        Ok(patch.to_string().into_bytes())
    }
}

/// The merge patch that makes one value of another (RFC 7386).
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return to.clone();
    };
    let removed = from.keys().filter(|key| !to.contains_key(*key));
    let mut patch: serde_json::Map<String, Value> =
        removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in to {
        match from.get(key) {
            Some(same) if same == value => {}
            Some(other) => drop(patch.insert(key.clone(), difference(other, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

/// A merge patch that sets one field.
fn patch_at(pointer: &str, value: Value) -> Value {
    let keys: Vec<&str> = pointer.split('/').skip(1).collect();
    keys.into_iter().rev().fold(value, |inner, key| {
        let key = key.replace("~1", "/").replace("~0", "~");
        Value::Object([(key, inner)].into_iter().collect())
    })
}

#[cfg(test)]
mod tests;
