//! A limit that is too small: what a person sees, and the way out that `deploy/README.md` names.

use crate::site::{Site, text};

/// Far below what is shipped; enough for the container runtime's own start.
const SMALL: &str = "6Mi";
/// What `deploy/README.md` says to try.
const LARGE: &str = "32Mi";
/// Each of these is some hundred KB, so that the few that are worked on at once need more than that.
const COUNT: usize = 24;
const VARIABLES: usize = 8;
const VARIABLE_BYTES: usize = 32 << 10;

pub async fn an_out_of_memory_kill_is_seen_and_survived(site: &Site) {
    site.install();
    limit(site, SMALL);
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

    limit(site, LARGE);
    site.until_rolled_out();
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
    site.kubectl("delete namespace large --timeout=120s");
}

/// As `deploy/README.md` says; the request must not be above the limit.
fn limit(site: &Site, memory: &str) {
    site.kubectl(&format!(
        "-n tare-system set resources deployment tare --limits=memory={memory} --requests=memory=4Mi"
    ));
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
