//! Which foreign objects are in a process's memory: its writable mappings, searched for their markers.
//!
//! Guarantees: reads only; each object counts once, in whatever form it is found. What was freed and not yet
//! overwritten counts too: an upper bound of what the process holds. Leaves to others: when it is read.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::spec::bystanders::{Bystanders, Form};

/// Read at once.
const CHUNK_BYTES: usize = 4 << 20;
/// Longer than a marker in either form: what a chunk ends in the middle of is in the next one too.
const OVERLAP_BYTES: usize = 64;

/// For each of `kinds`, how many of its objects are in the memory of these processes, the first of which must be there.
///
/// # Errors
/// The memory cannot be read, which needs the same user and, with Yama, processes of our own.
pub fn found(pids: &[u32], kinds: &[Bystanders]) -> io::Result<Vec<usize>> {
    let mut seen = vec![BTreeSet::new(); kinds.len()];
    for (at, pid) in pids.iter().enumerate() {
        match search_process(*pid, kinds, &mut seen) {
            // One that ended meanwhile has none.
            Err(error) if at > 0 && error.kind() == io::ErrorKind::NotFound => {}
            searched => searched?,
        }
    }
    Ok(seen.iter().map(BTreeSet::len).collect())
}

fn search_process(pid: u32, kinds: &[Bystanders], seen: &mut [BTreeSet<usize>]) -> io::Result<()> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut read_any = false;
    for (from, to) in maps.lines().filter_map(writable) {
        let mut at = from;
        while at < to {
            let wanted = CHUNK_BYTES.min(usize::try_from(to - at).unwrap_or(CHUNK_BYTES));
            // A mapping may be gone by now.
            let Ok(bytes) = memory.read_at(&mut chunk[..wanted], at) else {
                break;
            };
            if bytes == 0 {
                break;
            }
            read_any = true;
            search(&chunk[..bytes], kinds, seen);
            let step = if bytes > OVERLAP_BYTES {
                bytes - OVERLAP_BYTES
            } else {
                bytes
            };
            at += step as u64;
            if bytes <= OVERLAP_BYTES {
                break;
            }
        }
    }
    match read_any {
        true => Ok(()),
        false => Err(io::Error::other("no mapping of the process can be read")),
    }
}

/// Begin and end of a mapping that the process can write, as a line of `/proc/PID/maps` has it.
fn writable(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let may = fields.next()?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    may.starts_with("rw")
        .then_some((address(from)?, address(to)?))
}

/// Adds the objects whose marker is in `bytes`.
fn search(bytes: &[u8], kinds: &[Bystanders], seen: &mut [BTreeSet<usize>]) {
    for form in Form::ALL {
        let prefix = form.prefix();
        for at in memmem::find_iter(bytes, &prefix) {
            let number = at + prefix.len();
            let number = bytes.get(number..number + form.number_bytes());
            let Some(number) = number.and_then(|number| form.number(number)) else {
                continue;
            };
            for (kind, seen) in kinds.iter().zip(&mut *seen) {
                seen.extend(kind.index(&number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::bystanders::{NAMESPACE, parse};

    #[test]
    fn what_this_process_holds_is_found_and_nothing_else() {
        let kinds = parse("secrets=300,configmaps=300").expect("valid");
        let [secrets, configmaps] = &kinds[..] else {
            panic!("two kinds");
        };
        let held: Vec<Vec<u8>> = (0..40).map(|n| secrets.object(n, NAMESPACE, &[])).collect();
        let other: Vec<Vec<u8>> = (100..107)
            .map(|n| configmaps.object(n, NAMESPACE, &[]))
            .collect();
        let found = found(&[std::process::id()], &kinds).expect("our own memory");
        // Other tests of this process make a few as well.
        assert!((40..60).contains(&found[0]), "{found:?}");
        assert!((7..20).contains(&found[1]), "{found:?}");
        assert_eq!((held.len(), other.len()), (40, 7));
    }

    #[test]
    fn only_mappings_that_can_be_written_are_read() {
        for (line, want) in [
            (
                "7f00-7f10 rw-p 00000000 00:00 0 [heap]",
                Some((0x7f00, 0x7f10)),
            ),
            ("7f00-7f10 r--p 00000000 00:00 0 /lib/x", None),
            ("7f00-7f10 ---p 00000000 00:00 0", None),
            ("nonsense", None),
        ] {
            assert_eq!(writable(line), want, "{line}");
        }
    }
}
