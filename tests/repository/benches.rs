//! What the benches rest on: criterion's history of exact counts, the figures of Go beside ours, and
//! sizes that are never stale.

#[path = "../../benches/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use criterion::{BenchmarkId, Criterion, PlottingBackend, SamplingMode};
use serde_json::{Value, json};
use support::exact::Exact;
use support::figure::Unit;
use support::image::{Image, Workshop};
use support::object::Template;
use support::published::{Counterpart, Published};
use support::run::Run;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("benches-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

/// As `cargo bench` runs it: one group of two sizes, counts that are the same in every sample.
fn all_have_size(home: &Path, bytes: u64) {
    let mut criterion = Criterion::default()
        .output_directory(home)
        .plotting_backend(PlottingBackend::Plotters)
        .nresamples(2_000)
        .with_plots()
        .with_measurement(Exact::bytes());
    let mut group = criterion.benchmark_group("same");
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_nanos(1))
        .measurement_time(Duration::from_millis(1));
    for objects in [0, 500] {
        group.bench_function(BenchmarkId::new("operator", objects), |bencher| {
            bencher.iter_custom(|times| bytes * times);
        });
    }
    group.finish();
    criterion.final_summary();
}

fn estimate(home: &Path, which: &str) -> f64 {
    let path = home
        .join("same/operator/500")
        .join(which)
        .join("estimates.json");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let estimates: Value = serde_json::from_str(&text).expect("JSON");
    estimates["median"]["point_estimate"]
        .as_f64()
        .expect("a finite number")
}

#[test]
fn criterion_keeps_compares_and_plots_counts_that_never_differ() {
    let home = folder("same");
    all_have_size(&home, 3_205_448);
    assert!(
        (estimate(&home, "new") - 3_205_448.0).abs() < 0.01,
        "{}",
        estimate(&home, "new")
    );

    all_have_size(&home, 3_205_448);
    assert!(
        estimate(&home, "change").abs() < 1e-5,
        "{}",
        estimate(&home, "change")
    );
    let report = home.join("same/operator/500/report");
    for plot in [
        "pdf.svg",
        "both/pdf.svg",
        "change/t-test.svg",
        "change/median.svg",
    ] {
        assert!(report.join(plot).is_file(), "no {plot}");
    }
    for plot in ["violin.svg", "lines.svg"] {
        assert!(home.join("same/report").join(plot).is_file(), "no {plot}");
    }

    // However much it grows.
    all_have_size(&home, 3_205_448_000);
    all_have_size(&home, 3_205_448);
    all_have_size(&home, 3_525_993);
    assert!(
        (estimate(&home, "change") - 0.1).abs() < 1e-5,
        "{}",
        estimate(&home, "change")
    );
}

const CLAIMS: &str = r#"
[[claim]]
claim = "controller-runtime: memory with 5,000 resources"
source = "somebody"
claimed = 320.0
unit = "MB"
subject = "controller-runtime/vanilla"
[[claim.meaning]]
metric = "memory.empty.rss_bytes"
objects = 5000
[[claim.meaning]]
metric = "memory.settled.rss_bytes"
objects = 5000
[[claim]]
claim = "kube-rs: memory with 500 resources"
source = "somebody"
claimed = 1.0
unit = "MB"
subject = "kube-rs/stock"
[[claim.meaning]]
metric = "memory.settled.rss_bytes"
objects = 500
"#;

fn summary(control_plane: &str, started_at: &str, name: &str, rss_bytes: &[Option<u64>]) -> String {
    let run = |rss_bytes: &Option<u64>| {
        json!({"objects": 5000, "cell": "memory", "valid": rss_bytes.is_some(),
            "memory": {"restart": {"rss_bytes": rss_bytes.unwrap_or(1)}}})
    };
    let runs: Vec<Value> = rss_bytes.iter().map(run).collect();
    json!({
        "environment": {"control_plane": control_plane, "started_at": started_at, "kubernetes_version": "v1.36.4"},
        "subjects": [{"name": name, "variant": "tuned", "language": "go",
            "binary_bytes": 33_000_000, "runs": runs}],
    })
    .to_string()
}

fn restarted(objects: u64) -> Counterpart {
    Counterpart {
        what: format!("restarted with {objects} objects"),
        unit: Unit::Bytes,
        metric: "memory.restart.rss_bytes",
        run: Some(("memory", objects)),
        claim: Some(("memory.settled.rss_bytes", Some(objects))),
    }
}

