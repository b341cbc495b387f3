//! What goes wrong is one line that says what, where and what to do.

use std::os::unix::fs::PermissionsExt;

use controlplane::{Binaries, ControlPlane, Error, Options};
use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::Folder;

async fn refusal(binaries: &Binaries, options: Options) -> Result<Error, Failed> {
    match ControlPlane::start(binaries, options).await {
        Ok(_) => Err("it started".into()),
        Err(error) => {
            let message = error.to_string();
            assert_eq!(message.lines().count(), 1, "{message}");
            Ok(error)
        }
    }
}

pub async fn port_taken(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("port-taken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port();
    let options = Options {
        port: Some(port),
        ..folder.options()
    };
    let message = refusal(&binaries, options).await?.to_string();
    let want = format!("cannot listen on 127.0.0.1:{port}: Address already in use");
    assert!(message.starts_with(&want), "{message}");
    Ok(())
}

pub async fn bad_argument(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("bad-argument");
    let options = Options {
        extra_api_server_args: vec!["--no-such-flag".to_owned()],
        ..folder.options()
    };
    let error = refusal(&binaries, options).await?;
    assert!(matches!(error, Error::Ended { .. }), "{error}");
    let message = error.to_string();
    let log = folder.0.join("logs/test-kube-apiserver.log");
    assert!(
        message.starts_with("kube-apiserver ended while starting")
            && message.contains("unknown flag: --no-such-flag")
            && message.ends_with(&log.display().to_string()),
        "{message}"
    );
    Ok(())
}

pub async fn open_folder(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("open");
    let options = folder.options();
    std::fs::create_dir_all(&options.dir)?;
    std::fs::set_permissions(&options.dir, std::fs::Permissions::from_mode(0o755))?;
    let message = refusal(&binaries, options).await?.to_string();
    assert!(message.contains("run chmod 700"), "{message}");
    Ok(())
}

pub async fn names_the_dead(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("dead");
    let mut plane = ControlPlane::start(&binaries, folder.options()).await?;
    assert!(plane.exited()?.is_none());
    let pid = i32::try_from(plane.controllers_pid())?;
    kill_process(Pid::from_raw(pid).ok_or("no pid")?, Signal::KILL)?;
    let ended = async {
        loop {
            if let Some((name, _)) = plane.exited()? {
                return Ok::<_, Error>(name);
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let name = tokio::time::timeout(crate::fixture::DEADLINE, ended).await??;
    assert_eq!(name, "kube-controller-manager");
    Ok(())
}
