//! A newer install over an older one, and back.

use serde_json::Value;

use crate::image;
use crate::site::{INSTALL, Site, text};
use crate::work::{uids, web};

/// The same program under the name that a next version would have.
const NEXT: &str = concat!("localhost/tare:", env!("CARGO_PKG_VERSION"), "-next");

pub async fn a_newer_install_and_back_restarts_no_child(site: &Site) {
    site.install();
    site.namespace("change");
    site.give("apply", "web.yaml", &web("change", 2));
    site.until_ready("change", "web", 2);
    let before = Children::of(site);
    let operator = uids(&site.operators());

    let tag = [
        "ctr",
        "--namespace",
        "k8s.io",
        "images",
        "tag",
        image::NAME,
        NEXT,
    ];
    site.node.run(&tag).await.expect("name the next image");
    let install = std::fs::read_to_string(INSTALL).expect("read install.yaml");
    let next = install.replace(image::NAME, NEXT);
    assert_ne!(next, install);
    site.give("apply", "install-next.yaml", &next);
    site.until_rolled_out();
    assert_ne!(uids(&site.operators()), operator);
    let container = &site.operator()["spec"]["containers"][0];
    assert_eq!(container["image"], NEXT);
    // It works: a change goes through, and comes after whatever the start has found to do.
    site.kubectl(
        "-n change patch ea web --type=merge -p {\"metadata\":{\"labels\":{\"seen\":\"yes\"}}}",
    );
    site.give(
        "apply",
        "probe.yaml",
        &web("change", 2).replace("name: web", "name: probe"),
    );
    site.until_ready("change", "probe", 2);
    assert_eq!(Children::of(site), before, "not even written to");

    // Back, as the document says.
    site.install();
    assert_eq!(
        site.operator()["spec"]["containers"][0]["image"],
        image::NAME
    );
    site.kubectl("-n change scale ea/probe --replicas=1");
    site.until_ready("change", "probe", 1);
    assert_eq!(Children::of(site), before, "not even written to");
    site.kubectl("delete namespace change --timeout=120s");
}

/// What must not change: the children's versions, and the pods with their restarts.
#[derive(Debug, PartialEq)]
struct Children {
    deployment: String,
    service: String,
    pods: Vec<String>,
    restarts: u64,
}

impl Children {
    fn of(site: &Site) -> Children {
        let version = |kind: &str| {
            let child = site.get(&format!("-n change get {kind} web"));
            text(&child, "/metadata/resourceVersion").to_owned()
        };
        let pods = site.pods("change", "web");
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
