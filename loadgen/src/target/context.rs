//! Which cluster a command is about: from `--kubeconfig` and `--context` to a server.
//!
//! Guarantees: nothing is sent. A cluster is *local* when its server was started by loadgen and its
//! address is a loopback address of this machine. Any other server on loopback may be the end of a tunnel,
//! and is treated as remote. Leaves to others: asking the server, and asking the user.

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::error::Usage;
use crate::target::proxy;

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
    /// On this machine, and started by loadgen.
    pub local: bool,
    pub config: Config,
    /// What it was chosen from.
    pub kubeconfig: Kubeconfig,
}

/// What a pod's own credentials are called here.
const IN_CLUSTER: &str = "in-cluster";

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
        let config = Config::from_custom_kubeconfig(file.clone(), &options).await;
        let mut config = config.map_err(|error| unusable(&error))?;
        proxy::choose(&mut config, &file, Some(&context)).map_err(Usage)?;
        Ok(Self::of(context, config, file))
    }

    fn of(context: String, config: Config, kubeconfig: Kubeconfig) -> Self {
        Self {
            context,
            url: config.cluster_url.to_string(),
            local: is_local(&config),
            config,
            kubeconfig,
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
            "context {:?} at {} is {} and there is no terminal to ask on; if it is the right one, add --yes",
            self.context,
            self.url,
            self.whereabouts()
        )))
    }

    /// Why a cluster that is not local is not.
    pub fn whereabouts(&self) -> &'static str {
        match self.config.cluster_url.host().is_some_and(is_loopback) {
            true => "not local (loadgen did not start it, and behind a tunnel may be any cluster)",
            false => "not local",
        }
    }
}

/// A question needs somebody who sees it and can answer it.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The account of the Pod that this runs in.
fn in_cluster() -> Option<Target> {
    const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let config = Config::incluster().ok()?;
    let url = config.cluster_url.to_string();
    let kubeconfig = serde_json::json!({
        "clusters": [{"name": IN_CLUSTER, "cluster": {
            "server": url.trim_end_matches('/'), "certificate-authority": format!("{ACCOUNT}/ca.crt")}}],
        "users": [{"name": IN_CLUSTER, "user": {"tokenFile": format!("{ACCOUNT}/token")}}],
        "contexts": [{"name": IN_CLUSTER, "context": {"cluster": IN_CLUSTER, "user": IN_CLUSTER}}],
    });
    let kubeconfig = serde_json::from_value(kubeconfig).ok()?;
    Some(Target::of(IN_CLUSTER.to_owned(), config, kubeconfig))
}

/// A server that loadgen started names itself in the authority that signed its certificate. A client
/// accepts no other server, so the name cannot be somebody else's.
fn is_local(config: &Config) -> bool {
    let ours = kubesim::CA_NAME.as_bytes();
    let is_ours = |der: &Vec<u8>| der.windows(ours.len()).any(|part| part == ours);
    let authorities = config.root_cert.as_deref().unwrap_or_default();
    let verified = config.cluster_url.scheme_str() == Some("https") && !config.accept_invalid_certs;
    let started_by_loadgen = verified && !authorities.is_empty() && authorities.iter().all(is_ours);
    started_by_loadgen && config.cluster_url.host().is_some_and(is_loopback)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str, authority: &str) -> Config {
        let mut config = Config::new(url.parse().expect("a URL"));
        config.root_cert = Some(vec![format!("0..{authority}..").into_bytes()]);
        config
    }

    #[test]
    fn a_tunnel_on_loopback_is_not_local() {
        let ours = kubesim::CA_NAME;
        assert!(is_local(&config("https://127.0.0.1:6443", ours)));
        let mut unverified = config("https://127.0.0.1:6443", ours);
        unverified.accept_invalid_certs = true;
        for (name, config) in [
            ("kubectl proxy", config("http://127.0.0.1:8001", ours)),
            ("ssh -L", config("https://localhost:6443", "kubernetes")),
            ("far away", config("https://203.0.113.7:6443", ours)),
            (
                "a public certificate",
                Config::new("https://127.0.0.1:1".parse().expect("a URL")),
            ),
            ("an unverified one", unverified),
        ] {
            let target = Target::of("x".into(), config, Kubeconfig::default());
            assert!(!target.local, "{name}");
            assert!(
                target.may_be_touched(true).is_ok(),
                "{name}: the user said yes"
            );
        }
        let tunnel = config("https://localhost:6443", "kubernetes");
        let tunnel = Target::of("x".into(), tunnel, Kubeconfig::default());
        assert!(tunnel.whereabouts().contains("tunnel"));
    }

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
