//! The logs of a run. While it goes on they are `<stem>.log` of the subject, and `<stem>.server.log`,
//! `<stem>-etcd.log` and the like of its server; then they are kept, packed, as `<stem>.log.gz` and
//! `<stem>/<component>.log.gz`.
//!
//! Guarantees: a run begins with none; of a long log the begin and the end are kept, and the log says what
//! was cut. Leaves to others: writing them.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::record::evidence::{Error, Evidence};

/// Of a log, from its begin: how a program started.
const BEGIN_BYTES: u64 = 16 << 10;
/// Of a log, from its end.
const END_BYTES: u64 = 64 << 10;

/// Endings of the logs of a server, and what each is packed as.
const SERVERS: [(&str, &str); 5] = [
    (".server.log", "kubesim"),
    ("-etcd.log", "etcd"),
    ("-kine.log", "kine"),
    ("-kube-apiserver.log", "kube-apiserver"),
    ("-kube-controller-manager.log", "kube-controller-manager"),
];

impl Evidence {
    /// A run that is done again begins anew: what an earlier server said must not be taken for
    /// this one's words.
    ///
    /// # Errors
    /// `Write` when a log cannot be removed.
    pub fn remove_logs(&self, stem: &str) -> Result<(), Error> {
        for (log, packed) in self.logs(stem, stem) {
            remove(&log)?;
            remove(&self.path(&packed))?;
        }
        Ok(())
    }

    /// Packs the logs of a run that has ended as those of `kept_as`, which is `stem` unless the run is to be
    /// done again.
    ///
    /// # Errors
    /// `Read` or `Write`; what was not packed stays as it was.
    pub fn pack_logs(&self, stem: &str, kept_as: &str) -> Result<(), Error> {
        for (log, packed) in self.logs(stem, kept_as) {
            match shortened(&log) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::Read { path: log, source }),
                Ok(text) => self.write_gzip(&packed, &text)?,
            }
            remove(&log)?;
        }
        Ok(())
    }

    /// The place of each log, and its name once it is packed.
    fn logs(&self, stem: &str, kept_as: &str) -> Vec<(PathBuf, String)> {
        let own = (
            self.path(&format!("{stem}.log")),
            format!("{kept_as}.log.gz"),
        );
        let servers = SERVERS.iter().map(|(ending, component)| {
            let log = self.path(&format!("{stem}{ending}"));
            (log, format!("{kept_as}/{component}.log.gz"))
        });
        std::iter::once(own).chain(servers).collect()
    }
}

/// The log, or its begin and its end.
fn shortened(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut text = Vec::new();
    if bytes <= BEGIN_BYTES + END_BYTES {
        file.read_to_end(&mut text)?;
        return Ok(text);
    }
    file.by_ref().take(BEGIN_BYTES).read_to_end(&mut text)?;
    let cut = bytes - BEGIN_BYTES - END_BYTES;
    text.extend(format!("\n[loadgen: {cut} bytes were cut here]\n").into_bytes());
    file.seek(SeekFrom::Start(bytes - END_BYTES))?;
    file.read_to_end(&mut text)?;
    Ok(text)
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
    use flate2::read::GzDecoder;

    use super::*;

    fn folder() -> PathBuf {
        let path = std::env::temp_dir().join(format!("loadgen-logs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn unpacked(path: &Path) -> Vec<u8> {
        let mut text = Vec::new();
        let mut packed = GzDecoder::new(File::open(path).expect("kept"));
        packed.read_to_end(&mut text).expect("gzip");
        text
    }

    #[test]
    fn all_logs_of_a_run_are_kept_packed() {
        let root = folder();
        let evidence = Evidence::create(&root).expect("new");
        let mut long = vec![b'x'; (BEGIN_BYTES + END_BYTES) as usize];
        long.extend(b"the end!!!");
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
        evidence
            .pack_logs("logs/a-5", "logs/a-5-attempt-1")
            .expect("writable");
        let kept = unpacked(&root.join("logs/a-5-attempt-1.log.gz"));
        let kept = String::from_utf8_lossy(&kept);
        assert!(kept.contains("\n[loadgen: 10 bytes were cut here]\n"));
        assert!(kept.ends_with("the end!!!"));
        assert_eq!(unpacked(&root.join("logs/a-5-attempt-1/etcd.log.gz")), b"e");
        assert_eq!(
            unpacked(&root.join("logs/a-5-attempt-1/kubesim.log.gz")),
            b"s"
        );
        let left = [
            "a-5.log",
            "a-5.server.log",
            "a-5-etcd.log",
            "a-50.server.log",
        ];
        let left = left.map(|name| root.join("logs").join(name).exists());
        assert_eq!(
            left,
            [false, false, false, true],
            "another run's is not touched"
        );

        evidence
            .pack_logs("logs/a-50", "logs/a-50")
            .expect("writable");
        evidence.remove_logs("logs/a-50").expect("removable");
        assert!(!root.join("logs/a-50/kubesim.log.gz").exists());
        fs::remove_dir_all(root).expect("ours");
    }
}
