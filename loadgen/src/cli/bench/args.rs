//! The options of `loadgen bench`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::bench::plan;
use crate::cli::means::MeansArgs;
use crate::plan::course::Asked;
use crate::plan::profile::Profile;
use crate::spec::bounds;
use crate::spec::bounds::Bounds;
use crate::spec::bystanders;
use crate::spec::bystanders::Bystanders;
use crate::spec::step::Step;
use crate::target::context::TargetArgs;

/// Objects of several kinds, from one option.
#[derive(Clone, Debug, Default)]
pub struct Foreign(pub Vec<Bystanders>);

fn foreign(text: &str) -> Result<Foreign, String> {
    bystanders::parse(text).map(Foreign)
}

#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Subjects to measure, as name/variant, separated by commas; see loadgen subjects
    /// [default: tare/none,kube-rs/stock; on a real control plane, each rival at its best:
    /// tare/none,kube-rs/stock,kube-rs/predicate,kube-rs/tuned,controller-runtime/vanilla,controller-runtime/tuned,controller-runtime/storeless-tuned]
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        help_heading = "What is measured"
    )]
    pub subjects: Option<Vec<String>>,
    /// File that describes your own operator; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "What is measured")]
    pub subject: Vec<PathBuf>,
    /// What is created: a shipped workload (loadgen workloads), or the folder of one
    /// [default: that of the subjects]
    #[arg(long, value_name = "W", help_heading = "What is measured")]
    pub workload: Option<String>,
    /// Numbers of objects, separated by commas; larger sizes take longer, such as 0,500,2000,5000
    #[arg(
        long,
        value_name = "N,M",
        default_value = "0,500",
        value_delimiter = ',',
        value_parser = plan::size,
        help_heading = "What is measured"
    )]
    pub objects: Vec<usize>,
    /// Size of one object in bytes, as it is sent [default: that of the workload]
    #[arg(long, value_name = "BYTES", help_heading = "What is measured")]
    pub object_bytes: Option<usize>,
    #[command(flatten)]
    pub means: MeansArgs,
    #[command(flatten)]
    pub cluster: TargetArgs,
    /// Repeats of each size [default: 1 on kubesim, else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How")]
    pub repeats: Option<u32>,
    /// Repeats of the largest size [default: --repeats if given, 1 on kubesim, else 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How")]
    pub repeats_largest: Option<u32>,
    /// Repeats of memory runs, which vary less than times, where that is fewer; 0 for no memory runs [default: as many as of drains]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = "How")]
    pub memory_repeats: Option<u32>,
    /// How often one subject is measured a second time in drains of the largest size, for the noise
    /// floor (A/A) [default: as many as that size has repeats]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How")]
    pub aa_pairs: Option<u32>,
    /// Idle time before memory is sampled [default: quick on kubesim, else standard]
    #[arg(long, value_enum, help_heading = "How")]
    pub profile: Option<Profile>,
    /// Watch each subject for S seconds once it has settled at the largest size: what it costs while nothing happens
    /// [default: 0 with --profile quick, else 60]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(30..=86_400), help_heading = "How")]
    pub idle_s: Option<u64>,
    /// Measure a timed run up to N times, where something else was at work on the machine
    /// [default: 1 with --profile quick, which marks the figures of such a run; else 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10), help_heading = "How")]
    pub attempts: Option<u32>,
    /// Let idle phases of up to N memory runs overlap, each with its own control plane; timed runs
    /// never overlap
    /// [default: up to 8, as memory allows; 1 with --profile quick or on an existing cluster]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16), help_heading = "How")]
    pub overlap: Option<u8>,
    /// Seed for the order of runs and the content of objects
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "How")]
    pub seed: u64,
    /// Time from the creation of a Deployment until it is ready, ms [default: 500]
    #[arg(long, value_name = "MS", help_heading = "How")]
    pub ready_delay_ms: Option<u64>,
    /// Memory that each subject may have, such as 256Mi; it is killed where it needs more, and the run fails [default: no limit]
    #[arg(long, value_name = "QUANTITY", value_parser = bounds::memory, help_heading = "How")]
    pub memory: Option<u64>,
    /// Cores that each subject may use, such as 500m or 1 [default: all]
    #[arg(long, value_name = "QUANTITY", value_parser = bounds::cores, help_heading = "How")]
    pub cpu: Option<f64>,
    /// Fail a run whose objects have not converged after S seconds [default: 60 + 0.2 per object]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400), help_heading = "How")]
    pub deadline_s: Option<u64>,
    /// Measure drains, memory and restarts only: no rates, update, deletion, request count or
    /// default flags
    #[arg(long, help_heading = "Steps")]
    pub bursts_only: bool,
    /// Measure memory and restarts only: as --bursts-only, without drains
    #[arg(long, help_heading = "Steps", conflicts_with_all = ["deletions", "aa_pairs"])]
    pub memory_only: bool,
    /// Rates of the sweep, objects per second, separated by commas, or none; a subject that does not
    /// keep up is not offered a higher one
    #[arg(
        long,
        value_name = "N,M",
        default_value = "5,10,20,40,80",
        help_heading = "Steps"
    )]
    pub rates: String,
    /// Restart the subject N times in every drain, and once in every memory run with objects
    /// [default: once, at the largest size only]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Steps")]
    pub restarts: Option<u32>,
    /// Restart the API server in memory runs at the largest size, and sample memory again; kube and kine only
    #[arg(long, help_heading = "Steps")]
    pub server_restart: bool,
    /// End every drain with a deletion of all objects, timed until their children are gone too
    #[arg(long, help_heading = "Steps")]
    pub deletions: bool,
    /// Add fault runs at the largest size: children that the API server rejects, children that
    /// never become ready
    #[arg(long, help_heading = "Steps")]
    pub unhealthy: bool,
    /// Add an update storm: up to 500 objects, each updated every 500 ms for one minute
    #[arg(long, help_heading = "Steps")]
    pub update_storm: bool,
    /// Add a soak to the first memory run at the largest size: change all objects until N watch events
    /// have passed, then sample memory again; kubesim only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000), help_heading = "Steps")]
    pub soak_events: Option<u64>,
    /// Create objects that do not concern the subjects before they start, and count in memory runs how many of
    /// them are in the subject's memory
    #[arg(long, value_name = "KIND=N,KIND=N", value_parser = foreign, help_heading = "Steps")]
    pub bystanders: Option<Foreign>,
    /// Measure without checking first that subjects pass the conformance scenario
    #[arg(long, help_heading = "Steps")]
    pub skip_conformance: bool,
    /// Print as JSON how many runs there are, how long they take and how much room they need; build and measure nothing
    #[arg(long, help_heading = "Results")]
    pub dry_run: bool,
    /// Continue the interrupted bench in --out; finished runs are kept
    #[arg(long, requires = "out", help_heading = "Results")]
    pub resume: bool,
    /// Name of this machine in the report
    #[arg(
        long,
        value_name = "LABEL",
        default_value = "local",
        help_heading = "Results"
    )]
    pub host_label: String,
}

impl BenchArgs {
    /// Steps beyond those that every bench has; `steps` are those of the workload.
    pub fn asked(&self, steps: &[Step]) -> Asked {
        Asked {
            restarts: self.restarts,
            soak_events: self.soak_events,
            deletions: self.deletions,
            bystanders: self.bystanders.is_some(),
            updates: None,
            server_restart: self.server_restart,
            idle_s: self.idle_s,
            steps: steps.to_vec(),
        }
    }

    /// What each subject may have.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            memory_bytes: self.memory,
            cpu_cores: self.cpu,
        }
    }

    /// Whether nothing but bursts of creations is measured.
    pub fn only_bursts(&self) -> bool {
        self.bursts_only || self.memory_only
    }
}
