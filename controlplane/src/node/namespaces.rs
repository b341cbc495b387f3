//! The mount, process and network namespaces of a node, and how to run something in them.
//!
//! Guarantees: they end, with every process in them, when this is dropped or this process dies;
//! what runs in them is in the node's cgroup. Leaves to others: what is made in them is `init.sh`'s.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::component::Component;
use crate::credentials::owner_only;
use crate::node::cgroups::Cgroups;
use crate::node::tools::on_path;
use crate::node::{Error, Options};
use tare_procstat::process::Spec;

const INIT: &str = include_str!("init.sh");
/// Mounts over these hide what the machine has there.
const HIDDEN: [&str; 4] = ["/run", "/var/log", "/var/lib/cni", "/var/lib/kubelet"];
/// Enters the cgroups whose files come before `--`, and becomes the command after it.
const ENTER_CGROUPS: &str =
    r#"while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done; shift; exec "$@""#;

pub(crate) struct Namespaces {
    /// `unshare`, whose child is the first process.
    component: Component,
    first: Pid,
    enter: PathBuf,
}

/// # Errors
/// `Hidden` for a folder that the node hides from itself.
pub(crate) fn refuse_hidden(dir: &Path) -> Result<(), Error> {
    match HIDDEN.into_iter().find(|hidden| dir.starts_with(hidden)) {
        Some(hidden) => Err(Error::Hidden {
            dir: dir.into(),
            hidden,
        }),
        None => Ok(()),
    }
}

impl Namespaces {
    /// Returns when everything in them is made.
    pub(crate) async fn start(
        options: &Options,
        cgroups: &Cgroups,
        log: PathBuf,
    ) -> Result<Namespaces, Error> {
        let (dir, family) = (&options.dir, options.family);
        let (init, made, enter) = (dir.join("init.sh"), dir.join("made"), dir.join("enter"));
        owner_only::file(&init, INIT)?;
        match std::fs::remove_file(&made) {
            Err(cause) if cause.kind() != NotFound => return Err(Error::file(made)(cause)),
            _ => {}
        }
        let mut args = vec!["-c".to_owned(), ENTER_CGROUPS.to_owned(), "sh".to_owned()];
        args.extend(cgroups.procs().map(|procs| procs.display().to_string()));
        let unshare = "-- unshare --mount --pid --net --fork --kill-child --propagation private \
                       --mount-proc -- sh";
        args.extend(unshare.split_whitespace().map(str::to_owned));
        args.extend([&init, dir].map(|path| path.display().to_string()));
        let (server, node) = (family.server().ip(), family.node());
        args.extend([
            server.to_string(),
            node.to_string(),
            family.services().to_owned(),
        ]);
        let spec = Spec {
            name: "namespaces".to_owned(),
            program: PathBuf::from("sh"),
            args,
            env: path(),
            folder: None,
            clear_env: true,
            log,
        };
        let mut component = Component::spawn("namespaces", spec).await?;
        let there = || async {
            match made.exists() {
                true => Ok(()),
                false => Err("the namespaces are not made yet".to_owned()),
            }
        };
        component.until(options.start_within, there).await?;
        let first = only_child(component.pid())?;
        owner_only::file(&enter, &script(cgroups, first))?;
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&enter, executable).map_err(Error::file(&enter))?;
        Ok(Namespaces {
            component,
            first,
            enter,
        })
    }

    /// The first process, as this machine numbers it.
    pub(crate) fn pid(&self) -> i32 {
        self.first.as_raw_nonzero().get()
    }

    pub(crate) fn enter(&self) -> &Path {
        &self.enter
    }

    /// The words before a command that is to have the node's network, and nothing else of it.
    pub(crate) fn enter_network(&self) -> Result<Vec<String>, Error> {
        let nsenter = on_path("nsenter").ok_or_else(|| Error::Missing {
            programs: vec!["nsenter".to_owned()],
            packages: vec!["util-linux"],
        })?;
        let target = format!("--target={}", self.pid());
        let words = [
            nsenter.display().to_string(),
            target,
            "--net".to_owned(),
            "--".to_owned(),
        ];
        Ok(words.to_vec())
    }

    /// A component that runs inside.
    pub(crate) fn spec(&self, name: &str, command: Vec<String>, log: PathBuf) -> Spec {
        // Not started as a script: one that was just written may still be open elsewhere.
        let enter = self.enter.display().to_string();
        Spec {
            name: name.to_owned(),
            program: PathBuf::from("sh"),
            args: [enter].into_iter().chain(command).collect(),
            env: path(),
            folder: None,
            clear_env: true,
            log,
        }
    }

    pub(crate) async fn run(&self, command: &[&str]) -> Result<String, Error> {
        let failed = |cause: String| Error::Command {
            command: command.join(" "),
            cause,
        };
        let output = tokio::process::Command::new("sh")
            .arg(&self.enter)
            .args(command)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|cause| failed(cause.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}: {}", output.status, said.trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) async fn import(&self, archive: &Path) -> Result<(), Error> {
        let archive = archive.display().to_string();
        let import = ["ctr", "--namespace", "k8s.io", "images", "import", &archive];
        self.run(&import).await.map(drop)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if matches!(self.component.process.exited(), Ok(None)) {
            // With it all others are killed; `unshare` ends after them.
            let _ = kill_process(self.first, Signal::KILL);
        }
    }
}

/// The search path of the machine, and no other variable of the caller (proxies and the like).
fn path() -> Vec<(String, String)> {
    let path = std::env::var("PATH").ok();
    path.into_iter()
        .map(|path| ("PATH".to_owned(), path))
        .collect()
}

/// The one process that a process has started.
fn only_child(pid: u32) -> Result<Pid, Error> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
    let child = text.trim().parse().ok().and_then(Pid::from_raw);
    child.ok_or_else(|| {
        let cause = format!("{text:?} is not one process");
        Error::file(path)(std::io::Error::other(cause))
    })
}

fn script(cgroups: &Cgroups, first: Pid) -> String {
    let procs: Vec<String> = cgroups
        .procs()
        .map(|procs| format!("'{}'", procs.display()))
        .collect();
    format!(
        "#!/bin/sh\n\
         # Runs a command in the node, with its mounts, processes and network: enter COMMAND...\n\
         for procs in {}; do\n    echo 0 >\"$procs\" || exit 1\ndone\n\
         exec nsenter --target={} --mount --pid --net -- \"$@\"\n",
        procs.join(" "),
        first.as_raw_nonzero()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_the_node_would_not_see_is_refused() {
        for (dir, hidden) in [
            ("/run/user/0/x", Some("/run")),
            ("/var/log", Some("/var/log")),
            ("/runner/x", None),
            ("/var/lib/jenkins", None),
        ] {
            let refused = refuse_hidden(Path::new(dir)).map_err(|error| error.to_string());
            match hidden {
                Some(hidden) => assert!(refused.is_err_and(|it| it.contains(hidden)), "{dir}"),
                None => assert_eq!(refused, Ok(())),
            }
        }
    }
}
