//! The Helm chart on a node: installed, changed by values, removed.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::helm::{self, CHART};
use crate::node::image;
use crate::node::test_node::{INSTALL, OPERATOR, TestNode, text};
use crate::node::work::web;

pub async fn a_release_works_changes_and_leaves_the_edgeapps(test_node: &TestNode) {
    // What kubectl applied belongs to no release.
    test_node.kubectl(&format!(
        "delete -f {INSTALL} --ignore-not-found --timeout=120s"
    ));
    let release = Release::new(test_node);
    release.does(&format!("install tare {CHART}"));
    test_node.until_rolled_out();
    let operator = test_node.operator();
    assert_eq!(operator["spec"]["containers"][0]["image"], image::NAME);
    test_node.namespace("chart");
    test_node.give("apply", "web.yaml", &web("chart", 1));
    test_node.until_ready("chart", "web", 1);

    let values = "replicas=2,cache=metadata,resources.limits.memory=32Mi";
    release.does(&format!("upgrade tare {CHART} --set={values}"));
    let operators = test_node.until("two operators are ready", || {
        let pods = test_node.operators();
        let is_ready = |pod: &&serde_json::Value| {
            let status = &pod["status"]["containerStatuses"][0];
            status["ready"] == true && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let of_release = pods.iter().filter(is_ready).count() == 2 && pods.len() == 2;
        let limit = json!({ "memory": "32Mi" });
        let is_new =
            |pod: &serde_json::Value| pod["spec"]["containers"][0]["resources"]["limits"] == limit;
        (of_release && pods.iter().all(is_new)).then_some(pods)
    });
    let names: Vec<&str> = operators
        .iter()
        .map(|pod| text(pod, "/metadata/name"))
        .collect();
    let holder = test_node.until_said(
        "-n tare-system get lease tare -o jsonpath={.spec.holderIdentity}",
        |holder| names.iter().any(|name| holder.contains(name)),
    );
    assert!(!holder.is_empty());
    test_node.kubectl("-n chart scale ea/web --replicas=2");
    test_node.until_ready("chart", "web", 2);

    release.does("uninstall tare --wait --timeout=2m");
    test_node.until_said(&format!("get pods -A -l {OPERATOR} -o name"), str::is_empty);
    test_node.until_said(
        "get clusterrole,clusterrolebinding -l app.kubernetes.io/part-of=tare -o name",
        str::is_empty,
    );
    // The CRD stays, and what it defines. A release of another name does not take it over unless it is told to.
    test_node.until_ready("chart", "web", 2);
    let refused = release.tries(&format!("install other {CHART}"));
    let refused = refused.expect_err("the CRD belongs to the release tare");
    assert!(refused.contains("edgeapps.tare.dev"), "{refused}");
    release.does(&format!("install other {CHART} --take-ownership"));
    test_node.until_rolled_out();
    test_node.kubectl("-n chart scale ea/web --replicas=1");
    test_node.until_ready("chart", "web", 1);
    release.does("uninstall other --wait --timeout=2m");
    // And back.
    release.does(&format!("install tare {CHART} --take-ownership"));
    test_node.until_rolled_out();
    release.does("uninstall tare --wait --timeout=2m");
    test_node.kubectl("-n chart delete ea --all --cascade=foreground --timeout=120s");
    test_node.kubectl("delete crd edgeapps.tare.dev --timeout=120s");
    test_node.kubectl("delete namespace chart --timeout=120s");
}

/// Helm with the node's kubeconfig; its record of the release is in namespace `default`.
struct Release<'a> {
    helm: PathBuf,
    test_node: &'a TestNode,
}

impl<'a> Release<'a> {
    fn new(test_node: &'a TestNode) -> Release<'a> {
        let helm = helm::find().expect("the test is ignored without it");
        Release { helm, test_node }
    }

    fn does(&self, line: &str) {
        let said = self.tries(line);
        said.unwrap_or_else(|said| panic!("helm {line}: {said}"));
    }

    fn tries(&self, line: &str) -> Result<String, String> {
        let mut command = Command::new(&self.helm);
        command
            .args(line.split(' '))
            .arg("--namespace=default")
            .env_clear()
            .envs(self.test_node.environment());
        helm::printed(&mut command)
    }
}
