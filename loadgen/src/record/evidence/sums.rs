//! `SHA256SUMS`: a hash of every other file of a folder of results, as `sha256sum -c` reads them.
//!
//! Guarantees: every file is in it, sorted by path; a check names each file that was changed, removed or
//! added. Leaves to others: writing it last.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::record::evidence::{Error, Evidence, Problem};

/// The file of hashes.
pub const SUMS: &str = "SHA256SUMS";

/// What a check of the hashes found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Files that are as they were.
    pub same: usize,
    /// Files that were changed or removed, and lines of the file of hashes that cannot be read.
    pub edits: Vec<Problem>,
    /// Files that the file of hashes does not list; itself, where it is missing.
    pub unlisted: Vec<Problem>,
}

impl Checked {
    /// All that differs.
    pub fn problems(self) -> Vec<Problem> {
        [self.edits, self.unlisted].concat()
    }
}

impl Evidence {
    /// Hashes all that is there. What is written afterwards is not in it.
    ///
    /// # Errors
    /// `Read` or `Write`.
    pub fn write_sums(&self) -> Result<(), Error> {
        let sums = self.sums()?.into_iter();
        let lines: String = sums.map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        self.write(SUMS, lines.as_bytes())
    }

    /// What differs from the hashes; nothing where every file is as it was.
    ///
    /// # Errors
    /// `Read` when a file cannot be read.
    pub fn check_sums(&self) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        let problem = |file: &str, what: String| Problem {
            file: file.to_owned(),
            what,
        };
        let path = self.path(SUMS);
        let listed = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = "missing, so that no file can be checked".into();
                checked.unlisted.push(problem(SUMS, what));
                return Ok(checked);
            }
            read => read.map_err(|source| Error::Read { path, source })?,
        };
        let mut there = self.sums()?;
        for (number, line) in (1..).zip(listed.lines()) {
            let Some((sum, name)) = line.split_once("  ") else {
                let what = format!("line {number}: not a hash and a name");
                checked.edits.push(problem(SUMS, what));
                continue;
            };
            let what = match there.remove(name) {
                None => format!("missing; {SUMS} lists it"),
                Some(found) if found != sum => {
                    format!("changed: SHA-256 is {found}, {SUMS} has {sum}")
                }
                Some(_) => {
                    checked.same += 1;
                    continue;
                }
            };
            checked.edits.push(problem(name, what));
        }
        let unlisted = there
            .keys()
            .map(|name| problem(name, format!("not in {SUMS}")));
        checked.unlisted.extend(unlisted);
        Ok(checked)
    }

    /// The hash of each file but [`SUMS`], by its path inside the folder.
    fn sums(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut names = self.files()?;
        names.remove(SUMS);
        let sum = |name: String| {
            let path = self.path(&name);
            let sum = sha256(&path).map_err(|source| Error::Read { path, source })?;
            Ok((name, sum))
        };
        names.into_iter().map(sum).collect()
    }
}

/// SHA-256 of a file, in hexadecimal digits.
///
/// # Errors
/// The file cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 64 * 1024];
    loop {
        match file.read(&mut block)? {
            0 => break,
            bytes => hasher.update(&block[..bytes]),
        }
    }
    Ok(hex(&hasher.finalize()))
}

/// SHA-256 of bytes, in hexadecimal digits.
pub fn sha256_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A digest, or the first bytes of one, in hexadecimal digits.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_folder_is_named() {
        let root = std::env::temp_dir().join(format!("loadgen-sums-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let evidence = Evidence::create(&root).expect("new");
        let lines = || -> Vec<String> {
            let differences = evidence.check_sums().expect("readable").problems();
            let line = |d: &Problem| format!("{}: {:.23}", d.file, d.what);
            differences.iter().map(line).collect()
        };
        assert_eq!(lines(), ["SHA256SUMS: missing, so that no fil"]);
        for name in [
            "summary.json",
            "runs/a.json",
            "runs/b.json",
            "logs/a/etcd.log.gz",
        ] {
            evidence.write(name, b"abc").expect("writable");
        }
        evidence.write_sums().expect("writable");
        evidence.write_sums().expect("again, the same");
        let sums = fs::read_to_string(root.join(SUMS)).expect("written");
        // SHA-256 of "abc" (FIPS 180-4, appendix B.1 of FIPS 180-2).
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let names = [
            "logs/a/etcd.log.gz",
            "runs/a.json",
            "runs/b.json",
            "summary.json",
        ];
        let want: String = names
            .iter()
            .map(|name| format!("{abc}  {name}\n"))
            .collect();
        assert_eq!(sums, want);
        assert_eq!(lines(), [""; 0]);
        assert_eq!(evidence.check_sums().expect("readable").same, 4);

        evidence.write("runs/a.json", b"abd").expect("writable");
        fs::remove_file(root.join("runs/b.json")).expect("ours");
        evidence.write("notes.txt", b"mine").expect("writable");
        evidence
            .write(SUMS, format!("{sums}nonsense\n").as_bytes())
            .expect("writable");
        assert_eq!(
            lines(),
            [
                "runs/a.json: changed: SHA-256 is a52",
                "runs/b.json: missing; SHA256SUMS lis",
                "SHA256SUMS: line 5: not a hash and ",
                "notes.txt: not in SHA256SUMS",
            ]
        );
        fs::remove_dir_all(root).expect("ours");
    }
}
