//! Where a command writes: standard output, or a test's memory.
//!
//! Guarantees: a line is written whole, whatever other threads write.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone)]
pub struct Screen(Arc<Mutex<dyn Write + Send>>);

impl Screen {
    pub fn new(out: impl Write + Send + 'static) -> Screen {
        Screen(Arc::new(Mutex::new(out)))
    }

    pub fn line(&self, line: impl Display) -> io::Result<()> {
        self.text(&format!("{line}\n"))
    }

    pub fn text(&self, text: &str) -> io::Result<()> {
        self.bytes(text.as_bytes())
    }

    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(bytes)?;
        out.flush()
    }
}
