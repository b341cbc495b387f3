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

#[cfg(test)]
mod tests {
    use tare_procstat::temp_dir::TempDir;

    use super::*;

    #[test]
    fn each_definition_of_a_file_has_a_file_of_its_own() {
        let temp = TempDir::create(&std::env::temp_dir(), "loadgen-crds").expect("a folder");
        let definition = |kind: &str| {
            format!("kind: CustomResourceDefinition\nspec: {{names: {{kind: {kind}}}}}\n")
        };
        let [one, two] = ["Widget", "Gadget"].map(definition);
        let named = temp.path().join("crd.yaml");
        let subject =
            format!("name = \"a\"\nvariant = \"x\"\n[run]\ncommand = \"x\"\ncrd = {named:?}\n");
        let path = temp.path().join("subject.toml");
        std::fs::write(&path, subject).expect("writable");
        for (name, content, want) in [
            ("one", one.clone(), vec!["Widget"]),
            ("two", format!("{one}---\n{two}"), vec!["Widget", "Gadget"]),
            ("an empty one", format!("---\n{two}---\n"), vec!["Gadget"]),
        ] {
            std::fs::write(&named, content).expect("writable");
            let subject = Subject::from_file(&path).expect("valid");
            let files = files(&subject, temp.path()).expect("written");
            let texts = files
                .iter()
                .map(|file| std::fs::read_to_string(file).expect("there"));
            let texts: Vec<String> = texts.collect();
            assert_eq!(texts.len(), want.len(), "{name}: {texts:?}");
            for (text, kind) in texts.iter().zip(want) {
                assert!(text.contains(kind), "{name}: {text}");
                assert_eq!(
                    text.matches("CustomResourceDefinition").count(),
                    1,
                    "{name}"
                );
            }
        }
    }
}
