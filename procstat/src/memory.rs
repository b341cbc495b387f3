//! Resident memory of a process.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Resident memory of a process, as `/proc/PID/smaps_rollup` has it.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Every resident page in full, shared ones too.
    pub rss_bytes: u64,
    /// Shared pages divided by the number of processes that map them.
    pub pss_bytes: u64,
    /// Pages that no file backs: heap, stacks, relocated data.
    pub anon_bytes: u64,
}

/// Resident memory now.
///
/// # Errors
/// `Read` when the process is gone or another user's, `Field` when the kernel says less.
#[cfg(target_os = "linux")]
pub fn memory(pid: u32) -> Result<Memory, Error> {
    let (process, path) = crate::error::process(pid, "smaps_rollup")?;
    match process.smaps_rollup() {
        Ok(rollup) => of_rollup(&rollup).map_err(|field| Error::Field { path, field }),
        Err(error) => Err(Error::of_procfs(path, "Rss", error)),
    }
}

#[cfg(target_os = "linux")]
fn of_rollup(rollup: &procfs::process::SmapsRollup) -> Result<Memory, &'static str> {
    let bytes = |field: &'static str| {
        let map = rollup.memory_map_rollup.0.first();
        let value = map.and_then(|map| map.extension.map.get(field));
        value.copied().ok_or(field)
    };
    Ok(Memory {
        rss_bytes: bytes("Rss")?,
        pss_bytes: bytes("Pss")?,
        anon_bytes: bytes("Anonymous")?,
    })
}

/// Resident memory by the kernel's running counters: cheap, and a little behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    pub rss_bytes: u64,
    /// `None` before Linux 4.5.
    pub anon_bytes: Option<u64>,
}

/// Resident memory now, from `/proc/PID/status`. Unlike [`memory`] it does not walk the page tables while
/// the process waits, so it may be called several times a second.
///
/// # Errors
/// As for [`memory`].
#[cfg(target_os = "linux")]
pub fn resident(pid: u32) -> Result<Resident, Error> {
    const FIELD: &str = "VmRSS";
    let (process, path) = crate::error::process(pid, "status")?;
    let failed = |error| Error::of_procfs(path.clone(), FIELD, error);
    let status = process.status().map_err(failed)?;
    let bytes = |kib: Option<u64>| kib.and_then(|kib| kib.checked_mul(1024));
    Ok(Resident {
        rss_bytes: bytes(status.vmrss).ok_or(Error::Field { path, field: FIELD })?,
        anon_bytes: bytes(status.rssanon),
    })
}

/// Starts the peak anew from the present RSS (`5` into `/proc/PID/clear_refs`).
///
/// # Errors
/// `Write` when the process is gone, is another user's, or the kernel lacks the file.
#[cfg(target_os = "linux")]
pub fn reset_peak(pid: u32) -> Result<(), Error> {
    let path = std::path::PathBuf::from(format!("/proc/{pid}/clear_refs"));
    std::fs::write(&path, "5").map_err(|source| Error::Write { path, source })
}

/// The highest RSS since the start or the last [`reset_peak`] (`VmHWM`).
///
/// # Errors
/// As for [`memory`].
#[cfg(target_os = "linux")]
pub fn peak_bytes(pid: u32) -> Result<u64, Error> {
    const FIELD: &str = "VmHWM";
    let (process, path) = crate::error::process(pid, "status")?;
    match process.status() {
        Ok(status) => status
            .vmhwm
            .and_then(|kib| kib.checked_mul(1024))
            .ok_or(Error::Field { path, field: FIELD }),
        Err(error) => Err(Error::of_procfs(path, FIELD, error)),
    }
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn memory(_: u32) -> Result<Memory, Error> {
    Err(Error::Unsupported("memory"))
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn resident(_: u32) -> Result<Resident, Error> {
    Err(Error::Unsupported("memory"))
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn reset_peak(_: u32) -> Result<(), Error> {
    Err(Error::Unsupported("peak memory"))
}

/// Not measured here.
///
/// # Errors
/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn peak_bytes(_: u32) -> Result<u64, Error> {
    Err(Error::Unsupported("peak memory"))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use procfs::FromRead;
    use procfs::process::SmapsRollup;

    use super::*;

    #[test]
    fn memory_is_read_from_a_rollup() {
        // From Linux 6.18; older kernels leave out the Pss_ lines.
        const ROLLUP: &str = "\
55d4b6a00000-7ffd2a5e6000 ---p 00000000 00:00 0                          [rollup]
Rss:                5124 kB
Pss:                3071 kB
Pss_Dirty:           724 kB
Pss_Anon:            500 kB
Pss_File:           2571 kB
Shared_Clean:       2300 kB
Private_Dirty:       724 kB
Anonymous:           512 kB
KSM:                   0 kB
AnonHugePages:         0 kB
";
        let want = Memory {
            rss_bytes: 5124 * 1024,
            pss_bytes: 3071 * 1024,
            anon_bytes: 512 * 1024,
        };
        for (name, text, want) in [
            ("whole", ROLLUP.to_owned(), Ok(want)),
            ("empty, as of a zombie", String::new(), Err("Rss")),
            (
                "no anonymous line",
                ROLLUP.replace("\nAnonymous:", "\nOther:"),
                Err("Anonymous"),
            ),
        ] {
            let rollup = SmapsRollup::from_read(text.as_bytes()).unwrap();
            assert_eq!(of_rollup(&rollup), want, "{name}");
        }
        let no_number = ROLLUP.replace("5124", "many");
        assert!(SmapsRollup::from_read(no_number.as_bytes()).is_err());
    }

    #[test]
    fn the_memory_of_this_process_is_read() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.rss_bytes >= memory.pss_bytes && memory.pss_bytes >= memory.anon_bytes);
        assert!(memory.anon_bytes > 0);
        let resident = resident(std::process::id()).unwrap();
        assert!(resident.rss_bytes > memory.anon_bytes / 2, "{resident:?}");
        assert!(resident.anon_bytes.is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn a_peak_is_kept_until_it_is_reset() {
        const BLOCK: u64 = 64 << 20;
        let pid = std::process::id();
        let block = vec![1_u8; BLOCK as usize];
        assert!(std::hint::black_box(&block)[4096] == 1);
        drop(block);
        let peak = peak_bytes(pid).unwrap();
        assert!(peak >= memory(pid).unwrap().rss_bytes + BLOCK / 2);
        reset_peak(pid).unwrap();
        assert!(peak_bytes(pid).unwrap() < peak - BLOCK / 2);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_that_names_the_file() {
        let message = memory(u32::MAX).unwrap_err().to_string();
        assert!(
            message.contains("/proc/4294967295/smaps_rollup"),
            "{message}"
        );
    }
}
