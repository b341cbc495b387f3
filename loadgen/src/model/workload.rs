//! What is created: a template of the object, filled in per object from the seed.
//!
//! Guarantees: the same seed and index give the same bytes; an object is exactly `object_bytes`
//! long where its template leaves room. Leaves to others: what fills an object up (`fill`), the rate, and
//! the sending.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub mod child;
pub mod fill;

use crate::model::run_id;
use crate::model::workload::fill::{Fill, enlarge, filled};

const EDGEAPP: &str = include_str!("../../scenarios/edgeapp.toml");
const EDGEAPP_REJECTED: &str = include_str!("../../scenarios/edgeapp-rejected.toml");

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
    object: Value,
    /// A merge patch: what churn changes.
    update: Value,
}

/// Where the objects live, and how they are told from others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespace: String,
    /// The run that the objects belong to, where others may be around: it is in their names and
    /// in the label [`RUN_LABEL`], and only they are watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl Resource {
    /// Objects are `ea-0`, `ea-1`, …, or `ea-<run>-0`, `ea-<run>-1`, …
    pub fn object_name(&self, index: usize) -> String {
        match &self.run {
            Some(run) => format!("ea-{run}-{index}"),
            None => format!("ea-{index}"),
        }
    }

    /// The inverse of [`Resource::object_name`].
    pub fn object_index(&self, name: &str) -> Option<usize> {
        let rest = name.strip_prefix("ea-")?;
        match &self.run {
            Some(run) => rest.strip_prefix(run.as_str())?.strip_prefix('-')?,
            None => rest,
        }
        .parse()
        .ok()
    }

    /// What narrows a list or a watch to these objects; ends in `&` unless it is empty.
    pub fn selector(&self) -> String {
        match &self.run {
            Some(run) => format!("labelSelector={RUN_LABEL}%3D{run}&"),
            None => String::new(),
        }
    }

    /// Path of the collection in every namespace.
    pub fn path_everywhere(&self) -> String {
        let Self {
            group,
            version,
            plural,
            ..
        } = self;
        format!("/apis/{group}/{version}/{plural}")
    }

    /// Path of the collection.
    pub fn path(&self) -> String {
        let Self {
            group,
            version,
            plural,
            namespace,
            ..
        } = self;
        format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
    }
}

/// A scenario file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("scenario {file}: {source}")]
pub struct Error {
    file: &'static str,
    source: toml::de::Error,
}

/// The name of the object that is there before the subject starts.
pub const CANARY: &str = "canary";

/// The label of everything that loadgen creates on an existing cluster: objects, and namespaces that
/// it made for them. Its value is the run.
pub const RUN_LABEL: &str = "loadgen.tare.dev/run";

/// The default scenario.
///
/// # Errors
/// If the build was given a broken file.
pub fn edgeapp() -> Result<Scenario, Error> {
    read("edgeapp.toml", EDGEAPP)
}

/// The most `object_bytes`: etcd takes 1.5 MiB in one request (`--max-request-bytes`), and the managed
/// fields, the status and what a child has beside the spec come on top of what is sent.
const MOST_BYTES: usize = 1_400_000;

/// The least and the most `object_bytes` that the objects of the default scenario can have.
///
/// # Errors
/// If the build was given a broken file.
pub fn sizes() -> Result<(usize, usize), Error> {
    let mut bare = edgeapp()?;
    bare.object_bytes = 0;
    // The longest name that is measured.
    let index = 9_999_999;
    let name = bare.resource.object_name(index);
    let bare = bare.object(&name, index, 0).len();
    Ok((bare, MOST_BYTES))
}

/// A file of `scenarios/`, as the build was given it.
///
/// # Errors
/// It is broken.
pub fn read<T: DeserializeOwned>(file: &'static str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|source| Error { file, source })
}

/// The same objects, with children that the API server rejects.
///
/// # Errors
/// If the build was given a broken file.
pub fn rejected(healthy: &Scenario) -> Result<Scenario, Error> {
    let patch: Value = read("edgeapp-rejected.toml", EDGEAPP_REJECTED)?;
    let mut refused = healthy.clone();
    json_patch::merge(&mut refused.object, &patch);
    Ok(refused)
}

impl Scenario {
    /// The same objects in the namespace of one bench, with the label by which `loadgen clean` finds them.
    /// Unlike those of [`Scenario::of_run`] they keep their names: nothing else is in that namespace.
    pub fn of_bench(mut self, run: &str) -> Self {
        self.resource.namespace = run_id::namespace(run);
        self.object["metadata"]["labels"][RUN_LABEL] = run.into();
        self
    }

    /// Whether these are the same objects, but for the bench that they belong to.
    pub fn is_alike(&self, other: &Self) -> bool {
        const SAME: &str = "same";
        self.clone().of_bench(SAME) == other.clone().of_bench(SAME)
    }

    /// The same objects as those of one run in one namespace, with names and a label of their own.
    pub fn of_run(mut self, run: &str, namespace: &str) -> Self {
        self.resource.run = Some(run.to_owned());
        self.resource.namespace = namespace.to_owned();
        self.object["metadata"]["labels"][RUN_LABEL] = run.into();
        self
    }

    /// The same objects, asking for no pods.
    pub fn without_pods(mut self) -> Self {
        self.object["spec"]["replicas"] = 0.into();
        self
    }

    /// Pods that one object asks for.
    pub fn pods_per_object(&self) -> u64 {
        // 1 is the default of an EdgeApp that does not say.
        self.object["spec"]["replicas"].as_u64().unwrap_or(1)
    }

