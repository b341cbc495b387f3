//! Small files that a user or the kubelet wrote.
//!
//! Guarantees: at most [`MOST_BYTES`] are read; an error says why in a few words.
//! Leaves to others: adding the file's name and a remedy to an error.

use std::io::{ErrorKind, Read};
use std::path::Path;

/// The largest kubeconfig, certificate or token, bytes. kubectl has no bound; etcd's for a Secret is 1 MiB.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// Why a file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}", reason(*.0))]
    Unreadable(ErrorKind),
    /// It is larger than 1 MiB.
    #[error("larger than 1 MiB")]
    TooLarge,
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotText,
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| FileError::Unreadable(error.kind()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(FileError::TooLarge);
    }
    Ok(bytes)
}

/// Reads a whole file as UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, FileError> {
    String::from_utf8(read(path)?).map_err(|_| FileError::NotText)
}

/// The message of an error without its number: "permission denied".
fn reason(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::NotFound => "no such file".to_owned(),
        kind => kind.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        let says = |path: &str| read_text(Path::new(path)).expect_err(path).to_string();
        assert_eq!(says("/there/is/none"), "no such file");
        assert_eq!(says("/tmp"), "is a directory");
        assert_eq!(says("/dev/zero"), "larger than 1 MiB");
    }
}
