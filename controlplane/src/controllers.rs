//! How kube-controller-manager is started, and which of its controllers run.

use std::path::PathBuf;

use crate::build::binaries::Binaries;
use crate::credentials::{Access, CONTROLLERS};
use crate::options::Options;
use tare_procstat::process::Spec;

/// What an operator relies on however pods come about.
const ALWAYS: [&str; 3] = [
    "garbage-collector-controller",
    "namespace-controller",
    // Fills the roles `admin`, `edit` and `view`, once.
    "clusterrole-aggregation-controller",
];
/// What turns Deployments into Pods, and Pods into endpoints.
const PODS: [&str; 5] = [
    "deployment-controller",
    "replicaset-controller",
    "endpointslice-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
];

pub(crate) fn spec(options: &Options, binaries: &Binaries, access: &Access, log: PathBuf) -> Spec {
    let file = |flag: &str, path: PathBuf| format!("--{flag}={}", path.display());
    let mut args = vec![
        file("kubeconfig", access.kubeconfig(CONTROLLERS)),
        format!("--controllers={}", controllers(options).join(",")),
        file("root-ca-file", access.ca()),
        // The defaults (20 a second) are meant to spare a server that many share.
        "--kube-api-qps=5000".to_owned(),
        "--kube-api-burst=10000".to_owned(),
        "--leader-elect=false".to_owned(),
        "--use-service-account-credentials=false".to_owned(),
        // Serves nothing: no port to choose.
        "--secure-port=0".to_owned(),
    ];
    if options.nodes {
        args.extend([
            file("service-account-private-key-file", access.account_key()),
            // Its default is a folder of the machine's.
            file("flex-volume-plugin-dir", options.dir.join("flex")),
        ]);
    }
    Spec {
        name: "kube-controller-manager".to_owned(),
        program: binaries.kube_controller_manager.clone(),
        args,
        env: Vec::new(),
        folder: None,
        clear_env: true,
        log,
    }
}

fn controllers(options: &Options) -> Vec<&'static str> {
    if options.nodes {
        return vec!["*"];
    }
    let mut controllers = ALWAYS.to_vec();
    if options.pods {
        controllers.extend(PODS);
    }
    controllers
}
