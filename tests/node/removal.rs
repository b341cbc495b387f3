//! Removal in the order that `deploy/README.md` documents: the commands are taken from there.

use crate::site::{INSTALL, Site};
use crate::work::web;

const README: &str = include_str!("../../deploy/README.md");

pub async fn in_the_documented_order_nothing_is_left(site: &Site) {
    site.install();
    for namespace in ["one", "two"] {
        site.namespace(namespace);
        site.give("apply", "web.yaml", &web(namespace, 1));
        site.until_ready(namespace, "web", 1);
    }
    let commands = documented();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in &commands {
        site.kubectl(&command.replace("install-k3s.yaml", INSTALL));
    }
    for left in [
        "get crd -o name",
        "get clusterrole,clusterrolebinding -l app.kubernetes.io/part-of=tare -o name",
        "get deployments,services -A -l app.kubernetes.io/managed-by=tare -o name",
        "get replicasets,pods -A -o name",
    ] {
        site.until_said(left, str::is_empty);
    }
    let namespaces = site.kubectl("get namespaces -o name");
    assert!(!namespaces.contains("tare-system"), "{namespaces}");
    for program in ["tare", "pause"] {
        site.until("no process is left", || {
            let left = site
                .node
                .processes(program)
                .expect("read the node's cgroup");
            left.is_empty().then_some(())
        });
    }
    site.kubectl("delete namespace one two --timeout=120s");
}

/// The commands of kubectl under "Removal", without their comments.
fn documented() -> Vec<String> {
    let (_, section) = README.split_once("\n## Removal\n").expect("a section");
    let (section, _) = section.split_once("\n## ").expect("another section");
    let commands = section
        .lines()
        .filter_map(|line| line.strip_prefix("kubectl "));
    let command = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    commands.map(command).collect()
}
