//! What a command that measures works with: a runtime, somebody who may stop it, progress, a folder for credentials.
//!
//! Guarantees: the folder can be read by this user alone, and goes with this. Leaves to others: what is measured.

use std::sync::Arc;

use anyhow::Context;
use tare_procstat::temp_dir::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// # Errors
/// The system has no thread to give.
pub fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

pub struct Means {
    pub stop: Interrupt,
    pub progress: Arc<Progress>,
    pub temp_dir: TempDir,
}

impl Means {
    /// Within a runtime.
    ///
    /// # Errors
    /// Signals cannot be listened to, or there is no room for credentials; one line with the way out.
    pub fn gather() -> anyhow::Result<Self> {
        Ok(Self {
            stop: Interrupt::on_signals().context("cannot listen for Ctrl-C")?,
            progress: Arc::new(Progress::default()),
            temp_dir: TempDir::create(&std::env::temp_dir(), "loadgen")
                .context("cannot make a folder for credentials; set TMPDIR")?,
        })
    }
}
