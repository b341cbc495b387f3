//! A signed release verifies, and one that somebody has changed does not (`scripts/sign.sh`, `scripts/verify.sh`).

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::helm::printed;

const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");

type Change = fn(&Path) -> std::io::Result<()>;

/// What somebody does to a release, and what `verify.sh` then says.
const CHANGES: &[(&str, Change, &str)] = &[
    (
        "a file",
        |dist| fs::write(dist.join("tare"), "another"),
        "tare is not the file that was signed",
    ),
    (
        "a file and its sum",
        |dist| fs::write(dist.join("SHA256SUMS"), sums(&["check.sh"])),
        "SHA256SUMS is not signed by",
    ),
    (
        "the provenance",
        |dist| {
            edit(
                &dist.join("provenance.intoto.jsonl"),
                "\"payload\":\"",
                "\"payload\":\"AAAA",
            )
        },
        "the provenance is not signed by",
    ),
    (
        "the provenance, by that of another release with the same key",
        |dist| {
            fs::copy(
                dist.join("other.jsonl"),
                dist.join("provenance.intoto.jsonl"),
            )
            .map(|_| ())
        },
        "the provenance is about other files than SHA256SUMS",
    ),
    (
        "the signature",
        |dist| fs::remove_file(dist.join("SHA256SUMS.sig")),
        "SHA256SUMS.sig is not there",
    ),
];

pub fn trials() -> Vec<Trial> {
    let missing = ["openssl", "jq"].into_iter().find(|tool| {
        let found = Command::new(tool).arg("--version").output();
        found.is_err()
    });
    let trial = Trial::test(
        "signing::a_release_verifies_and_a_changed_one_does_not",
        run,
    );
    match missing {
        Some(tool) => vec![
            trial
                .with_kind(format!("needs {tool}: apt-get install {tool}"))
                .with_ignored_flag(true),
        ],
        None => vec![trial],
    }
}

fn sums(names: &[&str]) -> String {
    let line = |name: &&str| format!("{}  {name}\n", "0".repeat(64));
    names.iter().map(line).collect()
}

fn edit(file: &Path, from: &str, to: &str) -> std::io::Result<()> {
    fs::write(file, fs::read_to_string(file)?.replace(from, to))
}

/// A release of these files, signed with the key.
fn release(dist: &Path, key: &Path, files: &[&str]) -> Result<(), Failed> {
    fs::create_dir_all(dist)?;
    for file in files {
        fs::write(dist.join(file), format!("this is {file}"))?;
    }
    let said = printed(Command::new("sha256sum").args(files).current_dir(dist))?;
    fs::write(dist.join("SHA256SUMS"), said)?;
    let mut sign = Command::new(format!("{CHECKOUT}/scripts/sign.sh"));
    let said = printed(sign.arg(dist).env("SIGNING_KEY", key))?;
    match said.contains(&format!("verified: {} files", files.len())) {
        true => Ok(()),
        false => Err(said.into()),
    }
}

fn run() -> Result<(), Failed> {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("signing");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work)?;
    let key = work.join("release.pem");
    let make = [
        "ecparam",
        "-name",
        "prime256v1",
        "-genkey",
        "-noout",
        "-out",
    ];
    printed(Command::new("openssl").args(make).arg(&key))?;
    let other = work.join("other");
    release(&other, &key, &["tare"])?;
    for (what, change, wanted) in CHANGES {
        let dist = work.join("dist");
        release(&dist, &key, &["tare", "check.sh"])?;
        fs::copy(
            other.join("provenance.intoto.jsonl"),
            dist.join("other.jsonl"),
        )?;
        // The key comes another way.
        let public = work.join("tare.pub");
        fs::copy(dist.join("tare.pub"), &public)?;
        change(&dist)?;
        let mut verify = Command::new(format!("{CHECKOUT}/scripts/verify.sh"));
        let output = verify.arg(&public).arg(&dist).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(1) || !said.contains(wanted) || said.lines().count() != 1 {
            return Err(format!("{what}: {said:?} in place of {wanted:?}").into());
        }
        fs::remove_dir_all(&dist)?;
    }
    Ok(())
}
