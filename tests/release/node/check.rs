//! `deploy/check.sh` on a real node.

use std::process::Command;

use controlplane::node::PAUSE;

use crate::node::test_node::TestNode;

impl TestNode {
    /// The script's output; an error if its verdict is that something does not work.
    pub fn check(&self, options: &[&str]) -> Result<String, String> {
        let output = Command::new("sh")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/check.sh"))
            .args(options)
            .env_clear()
            .envs(self.environment())
            .env("KUBECTL", &self.kubectl)
            .output()
            .expect("start check.sh");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        match output.status.code() {
            Some(0) => Ok(said),
            Some(1) => Err(said),
            _ => panic!("no verdict: {said}"),
        }
    }
}

pub async fn the_verdict_is_that_it_works(test_node: &TestNode) {
    test_node.install();
    let verdict = test_node.check(&["--image", PAUSE, "--port"]);
    let verdict = verdict.unwrap_or_else(|verdict| panic!("{verdict}"));
    for line in [
        "ok     readyz      ok",
        "ok     edgeapp     created and Ready, 1 replicas",
        "ok     removal     nothing is left",
    ] {
        assert!(verdict.lines().any(|one| one == line), "{line}: {verdict}");
    }
    let memory = "ok     memory      ";
    assert!(
        verdict.lines().any(|one| one.starts_with(memory)),
        "{verdict}"
    );
}
