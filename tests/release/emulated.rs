//! Programs for other processors under qemu's user emulation: their behaviour, not their memory.

use std::path::Path;
use std::time::Duration;

use tare_procstat::process::{Process, Spec};

use crate::Outcome;
use crate::populated_cluster::{PopulatedCluster, free_port};

const COUNT: usize = 100;
/// Twice the program's own deadline, because qemu is slow.
const GRACE: Duration = Duration::from_secs(10);

/// `target` is as scripts/dist.sh knows it.
pub async fn a_hundred(cluster: &PopulatedCluster, target: &str) -> Outcome {
    // As qemu calls the processor.
    let processor = match target.split('-').next() {
        Some("armv7") => "arm",
        Some("riscv64gc") => "riscv64",
        other => other.unwrap_or_default(),
    };
    let statics = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("static");
    let program = statics.join(target).join("dist/tare");
    if !program.is_file() {
        let path = program.display();
        return Err(format!("no {path}: run `just dist {target}`").into());
    }
    let spec = Spec {
        name: format!("tare for {processor}"),
        program: format!("qemu-{processor}-static").into(),
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
