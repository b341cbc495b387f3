//! Processes: start them, watch them, measure them; and the facts of the machine they run on.
//!
//! ```no_run
//! use tare_procstat::process::{Process, Spec};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sleeper = Process::spawn(Spec {
//!     name: "sleeper".to_owned(),
//!     program: "/bin/sleep".into(),
//!     args: vec!["60".to_owned()],
//!     env: Vec::new(),
//!     folder: None,
//!     clear_env: false,
//!     log: "target/sleeper.log".into(),
//! })
//! .await?;
//! let memory = tare_procstat::memory(sleeper.pid())?;
//! println!("{} bytes resident", memory.rss_bytes);
//! sleeper.terminate(std::time::Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! Every figure is read from the kernel at the moment of the call and carries its unit in its name. What
//! cannot be read is an [`Error`] or `None`, never 0. A child ends with its parent ([`process`]).
//!
//! # Limits
//! Builds on Linux and macOS. Processes can be measured on Linux only; elsewhere every such call answers
//! [`Error::Unsupported`].
//!
//! # What it leaves to others
//! When to sample, and what the figures mean.

mod cache_dir;
mod cgroup;
pub mod checkout;
mod cpu;
mod cpu_account;
mod error;
mod files;
mod machine;
mod memory;
mod memory_cgroup;
#[cfg(target_os = "linux")]
mod mounts;
pub mod process;
pub mod temp_dir;
mod tree;

pub use crate::cache_dir::cache_dir;
pub use crate::cgroup::Cgroup;
pub use crate::cpu::{context_switches, cpu_seconds, threads};
pub use crate::cpu_account::{CpuAccount, CpuSpent, adopt_orphans};
pub use crate::error::Error;
pub use crate::files::{open_files, storage_written_bytes};
pub use crate::machine::{Machine, filesystem, machine};
pub use crate::memory::{Memory, Resident, memory, peak_bytes, reset_peak, resident};
pub use crate::memory_cgroup::{CgroupMemory, MemoryCgroup};
pub use crate::tree::Tree;
