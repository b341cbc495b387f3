//! The shipped manifest on a node that has addresses of IPv6 alone, with a server on one of them.

use controlplane::node::{IpFamily, PAUSE};
use libtest_mimic::Failed;

use crate::node::test_node::{Needs, TestNode, text};
use crate::node::work::web;
use crate::runtime;

/// On a node of its own.
pub fn it_is_probed_and_works(needs: Option<&Needs>) -> Result<(), Failed> {
    let needs = needs.ok_or("something is missing")?;
    runtime()?.block_on(async {
        let test_node = TestNode::start(needs, "node-ipv6", IpFamily::V6).await?;
        works(&test_node);
        Ok(())
    })
}

fn works(test_node: &TestNode) {
    // Its rollout needs the kubelet's probe of the pod.
    test_node.install();
    let pod = test_node.operator();
    for (at, wanted) in [
        ("/status/podIP", "fd00:98::"),
        ("/status/hostIP", "fd00:99::1"),
    ] {
        assert!(
            text(&pod, at).starts_with(wanted),
            "{at}: {}",
            text(&pod, at)
        );
    }
    assert_eq!(pod["status"]["podIPs"].as_array().map(Vec::len), Some(1));
    test_node.namespace("work");
    test_node.give("apply", "web.yaml", &web("work", 2));
    test_node.until_ready("work", "web", 2);
    let service = test_node.get("-n work get service web");
    assert_eq!(text(&service, "/spec/ipFamilies/0"), "IPv6");
    assert!(text(&service, "/spec/clusterIP").starts_with("fd00:96::"));
    // Its health and its metrics, by the way of the API server.
    let verdict = test_node.check(&["--image", PAUSE, "--port"]);
    let verdict = verdict.unwrap_or_else(|verdict| panic!("{verdict}"));
    assert!(verdict.contains("ok     readyz      ok"), "{verdict}");
    assert!(verdict.contains("ok     memory      "), "{verdict}");
}
