//! The control planes that a subject can run against.

/// The choices of `--control-plane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ControlPlane {
    /// Simulated API server, in memory
    Kubesim,
    /// kube-apiserver with etcd
    Kube,
    /// kube-apiserver with kine on SQLite, as in k3s
    Kine,
    /// Cluster of a kubeconfig, or the one that loadgen runs in
    Existing,
}

impl ControlPlane {
    pub fn name(self) -> &'static str {
        match self {
            ControlPlane::Kubesim => "kubesim",
            ControlPlane::Kube => "kube",
            ControlPlane::Kine => "kine",
            ControlPlane::Existing => "existing",
        }
    }

    /// A real kube-apiserver that is started for this alone.
    pub fn is_ours_and_real(self) -> bool {
        matches!(self, ControlPlane::Kube | ControlPlane::Kine)
    }
}
