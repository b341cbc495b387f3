//! `loadgen run --shard` and `loadgen merge`: a run that is spread over several loadgens.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::wait_for;
use crate::run::assert_figures;
use crate::run::simulated_cluster::{
    SimulatedCluster, assert_success, code, merge, said, stderr, stdout,
};

const SHARDS: usize = 3;
const COUNT: usize = 20;

pub fn as_one_run() {
    let cluster = SimulatedCluster::without_crd("shards");
    let running = (0..SHARDS).map(|index| {
        let (shard, count) = (format!("{index}/{SHARDS}"), COUNT.to_string());
        let words = [
            "run",
            "configmaps",
            "--count",
            &count,
            "--rate",
            "30",
            "--idle-s",
            "5",
        ];
        cluster.start(&[&words[..], &["--shard", &shard, "--json"]].concat())
    });
    let running: Vec<_> = running.collect();
    wait_for("all objects", || cluster.names("configmaps").len() == COUNT);
    // Whatever shard they are of, no two objects are the same one.
    let places: BTreeSet<usize> = cluster
        .names("configmaps")
        .iter()
        .map(|it| place(it))
        .collect();
    assert_eq!(places, (0..COUNT).collect());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-run-shards");
    let mut files = Vec::new();
    for (index, shard) in running.into_iter().enumerate() {
        let output = shard.wait_with_output().expect("it ends");
        assert_success(&output);
        assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
        // What the log of a pod has: both streams.
        let log = stderr(&output) + &stdout(&output);
        let file = folder.join(format!("shard-{index}.log"));
        std::fs::write(&file, log).expect("writable");
        files.push(file.display().to_string());
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let merged = merge(&files);
    assert_success(&merged);
    assert_figures(
        &merged,
        &[
            ("asked for", 20),
            ("created", 20),
            ("ready  ", 20),
            ("deleted", 20),
            ("left behind", 0),
        ],
    );
    assert!(
        said(&merged).contains("3 shards; their first objects"),
        "{}",
        said(&merged)
    );
    let some = merge(&files[1..]);
    assert_eq!(code(&some), Some(1), "{}", said(&some));
    assert!(
        said(&some).contains("not there: shards 0"),
        "{}",
        said(&some)
    );
    let twice = merge(&[files[0], files[0]]);
    assert_eq!(code(&twice), Some(2), "{}", said(&twice));
    assert!(
        said(&twice).contains("shard 0/3 is there twice"),
        "{}",
        said(&twice)
    );
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
}

/// Each pod is told its index by the Job, and how many there are by its arguments.
pub fn of_an_indexed_job() {
    let cluster = SimulatedCluster::without_crd("indexed-job");
    let words = [
        "run",
        "configmaps",
        "--count",
        "7",
        "--shard",
        "2",
        "--json",
    ];
    let pods = [0, 1].map(|index| cluster.start_in_job(index, &words));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-run-indexed-job");
    let mut logs = Vec::new();
    for (index, pod) in pods.into_iter().enumerate() {
        let output = pod.wait_with_output().expect("it ends");
        assert_success(&output);
        let record: Value = serde_json::from_str(&stdout(&output)).expect("one line of JSON");
        assert_eq!(record["shard"], json!({"index": index, "of": 2}));
        assert_eq!(record["account"]["asked"], json!(4 - index));
        let log = folder.join(format!("pod-{index}.log"));
        std::fs::write(&log, stderr(&output) + &stdout(&output)).expect("writable");
        logs.push(log.display().to_string());
    }
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    let merged = merge(&logs);
    assert_success(&merged);
    let figures = [("asked for", 7), ("ready  ", 7), ("left behind", 0)];
    assert_figures(&merged, &figures);
}

pub fn bad_shards() {
    let cluster = SimulatedCluster::without_crd("bad-shards");
    for shard in ["3/3", "50", "a/b"] {
        let output = cluster.loadgen(&["run", "configmaps", "--count", "5", "--shard", shard]);
        assert_eq!(code(&output), Some(2), "{}", said(&output));
        assert!(said(&output).contains("write I/N"), "{}", said(&output));
    }
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
}

/// The number at the end of a name.
fn place(name: &str) -> usize {
    let number = name
        .rsplit('-')
        .next()
        .and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{name} has no number"))
}
