//! The example `pods` on a real node: following a log, and running commands in a container.

use std::process::{Command, Output};

use tare_procstat::process::{Process, Spec};

use crate::node::example;
use crate::node::test_node::TestNode;

const IMAGE: &str = "localhost/tour:1";

/// The container's program. Without arguments it writes a line every second until SIGTERM.
const SOURCE: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "hi") == 0) return puts("hi") < 0;
    if (count > 1) return fprintf(stderr, "no %s\n", words[1]), 3;
    signal(SIGTERM, _exit);
    for (int line = 1; printf("line %d\n", line) > 0 && fflush(stdout) == 0; line++) sleep(1);
    return 1;
}
"#;

pub async fn a_log_is_followed_and_a_container_entered(test_node: &TestNode) {
    let program = example::program("pods");
    test_node.bring(IMAGE, "tour", SOURCE).await;
    test_node.namespace("tour");
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: tour, namespace: tour}}\nspec:\n  \
         containers: [{{name: tour, image: \"{IMAGE}\", imagePullPolicy: Never}}]\n"
    );
    test_node.give("apply", "tour.yaml", &pod);
    test_node.kubectl("-n tour wait pod tour --for=condition=Ready --timeout=120s");

    let log = test_node.file("tour.log");
    let following = Process::spawn(Spec {
        name: "pods logs -f".to_owned(),
        program,
        args: ["logs", "tour", "-n", "tour", "-f"]
            .map(str::to_owned)
            .into(),
        env: test_node.environment_words(),
        folder: None,
        clear_env: true,
        log: log.clone(),
    });
    let mut following = following.await.expect("start pods");
    test_node.until("three lines, one after the other", || {
        let seen = std::fs::read_to_string(&log).unwrap_or_default();
        seen.starts_with("line 1\nline 2\nline 3\n").then_some(())
    });
    let theirs = test_node.kubectl("-n tour get pod tour -o wide");
    let ours = said(&pods(test_node, "get tour -n tour").stdout);
    let columns = |table: &str| {
        let words = table
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned));
        words.map(Iterator::collect).collect::<Vec<Vec<String>>>()
    };
    let (ours, theirs) = (columns(&ours), columns(&theirs));
    assert_eq!(ours[0], theirs[0]);
    // All columns except the age, which may have changed between the two commands.
    for (place, word) in theirs[1]
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != 4)
    {
        assert_eq!(&ours[1][place], word);
    }

    let hi = pods(test_node, "exec tour -n tour -- /tour hi");
    assert_eq!(
        (said(&hi.stdout).as_str(), hi.status.code()),
        ("hi\n", Some(0))
    );
    let no = pods(test_node, "exec tour -n tour -- /tour way");
    assert_eq!(
        (said(&no.stderr).as_str(), no.status.code()),
        ("no way\n", Some(3))
    );
    let absent = pods(test_node, "exec tour -n tour -- /absent");
    assert!(said(&absent.stderr).contains("/absent"), "{absent:?}");
    assert_ne!(absent.status.code(), Some(0));

    test_node.kubectl("-n tour delete pod tour --timeout=120s");
    test_node.until("a log ends with its container", || {
        following.exited().expect("ask for its end")
    });
    test_node.kubectl("delete namespace tour --timeout=120s");
}

/// A command of the example, words separated by spaces.
fn pods(test_node: &TestNode, line: &str) -> Output {
    let command = Command::new(example::program("pods"))
        .args(line.split(' '))
        .env_clear()
        .envs(test_node.environment())
        .output();
    command.expect("start pods")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
