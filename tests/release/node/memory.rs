//! A memory limit that is too small: what a user sees, and recovery with the shipped limit.

use crate::node::test_node::{TestNode, text};

/// Far below the shipped limit; enough for the container runtime to start the process.
const SMALL: &str = "6Mi";
/// Each of these EdgeApps has 1 MB. One that is reconciled needs more memory than the small limit, and less than the
/// shipped one; one of 256 KB would fit into both.
const COUNT: usize = 4;
const VARIABLES: usize = 32;
const VARIABLE_BYTES: usize = 32 << 10;

pub async fn an_out_of_memory_kill_is_seen_and_survived(test_node: &TestNode) {
    test_node.install();
    // The request must not be above the limit.
    test_node.kubectl(&format!(
        "-n tare-system set resources deployment tare --limits=memory={SMALL} --requests=memory=4Mi"
    ));
    test_node.namespace("large");
    let apps: Vec<String> = (0..COUNT).map(large).collect();
    // `create`, because `apply` writes the whole object into an annotation of at most 256 KB.
    test_node.give("create", "large.yaml", &apps.join("---\n"));
    let killed = test_node.until("the operator is killed for memory", || {
        let pods = test_node.operators();
        let ended = pods.iter().map(|pod| {
            let status = &pod["status"]["containerStatuses"][0];
            &status["lastState"]["terminated"]
        });
        let mut killed = ended.filter(|ended| ended["reason"] == "OOMKilled");
        killed.next().cloned()
    });
    assert_eq!(killed["exitCode"], 137, "{killed}");
    let verdict = test_node
        .check(&[])
        .expect_err("a verdict that it does not work");
    assert!(verdict.contains("was killed for memory"), "{verdict}");

    // Applying the shipped manifest restores the limit.
    test_node.install();
    test_node.until("all are Ready", || {
        let apps = test_node.list("-n large get ea");
        let running = apps
            .iter()
            .filter(|app| text(app, "/status/phase") == "Running");
        (running.count() == COUNT).then_some(())
    });
    let operator = test_node.operator();
    let restarts = &operator["status"]["containerStatuses"][0]["restartCount"];
    assert_eq!(restarts, 0, "the operator was not restarted");
    assert_eq!(
        operator["spec"]["containers"][0]["resources"]["limits"]["memory"],
        "16Mi"
    );
    test_node.kubectl("delete namespace large --timeout=120s");
}

/// An EdgeApp with a large environment and no pods.
fn large(number: usize) -> String {
    let value = "x".repeat(VARIABLE_BYTES);
    let variable = |nth| format!("  - {{name: V{nth}, value: {value}}}\n");
    let variables: String = (0..VARIABLES).map(variable).collect();
    format!(
        "apiVersion: tare.dev/v1alpha1\n\
         kind: EdgeApp\n\
         metadata: {{name: large-{number}, namespace: large}}\n\
         spec:\n  image: localhost/pause:1\n  replicas: 0\n  env:\n{variables}"
    )
}
