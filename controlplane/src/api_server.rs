//! How kube-apiserver is started.
//!
//! Leaves to others: its keys, and when it is ready.

pub(crate) mod crd;
pub(crate) mod port;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::build::binaries::Binaries;
use crate::credentials::owner_only;
use crate::credentials::{Access, INTERNAL};
use crate::datastore;
use crate::error::Error;
use crate::options::{Flags, Options};
use tare_procstat::process::Spec;

/// Flags that lift the server's limits while operators are measured.
const QUIET: [&str; 3] = [
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
];

pub(crate) fn audit_log(dir: &Path) -> PathBuf {
    dir.join("audit.jsonl")
}

pub(crate) fn spec(
    options: &Options,
    binaries: &Binaries,
    access: &Access,
    port: u16,
    log: PathBuf,
) -> Result<Spec, Error> {
    let mut args = arguments(&options.dir, access);
    args.extend(place(options, port));
    if options.nodes {
        args.extend(kubelets(access));
    }
    if !options.service_account_admission {
        args.push("--disable-admission-plugins=ServiceAccount".to_owned());
    }
    if options.flags == Flags::Quiet {
        args.extend(QUIET.map(str::to_owned));
    }
    if options.audit {
        let policy = options.dir.join("audit-policy.json");
        owner_only::file(&policy, &audit_policy().to_string())?;
        args.extend([
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", audit_log(&options.dir).display()),
            // In MB: the file is read as one, so it is never to be rotated.
            "--audit-log-maxsize=1000000".to_owned(),
        ]);
    }
    args.extend(options.extra_api_server_args.iter().cloned());
    let mut program = binaries.kube_apiserver.clone();
    let enter = options.network.iter().flat_map(|network| &network.enter);
    let mut words = enter.cloned();
    if let Some(first) = words.next() {
        let own = std::mem::replace(&mut program, PathBuf::from(first));
        let own = words.chain([own.display().to_string()]);
        args = own.chain(args).collect();
    }
    Ok(Spec {
        name: "kube-apiserver".to_owned(),
        program,
        args,
        env: Vec::new(),
        folder: None,
        clear_env: true,
        log,
    })
}

fn file(flag: &str, path: PathBuf) -> String {
    format!("--{flag}={}", path.display())
}

/// Where it listens, and the addresses it gives to Services.
fn place(options: &Options, port: u16) -> Vec<String> {
    // A /24 would be too small for a Service per object.
    let (address, port, services) = match &options.network {
        Some(network) => (network.address, network.port, network.services.as_str()),
        None => (IpAddr::from(Ipv4Addr::LOCALHOST), port, "10.0.0.0/16"),
    };
    let mut args = vec![
        format!("--bind-address={address}"),
        // Without it the server looks for a network interface, which a machine may lack.
        format!("--advertise-address={address}"),
        format!("--secure-port={port}"),
        format!("--service-cluster-ip-range={services}"),
    ];
    if options.network.is_none() {
        // The port stays bound on our side, see `port`.
        args.push("--permit-port-sharing=true".to_owned());
    }
    args
}

/// How kube-apiserver reaches kubelets, for logs and figures.
fn kubelets(access: &Access) -> [String; 3] {
    [
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        file(
            "kubelet-client-certificate",
            access.kubelet_client_certificate(),
        ),
        file("kubelet-client-key", access.kubelet_client_key()),
    ]
}

fn arguments(dir: &Path, access: &Access) -> Vec<String> {
    vec![
        format!("--etcd-servers=unix://{}", datastore::socket(dir).display()),
        file("tls-cert-file", access.serving_certificate()),
        file("tls-private-key-file", access.serving_key()),
        file("token-auth-file", access.tokens()),
        "--authorization-mode=RBAC".to_owned(),
        "--allow-privileged=true".to_owned(),
        // Nothing else is to write the `kubernetes` Service's endpoints.
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-account-issuer=https://localhost".to_owned(),
        file("service-account-key-file", access.account_public_key()),
        file("service-account-signing-key-file", access.account_key()),
    ]
}

/// Metadata of every answered request, but for those of the control plane itself and of what is no
/// resource (probes, discovery, metrics).
fn audit_policy() -> serde_json::Value {
    let mut internal = vec!["system:apiserver"];
    internal.extend(INTERNAL);
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "omitManagedFields": true,
        "rules": [
            { "level": "None", "users": internal },
            { "level": "None", "nonResourceURLs": ["*"] },
            { "level": "Metadata" },
        ],
    })
}
