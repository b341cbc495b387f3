//! What a command that measures works with: servers, programs, a folder of results, and somebody who may stop it.
//!
//! Guarantees: the folder for credentials can be read by this user alone, and goes with this; a request to stop ends the
//! build and the work. Leaves to others: what is measured.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use tare_procstat::temp_dir::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::cli::bench::describe;
use crate::cli::exit_code;
use crate::engine::workspace::Workspace;
use crate::engine::{Ending, Place, build};
use crate::error::{Usage, no_folder};
use crate::record::evidence::Evidence;
use crate::spec::control_plane::ControlPlane;
use crate::spec::subject::Subject;
use crate::target::Source;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// # Errors
/// The system has no thread to give.
pub fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

/// Where a command measures, with which programs, and where its results go.
#[derive(Args, Clone, Debug)]
pub struct MeansArgs {
    /// Cluster that subjects run against; kube and kine need loadgen control-plane build
    #[arg(long, value_enum, default_value = "kubesim", help_heading = "Where")]
    pub control_plane: ControlPlane,
    /// Target triple for Tare and the Rust rivals, such as x86_64-unknown-linux-musl
    /// [default: that of this machine]
    #[arg(long, value_name = "TRIPLE", help_heading = "Build")]
    pub target: Option<String>,
    /// Use the existing binaries
    #[arg(long, help_heading = "Build")]
    pub no_build: bool,
    /// Folder for the results; must be new or empty [default: results/KIND-DATE-N; KIND is the command, or the profile
    /// of a bench]
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,
}

impl MeansArgs {
    /// Servers of loadgen's own; `why` no others can be used.
    ///
    /// # Errors
    /// An existing cluster was named, or a real control plane was not built.
    pub fn own_source(&self, why: &str) -> anyhow::Result<Source> {
        let way = "use kubesim, kube or kine";
        let source = Source::own(self.control_plane)?;
        Ok(source.ok_or_else(|| Usage(format!("--control-plane existing: {why}; {way}")))?)
    }

    /// Where these subjects are built.
    ///
    /// # Errors
    /// They cannot be built there, or not for the target.
    pub fn workspace(&self, subjects: &[Subject]) -> Result<Workspace, Usage> {
        let found = Workspace::find().and_then(|found| found.for_target(self.target.as_deref()));
        let workspace = found.map_err(Usage::of)?;
        if !self.no_build {
            workspace.can_build(subjects).map_err(Usage::of)?;
        }
        Ok(workspace)
    }

    /// The means of a command that measures these subjects, with a new folder of results of this kind. Within a runtime.
    ///
    /// # Errors
    /// What cannot be had, in one line with the way out.
    pub fn gather(
        &self,
        source: Source,
        subjects: &[Subject],
        kind: &str,
    ) -> anyhow::Result<Means> {
        let workspace = self.workspace(subjects)?;
        let evidence = Evidence::create_new(self.out.as_deref(), kind).map_err(no_folder)?;
        Means::gather(self, source, workspace, evidence)
    }
}

pub struct Means {
    pub stop: Interrupt,
    pub place: Place,
    builds: bool,
    _temp_dir: TempDir,
}

impl Means {
    /// Within a runtime.
    ///
    /// # Errors
    /// Signals cannot be listened to, or there is no room for credentials; one line with the way out.
    pub fn gather(
        args: &MeansArgs,
        source: Source,
        workspace: Workspace,
        evidence: Evidence,
    ) -> anyhow::Result<Self> {
        let temp_dir = TempDir::create(&std::env::temp_dir(), "loadgen")
            .context("cannot make a folder for credentials; set TMPDIR")?;
        Ok(Self {
            stop: Interrupt::on_signals().context("cannot listen for Ctrl-C")?,
            place: Place {
                source,
                workspace,
                temp_dir: temp_dir.path().to_owned(),
                run_machine: describe::run_machine(),
                evidence,
                progress: Arc::new(Progress::default()),
            },
            builds: !args.no_build,
            _temp_dir: temp_dir,
        })
    }

    /// Builds the subjects, unless the existing binaries are to be used.
    ///
    /// # Errors
    /// The build fails.
    pub async fn build(&self, subjects: &[Subject]) -> Result<(), build::Error> {
        let place = &self.place;
        if !self.builds {
            return Ok(());
        }
        let log = place.evidence.path("logs/build.log");
        build::build(subjects, &place.workspace, &log, &place.progress).await
    }

    /// Builds the subjects, and then does the work; a request to stop ends both.
    ///
    /// # Errors
    /// The build or the work fails.
    pub async fn work(
        &self,
        subjects: &[Subject],
        work: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Ending> {
        let working = async {
            self.build(subjects).await?;
            work.await
        };
        let done = self.stop.or(working).await;
        self.place.progress.finish();
        done.map_or(Ok(Ending::Stopped), |done| done.map(|()| Ending::Complete))
    }

    /// The exit code of a command that has ended like this; `stopped` says what a request to stop has left out.
    pub fn end(&self, ending: Ending, is_sound: bool, stopped: &str) -> ExitCode {
        match ending {
            Ending::Stopped => {
                self.place.progress.finish();
                self.place.progress.say(&format!("stopped: {stopped}"));
                ExitCode::from(130)
            }
            Ending::Complete => exit_code(is_sound),
        }
    }
}
