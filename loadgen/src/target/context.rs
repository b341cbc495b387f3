//! Which cluster a command is about: from `--kubeconfig` and `--context` to a server.
//!
//! Guarantees: nothing is sent. A cluster is *local* when its server's address is a loopback
//! address of this machine; whoever reaches another cluster through a tunnel on loopback has told
//! loadgen that it is local. Leaves to others: asking the server, and asking the user.

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::model::error::Usage;

#[derive(Args, Clone, Debug)]
pub struct TargetArgs {
    /// Kubeconfig of an existing cluster [default: KUBECONFIG, ~/.kube/config, or the service account of a pod]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Assume yes: do not ask before a cluster that is not on this machine is changed
    #[arg(long)]
    pub yes: bool,
}

/// A cluster, not yet asked for anything.
#[derive(Debug, Clone)]
pub struct Target {
    /// What the user calls it.
    pub context: String,
    pub url: String,
    pub local: bool,
    pub config: Config,
}

/// What a pod's own credentials are called here.
pub const IN_CLUSTER: &str = "in-cluster";

impl Target {
    /// # Errors
    /// `Usage`: there is no kubeconfig, or it or its context cannot be used.
    pub async fn choose(args: &TargetArgs) -> Result<Self, Usage> {
        let unusable = |error: &KubeconfigError| {
            // A parser's message goes on with a picture of the place.
            let error = error.to_string();
            let error = error.lines().next().unwrap_or_default();
            Usage(format!(
                "cannot use the kubeconfig{}: {error}; give another one with --kubeconfig FILE",
                args.kubeconfig
                    .as_ref()
                    .map_or(String::new(), |path| format!(" {}", path.display())),
            ))
        };
        let file = match &args.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let file = match file {
            Ok(file) => file,
            Err(error) if args.kubeconfig.is_none() && args.context.is_none() => {
                return in_cluster().ok_or_else(|| unusable(&error));
            }
            Err(error) => return Err(unusable(&error)),
        };
        let known: Vec<&str> = file.contexts.iter().map(|c| c.name.as_str()).collect();
        let Some(context) = args.context.clone().or(file.current_context.clone()) else {
            return Err(Usage(format!(
                "the kubeconfig has no current context; choose one with --context, known: {}",
                known.join(", ")
            )));
        };
        if !known.contains(&context.as_str()) {
            return Err(Usage(format!(
                "the kubeconfig has no context {context:?}; known: {}",
                known.join(", ")
            )));
        }
        let options = KubeConfigOptions {
            context: Some(context.clone()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(file, &options).await;
        Ok(Self::of(context, config.map_err(|error| unusable(&error))?))
    }

    fn of(context: String, config: Config) -> Self {
        Self {
            context,
            url: config.cluster_url.to_string(),
            local: config.cluster_url.host().is_some_and(is_loopback),
            config,
        }
    }

    /// Whoever cannot be asked about a cluster that is not local must have said so beforehand.
    ///
    /// # Errors
    /// `Usage`, before anything was sent.
    pub fn may_be_touched(&self, yes: bool) -> Result<(), Usage> {
        if self.local || yes || can_ask() {
            return Ok(());
        }
        Err(Usage(format!(
            "context {:?} at {} is not local and there is no terminal to ask on; if it is the right one, add --yes",
            self.context, self.url
        )))
    }
}

/// A question needs somebody who sees it and can answer it.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn in_cluster() -> Option<Target> {
    let config = Config::incluster().ok()?;
    Some(Target::of(IN_CLUSTER.to_owned(), config))
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_is_this_machine_only() {
        for (host, want) in [
            ("127.0.0.1", true),
            ("127.8.9.10", true),
            ("[::1]", true),
            ("LocalHost", true),
            ("203.0.113.7", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(is_loopback(host), want, "{host}");
        }
    }
}
