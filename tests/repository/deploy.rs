//! What `deploy/` says agrees with itself and with the program; no kubectl and no cluster.
//!
//! Guarantees: `deploy/install.yaml` is `deploy/base` as it is now; every image of ours is named by this
//! version; every metric that the documents and alerts name exists.
//! Leaves to others: the CRD (`crd.rs`), what Helm renders (`tests/release/chart.rs`), whether a server takes it (`tests/scenarios`).

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use crate::manifests::{by_name, differences, documents, name, read};
use serde_json::Value;
use tare::edgeapp::EdgeApps;
use tare_runtime::api::Operator;
use tare_runtime::metrics::{Build, Metrics};

type Outcome = Result<(), Box<dyn Error>>;

/// What `kubectl kustomize deploy/base` makes of its resources: each with the labels of the kustomization.
fn rendered_base() -> Result<BTreeMap<String, Value>, Box<dyn Error>> {
    let kustomization = &documents("deploy/base/kustomization.yaml")?[0];
    let pairs = kustomization
        .pointer("/labels/0/pairs")
        .and_then(Value::as_object)
        .ok_or("the kustomization has no labels")?;
    let mut objects = BTreeMap::new();
    for file in kustomization["resources"].as_array().into_iter().flatten() {
        let file = file.as_str().ok_or("a resource is not a file's name")?;
        for mut object in documents(&format!("deploy/base/{file}"))? {
            for (label, value) in pairs {
                object["metadata"]["labels"][label] = value.clone();
            }
            objects.insert(name(&object), object);
        }
    }
    Ok(objects)
}

#[test]
fn install_yaml_is_the_base() -> Outcome {
    let installed = by_name(documents("deploy/install.yaml")?);
    let found = differences(&installed, &rendered_base()?);
    assert!(
        found.is_empty(),
        "deploy/install.yaml is stale: run `just install-yaml` and commit it\n{}",
        found.join("\n")
    );
    Ok(())
}

#[test]
fn the_chart_is_of_this_version() -> Outcome {
    let chart = &documents("deploy/helm/Chart.yaml")?[0];
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
    Ok(())
}

/// The rules of the first object of this kind in a file.
fn rules(file: &str, kind: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let all = documents(file)?;
    let role = all.iter().find(|object| object["kind"] == kind);
    let rules = role.and_then(|role| role["rules"].as_array()).cloned();
    rules.ok_or_else(|| format!("{file}: no rules in a {kind}").into())
}

#[test]
fn the_role_of_one_namespace_has_what_the_clusterrole_has() -> Outcome {
    let mut wanted = rules("deploy/base/rbac.yaml", "ClusterRole")?;
    let before = wanted.len();
    wanted.retain(|rule| rule["resources"] != serde_json::json!(["customresourcedefinitions"]));
    assert_eq!(wanted.len(), before - 1, "CRDs are in no namespace");
    let found = rules("deploy/components/namespaced/role.yaml", "Role")?;
    assert_eq!(found, wanted);
    Ok(())
}

#[test]
fn leases_are_permitted_with_two_replicas_only_and_by_name() -> Outcome {
    for file in [
        "deploy/base/rbac.yaml",
        "deploy/install.yaml",
        "deploy/components/namespaced/role.yaml",
    ] {
        assert!(!read(file)?.contains("leases"), "{file}");
    }
    let rules = rules("deploy/components/two-replicas/lease-role.yaml", "Role")?;
    let named = |rule: &&Value| rule["verbs"] != serde_json::json!(["create"]);
    let named: Vec<&Value> = rules.iter().filter(named).collect();
    let [rule] = named[..] else {
        return Err(format!("{named:?}").into());
    };
    assert_eq!(rule["verbs"], serde_json::json!(["get", "patch"]));
    assert_eq!(rule["resourceNames"], serde_json::json!([EdgeApps::NAME]));
    let overlay = read("deploy/components/two-replicas/kustomization.yaml")?;
    assert!(overlay.contains(&format!("--lease={}\n", EdgeApps::NAME)));
    Ok(())
}

