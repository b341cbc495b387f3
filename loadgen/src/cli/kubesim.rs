//! `loadgen kubesim`: the API server that subjects run against, as a process of its own.
//!
//! Guarantees: prints one JSON line once it answers; credentials are readable by their owner
//! only; ends on SIGTERM, and with its parent (`tare_procstat::process`). Leaves to others: the server
//! itself (`kubesim::Server`).

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use kubesim::{Options, Server, Tls, kubeconfig};
use tokio::net::TcpListener;

use crate::cli::means;
use crate::private_file;
use crate::target::kubesim::{Announcement, kubeconfig_path};
use crate::terminal::interrupt::Interrupt;

#[derive(Args)]
pub struct KubesimArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Time from a change of a Deployment until it is ready, ms
    #[arg(long, value_name = "MS", default_value_t = 0)]
    ready_delay_ms: u64,
    /// Time between two bookmarks of a watch, s
    #[arg(long, value_name = "S", default_value_t = 60)]
    bookmark_s: u64,
    /// Users, separated by commas; each gets a kubeconfig DIR/NAME.kubeconfig
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    users: Vec<String>,
    /// Existing folder for the kubeconfigs and the certificate
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// File with a CRD to install; may be repeated
    #[arg(long, value_name = "FILE")]
    crd: Vec<PathBuf>,
}

pub fn run(args: KubesimArgs) -> anyhow::Result<ExitCode> {
    means::runtime()?.block_on(listen(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn listen(args: KubesimArgs) -> anyhow::Result<()> {
    let stop = Interrupt::on_signals()?;
    let server = Server::new(Options {
        ready_delay: Duration::from_millis(args.ready_delay_ms),
        bookmark_every: Duration::from_secs(args.bookmark_s),
        admin_user: "loadgen".to_owned(),
        seed: unguessable_seed()?,
        ..Options::default()
    });
    for path in &args.crd {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read CRD {}", path.display()))?;
        server
            .install(&text)
            .with_context(|| format!("cannot install CRD {}", path.display()))?;
    }
    let tls = Tls::generate()?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; choose another port with --listen",
            args.listen
        )
    })?;
    let url = format!("https://{}", listener.local_addr()?);
    let ca_pem = tls.ca_pem().to_owned();
    write_private(&args.dir.join("ca.pem"), &ca_pem)?;
    for user in &args.users {
        let token = server.token(user);
        write_private(
            &kubeconfig_path(&args.dir, user),
            &kubeconfig(&url, &ca_pem, user, &token),
        )?;
    }
    println!("{}", serde_json::to_string(&Announcement { url })?);
    server
        .serve(listener, tls, async move { stop.requested().await })
        .await?;
    Ok(())
}

/// Tokens follow from it, and other users of this machine can reach loopback.
fn unguessable_seed() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.context("cannot read /dev/urandom")?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Nobody else on this machine may act as these users.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = private_file::write(path, text.as_bytes());
    written.with_context(|| format!("cannot write {}", path.display()))
}
