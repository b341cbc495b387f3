//! A limit that is too small: what a person sees, and that the shipped one is enough again.

use crate::site::{Site, text};

/// Far below what is shipped; enough for the container runtime's own start.
const SMALL: &str = "6Mi";
/// Each of these is 256 KB: the few that are worked on at once need more than that, and less than the
/// shipped limit.
const COUNT: usize = 24;
const VARIABLES: usize = 8;
const VARIABLE_BYTES: usize = 32 << 10;

pub async fn an_out_of_memory_kill_is_seen_and_survived(site: &Site) {
    site.install();
    // The request must not be above the limit.
    site.kubectl(&format!(
        "-n tare-system set resources deployment tare --limits=memory={SMALL} --requests=memory=4Mi"
    ));
    site.namespace("large");
    let apps: Vec<String> = (0..COUNT).map(large).collect();
    // Not `apply`, which writes the whole object into an annotation of at most 256 KB.
    site.give("create", "large.yaml", &apps.join("---\n"));
    let killed = site.until("the operator is killed for memory", || {
        let pods = site.operators();
        let ended = pods.iter().map(|pod| {
            let status = &pod["status"]["containerStatuses"][0];
            &status["lastState"]["terminated"]
        });
        let mut killed = ended.filter(|ended| ended["reason"] == "OOMKilled");
        killed.next().cloned()
    });
    assert_eq!(killed["exitCode"], 137, "{killed}");
    let verdict = site
        .check(&[])
        .expect_err("a verdict that it does not work");
    assert!(verdict.contains("was killed for memory"), "{verdict}");

    // What was applied before is applied again, and the limit with it.
    site.install();
    site.until("all are Ready", || {
        let apps = site.list("-n large get ea");
        let running = apps
            .iter()
            .filter(|app| text(app, "/status/phase") == "Running");
        (running.count() == COUNT).then_some(())
    });
    let operator = site.operator();
    let restarts = &operator["status"]["containerStatuses"][0]["restartCount"];
    assert_eq!(restarts, 0, "it has survived");
    assert_eq!(
        operator["spec"]["containers"][0]["resources"]["limits"]["memory"],
        "16Mi"
    );
    site.kubectl("delete namespace large --timeout=120s");
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