#[test]
fn the_pods_of_the_indexed_job_know_how_many_they_are() -> Outcome {
    let overlay = documents("deploy/loadgen-indexed/kustomization.yaml")?;
    let patch = overlay[0]["patches"][0]["patch"].as_str();
    let patch: Vec<Value> = serde_saphyr::from_str(patch.ok_or("no patch")?)?;
    let value = |path: &str| {
        let found = patch.iter().find(|one| one["path"] == path);
        found.map_or(Value::Null, |one| one["value"].clone())
    };
    assert_eq!(value("/spec/completionMode"), "Indexed");
    let pods = value("/spec/completions");
    assert_eq!(
        value("/spec/parallelism"),
        pods,
        "all offer at the same time"
    );
    let args = value("/spec/template/spec/containers/0/args");
    let args: Vec<&str> = args
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let shards = args.iter().skip_while(|arg| **arg != "--shard").nth(1);
    assert_eq!(shards.map(|it| (*it).to_owned()), Some(pods.to_string()));
    assert!(
        args.contains(&"--json"),
        "loadgen merge reads it from the logs"
    );
    Ok(())
}

#[test]
fn images_are_tagged_with_this_version_and_never_latest() -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    for file in [
        "deploy/base/deployment.yaml",
        "deploy/install.yaml",
        "deploy/loadgen/job.yaml",
    ] {
        let text = read(file)?;
        let ours: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("image: localhost/"))
            .collect();
        assert!(!ours.is_empty(), "{file} names no image of ours");
        for image in ours {
            assert!(
                image.ends_with(&format!(":{version}")),
                "{file}: {image} is not of version {version}"
            );
        }
        assert!(!text.contains(":latest"), "{file} names a tag `latest`");
    }
    for folder in ["base", "loadgen"] {
        let file = format!("deploy/{folder}/kustomization.yaml");
        for image in documents(&file)?[0]["images"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(image["newTag"], version, "{file}: {}", image["name"]);
        }
    }
    Ok(())
}

#[test]
fn image_and_pod_are_started_alike() -> Outcome {
    let dockerfile = read("Dockerfile.scratch")?;
    let base = rendered_base()?;
    let pod = base["Deployment tare-system/tare"]
        .pointer("/spec/template/spec")
        .ok_or("the Deployment has no pod")?;
    let arguments: Vec<String> = pod["containers"][0]["args"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    let command = format!("\nCMD [{}]\n", arguments.join(", "));
    assert!(dockerfile.contains(&command), "no line {command:?}");
    let context = &pod["securityContext"];
    let user = format!(
        "\nUSER {}:{}\n",
        context["runAsUser"], context["runAsGroup"]
    );
    assert_eq!(dockerfile.matches(&user).count(), 3, "each image: {user:?}");
    Ok(())
}

#[test]
fn metrics_that_are_named_exist() -> Outcome {
    let metrics = Metrics::default();
    let prefix = EdgeApps::metrics_prefix();
    assert_eq!(prefix, "tare");
    let rendered = metrics.render(&Build {
        prefix: &prefix,
        version: tare::VERSION,
        allocator: "none",
    });
    let known: BTreeSet<&str> = rendered
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for file in [
        "deploy/README.md",
        "deploy/check.sh",
        "deploy/components/alerts/rules.yaml",
        "deploy/components/dashboard/tare.json",
    ] {
        let text = read(file)?;
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            // Figures of the process come from /proc.
            .filter(|word| {
                word.starts_with("tare_")
                    || cfg!(target_os = "linux") && word.starts_with("process_")
            });
        for word in words {
            let family = ["_bucket", "_sum", "_count"]
                .into_iter()
                .find_map(|end| word.strip_suffix(end))
                .unwrap_or(word);
            assert!(
                known.contains(family),
                "{file} names {word}, which /metrics does not have"
            );
        }
    }
    Ok(())
}
