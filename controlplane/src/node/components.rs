//! How containerd, kube-scheduler and kubelet are set up on a node.
//!
//! Guarantees: their files are below the node's folder, or where `init.sh` has put something of the
//! node's own; settings that are needed without systemd or without all of root's capabilities say so.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::build::binaries::NodeBinaries;
use crate::credentials::owner_only;
use crate::node::addresses::IpFamily;
use crate::node::namespaces::Namespaces;
use crate::node::tools::CNI;
use crate::node::{Error, NAME, PAUSE};
use tare_procstat::process::Spec;

/// The kubelet's user, and the scheduler's.
pub(crate) const KUBELET: &str = "kubelet";
pub(crate) const SCHEDULER: &str = "system:kube-scheduler";

/// What a kubelet is told about where it is.
pub(crate) struct Place<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) family: IpFamily,
    pub(crate) namespaces: &'a Namespaces,
    /// From the root of each hierarchy.
    pub(crate) cgroup: &'a str,
}

pub(crate) fn containerd(
    dir: &Path,
    family: IpFamily,
    namespaces: &Namespaces,
    log: PathBuf,
) -> Result<Spec, Error> {
    let (config, networks) = (dir.join("containerd.toml"), dir.join("cni"));
    owner_only::folder(&networks)?;
    let pods = network(dir, family).to_string();
    owner_only::file(&networks.join("pods.conflist"), &pods)?;
    owner_only::file(&config, &containerd_config(dir, &networks))?;
    let command = vec![
        "containerd".to_owned(),
        format!("--config={}", config.display()),
    ];
    Ok(namespaces.spec("containerd", command, log))
}

fn containerd_config(dir: &Path, networks: &Path) -> String {
    // A JSON string is a TOML string.
    let quoted = |path: &Path| serde_json::Value::from(path.display().to_string()).to_string();
    let (root, plugins) = (quoted(&dir.join("containerd")), quoted(&dir.join("opt")));
    let (networks, cni) = (quoted(networks), quoted(Path::new(CNI)));
    format!(
        r#"version = 2
root = {root}
state = "/run/containerd"
# Less than the caller's needs CAP_SYS_RESOURCE.
oom_score = 0
[plugins."io.containerd.internal.v1.opt"]
  path = {plugins}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # Without CAP_SYS_RESOURCE runc fails otherwise: "can't get final child's PID from pipe: EOF".
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = {cni}
    conf_dir = {networks}
"#
    )
}

/// The pods' network; without one the node stays NotReady.
fn network(dir: &Path, family: IpFamily) -> serde_json::Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": true,
            "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": dir.join("addresses"),
                "ranges": [[{ "subnet": family.pods() }]],
                "routes": [{ "dst": family.anywhere() }],
            },
        }],
    })
}

/// It needs nothing of the node: it runs beside it.
pub(crate) fn scheduler(binaries: &NodeBinaries, kubeconfig: &Path, log: PathBuf) -> Spec {
    let args = [
        format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false".to_owned(),
        // Serves nothing: no port to choose.
        "--secure-port=0".to_owned(),
    ];
    Spec {
        name: "kube-scheduler".to_owned(),
        program: binaries.kube_scheduler.clone(),
        args: args.to_vec(),
        env: Vec::new(),
        folder: None,
        clear_env: true,
        log,
    }
}

pub(crate) fn kubelet(
    binaries: &NodeBinaries,
    place: &Place<'_>,
    kubeconfig: &Path,
    log: PathBuf,
) -> Result<Spec, Error> {
    let config = place.dir.join("kubelet.json");
    owner_only::file(&config, &kubelet_config(place).to_string())?;
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    let command = vec![
        binaries.kubelet.display().to_string(),
        file("config", &config),
        file("kubeconfig", kubeconfig),
        format!("--hostname-override={NAME}"),
        format!("--node-ip={}", place.family.node()),
        file("root-dir", &place.dir.join("kubelet")),
        file("cert-dir", &place.dir.join("pki")),
    ];
    Ok(place.namespaces.spec("kubelet", command, log))
}

fn kubelet_config(place: &Place<'_>) -> serde_json::Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        // There is no systemd, and version 1 is still what some machines have.
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "cgroupsPerQOS": true,
        "cgroupRoot": place.cgroup,
        "enforceNodeAllocatable": ["pods"],
        // More than the caller's limit, or less than its score, needs CAP_SYS_RESOURCE.
        "maxOpenFiles": 20_000,
        "oomScoreAdj": 0,
        "failSwapOn": false,
        "makeIPTablesUtilChains": false,
        "resolvConf": "",
        // The machine's disk is its owner's business.
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "volumePluginDir": place.dir.join("flex"),
        "readOnlyPort": 0,
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": true },
            "x509": { "clientCAFile": place.dir.join("plane/ca.pem") },
        },
        "authorization": { "mode": "Webhook" },
    })
}
