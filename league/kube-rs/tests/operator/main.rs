//! The variants of the baseline as processes against the simulated API server over TLS: the EdgeApp
//! behaviour that every subject has to show before it is measured.
#![allow(clippy::unwrap_used)]

mod cluster;
mod scenarios;

use cluster::{Cluster, Variant, app, is_running};
use serde_json::json;

/// Each scenario as a test of each variant.
macro_rules! each {
    ($($scenario:ident)*) => {
        mod stock {
            $(#[tokio::test]
            async fn $scenario() {
                crate::scenarios::$scenario(crate::Variant::Stock).await;
            })*
        }
        mod predicate {
            $(#[tokio::test]
            async fn $scenario() {
                crate::scenarios::$scenario(crate::Variant::Predicate).await;
            })*
        }
        mod tuned {
            $(#[tokio::test]
            async fn $scenario() {
                crate::scenarios::$scenario(crate::Variant::Tuned).await;
            })*
        }
    };
}

each! {
    an_app_becomes_running_with_its_children
    a_change_of_the_app_reaches_the_children
    a_service_is_made_anew_when_it_becomes_headless_and_back
    what_others_change_or_delete_comes_back
    a_deleted_app_takes_its_children_along
    nothing_is_done_for_an_app_that_is_being_deleted
    an_app_deleted_with_orphans_leaves_its_children
    a_foreign_deployment_is_not_taken_over_and_survives
    it_says_how_it_is_and_ends_when_asked
}

#[tokio::test]
async fn tuned_writes_each_thing_once_and_nothing_after_a_restart() {
    let mut cluster = Cluster::with_web(Variant::Tuned, "writes").await;
    cluster.until_quiet().await;
    // Deployment, Service, status; the status again when it is ready.
    assert_eq!(cluster.writes(), 4);
    cluster.restart().await;
    let spec = json!({ "image": "web:1", "replicas": 0 });
    cluster.create("edgeapps", app("after", spec)).await;
    cluster.until("edgeapps", "after", is_running).await;
    cluster.until_quiet().await;
    let of_after = 2..=3;
    assert!(
        of_after.contains(&(cluster.writes() - 4)),
        "{}",
        cluster.writes()
    );
}

#[test]
fn each_says_in_one_line_what_it_is_and_of_which_commit() {
    for (variant, name) in [
        (Variant::Stock, "baseline-kube-rs"),
        (Variant::Predicate, "baseline-kube-rs-predicate"),
        (Variant::Tuned, "baseline-kube-rs-tuned"),
    ] {
        let output = std::process::Command::new(variant.program())
            .arg("--version")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let commit = text
            .strip_prefix(&format!("{name} {} (", env!("CARGO_PKG_VERSION")))
            .and_then(|rest| rest.strip_suffix(")\n"));
        assert!(output.status.success(), "{name}");
        assert!(commit.is_some_and(|commit| commit.len() >= 7), "{text:?}");
    }
}
