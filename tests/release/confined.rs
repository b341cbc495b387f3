//! The shipped image in runc without a kubelet, with the shipped memory limit and no swap.
//!
//! Guarantees: nothing of the container is left. Leaves to others: the container itself (`tests/shared/runc.rs`), a kubelet
//! ([`crate::node`]).

use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use tare_procstat::process::{Process, Spec};

use crate::Outcome;
use crate::populated_cluster::{PopulatedCluster, free_port};
use crate::runc;
use crate::runc::Container;

const COUNT: usize = 5_000;
const LIMIT_BYTES: u64 = 16 << 20;
const GRACE: Duration = Duration::from_secs(10);

pub async fn five_thousand(cluster: &PopulatedCluster) -> Outcome {
    // Declared first, so it is dropped after the container's process.
    let container = unpack(cluster)?;
    let mut running = start(&container, cluster).await?;
    cluster.create(COUNT).await?;
    let converged = cluster.until_running(COUNT, || {
        let kills = container.kills()?;
        match running.exited()? {
            _ if kills > 0 => {
                Err(format!("the kernel has killed it for memory {kills} times").into())
            }
            Some(status) => Err(format!("it ended: {status}").into()),
            None => Ok(()),
        }
    });
    converged.await?;
    let (kills, limit_bytes) = (container.kills()?, container.limit_bytes()?);
    eprintln!(
        "{COUNT} EdgeApps converged within {limit_bytes} bytes: {kills} kills, the cgroup's peak {} bytes, the program's {} bytes",
        container.peak_bytes()?,
        container.resident_peak_bytes()?
    );
    assert_eq!((kills, limit_bytes), (0, LIMIT_BYTES));
    // runc passes SIGTERM on to the container.
    let ended = running.terminate(GRACE).await?;
    assert_eq!(
        ended.code(),
        Some(0),
        "log: {}",
        cluster.log("tare").display()
    );
    Ok(())
}

/// The image as a bundle, with the files and the words of this test.
fn unpack(cluster: &PopulatedCluster) -> Result<Container, Failed> {
    let bundle = cluster.dir().join("bundle");
    // Of the two layouts, this one is read by every version of umoci.
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/tare-gzip");
    let image = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
    let unpack = ["unpack", "--image", &image, &bundle.display().to_string()];
    let unpacked = runc::run("umoci", &unpack);
    unpacked.map_err(|why| format!("{why}; needed: `just image amd64`, and umoci"))?;
    let kubeconfig = cluster.dir().join("kubeconfig");
    std::fs::copy(cluster.kubeconfig(), &kubeconfig)?;
    std::os::unix::fs::chown(&kubeconfig, Some(runc::USER), Some(runc::USER))?;
    let admin = format!("127.0.0.1:{}", free_port()?);
    let words = ["/tare", "run", "--admin", &admin].map(str::to_owned);
    let inside = Path::new("/kubeconfig");
    let name = format!("tare-release-{}", std::process::id());
    let container = Container::new(name, bundle, cluster.dir().join("runc"));
    container.configure(LIMIT_BYTES, &words, inside, (&kubeconfig, inside))?;
    Ok(container)
}

/// Starts it, and waits until it runs.
async fn start(container: &Container, cluster: &PopulatedCluster) -> Result<Process, Failed> {
    let (program, args) = container.command();
    let spec = Spec {
        name: "runc".to_owned(),
        program,
        args,
        env: Vec::new(),
        folder: None,
        clear_env: false,
        log: cluster.log("tare"),
    };
    let mut running = Process::spawn(spec).await?;
    // The cgroup exists once the container runs.
    while container.kills().is_err() {
        if let Some(status) = running.exited()? {
            let words = running.last_log_lines(3).join(" | ");
            return Err(format!("runc ended: {status}: {words}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(running)
}
