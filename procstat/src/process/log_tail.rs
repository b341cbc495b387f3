//! The last lines of a log.
//!
//! Guarantees: reads at most 64 KiB, however large the file has grown.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const READ_BYTES: u64 = 64 * 1024;

pub(crate) fn last_lines(path: &Path, n: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length_bytes = file.metadata()?.len();
    let start = length_bytes.saturating_sub(READ_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut end)?;
    Ok(last(&String::from_utf8_lossy(&end), start > 0, n))
}

/// The last `n` lines of a text whose first line is incomplete when `cut`.
fn last(text: &str, cut: bool, n: usize) -> Vec<String> {
    let mut lines: VecDeque<&str> = text.lines().collect();
    if cut && lines.len() > 1 {
        lines.pop_front();
    }
    let skipped = lines.len().saturating_sub(n);
    lines.into_iter().skip(skipped).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::last;

    #[test]
    fn the_last_lines_are_whole() {
        for (name, text, cut, n, want) in [
            ("fewer than asked for", "a\nb\n", false, 5, vec!["a", "b"]),
            ("more than asked for", "a\nb\nc\n", false, 2, vec!["b", "c"]),
            (
                "the last line is unfinished",
                "a\nb",
                false,
                2,
                vec!["a", "b"],
            ),
            (
                "a line cut at the front is left out",
                "f\nb\n",
                true,
                5,
                vec!["b"],
            ),
            ("one endless line is kept", "ffff", true, 5, vec!["ffff"]),
            ("empty", "", false, 5, vec![]),
            ("none asked for", "a\n", false, 0, vec![]),
        ] {
            assert_eq!(last(text, cut, n), want, "{name}");
        }
    }
}
