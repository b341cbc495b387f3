//! What the ELF headers of static binaries must say. `just dist` makes them; each one that is there
//! is a test of its own, and where there is none, that is listed as ignored.
//!
//! Leaves to others: whether they run.

mod headers;

use std::path::{Path, PathBuf};

use headers::Elf;
use libtest_mimic::{Failed, Trial};

/// The coarsest pages that a kernel for aarch64 has; a Raspberry Pi 5 has pages of 16 KB.
const AARCH64_PAGE_BYTES: u64 = 64 << 10;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("elf::damaged_headers_are_refused", damaged)];
    // A dynamic program shows that what must not be in a static one would be found.
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        trials.push(Trial::test(
            "elf::this_very_test_is_dynamic",
            this_is_dynamic,
        ));
    }
    let built = static_binaries();
    if built.is_empty() {
        let name = "elf::static binaries: none in target/static, make one with `just dist`";
        trials.push(Trial::test(name, || Ok(())).with_ignored_flag(true));
    }
    for (target, path) in built {
        let name = format!("elf::{} for {target} is static", name(&path));
        trials.push(Trial::test(name, move || is_static(&target, &path)));
    }
    trials
}

/// What `target/static/TARGET/dist` holds, with the target.
fn static_binaries() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("static");
    let mut binaries: Vec<(String, PathBuf)> = entries(&folder)
        .into_iter()
        .flat_map(|target| {
            entries(&target.join("dist"))
                .into_iter()
                .map(move |path| (name(&target), path))
        })
        // cargo's other files there have an extension or begin with a dot.
        .filter(|(_, path)| path.is_file() && !name(path).contains('.'))
        .collect();
    binaries.sort();
    binaries
}

/// A folder that is not there has no entries.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn is_static(target: &str, path: &Path) -> Result<(), Failed> {
    let elf = Elf::read(&std::fs::read(path)?)?;
    let machine = match target.split('-').next() {
        Some("x86_64") => 62,
        Some("aarch64") => 183,
        Some("armv7") => 40,
        Some("riscv64gc") => 243,
        _ => return Err(format!("{target}: which machine is that?").into()),
    };
    check("machine", &elf.machine, &machine)?;
    check("interpreter", &elf.interpreter, &None)?;
    check("shared libraries", &elf.needed, &0)?;
    if target.starts_with("aarch64") {
        let coarse = |align: &u64| *align >= AARCH64_PAGE_BYTES;
        let fine: Vec<u64> = elf
            .load_aligns
            .iter()
            .filter(|a| !coarse(a))
            .copied()
            .collect();
        check("segments aligned to less than 64 KB", &fine, &vec![])?;
    }
    Ok(())
}

fn this_is_dynamic() -> Result<(), Failed> {
    let elf = Elf::read(&std::fs::read(std::env::current_exe()?)?)?;
    let interpreter = elf.interpreter.unwrap_or_default();
    check("an interpreter", &interpreter.contains("/ld-"), &true)?;
    check("shared libraries", &(elf.needed > 0), &true)?;
    check("segments", &elf.load_aligns.is_empty(), &false)
}

/// Every shorter file, and one that is no ELF file, is an error and not a panic.
fn damaged() -> Result<(), Failed> {
    let whole = std::fs::read(std::env::current_exe()?)?;
    for bytes in (0..64).chain([100, 500]) {
        let refused = Elf::read(&whole[..bytes]).is_err();
        check(&format!("refused at {bytes} bytes"), &refused, &true)?;
    }
    check("refused", &Elf::read(&[b'x'; 4096]).is_err(), &true)
}

fn check<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Result<(), Failed> {
    if got == want {
        return Ok(());
    }
    Err(format!("{what}: {got:?}, should be {want:?}").into())
}
