//! The datastore under kube-apiserver: how etcd and kine are started, and where their files are.
//!
//! Guarantees: clients reach it only through a socket, in a folder that is closed to other users. (etcd
//! also listens for other members, on a free port of loopback; there are none.)

use std::path::{Path, PathBuf};

use crate::build::binaries::Binaries;
use crate::error::Error;
use crate::options::{Datastore, Flags};
use tare_procstat::process::Spec;

/// `sun_path` holds 108 bytes on Linux with the closing zero; macOS has four fewer.
const SOCKET_PATH_BYTES: usize = 103;

/// Folder of the files that are the data.
pub(crate) fn data(dir: &Path) -> PathBuf {
    dir.join("data")
}

pub(crate) fn socket(dir: &Path) -> PathBuf {
    dir.join("datastore.sock")
}

/// # Errors
/// `LongPath` when the kernel takes no socket of that name, `NoBinaries` when kine is not there.
pub(crate) fn spec(
    kind: Datastore,
    flags: Flags,
    binaries: &Binaries,
    dir: &Path,
    log: PathBuf,
    extra: &[&str],
) -> Result<Spec, Error> {
    let socket = socket(dir);
    if socket.as_os_str().len() > SOCKET_PATH_BYTES {
        return Err(Error::LongPath {
            path: socket,
            limit: SOCKET_PATH_BYTES,
        });
    }
    let (program, mut args) = match kind {
        Datastore::Etcd => (binaries.etcd.clone(), etcd(flags, dir, &socket)),
        Datastore::Kine => (binaries.kine()?.to_owned(), kine(dir, &socket)),
    };
    args.extend(extra.iter().map(|&arg| arg.to_owned()));
    Ok(Spec {
        name: kind.name().to_owned(),
        program,
        args,
        env: Vec::new(),
        folder: None,
        clear_env: true,
        log,
    })
}

fn etcd(flags: Flags, dir: &Path, socket: &Path) -> Vec<String> {
    let mut args = vec![
        "--name=etcd".to_owned(),
        format!("--data-dir={}", data(dir).display()),
        format!("--listen-client-urls=unix://{}", socket.display()),
        // Must be a host and port; it is not used.
        "--advertise-client-urls=http://127.0.0.1:0".to_owned(),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        "--initial-advertise-peer-urls=http://127.0.0.1:0".to_owned(),
        "--initial-cluster=etcd=http://127.0.0.1:0".to_owned(),
        // 8 GiB instead of 2, so that 100,000 objects and their history fit.
        "--quota-backend-bytes=8589934592".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    if flags == Flags::Quiet {
        args.push("--unsafe-no-fsync=true".to_owned());
    }
    args
}

/// SQLite as k3s has it: these are kine's own defaults, which an explicit address replaces.
fn kine(dir: &Path, socket: &Path) -> Vec<String> {
    const PARAMETERS: &str = "_journal_mode=WAL&_busy_timeout=30000&_synchronous=NORMAL\
                              &_txlock=immediate&_stmt_cache_size=20&cache=shared";
    let database = data(dir).join("state.db");
    vec![
        format!("--endpoint=sqlite://{}?{PARAMETERS}", database.display()),
        format!("--listen-address=unix://{}", socket.display()),
        // Otherwise metrics are served on all interfaces.
        "--metrics-bind-address=0".to_owned(),
    ]
}
