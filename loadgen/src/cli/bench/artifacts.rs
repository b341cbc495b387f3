//! What a program consists of beside its executable: the files that its subject names.
//!
//! Guarantees: everything is read once, which warms it as the executable is warmed; the same files give the same digest, in
//! whatever order a folder has them, and another name or another byte gives another one. Links are followed to files, not to
//! folders.
//! Leaves to others: the digest of the whole program (`record`), where it is kept and compared (`describe`, `resume`).

use std::path::Path;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::record::Artifact;
use crate::record::evidence::sums::hex;

/// What `[run] artifacts` names, from the folder of the file.
///
/// # Errors
/// One of them cannot be read.
pub fn read(names: &[String], folder: &Path) -> anyhow::Result<Vec<Artifact>> {
    names
        .iter()
        .map(|name| {
            let path = folder.join(name);
            let mut files = Vec::new();
            walk(&path, "", &mut files)
                .with_context(|| format!("[run] artifacts: cannot read {}", path.display()))?;
            files.sort();
            let mut sum = Sha256::new();
            let mut bytes = 0;
            for (name, length, digest) in files {
                bytes += length;
                sum.update(name);
                sum.update([0]);
                sum.update(digest);
            }
            Ok(Artifact {
                name: name.clone(),
                bytes,
                sha256: hex(&sum.finalize()),
            })
        })
        .collect()
}

/// Name, length and digest of a file, or of each file in a folder.
fn walk(path: &Path, name: &str, files: &mut Vec<(String, u64, [u8; 32])>) -> std::io::Result<()> {
    if !path.is_dir() {
        let content = std::fs::read(path)?;
        let digest = Sha256::digest(&content).into();
        files.push((name.to_owned(), content.len() as u64, digest));
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        // A link to a folder may lead around in a circle.
        if entry.file_type()?.is_symlink() && entry.path().is_dir() {
            continue;
        }
        walk(&entry.path(), &name, files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SubjectRecord;

    #[test]
    fn another_name_or_another_byte_is_another_program() -> anyhow::Result<()> {
        let folder = std::env::temp_dir().join(format!("loadgen-artifacts-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("lib/deep"))?;
        let names = ["main.js".to_owned(), "lib".to_owned()];
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
        write("main.js", "run()")?;
        write("lib/deep/a.js", "a")?;
        write("lib/b.js", "bb")?;
        let first = read(&names, &folder)?;
        let bytes: Vec<u64> = first.iter().map(|artifact| artifact.bytes).collect();
        assert_eq!(bytes, [5, 3]);
        assert_eq!(read(&names, &folder)?, first);
        let digest = |executable, artifacts: &[Artifact]| {
            SubjectRecord::of_artifacts(Some(executable), artifacts)
        };
        let whole = digest("ab", &first);
        assert_eq!(whole.0, 8);

        write("lib/deep/a.js", "c")?;
        let changed = read(&names, &folder)?;
        assert_eq!(changed[0], first[0]);
        assert_ne!(digest("ab", &changed), whole);

        std::fs::rename(folder.join("lib/deep/a.js"), folder.join("lib/deep/d.js"))?;
        assert_ne!(read(&names, &folder)?[1], changed[1]);
        assert_ne!(digest("cd", &first), whole, "another executable");

        let error = read(&["gone.jar".to_owned()], &folder).expect_err("it is not there");
        let want = format!(
            "[run] artifacts: cannot read {}",
            folder.join("gone.jar").display()
        );
        assert_eq!(error.to_string(), want);
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }
}
