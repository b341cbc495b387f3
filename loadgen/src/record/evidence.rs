//! The folder of results: what is written is whole or absent.
//!
//! Guarantees: every file is written beside its place, synced, then renamed; a failure leaves no
//! file that looks complete. Leaves to others: what is in the files.

pub mod logs;
pub mod origin;
pub mod sums;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::timestamp::now_rfc3339;

/// What says which experiment a folder holds.
pub const EXPERIMENT: &str = "experiment.json";

/// What is written before [`EXPERIMENT`].
const BEFORE: [&str; 2] = ["logs", "conformance"];
/// [`EXPERIMENT`] while it is written.
const BEGUN: &str = "experiment.partial";

/// A folder of results.
#[derive(Debug, Clone)]
pub struct Evidence {
    root: PathBuf,
}

/// What is wrong in one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Name within the folder, such as `runs/tare-none-drain-500-r1.json`.
    pub file: String,
    #[serde(rename = "problem")]
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

/// Evidence that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write {}: {source}; {}", path.display(), way_out(source))]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not what loadgen wrote: {source}", path.display())]
    Parse {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("{} exists and is not empty; choose another folder with --out, or remove it", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} exists and is not a folder; choose another one with --out", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} has no experiment.json to go on with; leave out --resume and choose a new folder", .0.display())]
    NothingToResume(PathBuf),
}

impl Error {
    /// Whether another folder on the command line is the remedy, and not another machine.
    pub fn is_of_usage(&self) -> bool {
        matches!(
            self,
            Error::NotEmpty(_) | Error::NotAFolder(_) | Error::NothingToResume(_)
        )
    }
}

fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or choose a folder on another disk with --out"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to with --out"
        }
        _ => "choose another folder with --out",
    }
}

