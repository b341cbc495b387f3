//! Starting a subject, and whether it can be given work.
//!
//! Guarantees: the same small environment for every subject, whoever runs the bench. Leaves to
//! others: waiting, and ending it.

use std::net::SocketAddr;
use std::path::Path;

use tare_procstat::MemoryCgroup;
use tare_procstat::process::{Process, Spec};

use crate::engine::in_pod;
use crate::engine::session::Reason;
use crate::spec::subject::{Credentials, Places, Subject};
use crate::watch::admin;

/// For the HTTP servers of a subject.
///
/// # Errors
/// Loopback has none.
pub fn free_ports() -> Result<[SocketAddr; 2], Reason> {
    admin::free_addresses().map_err(|e| format!("no free port on loopback: {e}"))
}

/// Why the subject cannot be given work yet; `None` once it can.
pub async fn readiness(subject: &Subject, process: &Process, admin: SocketAddr) -> Option<String> {
    match (&subject.ready.http, &subject.ready.log_line) {
        (Some(path), _) => match admin::get(admin, path).await {
            Ok(page) if page.status == 200 => None,
            Ok(page) => Some(format!("{path} answers {}", page.status)),
            Err(error) => Some(error.to_string()),
        },
        (None, Some(line)) => {
            let lines = process.last_log_lines(500);
            let said = lines.iter().any(|logged| logged.contains(line));
            (!said).then(|| format!("no {line:?} in its log"))
        }
        (None, None) => None,
    }
}

/// Starts the subject, in a memory cgroup of its own where there is one.
pub async fn spawn(
    subject: &Subject,
    places: &Places,
    log: &Path,
    cgroup: Option<&MemoryCgroup>,
) -> Result<Process, Reason> {
    let launch = subject.launch(places);
    let mut env = launch.env;
    // The same small environment for every subject, whoever runs the bench.
    env.push(("HOME".into(), places.dir.display().to_string()));
    env.push(("NO_COLOR".into(), "1".into()));
    env.extend(std::env::var("PATH").map(|path| ("PATH".to_owned(), path)));
    let spec = Spec {
        name: subject.id(),
        program: launch.program,
        args: launch.args,
        env,
        folder: subject.base.clone(),
        clear_env: true,
        log: log.to_owned(),
    };
    let spec = match subject.run.credentials {
        Credentials::Kubeconfig => spec,
        Credentials::InPod => in_pod::wrapped(spec, &places.kubeconfig, &places.dir)?,
    };
    let process = match cgroup {
        Some(cgroup) => Process::spawn_in(spec, cgroup).await,
        None => Process::spawn(spec).await,
    };
    process.map_err(|e| e.to_string())
}
