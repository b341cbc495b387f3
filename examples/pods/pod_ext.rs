//! Selection a person wants to know of a Pod, as methods of `Pod`: an extension trait.
//!
//! Guarantees: pure; the answers are those of `kubectl get pods -o wide` against a server of 1.36.
//! Source: `printPod` in Kubernetes v1.36.4, `pkg/printers/internalversion/printers.go`. (Servers before
//! 1.36 call a Pod with a failed and a completed container `Completed`, since 1.36 it is the failure.)

mod parts;
mod restarts;
mod start;
mod word;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::jiff::Timestamp;
use parts::{condition, is_ready, is_sidecar, statuses};
pub use restarts::Restarts;
use start::Start;

use super::age;

pub trait PodExt {
    /// Those that run beside each other for the Pod's whole life: its containers, and init containers
    /// that are restarted (sidecars).
    fn containers(&self) -> Vec<&Container>;
    /// How many of [`PodExt::containers`] are ready, and how many there are.
    fn ready(&self) -> (usize, usize);
    /// One word for how it is: `Running`, `Init:0/1`, `CrashLoopBackOff`, `Terminating`, …
    fn status(&self) -> String;
    fn restarts(&self) -> Restarts;
    fn age(&self, now: Timestamp) -> String;
    fn ip(&self) -> Option<&str>;
    /// How many readiness gates are open, and how many there are; `None` without any.
    fn readiness_gates(&self) -> Option<(usize, usize)>;
}

impl PodExt for Pod {
    fn containers(&self) -> Vec<&Container> {
        let Some(spec) = &self.spec else {
            return Vec::new();
        };
        let sidecars = spec.init_containers.iter().flatten();
        let sidecars = sidecars.filter(|one| one.restart_policy.as_deref() == Some("Always"));
        sidecars.chain(&spec.containers).collect()
    }

    fn ready(&self) -> (usize, usize) {
        let start = Start::of(self);
        let main = statuses(self).iter().filter(|one| is_ready(one)).count();
        let main = if start.is_over(self) { main } else { 0 };
        (start.ready_sidecars + main, self.containers().len())
    }

    fn status(&self) -> String {
        word::of(self)
    }

    fn restarts(&self) -> Restarts {
        let start = Start::of(self);
        if !start.is_over(self) {
            return Restarts::of(start.seen);
        }
        // Those of init containers that are done are over and forgotten.
        let sidecars = start.seen.into_iter().filter(|one| is_sidecar(self, one));
        Restarts::of(sidecars.chain(statuses(self)))
    }

    fn age(&self, now: Timestamp) -> String {
        let created = self.metadata.creation_timestamp.as_ref();
        age::since(created.map(|time| time.0), now)
    }

    fn ip(&self) -> Option<&str> {
        let status = self.status.as_ref()?;
        let all = status.pod_ips.iter().flatten().map(|one| one.ip.as_str());
        let mut all = status.pod_ip.as_deref().into_iter().chain(all);
        all.find(|ip| !ip.is_empty())
    }

    fn readiness_gates(&self) -> Option<(usize, usize)> {
        let gates = self.spec.as_ref()?.readiness_gates.as_ref()?;
        let open = gates
            .iter()
            .filter(|gate| condition(self, &gate.condition_type));
        (!gates.is_empty()).then(|| (open.count(), gates.len()))
    }
}