    /// The bytes to POST.
    pub fn object(&self, name: &str, index: usize, seed: u64) -> Vec<u8> {
        let resource = &self.resource;
        let build = |words: &str, parts: &[String]| {
            let mut object = filled(&self.object, &Fill::of(name, index, seed, words));
            object["apiVersion"] = format!("{}/{}", resource.group, resource.version).into();
            object["kind"] = resource.kind.as_str().into();
            object["metadata"]["name"] = name.into();
            object["metadata"]["namespace"] = resource.namespace.as_str().into();
            enlarge(&mut object, parts);
            object.to_string().into_bytes()
        };
        fill::to(self.object_bytes, seed, index, build)
    }

    /// The bytes of the merge patch that gives object `index` its `wave`-th content.
    pub fn update(&self, name: &str, index: usize, seed: u64, wave: u64) -> Vec<u8> {
        let fill = Fill::of(name, index, seed.wrapping_add(wave), "");
        filled(&self.update, &fill).to_string().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_object_has_the_size_it_should_have() {
        let scenario = edgeapp().expect("valid");
        for index in [0, 7, 99_999] {
            let name = scenario.resource.object_name(index);
            let object = scenario.object(&name, index, 1);
            assert_eq!(object.len(), scenario.object_bytes);
            let object: Value = serde_json::from_slice(&object).expect("JSON");
            assert_eq!(object["metadata"]["name"], name);
            assert_eq!(object["apiVersion"], "tare.dev/v1alpha1");
            assert!(!object.to_string().contains("{words}"));
        }
    }

    #[test]
    fn every_size_that_is_offered_is_met() {
        let (least, most) = sizes().expect("valid");
        assert!(least < 2_048 && 1_000_000 < most, "{least} to {most}");
        for object_bytes in [least, 10_240, 51_200, 257_000, 300_000, most] {
            let scenario = Scenario {
                object_bytes,
                ..edgeapp().expect("valid")
            };
            let object = scenario.object("ea-9999999", 9_999_999, 1);
            assert_eq!(object.len(), object_bytes);
            let object: Value = serde_json::from_slice(&object).expect("JSON");
            let annotations = object["metadata"]["annotations"].to_string();
            assert!(
                annotations.len() <= fill::ANNOTATION_BYTES,
                "{object_bytes}"
            );
            let env = object["spec"]["env"].as_array().expect("a list");
            assert!(env.len() <= 256, "maxItems of the definition");
            let longest = env
                .iter()
                .map(|one| one["value"].as_str().map_or(0, str::len));
            assert!(longest.max() <= Some(32_768), "maxLength of the definition");
        }
    }

    #[test]
    fn a_small_size_keeps_the_template() {
        let mut scenario = edgeapp().expect("valid");
        scenario.object_bytes = 10;
        let object: Value = serde_json::from_slice(&scenario.object("ea-1", 1, 1)).expect("JSON");
        assert_eq!(object["spec"]["replicas"], 1);
    }

    #[test]
    fn objects_of_a_run_are_told_from_others() {
        let scenario = edgeapp().expect("valid");
        let ours = scenario.clone().of_run("3f9c1b", "shop").without_pods();
        let name = ours.resource.object_name(7);
        let object: Value = serde_json::from_slice(&ours.object(&name, 7, 1)).expect("JSON");
        assert_eq!(object["metadata"]["name"], "ea-3f9c1b-7");
        assert_eq!(object["metadata"]["namespace"], "shop");
        assert_eq!(object["metadata"]["labels"][RUN_LABEL], "3f9c1b");
        assert_eq!(object["spec"]["replicas"], 0);
        assert_eq!((scenario.pods_per_object(), ours.pods_per_object()), (1, 0));
        for (name, want) in [
            ("ea-3f9c1b-7", Some(7)),
            ("ea-7", None),
            ("ea-3f9c1c-7", None),
        ] {
            assert_eq!(ours.resource.object_index(name), want, "{name}");
        }
    }

    #[test]
    fn an_update_differs_from_wave_to_wave() {
        let scenario = edgeapp().expect("valid");
        assert_ne!(
            scenario.update("ea-1", 1, 1, 1),
            scenario.update("ea-1", 1, 1, 2)
        );
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_bytes(seed: u64, index in 0usize..1_000_000) {
            let scenario = edgeapp().expect("valid");
            for scenario in [scenario.clone(), scenario.of_run("0a1b2c", "shop")] {
                let name = scenario.resource.object_name(index);
                prop_assert_eq!(scenario.object(&name, index, seed), scenario.object(&name, index, seed));
                prop_assert_eq!(scenario.resource.object_index(&name), Some(index));
            }
        }
    }

    #[test]
    fn a_refused_object_asks_for_more_than_its_limit_and_is_else_the_same() {
        let healthy = edgeapp().expect("valid");
        let rejected = rejected(&healthy).expect("valid");
        let object = |scenario: &Scenario| -> Value {
            serde_json::from_slice(&scenario.object("a", 1, 1)).expect("JSON")
        };
        let (mut was, is) = (object(&healthy), object(&rejected));
        let memory = "/spec/resources/requests/memory";
        assert_eq!(is.pointer(memory), Some(&"1Gi".into()));
        *was.pointer_mut(memory).expect("there") = "1Gi".into();
        assert_eq!(was["spec"], is["spec"]);
    }
}