impl Evidence {
    /// A new folder; one that exists must be empty.
    ///
    /// # Errors
    /// `NotEmpty`, `NotAFolder` or `Write`.
    pub fn create(root: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: root.to_owned(),
            source,
        };
        match fs::read_dir(root) {
            Ok(entries) => {
                if entries.count() > 0 {
                    return Err(Error::NotEmpty(root.to_owned()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if root.exists() && !root.is_dir() => {
                return Err(Error::NotAFolder(root.to_owned()));
            }
            Err(error) => return Err(failed(error)),
        }
        fs::create_dir_all(root).map_err(failed)?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// A folder that an interrupted bench left behind; true when it was ended before it had begun
    /// to measure, so that there is nothing to go on with.
    ///
    /// # Errors
    /// `NothingToResume` where something else is in it; else as for [`Evidence::create`].
    pub fn resume(root: &Path) -> Result<(Self, bool), Error> {
        let evidence = Self::open(root);
        if evidence.path(EXPERIMENT).is_file() {
            return Ok((evidence, false));
        }
        let names = fs::read_dir(root).into_iter().flatten().flatten();
        if names.into_iter().any(|entry| {
            !BEFORE
                .iter()
                .chain([&BEGUN])
                .any(|n| entry.file_name() == *n)
        }) {
            return Err(Error::NothingToResume(root.to_owned()));
        }
        for name in BEFORE {
            // What cannot be removed makes the folder one that is not empty.
            let _ = fs::remove_dir_all(evidence.path(name));
        }
        let _ = fs::remove_file(evidence.path(BEGUN));
        Ok((Self::create(root)?, true))
    }

    /// A new folder: `out`, or the next `results/<kind>-<date>-<n>`.
    ///
    /// # Errors
    /// As for [`Evidence::create`].
    pub fn create_new(out: Option<&Path>, kind: &str) -> Result<Self, Error> {
        match out {
            Some(out) => Self::create(out),
            None => {
                let today: String = now_rfc3339().chars().take(10).collect();
                Self::create_next(Path::new("results"), &format!("{kind}-{today}"))
            }
        }
    }

    /// The first of `<parent>/<stem>-1`, `-2`, … that does not exist yet.
    ///
    /// # Errors
    /// As for [`Evidence::create`].
    fn create_next(parent: &Path, stem: &str) -> Result<Self, Error> {
        let free = (1..)
            .map(|n| parent.join(format!("{stem}-{n}")))
            .find(|path| !path.exists());
        // The range is endless: some number is free.
        Self::create(&free.unwrap_or_else(|| parent.join(stem)))
    }

    /// A folder that is there already.
    pub fn open(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// # Errors
    /// `Write`; the file is then as it was before.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.path(name);
        let temporary = path.with_extension("partial");
        let written = write_synced(&temporary, content)
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| sync_folder(&path));
        written.map_err(|source| {
            // Nothing half-written stays; if even that fails, `.partial` says what it is.
            let _ = fs::remove_file(&temporary);
            Error::Write { path, source }
        })
    }

    /// The same, compressed; the same content gives the same bytes.
    ///
    /// # Errors
    /// As for [`Evidence::write`].
    pub fn write_gzip(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let mut encoder = GzBuilder::new()
            .mtime(0)
            .write(Vec::new(), Compression::best());
        let compressed = encoder.write_all(content).and_then(|()| encoder.finish());
        let compressed = compressed.map_err(|source| Error::Write {
            path: self.path(name),
            source,
        })?;
        self.write(name, &compressed)
    }

    /// The text of a compressed file.
    ///
    /// # Errors
    /// `Read`.
    pub fn read_gzip(&self, name: &str) -> Result<String, Error> {
        let path = self.path(name);
        let mut text = String::new();
        let read = File::open(&path)
            .and_then(|file| flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text));
        match read {
            Ok(_) => Ok(text),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    /// # Errors
    /// As for [`Evidence::write`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(value);
        let mut text = text.map_err(|source| Error::Parse {
            path: self.path(name),
            source,
        })?;
        text.push(b'\n');
        self.write(name, &text)
    }

    /// # Errors
    /// `Read` or `Parse`.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        let path = self.path(name);
        let text = fs::read(&path).map_err(|source| Error::Read {
            path: path.clone(),
            source,
        })?;
        serde_json::from_slice(&text).map_err(|source| Error::Parse { path, source })
    }

    /// Names of the JSON files in a folder of it, sorted; none when it is not there.
    ///
    /// # Errors
    /// `Read`.
    pub fn json_files(&self, folder: &str) -> Result<Vec<String>, Error> {
        let mut names = self.files_in(folder)?;
        let is_direct = |name: &str| Path::new(name).parent() == Some(Path::new(folder));
        names.retain(|name| name.ends_with(".json") && is_direct(name));
        Ok(names.into_iter().collect())
    }

    /// Names of all files, sorted, with `/` between folders.
    ///
    /// # Errors
    /// `Read`.
    pub fn files(&self) -> Result<BTreeSet<String>, Error> {
        self.files_in("")
    }

    fn files_in(&self, top: &str) -> Result<BTreeSet<String>, Error> {
        let mut names = BTreeSet::new();
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            let path = match folder.as_str() {
                "" => self.root.clone(),
                folder => self.path(folder),
            };
            let failed = |source| Error::Read {
                path: path.clone(),
                source,
            };
            let entries = match fs::read_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_empty() => {
                    continue;
                }
                entries => entries.map_err(failed)?,
            };
            for entry in entries {
                let entry = entry.map_err(failed)?;
                let name = entry.file_name();
                let name = Path::new(&folder).join(name).to_string_lossy().into_owned();
                match entry.file_type().map_err(failed)?.is_dir() {
                    true => folders.push(name),
                    false => drop(names.insert(name)),
                }
            }
        }
        Ok(names)
    }
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// The rename itself must survive a crash.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("loadgen-evidence-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is_there() {
        let root = folder("round-trip");
        let evidence = Evidence::create(&root).expect("new");
        evidence
            .write_json("runs/a.json", &[1, 2])
            .expect("writable");
        assert_eq!(
            evidence.json_files("runs").expect("readable"),
            ["runs/a.json"]
        );
        assert_eq!(
            evidence
                .read_json::<Vec<i32>>("runs/a.json")
                .expect("valid"),
            [1, 2]
        );
        assert!(matches!(Evidence::create(&root), Err(Error::NotEmpty(_))));
        fs::remove_dir_all(root).expect("ours");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let root = folder("failed");
        let evidence = Evidence::create(&root).expect("new");
        evidence.write("summary.json", b"old").expect("writable");
        // A folder in the place of the temporary file makes the write fail, as root too.
        fs::create_dir(root.join("summary.partial")).expect("ours");
        assert!(evidence.write("summary.json", b"new").is_err());
        assert_eq!(fs::read(root.join("summary.json")).expect("kept"), b"old");
        fs::remove_dir_all(root).expect("ours");
    }

    #[test]
    fn only_a_folder_of_ours_is_resumed() {
        let root = folder("resume");
        assert!(Evidence::resume(&root).expect("nothing there").1);
        let evidence = Evidence::open(&root);
        evidence.write("logs/build.log", b"...").expect("writable");
        assert!(Evidence::resume(&root).expect("ended while building").1);
        fs::write(root.join(BEGUN), "{").expect("writable");
        assert!(
            Evidence::resume(&root)
                .expect("ended while it was written")
                .1
        );
        evidence.write(EXPERIMENT, b"{}").expect("writable");
        assert!(!Evidence::resume(&root).expect("an experiment").1);
        fs::remove_file(root.join(EXPERIMENT)).expect("ours");
        evidence.write("thesis.txt", b"...").expect("writable");
        assert!(matches!(
            Evidence::resume(&root),
            Err(Error::NothingToResume(_))
        ));
        fs::remove_dir_all(root).expect("ours");
    }

    #[test]
    fn numbers_are_not_used_twice() {
        let parent = folder("numbers");
        let first = Evidence::create_next(&parent, "quick-2026-01-02").expect("new");
        let second = Evidence::create_next(&parent, "quick-2026-01-02").expect("new");
        assert!(
            first.root().ends_with("quick-2026-01-02-1")
                && second.root().ends_with("quick-2026-01-02-2")
        );
        fs::remove_dir_all(parent).expect("ours");
    }
}
