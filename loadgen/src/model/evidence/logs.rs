//! The logs of a run: the subject's `<stem>.log`, its servers' `<stem>.server.log`,
//! `<stem>-etcd.log` and the like.
//!
//! Guarantees: a run begins with none, and one that ended well keeps the end of its subject's;
//! what was cut is said in the log. Leaves to others: writing them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::evidence::{Error, Evidence};

/// Of a subject's log in a run that ended well.
const MOST_BYTES: usize = 32 * 1024;

/// Endings of the logs of a server.
const SERVERS: [&str; 5] = [
    ".server.log",
    "-etcd.log",
    "-kine.log",
    "-kube-apiserver.log",
    "-kube-controller-manager.log",
];

impl Evidence {
    /// A run that is done again begins anew: what an earlier server said must not be taken for
    /// this one's words.
    ///
    /// # Errors
    /// `Write` when a log cannot be removed.
    pub fn remove_logs(&self, stem: &str) -> Result<(), Error> {
        remove(&self.log(stem, ".log"))?;
        self.remove_server_logs(stem)
    }

    /// # Errors
    /// `Write` when a log cannot be shortened.
    pub fn trim_logs(&self, stem: &str) -> Result<(), Error> {
        self.remove_server_logs(stem)?;
        let own = self.log(stem, ".log");
        match fs::read(&own) {
            Ok(log) if log.len() > MOST_BYTES => {
                let cut = log.len() - MOST_BYTES;
                let mut short =
                    format!("[loadgen: {cut} bytes before this were cut]\n").into_bytes();
                short.extend(&log[cut..]);
                self.write(&format!("{stem}.log"), &short)
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::Write {
                path: own,
                source: error,
            }),
            _ => Ok(()),
        }
    }

    fn remove_server_logs(&self, stem: &str) -> Result<(), Error> {
        SERVERS
            .iter()
            .try_for_each(|ending| remove(&self.log(stem, ending)))
    }

    fn log(&self, stem: &str, ending: &str) -> PathBuf {
        self.path(&format!("{stem}{ending}"))
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let path = std::env::temp_dir().join(format!("loadgen-logs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn names(root: &Path) -> Vec<String> {
        let there = fs::read_dir(root.join("logs")).expect("there").flatten();
        let mut names: Vec<_> = there
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_that_ended_well_keeps_the_end_of_its_log() {
        let root = folder();
        let evidence = Evidence::create(&root).expect("new");
        let long = vec![b'x'; MOST_BYTES + 10];
        for (name, log) in [
            ("a-5.log", long.as_slice()),
            ("a-5.server.log", b"s"),
            ("a-5-etcd.log", b"e"),
            ("a-50.server.log", b"another run's"),
        ] {
            evidence
                .write(&format!("logs/{name}"), log)
                .expect("writable");
        }
        evidence.trim_logs("logs/a-5").expect("writable");
        let kept = fs::read_to_string(root.join("logs/a-5.log")).expect("kept");
        assert!(kept.starts_with("[loadgen: 10 bytes before"), "{kept:.60}");
        assert_eq!(names(&root), ["a-5.log", "a-50.server.log"]);
        evidence.remove_logs("logs/a-5").expect("removable");
        assert_eq!(names(&root), ["a-50.server.log"]);
        fs::remove_dir_all(root).expect("ours");
    }
}
