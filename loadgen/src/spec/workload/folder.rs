//! Where the files of a workload are: in this program, or in a folder of the user.
//!
//! Guarantees: paths in a workload are relative to its file, whichever it is. Leaves to others: what is in
//! the files.

use std::path::{Component, Path, PathBuf};

use crate::spec::workload::{Manifest, shipped};

/// The folder of a `workload.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// `workloads/NAME` of the checkout that this program was built from.
    Shipped(PathBuf),
    Own(PathBuf),
}

impl Folder {
    /// What a file is called in messages: shipped ones as in a checkout.
    pub fn shown(&self, file: &str) -> String {
        let path = match self {
            Folder::Shipped(folder) => normal(&folder.join(file)),
            Folder::Own(folder) => normal(&folder.join(file)),
        };
        path.display().to_string()
    }

    /// A YAML file.
    ///
    /// # Errors
    /// That it cannot be read, and why.
    pub fn manifest(&self, file: &str) -> Result<Manifest, String> {
        let shown = self.shown(file);
        match self.read(file) {
            Ok(text) => Ok(Manifest { file: shown, text }),
            Err(why) => Err(format!("cannot read {shown}: {why}")),
        }
    }

    /// # Errors
    /// Why it cannot be read, in a few words.
    pub fn read(&self, file: &str) -> Result<String, String> {
        match self {
            Folder::Shipped(_) => match shipped::text(&self.shown(file)) {
                Some(text) => Ok(text.to_owned()),
                None => Err("this program was built without it".into()),
            },
            Folder::Own(folder) => {
                std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string())
            }
        }
    }
}

/// Without `.` and `..` where that needs no look at the disk.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        let above = matches!(normal.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if above => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
