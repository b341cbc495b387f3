//! The arm64 program under qemu's user emulation: its behaviour, not its memory.

use std::path::Path;
use std::time::Duration;

use tare_procstat::process::{Process, Spec};

use crate::Outcome;
use crate::populated_cluster::{PopulatedCluster, free_port};

const COUNT: usize = 100;
const QEMU: &str = "qemu-aarch64-static";
/// Twice the program's own deadline, because qemu is slow.
const GRACE: Duration = Duration::from_secs(10);

pub async fn a_hundred(cluster: &PopulatedCluster) -> Outcome {
    let statics = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("static");
    let program = statics.join("aarch64-unknown-linux-musl/dist/tare");
    if !program.is_file() {
        let path = program.display();
        return Err(format!("no {path}: run `just dist aarch64-unknown-linux-musl`").into());
    }
    let spec = Spec {
        name: "tare for aarch64".to_owned(),
        program: QEMU.into(),
        args: vec![
            program.display().to_string(),
            "run".to_owned(),
            "--admin".to_owned(),
            format!("127.0.0.1:{}", free_port()?),
        ],
        env: vec![(
            "KUBECONFIG".to_owned(),
            cluster.kubeconfig().display().to_string(),
        )],
        folder: None,
        clear_env: true,
        log: cluster.log("tare"),
    };
    let operator = Process::spawn(spec).await;
    let mut operator = operator
        .map_err(|cause| format!("{cause}; on Debian: apt-get install qemu-user-static"))?;
    cluster.create(COUNT).await?;
    let running = cluster.until_running(COUNT, || match operator.exited()? {
        Some(status) => {
            let words = operator.last_log_lines(3).join(" | ");
            Err(format!("it ended: {status}: {words}").into())
        }
        None => Ok(()),
    });
    running.await?;
    let ended = operator.terminate(GRACE).await?;
    assert_eq!(
        ended.code(),
        Some(0),
        "log: {}",
        cluster.log("tare").display()
    );
    Ok(())
}
