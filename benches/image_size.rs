//! Sizes of the shipped artifacts, bytes: the binary by target and profile, the image packed and unpacked
//! by platform. Measures the artifacts that the last builds have left in `target/`.
//!
//! An artifact that is missing, or older than its sources, is not measured; `just image` builds it.
//!
//! `cargo bench --bench image_size`

mod support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use criterion::{BenchmarkGroup, BenchmarkId};
use support::exact::Exact;
use support::figure::Unit;
use support::image::{Image, Workshop};
use support::published::Counterpart;
use support::run::{self, Run, target};

/// Target of a static binary, and the name of its platform in an image.
const PLATFORMS: [(&str, &str); 4] = [
    ("x86_64-unknown-linux-musl", "amd64"),
    ("aarch64-unknown-linux-musl", "arm64"),
    ("armv7-unknown-linux-musleabihf", "arm"),
    ("riscv64gc-unknown-linux-musl", "riscv64"),
];
/// Profiles of this machine's own target.
const PROFILES: [&str; 2] = ["release", "dist"];
/// The shortest time that criterion accepts: reading a size takes none.
const AT_ONCE: Duration = Duration::from_millis(1);
const HOW: &str = "just image";

fn main() -> ExitCode {
    let about = "Bytes of the operator's binary and of its image. A packed image is what a node transfers: \
        manifest, configuration and layer. `host-release` is what `cargo bench` itself builds: with symbols, and \
        not what is shipped.";
    run::main("image_size", about.to_owned(), measure_all)
}

fn measure_all(run: &mut Run) -> anyhow::Result<()> {
    let workshop = Workshop {
        root: PathBuf::from(env!("CARGO_MANIFEST_DIR")),
        target: target(),
    };
    let mut criterion = run.criterion(Exact::bytes());
    let mut group = run.counts(&mut criterion, "binary", AT_ONCE);
    for profile in PROFILES {
        let built = workshop.host_binary(profile)?;
        let how = format!("cargo build --profile {profile}");
        binary(
            run,
            &mut group,
            &format!("host-{profile}"),
            built.as_deref(),
            &how,
        )?;
    }
    for (target, _) in PLATFORMS {
        let built = workshop.static_binary(target)?;
        binary(
            run,
            &mut group,
            &format!("{target}-dist"),
            built.as_deref(),
            HOW,
        )?;
    }
    group.finish();

    let mut group = run.counts(&mut criterion, "image", AT_ONCE);
    for (_, platform) in PLATFORMS {
        for (layout, packing) in [("tare", "zstd"), ("tare-gzip", "gzip")] {
            let built = workshop.image(layout, platform)?;
            let packed = built.as_ref().map(|image| image.packed_bytes);
            image(
                run,
                &mut group,
                &format!("packed-{packing}"),
                platform,
                packed,
            )?;
            if packing == "gzip" {
                let unpacked = built.and_then(|Image { unpacked_bytes, .. }| unpacked_bytes);
                image(run, &mut group, "unpacked", platform, unpacked)?;
            }
        }
    }
    group.finish();
    Ok(())
}

fn binary(
    run: &mut Run,
    group: &mut BenchmarkGroup<'_, Exact>,
    name: &str,
    built: Option<&Path>,
    how: &str,
) -> anyhow::Result<()> {
    let id = format!("binary/{name}");
    let bytes = built
        .map(std::fs::metadata)
        .transpose()?
        .map(|file| file.len());
    let Some(bytes) = bytes else {
        run.not_measured(&id, how);
        return Ok(());
    };
    group.bench_function(name, |bencher| bencher.iter_custom(|times| bytes * times));
    let go = Counterpart {
        what: "binary".to_owned(),
        unit: Unit::Bytes,
        metric: "binary_bytes",
        run: None,
        claim: Some(("binary_bytes", None)),
    };
    run.figure(&id, Unit::Bytes, Some(&go))
}

fn image(
    run: &mut Run,
    group: &mut BenchmarkGroup<'_, Exact>,
    what: &str,
    platform: &str,
    built: Option<u64>,
) -> anyhow::Result<()> {
    let id = format!("image/{what}/{platform}");
    let Some(bytes) = built else {
        run.not_measured(&id, HOW);
        return Ok(());
    };
    let id_in_group = BenchmarkId::new(what, platform);
    group.bench_function(id_in_group, |bencher| {
        bencher.iter_custom(|times| bytes * times)
    });
    let (of, metric) = match what {
        "unpacked" => ("image, unpacked", "image_bytes_unpacked"),
        _ => ("image, compressed", "image_bytes_compressed"),
    };
    let go = Counterpart {
        what: of.to_owned(),
        unit: Unit::Bytes,
        metric,
        run: None,
        claim: Some((metric, None)),
    };
    run.figure(&id, Unit::Bytes, Some(&go))
}