#[test]
fn the_newest_go_figures_of_a_real_control_plane_stand_beside_ours() {
    let results = folder("results");
    write(&results.join("claims.toml"), CLAIMS);
    let put = |name: &str, text: String| write(&results.join(name).join("summary.json"), &text);
    let none = Published::read(&results)
        .expect("readable")
        .beside(&restarted(5_000));
    assert!(none[0].contains("not measured in any folder"), "{none:?}");

    let ours = "controller-runtime";
    put(
        "older",
        summary("kube", "2026-11-20T00:00:00Z", ours, &[Some(1_000_000)]),
    );
    let valid = [Some(80_000_000), Some(90_000_000), None];
    put(
        "kube/newer",
        summary("kube", "2026-11-21T00:00:00Z", ours, &valid),
    );
    put(
        "kubesim",
        summary("kubesim", "2026-11-22T00:00:00Z", ours, &[Some(2_000_000)]),
    );
    put(
        "other-people",
        summary(
            "kube",
            "2026-11-23T00:00:00Z",
            "sealed-secrets",
            &[Some(3_000_000)],
        ),
    );
    put(
        "no-valid-run",
        summary("kube", "2026-11-24T00:00:00Z", ours, &[None]),
    );
    let published = Published::read(&results).expect("readable");
    let [measured, claimed] = published.beside(&restarted(5_000));
    assert_eq!(
        measured,
        "Go, restarted with 5000 objects, measured on kube-apiserver v1.36.4 (results/kube/newer): controller-runtime/tuned 85.0 MB"
    );
    assert_eq!(
        claimed,
        "Go, claimed, not measured: 320 MB (controller-runtime: memory with 5,000 resources; source: somebody)"
    );
    // Since schema 5 a run has its figures by name.
    let of_schema_5 = |text: String| {
        let mut summary: Value = serde_json::from_str(&text).expect("JSON");
        for run in summary["subjects"][0]["runs"].as_array_mut().expect("runs") {
            let rss_bytes = run["memory"]["restart"]["rss_bytes"].take();
            run["memory"].take();
            run["values"] = json!({ "memory.restart.rss_bytes": rss_bytes });
        }
        summary.to_string()
    };
    let newest = summary("kube", "2026-11-25T00:00:00Z", ours, &[Some(70_000_000)]);
    put("schema-5", of_schema_5(newest));
    let newest = Published::read(&results).expect("readable");
    let [measured, _] = newest.beside(&restarted(5_000));
    assert!(
        measured.ends_with("(results/schema-5): controller-runtime/tuned 70.0 MB"),
        "{measured}"
    );
    let [measured, claimed] = published.beside(&restarted(500));
    assert!(
        measured.ends_with("restarted with 500 objects: not measured in any folder of results on a real kube-apiserver"),
        "{measured}"
    );
    assert!(claimed.ends_with("no published claim"), "{claimed}");

    write(&results.join("kube/newer/summary.json"), "{");
    let error = Published::read(&results).expect_err("broken").to_string();
    assert!(
        error.contains("kube/newer/summary.json is not JSON"),
        "{error}"
    );
}

/// The results of this repository can be read, whatever they are at the time.
#[test]
fn the_published_results_can_be_read() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let published = Published::read(&results).expect("readable");
    let [_, claimed] = published.beside(&restarted(10_000));
    assert!(
        claimed.starts_with("Go, claimed, not measured: "),
        "{claimed}"
    );
}

#[test]
fn a_page_holds_what_was_estimated_in_this_run_and_names_what_was_not() {
    let (home, results) = (folder("home"), folder("page"));
    write(&results.join("claims.toml"), CLAIMS);
    let begin =
        || Run::begin("rss", "About it.".to_owned(), home.clone(), &results).expect("begun");
    let (mut run, mut later) = (begin(), begin());
    all_have_size(&home, 1_500);
    let figure = |run: &mut Run| {
        run.figure("same/operator/500", Unit::Bytes, Some(&restarted(5_000)))
            .expect("read");
    };
    figure(&mut run);
    // An earlier run's, for the other one.
    let estimates = home.join("same/operator/500/new/estimates.json");
    let estimates = std::fs::File::options()
        .write(true)
        .open(estimates)
        .expect("there");
    let earlier = SystemTime::now() - Duration::from_secs(60);
    estimates.set_modified(earlier).expect("set");
    figure(&mut later);
    later.not_measured("image/packed/amd64", "just image");
    later.publish(&results.join("criterion")).expect("written");
    let page = std::fs::read_to_string(results.join("criterion/rss.md")).expect("a page");
    assert!(
        !page.contains("same/operator"),
        "an earlier run's figure: {page}"
    );
    assert!(
        page.contains("- image/packed/amd64: not measured: just image"),
        "{page}"
    );
    run.publish(&results.join("criterion")).expect("written");
    let page = std::fs::read_to_string(results.join("criterion/rss.md")).expect("a page");
    assert!(page.contains("| same/operator/500 | 1.50 KB | "), "{page}");
    assert!(
        page.contains("- Go, claimed, not measured: 320 MB"),
        "{page}"
    );
}

