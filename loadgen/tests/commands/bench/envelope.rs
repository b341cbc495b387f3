//! `loadgen envelope`: what a subject manages within a memory limit.

use serde_json::Value;
use tare_procstat::MemoryCgroup;

use crate::bench::bench_folder::BenchFolder;
use crate::program::{loadgen, text};

/// The mock keeps a megabyte for each object, so some number of them is too much for it.
pub fn the_most_objects_within_a_memory_limit_are_found() {
    if let Err(error) = MemoryCgroup::create() {
        eprintln!("not tested, because memory cannot be limited here: {error}");
        return;
    }
    let bench_folder = BenchFolder::new("envelope");
    // Writes the file of the subject, too.
    let bench = bench_folder.bench(&["holds"], "0");
    let file = bench.last().expect("the file of the subject").clone();
    let out = bench_folder.out();
    let words = [
        "envelope",
        "--no-build",
        "--memory",
        "96Mi",
        "--first",
        "16",
        "--most",
        "512",
    ];
    let mut args: Vec<String> = words.map(str::to_owned).to_vec();
    args.extend(["--rate-s", "0", "--update-s", "0"].map(str::to_owned));
    args.extend([file, "--out".into(), out.display().to_string()]);
    let output = loadgen(&args);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let envelope = std::fs::read(out.join("envelope.json")).expect("written");
    let envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    let tries = envelope["objects"].as_array().expect("tries");
    let sizes = |held: bool| {
        let all = tries
            .iter()
            .filter(move |it| it["why_not"].is_null() == held);
        all.filter_map(|it| it["size"].as_u64())
    };
    let (most, least_failed) = (sizes(true).max(), sizes(false).min());
    let (most, least_failed) = (most.expect("some held"), least_failed.expect("some failed"));
    assert!((16..96).contains(&most), "{envelope:#}");
    assert!(most < least_failed && least_failed <= 128, "{envelope:#}");
    let killed = tries.iter().filter_map(|it| it["why_not"].as_str());
    let killed: Vec<&str> = killed.collect();
    assert!(
        killed
            .iter()
            .all(|why| why.contains("was killed for memory")),
        "{killed:?}"
    );
    for want in [
        "mock/holds, all objects at once, within 101 MB",
        "no: mock/holds was killed for memory",
        &format!("at once: up to {most} objects"),
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let svg = std::fs::read_to_string(out.join("envelope.svg")).expect("a picture");
    assert!(svg.starts_with("<svg"), "{svg}");
}

/// The mock answers in milliseconds: it keeps up with every rate that is tried, and what bounds them is said.
pub fn the_highest_rates_within_a_cpu_limit_are_found() {
    let limited = MemoryCgroup::create().and_then(|mut cgroup| cgroup.limit_cpu(0.5));
    if let Err(error) = limited {
        eprintln!("not tested, because CPU cannot be limited here: {error}");
        return;
    }
    let bench_folder = BenchFolder::new("envelope-updates");
    let bench = bench_folder.bench(&["works"], "0");
    let file = bench.last().expect("the file of the subject").clone();
    let out = bench_folder.out();
    let words = "envelope --no-build --cpu 500m --first 8 --most 8 --rate-s 3 --update-s 1";
    let mut args: Vec<String> = words.split(' ').map(str::to_owned).collect();
    args.extend([file, "--out".into(), out.display().to_string()]);
    let output = loadgen(&args);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for want in [
        "mock/works, updates at a rate, within 0.5 cores",
        "at 8/s: offered for 1.0 s in place of 3 s, because 8 objects are the most that held at once",
        "at a rate: 8 objects per second, the most that was tried, held",
        "at a rate: a higher one was not tried, because 8 objects, the most that held at once, are offered within a second",
        "updates of 4 objects: ",
        "updated at 10/s: holds",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let envelope = std::fs::read(out.join("envelope.json")).expect("written");
    let envelope: Value = serde_json::from_slice(&envelope).expect("JSON");
    assert_eq!(envelope["bounds"]["cpu_cores"], 0.5, "{envelope:#}");
    let tries = envelope["updates"].as_array().expect("tries");
    assert!(tries.iter().all(|it| it["objects"] == 4), "{envelope:#}");
    let svg = std::fs::read_to_string(out.join("envelope.svg")).expect("a picture");
    assert!(svg.contains("P99 until ready by rate of updates"), "{svg}");
}
