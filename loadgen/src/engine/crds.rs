//! The definitions that a subject needs, as files.
//!
//! Guarantees: those of the subject where it names some, else those of its workload. Leaves to others:
//! installing them.

use std::path::{Path, PathBuf};

use crate::spec::subject::Subject;
use crate::spec::workload::Manifest;
use crate::spec::workload::file::definition;

/// One definition in each file; those of a workload, and of a file that has several, are written to `dir`.
///
/// # Errors
/// They cannot be written.
pub fn files(subject: &Subject, dir: &Path) -> Result<Vec<PathBuf>, String> {
    let definitions = definitions(subject)?;
    match (subject.crd(), definitions.len()) {
        (Some(crd), 1) => Ok(vec![crd]),
        _ => written(&definitions, dir),
    }
}

/// Those that are installed for a subject.
///
/// # Errors
/// A file of them cannot be read.
pub fn definitions(subject: &Subject) -> Result<Vec<Manifest>, String> {
    let Some(crd) = subject.crd() else {
        return Ok(subject.crds.clone());
    };
    let file = crd.display().to_string();
    let text = std::fs::read_to_string(&crd);
    let text = text.map_err(|error| format!("cannot read {file}: {error}"))?;
    definition::split(&Manifest { file, text }).map_err(|error| error.to_string())
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
