//! Removal in the order that `deploy/README.md` documents. The commands are read from that file.

use crate::node::test_node::{INSTALL, TestNode};
use crate::node::work::web;

const README: &str = include_str!("../../../deploy/README.md");

pub async fn in_the_documented_order_nothing_is_left(test_node: &TestNode) {
    test_node.install();
    for namespace in ["one", "two"] {
        test_node.namespace(namespace);
        test_node.give("apply", "web.yaml", &web(namespace, 1));
        test_node.until_ready(namespace, "web", 1);
    }
    let commands = documented();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in &commands {
        test_node.kubectl(&command.replace("install-k3s.yaml", INSTALL));
    }
    for left in [
        "get crd -o name",
        "get clusterrole,clusterrolebinding -l app.kubernetes.io/part-of=tare -o name",
        "get deployments,services -A -l app.kubernetes.io/managed-by=tare -o name",
        "get replicasets,pods -A -o name",
    ] {
        test_node.until_said(left, str::is_empty);
    }
    let namespaces = test_node.kubectl("get namespaces -o name");
    assert!(!namespaces.contains("tare-system"), "{namespaces}");
    for program in ["tare", "pause"] {
        test_node.until("no process is left", || {
            let left = test_node
                .node
                .processes(program)
                .expect("read the node's cgroup");
            left.is_empty().then_some(())
        });
    }
    test_node.kubectl("delete namespace one two --timeout=120s");
}

/// The kubectl commands under "Removal", without their comments.
fn documented() -> Vec<String> {
    let (_, section) = README.split_once("\n## Removal\n").expect("a section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let commands = section
        .lines()
        .filter_map(|line| line.strip_prefix("kubectl "));
    let command = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    commands.map(command).collect()
}
