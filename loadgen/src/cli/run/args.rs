//! The arguments of `loadgen run`.
//!
//! Guarantees: a name that is read can be used. Leaves to others: what is done with them.

use clap::Args;

use crate::spec::operator::OperatorName;
use crate::spec::rate::Rate;
use crate::spec::shard::Shard;
use crate::target::context::TargetArgs;

#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// What is created: a shipped workload, or the folder of one [default: that marked in
    /// loadgen workloads]
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Number of objects
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Create objects on a fixed timetable: 20 per second, a ramp such as 5..50/60s, or steps such as
    /// 5:30s,20:30s,40; the last rate goes on [default: all at once]
    #[arg(long, value_name = "R", value_parser = Rate::parse)]
    pub rate: Option<Rate>,
    /// Refuse to create more than N objects: those of --count, bystanders of steps, and fixtures
    #[arg(long, value_name = "N")]
    pub max_objects: Option<usize>,
    /// Say what would be created, and have the server try an object of each template; create nothing
    #[arg(long, conflicts_with_all = ["json", "keep"])]
    pub dry_run: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Namespace for the objects; created if absent, and then deleted again [default: loadgen-RUN]
    #[arg(long, value_name = "NS", value_parser = dns_label)]
    pub namespace: Option<String>,
    /// Run one pod per object on a cluster with nodes; without it objects ask for 0 replicas there
    #[arg(long)]
    pub pods: bool,
    /// Keep the objects; loadgen clean removes them
    #[arg(long)]
    pub keep: bool,
    /// Seed for the content of objects
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Give up on objects that have not converged after S seconds [default: 60 + 0.2 per object]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub deadline_s: Option<u64>,
    /// Also measure the pods of an operator in the cluster: deployment/NAMESPACE/NAME
    #[arg(long, value_name = "KIND/NS/NAME")]
    pub operator: Option<OperatorName>,
    /// Leave the objects alone for S seconds before they are removed [default: 0; with --operator 15, or
    /// as long as its memory takes to be known]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub idle_s: Option<u64>,
    /// Create only shard I of N of the objects, I from 0; in an Indexed Job N is enough. --count and
    /// --rate are those of all shards together
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Print one line of JSON, for scripts and for loadgen merge
    #[arg(long)]
    pub json: bool,
}

fn shard(text: &str) -> Result<Shard, String> {
    let job_index = std::env::var("JOB_COMPLETION_INDEX").ok();
    Shard::parse(text, job_index.as_deref())
}

/// A name becomes part of request paths, so only valid namespace names are accepted.
pub(crate) fn dns_label(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inside = text.chars().all(|c| plain(c) || c == '-');
    if text.len() <= 63 && inside && text.starts_with(plain) && text.ends_with(plain) {
        Ok(text.to_owned())
    } else {
        Err("use 1 to 63 of a-z, 0-9 and, inside, '-'".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_or_refused() {
        let long = "a".repeat(64);
        for (text, want) in [
            ("shop", true),
            ("a", true),
            ("shop-1", true),
            ("", false),
            ("-a", false),
            ("a-", false),
            ("a/b", false),
            ("Shop", false),
            (long.as_str(), false),
        ] {
            assert_eq!(dns_label(text).is_ok(), want, "{text}");
        }
    }
}
