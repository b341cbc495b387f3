//! `loadgen control-plane up`: a control plane in the foreground, for kubectl and operators.
//!
//! Guarantees: it ends when this process ends, also by SIGKILL. Its data and credentials are removed at
//! the end or, after SIGKILL, by the next start. After a failure its logs are kept until the next start.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use controlplane::{Binaries, Datastore, Options, User};
use tare_procstat::temp_dir::TempDir;

use crate::cli::command_line;
use crate::cli::control_plane::build;
use crate::cli::control_plane::folder;
use crate::cli::control_plane::folder::Elsewhere;
use crate::cli::control_plane::started;
use crate::cli::control_plane::started::{Programs, Started};
use crate::engine::crds;
use crate::error::Usage;
use crate::spec::workload;
use crate::spec::workload::Workload;
use crate::terminal::interrupt::Interrupt;

const ADMIN: &str = "admin";
/// Time between two polls of the processes.
const POLL: Duration = Duration::from_millis(200);

#[derive(Args)]
pub struct UpArgs {
    /// Datastore: etcd, or kine on SQLite as in k3s
    #[arg(long, value_enum, default_value = "etcd")]
    datastore: DatastoreName,
    /// Also write the kubeconfig of the administrator to FILE; removed at the end
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// CRD to install; may be repeated [default: those of the workload]
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    crd: Vec<PathBuf>,
    /// Workload whose CRDs are installed: a shipped one, or the folder of one
    /// [default: that of loadgen run without a name]
    #[arg(long, value_name = "W")]
    workload: Option<String>,
    /// Run the real Deployment controllers; Pods stay Pending, as there is no node
    #[arg(long, conflicts_with = "ready_delay_ms")]
    pods: bool,
    /// Run a real node, so that Pods run (kubelet, containerd, runc, scheduler); needs root on Linux;
    /// builds what is missing
    #[arg(long, conflicts_with_all = ["pods", "ready_delay_ms"])]
    node: bool,
    /// Time from a change of a Deployment until it is reported ready, ms
    #[arg(long, value_name = "MS", default_value_t = 500)]
    ready_delay_ms: u64,
    /// Port of kube-apiserver on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

#[derive(Clone, Copy, ValueEnum)]
enum DatastoreName {
    Etcd,
    Kine,
}

impl From<DatastoreName> for Datastore {
    fn from(name: DatastoreName) -> Datastore {
        match name {
            DatastoreName::Etcd => Datastore::Etcd,
            DatastoreName::Kine => Datastore::Kine,
        }
    }
}

pub(crate) async fn run(args: UpArgs) -> anyhow::Result<ExitCode> {
    refuse(&args)?;
    let workload = workload::named(args.workload.as_deref(), None).map_err(Usage::of)?;
    let stop = Interrupt::on_signals().context("cannot listen for Ctrl-C")?;
    let Some(programs) = stop.or(programs(args.node)).await else {
        return Ok(ExitCode::from(130));
    };
    let programs = programs?;
    let parent = std::env::temp_dir();
    for left in folder::clear_leftovers(&parent) {
        eprintln!(
            "removed {}, left by an earlier control plane",
            left.display()
        );
    }
    let folder = folder::create(&parent)?;
    let served = stop.or(serve(&args, &workload, &programs, &folder));
    match served.await {
        None | Some(Ok(())) => Ok(ExitCode::SUCCESS),
        Some(Err(error)) => {
            let logs = folder.path().join("logs");
            if logs.exists() {
                eprintln!("logs are kept until the next start: {}", logs.display());
                folder.keep();
            }
            Err(error)
        }
    }
}

/// Checks the arguments that would otherwise fail only after the start.
fn refuse(args: &UpArgs) -> Result<(), Usage> {
    if let Some(path) = args.kubeconfig.as_ref().filter(|path| path.exists()) {
        let path = path.display();
        return Err(Usage(format!(
            "--kubeconfig {path}: the file exists and is not overwritten; choose a new name"
        )));
    }
    if let Some(path) = args.crd.iter().find(|path| !path.is_file()) {
        let path = path.display();
        return Err(Usage(format!(
            "--crd {path}: no such file; it must be the YAML of a CRD"
        )));
    }
    Ok(())
}

/// The programs to start. Those of a node are built once it is clear that a node can run here.
async fn programs(node: bool) -> anyhow::Result<Programs> {
    if !node {
        return Ok((Binaries::find()?, None));
    }
    controlplane::node::check()?;
    Ok(build::all(true).await?)
}

/// Returns an error when a component ends. Dropping the future stops everything.
async fn serve(
    args: &UpArgs,
    workload: &Workload,
    programs: &Programs,
    folder: &TempDir,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let crds = crds(&args.crd, workload, folder.path())?;
    let mut started = Started::start(programs, options(args, folder, crds)).await?;
    let plane = started.plane();
    let own = plane.kubeconfig(ADMIN);
    let elsewhere: Option<Elsewhere> = match &args.kubeconfig {
        Some(path) => {
            let text = std::fs::read_to_string(&own)
                .with_context(|| format!("cannot read {}", own.display()))?;
            Some(folder::write_elsewhere(folder, path, &text)?)
        }
        None => None,
    };
    let kubeconfig = elsewhere.as_ref().map_or(own.as_path(), Elsewhere::path);
    println!(
        "kube-apiserver {} on {} at {}, ready after {:.1} s",
        plane.version(),
        Datastore::from(args.datastore).name(),
        plane.url(),
        begun.elapsed().as_secs_f64()
    );
    match &started {
        Started::Node(node) => println!("{}\n", started::hints(node.enter())),
        Started::ControlPlane(_) => println!("{}\n", readiness(args)),
    }
    println!("  export KUBECONFIG={}", command_line::quoted(kubeconfig));
    let ask = match args.crd.is_empty() {
        true => format!("get {}", workload.scenario.resource.full_name()),
        false => "get crds".to_owned(),
    };
    println!("  {}", kubectl(&programs.0, &ask));
    println!("\nCtrl-C ends it and removes its data.");
    loop {
        tokio::time::sleep(POLL).await;
        if let Some((component, status)) = started.exited()? {
            bail!("{component} ended ({status}); the whole control plane is stopped");
        }
    }
}

fn options(args: &UpArgs, folder: &TempDir, crds: Vec<PathBuf>) -> Options {
    Options {
        datastore: args.datastore.into(),
        dir: folder.path().join("run"),
        logs: folder.path().join("logs/up"),
        users: vec![User::admin(ADMIN)],
        readiness: Some(Duration::from_millis(args.ready_delay_ms)),
        pods: args.pods,
        crds,
        port: args.port,
        ..Options::default()
    }
}

/// The CRDs to install: those of `--crd`, else those of the workload, written to `dir`.
fn crds(asked: &[PathBuf], workload: &Workload, dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !asked.is_empty() {
        return Ok(asked.to_vec());
    }
    crds::written(&workload.crds, dir).map_err(anyhow::Error::msg)
}

fn readiness(args: &UpArgs) -> String {
    if args.pods {
        return "Pods are created and stay Pending: there is no node.".to_owned();
    }
    let delay_ms = args.ready_delay_ms;
    format!(
        "Deployments are reported ready after {delay_ms} ms; there are no nodes and no Pods (--pods creates Pods)."
    )
}

/// A first kubectl command to try.
fn kubectl(binaries: &Binaries, ask: &str) -> String {
    let program = match (command_line::on_path("kubectl"), &binaries.kubectl) {
        (None, Some(path)) => command_line::quoted(path),
        _ => "kubectl".to_owned(),
    };
    format!("{program} {ask}")
}
