//! Files with credentials.
//!
//! Guarantees: nobody but this user can read one, from its first byte on. Leaves to others: when it goes.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// # Errors
/// It cannot be made or written.
pub fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(true).write(true).mode(0o600);
    options.open(path)?.write_all(content)
}
