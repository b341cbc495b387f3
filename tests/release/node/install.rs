//! The shipped manifest on a node: the operator's process has only the rights and files that it needs.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::node::image;
use crate::node::test_node::{TestNode, text};

const LIMIT_BYTES: u64 = 16 << 20;
const USER: &str = "65532";

pub async fn as_shipped_it_runs_restricted_and_within_its_limit(test_node: &TestNode) {
    test_node.install();
    let pod = test_node.operator();
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["image"], image::NAME);
    assert_eq!(
        container["resources"]["limits"],
        json!({ "memory": "16Mi" })
    );
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(
        (&status["ready"], &status["restartCount"]),
        (&json!(true), &json!(0))
    );
    // The kernel enforces what the manifest asks for.
    let pid = test_node.operator_pid();
    assert_eq!(limit_bytes(pid), LIMIT_BYTES);
    let facts = read_to_string(format!("/proc/{pid}/status")).expect("read its status");
    for (name, want) in [
        ("Uid", USER),
        ("Gid", USER),
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        // Seccomp mode 2 is a filter: the runtime's default profile.
        ("Seccomp", "2"),
    ] {
        assert_eq!(fact(&facts, name), want, "{name}");
    }
    let mounts = read_to_string(format!("/proc/{pid}/mounts")).expect("read its mounts");
    let root = mounts
        .lines()
        .find(|line| line.split(' ').nth(1) == Some("/"));
    let root = root
        .and_then(|line| line.split(' ').nth(3))
        .unwrap_or_default();
    assert!(root.split(',').any(|option| option == "ro"), "{root}");
    // The image is from scratch and has one file.
    let files = ["bin", "etc/passwd", "lib", "tmp", "usr"];
    let inside = PathBuf::from(format!("/proc/{pid}/root"));
    let there = files.iter().filter(|file| inside.join(file).exists());
    assert_eq!(there.collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(inside.join("tare").is_file());
    // A pod that violates the policy is refused.
    let pod = r#"{"apiVersion":"v1","spec":{"hostNetwork":true}}"#;
    let refused = test_node.try_kubectl(&format!(
        "-n tare-system run intruder --image=localhost/pause:1 --overrides={pod}"
    ));
    let refused = refused.expect_err("a pod on the host's network");
    assert!(
        refused.contains("violates PodSecurity \"restricted"),
        "{refused}"
    );
}

/// The account's lack of other permissions. The scenarios show that those it has are enough.
pub async fn its_roles_allow_what_it_does_and_nothing_else(test_node: &TestNode) {
    test_node.install();
    let pod = test_node.operator();
    assert_eq!(text(&pod, "/spec/serviceAccountName"), "tare");
    for (allowed, what) in [
        (true, "patch edgeapps/status"),
        (true, "create deployments"),
        (false, "list secrets"),
        (false, "create pods"),
        (false, "delete edgeapps"),
        (false, "patch customresourcedefinitions"),
        (false, "create clusterrolebindings"),
    ] {
        let account = "--as=system:serviceaccount:tare-system:tare";
        let asked = test_node.try_kubectl(&format!("auth can-i {what} -A {account}"));
        // The answer "no" comes with an exit code other than 0.
        let said = asked.unwrap_or_else(|said| said);
        let said = said.lines().last().unwrap_or_default();
        assert_eq!(said, if allowed { "yes" } else { "no" }, "{what}");
    }
    // The token is bound to the pod and expires.
    let volumes = pod["spec"]["volumes"].as_array().expect("volumes");
    let token = |volume: &Value| {
        volume
            .pointer("/projected/sources/0/serviceAccountToken")
            .cloned()
    };
    let token = volumes.iter().find_map(token).expect("a projected token");
    assert!(token["expirationSeconds"].is_u64(), "{token}");
}

fn fact<'a>(facts: &'a str, name: &str) -> &'a str {
    let mut lines = facts.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = value.and_then(|it| it.split_whitespace().next());
    value.unwrap_or_default()
}

/// The memory limit of the process's cgroup (version 1 or 2), bytes.
fn limit_bytes(pid: i32) -> u64 {
    let groups = read_to_string(format!("/proc/{pid}/cgroup")).expect("read its cgroups");
    let path = |prefix: fn(&str) -> bool| {
        let mut lines = groups.lines().filter_map(|line| line.split_once(':'));
        lines.find_map(|(_, rest)| rest.split_once(':').filter(|(name, _)| prefix(name)))
    };
    let join = |root: &str, path: &str| Path::new(root).join(path.trim_start_matches('/'));
    let file = match path(|name| name.split(',').any(|one| one == "memory")) {
        Some((_, path)) => join("/sys/fs/cgroup/memory", path).join("memory.limit_in_bytes"),
        None => {
            let (_, path) = path(str::is_empty).expect("a cgroup");
            join("/sys/fs/cgroup", path).join("memory.max")
        }
    };
    let text = read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.trim().parse().expect("a limit in bytes")
}
