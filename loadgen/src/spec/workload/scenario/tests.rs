//! Tests of a workload's objects, with those of the default workload.

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;
use crate::spec::workload;

fn scenario() -> Scenario {
    workload::default().expect("valid").scenario
}

fn object(scenario: &Scenario, name: &str, index: usize, seed: u64) -> Value {
    let bytes = scenario.object(name, index, seed).expect("it renders");
    serde_json::from_slice(&bytes).expect("JSON")
}

#[test]
fn an_object_has_the_size_it_should_have() {
    let scenario = scenario();
    for index in [0, 7, 99_999] {
        let name = scenario.resource.object_name(index);
        let bytes = scenario.object(&name, index, 1).expect("it renders");
        assert_eq!(bytes.len(), scenario.object_bytes);
        let object = object(&scenario, &name, index, 1);
        assert_eq!(object["metadata"]["name"], name);
        assert_eq!(object["apiVersion"], scenario.resource.api_version());
        assert!(!object.to_string().contains("{{"));
    }
}

/// Published results were measured with these objects.
#[test]
fn the_default_objects_are_those_of_published_results() {
    let hash = |bytes: Vec<u8>| -> String {
        let digest = Sha256::digest(bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    for (name, index, seed, object_bytes, want) in [
        (
            "ea-0",
            0,
            1,
            2048,
            "1e6aba23e26b8dc79356719a2d5f3172328ea1d353a824b8d91ff156dc125891",
        ),
        (
            "ea-7",
            7,
            1,
            2048,
            "f4242f55fdd84f4d6c52c1d886977d10a47f1c8e3cee1c06b4ada1125f96b341",
        ),
        (
            "ea-99999",
            99_999,
            3,
            2048,
            "3fe7170cfe7e95ddd1eed9a53542e92e6e0adbd9d24c2e64c38efbd3fa038c38",
        ),
        (
            "ea-1",
            1,
            1,
            300_000,
            "94bf50557f3616b4c658b6cbc31a50e30a6bd00187552321bbd93113daac2aeb",
        ),
    ] {
        let scenario = Scenario {
            object_bytes,
            ..scenario()
        };
        let bytes = scenario.object(name, index, seed).expect("it renders");
        assert_eq!(hash(bytes), want, "{name} of {object_bytes} bytes");
    }
    let update = scenario().update("ea-5", 5, 1, 2).expect("it renders");
    let want = "0517a99e5f25759079d819d3bf3f0d92e131052c6c2c1eb9e3447b15a5fef020";
    assert_eq!(hash(update), want);
}

#[test]
fn every_size_that_is_offered_is_met() {
    let (least, most) = workload::default().expect("valid").sizes().expect("valid");
    assert!(least < 2_048 && 1_000_000 < most, "{least} to {most}");
    for object_bytes in [least, 10_240, 51_200, 257_000, 300_000, most] {
        let scenario = Scenario {
            object_bytes,
            ..scenario()
        };
        let bytes = scenario.object("ea-9999999", 9_999_999, 1);
        assert_eq!(bytes.expect("it renders").len(), object_bytes);
        let object = object(&scenario, "ea-9999999", 9_999_999, 1);
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
    let mut scenario = scenario();
    scenario.object_bytes = 10;
    assert_eq!(object(&scenario, "ea-1", 1, 1)["spec"]["replicas"], 1);
}

#[test]
fn objects_of_a_run_are_told_from_others() {
    let scenario = scenario();
    let ours = scenario.clone().of_run("3f9c1b", "shop").without_pods();
    let name = ours.resource.object_name(7);
    let object = object(&ours, &name, 7, 1);
    assert_eq!(object["metadata"]["name"], "ea-3f9c1b-7");
    assert_eq!(object["metadata"]["namespace"], "shop");
    assert_eq!(object["metadata"]["labels"][RUN_LABEL], "3f9c1b");
    assert_eq!(object["spec"]["replicas"], 0);
    let pods = [&scenario, &ours].map(|scenario| scenario.pods_of(1));
    assert_eq!(pods, [Some(1), Some(0)]);
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
    let scenario = scenario();
    assert_ne!(
        scenario.update("ea-1", 1, 1, 1),
        scenario.update("ea-1", 1, 1, 2)
    );
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_bytes(seed: u64, index in 0usize..1_000_000) {
        let scenario = scenario();
        for scenario in [scenario.clone(), scenario.of_run("0a1b2c", "shop")] {
            let name = scenario.resource.object_name(index);
            prop_assert_eq!(scenario.object(&name, index, seed), scenario.object(&name, index, seed));
            prop_assert_eq!(scenario.resource.object_index(&name), Some(index));
        }
    }
}

#[test]
fn a_rejected_object_asks_for_more_than_its_limit_and_is_else_the_same() {
    let workload = workload::default().expect("valid");
    let rejected = workload.rejected.expect("it has one");
    let mut was = object(&workload.scenario, "a", 1, 1);
    let is = object(&rejected, "a", 1, 1);
    let memory = "/spec/resources/requests/memory";
    assert_eq!(is.pointer(memory), Some(&"1Gi".into()));
    *was.pointer_mut(memory).expect("there") = "1Gi".into();
    assert_eq!(was["spec"], is["spec"]);
}

#[test]
fn a_kind_of_the_core_group_and_one_of_the_cluster_have_their_paths() {
    let mut resource = Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        prefix: "cm".into(),
        ..scenario().resource
    };
    let namespace = resource.namespace.clone();
    assert_eq!(
        resource.path(),
        format!("/api/v1/namespaces/{namespace}/configmaps")
    );
    assert_eq!(resource.path_everywhere(), "/api/v1/configmaps");
    assert_eq!(resource.object_index("cm-12"), Some(12));
    resource.namespaced = false;
    assert_eq!(resource.path(), "/api/v1/configmaps");
}
