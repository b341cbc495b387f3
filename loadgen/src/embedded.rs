//! `loadgen embedded`: the API server that subjects run against, as a process of its own.
//!
//! Guarantees: prints one JSON line once it answers; credentials are readable by their owner
//! only; ends on SIGTERM, and with its parent (`testbed::process`). Leaves to others: the server
//! itself (`testbed::embedded`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

#[derive(Args)]
pub struct EmbeddedArgs {
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[arg(long, default_value_t = 0)]
    ready_delay_ms: u64,
    #[arg(long, default_value_t = 60)]
    bookmark_s: u64,
    #[arg(long, value_delimiter = ',')]
    users: Vec<String>,
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    crd: Vec<PathBuf>,
}

pub fn run(args: EmbeddedArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(listen(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn listen(_: EmbeddedArgs) -> anyhow::Result<()> {
    anyhow::bail!("the embedded server is not there yet")
}