/// A layout as `just image` leaves it: index, the tag's own index, manifest, one layer.
fn layout(root: &Path) {
    let folder = root.join("target/image/tare-gzip");
    let put = |digest: &str, text: &str| write(&folder.join("blobs/sha256").join(digest), text);
    write(
        &folder.join("index.json"),
        r#"{"manifests":[{"digest":"sha256:tag","size":1}]}"#,
    );
    put(
        "tag",
        r#"{"manifests":[{"digest":"sha256:amd64","size":300,"platform":{"architecture":"amd64","os":"linux"}}]}"#,
    );
    put(
        "amd64",
        r#"{"config":{"digest":"sha256:c","size":200},"layers":[{"digest":"sha256:layer","size":1500,
            "mediaType":"application/vnd.oci.image.layer.v1.tar+gzip"}]}"#,
    );
    let packed = [
        b"gzip ends in the size of what it packs:".as_slice(),
        &3_210_000_u32.to_le_bytes(),
    ]
    .concat();
    let layer = folder.join("blobs/sha256/layer");
    std::fs::write(layer, packed).expect("written");
}

#[test]
fn an_image_is_measured_while_it_is_newer_than_its_sources() {
    let root = folder("image");
    let workshop = Workshop {
        root: root.clone(),
        target: root.join("target"),
    };
    for source in [
        "src/main.rs",
        "Cargo.toml",
        "Cargo.lock",
        "deploy/base/crd.yaml",
        "Dockerfile.scratch",
    ] {
        write(&root.join(source), "");
    }
    assert_eq!(workshop.image("tare-gzip", "amd64").expect("looked"), None);
    assert_eq!(workshop.static_binary("t").expect("looked"), None);

    layout(&root);
    write(&root.join("target/static/t/dist/tare"), "binary");
    let image = workshop.image("tare-gzip", "amd64").expect("looked");
    let wanted = Image {
        packed_bytes: 2_000,
        unpacked_bytes: Some(3_210_000),
    };
    assert_eq!(image, Some(wanted));
    assert_eq!(workshop.image("tare-gzip", "arm64").expect("looked"), None);
    assert!(workshop.static_binary("t").expect("looked").is_some());

    let source = std::fs::File::open(root.join("src/main.rs")).expect("there");
    let later = SystemTime::now() + Duration::from_secs(60);
    source.set_modified(later).expect("set");
    assert_eq!(
        workshop.image("tare-gzip", "amd64").expect("looked"),
        None,
        "stale"
    );
    assert_eq!(workshop.static_binary("t").expect("looked"), None, "stale");
}

#[test]
fn a_figure_has_three_digits_and_its_unit() {
    for (unit, value, want) in [
        (Unit::Bytes, 0.0, "0 B"),
        (Unit::Bytes, 812.0, "812 B"),
        (Unit::Bytes, 999.9, "1.00 KB"),
        (Unit::Bytes, 1_500.0, "1.50 KB"),
        (Unit::Bytes, 3_205_448.0, "3.21 MB"),
        (Unit::Bytes, 5e9, "5000 MB"),
        (Unit::Nanoseconds, 999.0, "999 ns"),
        (Unit::Nanoseconds, 23_400.0, "23.4 µs"),
        (Unit::Milliseconds, 0.5, "0.50 ms"),
        (Unit::Requests, 5.0, "5.00 requests"),
    ] {
        assert_eq!(unit.show(value), want);
    }
}

#[test]
fn an_object_is_as_large_as_the_scenario_says() {
    let template = Template::read().expect("the scenario");
    let object = template.object("ea-7", 7);
    assert_eq!(object.to_string().len(), template.object_bytes);
    assert_eq!(object["spec"]["env"][0]["value"], "branch-7");
    assert!(!object.to_string().contains("{words}"));
}
