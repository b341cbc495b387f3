//! The definitions that a subject needs, as files.
//!
//! Guarantees: those of the subject where it names some, else those of its workload. Leaves to others:
//! installing them.

use std::path::{Path, PathBuf};

use crate::model::subject::Subject;
use crate::model::workload::Manifest;

/// One definition in each file; those of a workload are written to `dir`.
///
/// # Errors
/// They cannot be written.
pub fn files(subject: &Subject, dir: &Path) -> Result<Vec<PathBuf>, String> {
    match subject.crd() {
        Some(crd) => Ok(vec![crd]),
        None => written(&subject.crds, dir),
    }
}

/// Writes each definition to a file of its own.
///
/// # Errors
/// They cannot be written.
pub fn written(crds: &[Manifest], dir: &Path) -> Result<Vec<PathBuf>, String> {
    let written = crds.iter().enumerate().map(|(n, manifest)| {
        let path = dir.join(format!("crd-{n}.yaml"));
        let failed = |error| format!("cannot write {}: {error}", path.display());
        std::fs::write(&path, &manifest.text).map_err(failed)?;
        Ok(path)
    });
    written.collect()
}
