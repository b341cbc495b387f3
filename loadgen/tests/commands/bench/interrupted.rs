//! Benches that are stopped, killed and gone on with: nothing stays behind, no finished run is lost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::bench::bench_folder::{BenchFolder, children_of, dir_command, start};
use crate::program::{loadgen, signal, text, wait_for};

pub fn ctrl_c_keeps_what_was_measured_and_leaves_nothing_running() {
    let bench_folder = BenchFolder::new("ctrl-c");
    let bench = start(&bench_folder.bench(&["works"], "0,2"));
    let pid = bench.id();
    wait_for("a finished run", || {
        bench_folder.out().join("runs").is_dir()
    });
    wait_for("the next run's subject and server", || {
        children_of(pid).len() == 2
    });
    signal(&bench, "-INT");
    let output = bench.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(children_of(pid), Vec::<String>::new());
    let notes = bench_folder.summary()["notes"].to_string();
    assert!(notes.contains("not run: mock/works "), "{notes}");
    let verified = dir_command("verify", &bench_folder);
    let printed = text(&verified.stdout);
    assert_eq!(verified.status.code(), Some(1), "{printed}");
    let (missing, other): (Vec<&str>, Vec<&str>) = printed
        .lines()
        .filter(|line| line.contains(".json"))
        .partition(|line| line.contains("missing; experiment.json plans"));
    assert!(!missing.is_empty(), "{printed}");
    assert_eq!(other, [""; 0], "nothing else is wrong");
}

pub fn a_killed_bench_takes_its_processes_with_it() {
    let bench_folder = BenchFolder::new("killed");
    let mut bench = start(&bench_folder.bench(&["works"], "1"));
    let pid = bench.id();
    wait_for("subject and server", || children_of(pid).len() == 2);
    signal(&bench, "-KILL");
    bench.wait().expect("it ends");
    wait_for("their end", || children_of(pid).is_empty());
}

pub fn a_killed_bench_goes_on_where_it_was() {
    goes_on("kubesim", "0,2", &[]);
}

/// Two runs, and none that count requests: this is about the processes of a real control plane.
pub fn a_killed_bench_on_a_real_control_plane_goes_on_where_it_was() {
    goes_on("kube", "0", &["--repeats", "2", "--profile", "quick"]);
}

fn goes_on(control_plane: &str, objects: &str, more: &[&str]) {
    let bench_folder = BenchFolder::new(&format!("resume-{control_plane}"));
    let mut args = bench_folder.bench(&["works"], objects);
    args.extend(["--control-plane", control_plane].map(str::to_owned));
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    let mut bench = start(&args);
    let pid = bench.id();
    wait_for("a finished run and the next one's processes", || {
        !runs(&bench_folder).is_empty() && children_of(pid).len() >= 2
    });
    signal(&bench, "-KILL");
    bench.wait().expect("it ends");
    wait_for("the end of its processes", || children_of(pid).is_empty());
    let finished = runs(&bench_folder);
    assert!(!bench_folder.out().join("summary.json").exists());

    let with = |extra: &[&str]| {
        let extra = extra.iter().map(|arg| (*arg).to_owned());
        loadgen(&args.iter().cloned().chain(extra).collect::<Vec<_>>())
    };
    let other = with(&["--resume", "--seed", "2"]);
    let said = text(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(
        said.contains("holds another experiment: seed was 1, is 2"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");

    bench_folder.script("run(2)");
    let other = with(&["--resume"]);
    let said = text(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{said}");
    let want = "subjects.mock/works.artifacts[0].bytes was 5, is 6";
    assert!(said.contains(want), "{said}");
    bench_folder.script("run()");

    let output = with(&["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all = runs(&bench_folder);
    assert!(all.len() > finished.len());
    for (path, run) in &finished {
        assert_eq!(
            all.get(path),
            Some(run),
            "{} was measured again",
            path.display()
        );
    }
    let notes = bench_folder.summary()["notes"].to_string();
    assert!(notes.contains("interrupted and resumed at"), "{notes}");
    assert!(!notes.contains("not run"), "{notes}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
    let again = with(&["--resume"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(runs(&bench_folder), all, "there was nothing left to do");
}

/// How far a bench has come when it is killed, since it was started.
type Point = (&'static str, fn(&BenchFolder, u32) -> bool);

const POINTS: [Point; 10] = [
    ("its folder is there", |it, _| it.out().exists()),
    ("it has said what it is", |it, _| {
        it.out().join("experiment.json").exists()
    }),
    ("the first server runs", |_, pid| {
        !children_of(pid).is_empty()
    }),
    ("the first subject runs", |_, pid| {
        children_of(pid).len() == 2
    }),
    ("the first run is written", |it, _| !runs(it).is_empty()),
    ("the next subject runs", |it, pid| {
        !runs(it).is_empty() && children_of(pid).len() == 2
    }),
    ("the second run is written", |it, _| runs(it).len() >= 2),
    ("the third run is written", |it, _| runs(it).len() >= 3),
    ("there is a summary", |it, _| {
        it.out().join("summary.json").exists()
    }),
    ("there are checksums", |it, _| {
        it.out().join("SHA256SUMS").exists()
    }),
];

/// One bench: killed, gone on with, and killed again further on.
pub fn a_bench_that_is_killed_at_ten_points_goes_on_each_time() {
    let bench_folder = BenchFolder::new("killed-at-ten-points");
    let mut args = bench_folder.bench(&["works"], "0,2");
    args.extend(["--bursts-only", "--resume"].map(str::to_owned));
    let mut kills = 0;
    for (what, is_there) in POINTS {
        let mut bench = start(&args);
        let pid = bench.id();
        let mut ended = false;
        while !ended && !is_there(&bench_folder, pid) {
            ended = bench.try_wait().expect("a child of ours").is_some();
            std::thread::park_timeout(std::time::Duration::from_micros(200));
        }
        if !ended {
            signal(&bench, "-KILL");
            kills += 1;
        }
        let output = bench.wait_with_output().expect("it ends");
        let said = text(&output.stderr);
        // At the end it is quicker than this test.
        assert!(
            matches!(output.status.code(), None | Some(0)),
            "{what}: {said}"
        );
        wait_for("the end of its processes", || children_of(pid).is_empty());
    }
    assert!(kills >= 8, "{kills}");
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let notes = bench_folder.summary()["notes"].to_string();
    assert!(!notes.contains("not run"), "{notes}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

/// The finished runs of a folder, as they were written.
fn runs(bench_folder: &BenchFolder) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(bench_folder.out().join("runs")).into_iter();
    let paths = files.flatten().flatten().map(|entry| entry.path());
    let whole = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    whole
        .filter_map(|path| Some((path.clone(), std::fs::read(path).ok()?)))
        .collect()
}
