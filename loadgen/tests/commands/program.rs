//! The program under test, and what the tests do with it and with what it prints.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

pub const LOADGEN: &str = env!("CARGO_BIN_EXE_loadgen");

/// A program whose first argument `mock-subject` makes it the smallest operator: that of these tests themselves.
pub fn mock_subject() -> String {
    let own = std::env::current_exe().expect("a program");
    own.display().to_string()
}

pub fn loadgen(args: &[impl AsRef<OsStr>]) -> Output {
    Command::new(LOADGEN)
        .args(args)
        .output()
        .expect("loadgen starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of one test's own; its next run empties it.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loadgen-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("temporary folder");
    path
}

pub fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

pub fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .expect("kill starts");
    assert!(sent.success());
}
