//! A newer install over an older one, and back.

use serde_json::Value;

use crate::node::image;
use crate::node::test_node::{INSTALL, TestNode, text};
use crate::node::work::{uids, web};

/// The same image under the name of a next version.
const NEXT: &str = concat!("localhost/tare:", env!("CARGO_PKG_VERSION"), "-next");

pub async fn a_newer_install_and_back_restarts_no_child(test_node: &TestNode) {
    test_node.install();
    test_node.namespace("change");
    test_node.give("apply", "web.yaml", &web("change", 2));
    test_node.until_ready("change", "web", 2);
    let before = Children::of(test_node);
    let operator = uids(&test_node.operators());

    let tag = [
        "ctr",
        "--namespace",
        "k8s.io",
        "images",
        "tag",
        image::NAME,
        NEXT,
    ];
    test_node.node.run(&tag).await.expect("name the next image");
    let install = std::fs::read_to_string(INSTALL).expect("read install.yaml");
    let next = install.replace(image::NAME, NEXT);
    assert_ne!(next, install);
    test_node.give("apply", "install-next.yaml", &next);
    test_node.until_rolled_out();
    assert_ne!(uids(&test_node.operators()), operator);
    let container = &test_node.operator()["spec"]["containers"][0];
    assert_eq!(container["image"], NEXT);
    // A change is reconciled. It is queued after the work of the start, so that work is done by then.
    test_node.kubectl(
        "-n change patch ea web --type=merge -p {\"metadata\":{\"labels\":{\"seen\":\"yes\"}}}",
    );
    test_node.give(
        "apply",
        "probe.yaml",
        &web("change", 2).replace("name: web", "name: probe"),
    );
    test_node.until_ready("change", "probe", 2);
    assert_eq!(Children::of(test_node), before, "not even written to");

    // Back to the shipped version, with the documented command.
    test_node.install();
    assert_eq!(
        test_node.operator()["spec"]["containers"][0]["image"],
        image::NAME
    );
    test_node.kubectl("-n change scale ea/probe --replicas=1");
    test_node.until_ready("change", "probe", 1);
    assert_eq!(Children::of(test_node), before, "not even written to");
    test_node.kubectl("delete namespace change --timeout=120s");
}

/// State that must not change: resourceVersions of the children, and the pods with their restarts.
#[derive(Debug, PartialEq)]
struct Children {
    deployment: String,
    service: String,
    pods: Vec<String>,
    restarts: u64,
}

impl Children {
    fn of(test_node: &TestNode) -> Children {
        let version = |kind: &str| {
            let child = test_node.get(&format!("-n change get {kind} web"));
            text(&child, "/metadata/resourceVersion").to_owned()
        };
        let pods = test_node.pods("change", "web");
        let restarts = |pod: &Value| {
            pod.pointer("/status/containerStatuses/0/restartCount")?
                .as_u64()
        };
        Children {
            deployment: version("deployment"),
            service: version("service"),
            restarts: pods.iter().filter_map(restarts).sum(),
            pods: uids(&pods),
        }
    }
}
