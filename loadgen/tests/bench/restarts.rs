//! `loadgen restarts`: objects converge once, and everybody starts on them.

use serde_json::Value;

use crate::bed::{Bed, children_of, loadgen, signal, start, text, wait_for};

/// The arguments that start mocks of these behaviours on a few objects.
fn restarts(bed: &Bed, behaviours: &[&str], more: &str) -> Vec<String> {
    let mut args = bed.bench(behaviours, "20");
    args[0] = "restarts".into();
    args.retain(|arg| arg != "--skip-conformance");
    args.extend("--quiet-s 1".split(' ').map(str::to_owned));
    args.extend(more.split_whitespace().map(str::to_owned));
    args
}

fn record(bed: &Bed) -> Value {
    let text = std::fs::read(bed.out().join("restarts.json")).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

fn starts(record: &Value) -> &Vec<Value> {
    record["starts"].as_array().expect("starts")
}

pub fn objects_converge_once_and_every_subject_starts_on_them() {
    let bed = Bed::new("restarts");
    let output = loadgen(&restarts(&bed, &["works", "twin"], "--repeats 2"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = record(&bed);
    assert_eq!(record["converged"][0]["objects"], 20);
    let converged = &record["converged"][0];
    assert_eq!(converged["subject"], "mock/works");
    let settled = converged["memory"]["memory"]["rss_bytes"].as_u64();
    assert!(settled > Some(500_000), "{converged}");
    assert!(
        converged["memory"]["peak_bytes"].as_u64() >= settled,
        "{converged}"
    );
    assert_eq!(starts(&record).len(), 2 * 2);
    for start in starts(&record) {
        let rss = start["memory"]["memory"]["rss_bytes"].as_u64();
        assert!(rss > Some(500_000), "{start}");
        assert_eq!(
            (&start["events"], &start["failure"]),
            (&0.into(), &Value::Null)
        );
        let server = &start["server"];
        // The mock lists the objects once.
        assert_eq!(
            (&server["reads"], &server["writes"]),
            (&1.into(), &0.into()),
            "{start}"
        );
        assert!(
            server["response_bytes"].as_u64() > Some(20 * 2_048),
            "{start}"
        );
        assert_eq!(
            server["datastore_reads"],
            Value::Null,
            "it has no datastore"
        );
    }
    let page = std::fs::read_to_string(bed.out().join("restarts.md")).expect("a page");
    let said = text(&output.stdout);
    for want in [
        "20 objects: what a start weighs and takes",
        "20 objects: what a start costs the API server",
    ] {
        assert!(page.contains(want) && said.contains(want), "{want}: {said}");
    }
    assert!(page.contains("| mock/twin | "), "{page}");
    assert!(page.contains("| 20 under mock/works | "), "{page}");
    let report = |more: &[&str]| {
        let mut args = vec!["report".to_owned(), bed.out().display().to_string()];
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        loadgen(&args)
    };
    std::fs::remove_file(bed.out().join("restarts.md")).expect("removed");
    assert!(report(&[]).status.success());
    let again = std::fs::read_to_string(bed.out().join("restarts.md")).expect("a page");
    assert_eq!(again, page, "made anew from the raw data");
    let refused = report(&["--readme", "README.md"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("has starts alone"), "{said}");
}

pub fn a_subject_that_dies_is_a_failed_start_with_its_last_words() {
    let bed = Bed::new("restarts-failing");
    let output = loadgen(&restarts(&bed, &["works", "dies-at-once"], "--repeats 1"));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("FAILED mock/dies-at-once on 20 objects, start 1: "),
        "{said}"
    );
    let record = record(&bed);
    let works = starts(&record)
        .iter()
        .find(|s| s["subject"] == "mock/works");
    assert_eq!(works.expect("its start")["failure"], Value::Null);
}

pub fn ctrl_c_ends_everything_that_was_started() {
    let bed = Bed::new("restarts-ctrl-c");
    let running = start(&restarts(&bed, &["works"], "--repeats 100"));
    let pid = running.id();
    wait_for("a first start", || {
        bed.out().join("restarts.json").exists() && !starts(&record(&bed)).is_empty()
    });
    signal(&running, "-INT");
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(children_of(pid), Vec::<String>::new());
    assert!(!starts(&record(&bed)).is_empty());
}

pub fn a_cluster_of_somebody_else_is_refused() {
    let bed = Bed::new("restarts-existing");
    let output = loadgen(&restarts(&bed, &["works"], "--control-plane existing"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("choose kubesim, kube or kine"), "{said}");
    assert!(!bed.out().exists());
}

pub fn a_real_api_server_tells_what_a_start_made_it_read() {
    let bed = Bed::new("restarts-kube");
    let output = loadgen(&restarts(
        &bed,
        &["works"],
        "--repeats 1 --control-plane kube",
    ));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let record = record(&bed);
    let server = &starts(&record)[0]["server"];
    assert_eq!(server["writes"], 0, "{server}");
    assert!(server["reads"].as_u64() >= Some(1), "{server}");
    assert!(
        server["response_bytes"].as_u64() > Some(20 * 2_048),
        "{server}"
    );
    assert!(server["datastore_reads"].is_u64(), "{server}");
    assert!(server["datastore_objects"].is_u64(), "{server}");
    assert!(
        server["rss_peak_bytes"].as_u64() > Some(50_000_000),
        "{server}"
    );
}
