//! What a person wants to know of a Pod, as methods of `Pod`: an extension trait.
//!
//! Guarantees: pure; the answers are those of `kubectl get pods -o wide` against a server of 1.36.
//! Source: `printPod` in Kubernetes v1.36.4, `pkg/printers/internalversion/printers.go`. (Servers before
//! 1.36 call a Pod with a failed and a completed container `Completed`, since 1.36 it is the failure.)

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition,
    PodSpec, PodStatus,
};
use k8s_openapi::jiff::Timestamp;

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

/// How often containers were started again.
#[derive(Debug, PartialEq)]
pub struct Restarts {
    pub count: i32,
    /// When the last of them had ended.
    pub last: Option<Timestamp>,
}

impl Restarts {
    /// `0`, `3`, `3 (5m ago)`
    pub fn text(&self, now: Timestamp) -> String {
        match self {
            Restarts { count, last: None }
            | Restarts {
                count: count @ 0, ..
            } => count.to_string(),
            Restarts { count, last } => format!("{count} ({} ago)", age::since(*last, now)),
        }
    }

    fn of<'a>(statuses: impl IntoIterator<Item = &'a ContainerStatus>) -> Restarts {
        let (mut count, mut last) = (0, None);
        for status in statuses {
            count += status.restart_count;
            let ended = terminated(&status.last_state).and_then(|end| end.finished_at.as_ref());
            last = last.max(ended.map(|time| time.0));
        }
        Restarts { count, last }
    }
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
        let status = self.status.clone().unwrap_or_default();
        let phase = status.phase.clone().unwrap_or_default();
        let reason = status.reason.clone().filter(|reason| !reason.is_empty());
        let gated = |one: &PodCondition| {
            one.type_ == "PodScheduled" && one.reason.as_deref() == Some("SchedulingGated")
        };
        let mut word = reason.clone().unwrap_or_else(|| phase.clone());
        if status.conditions.iter().flatten().any(gated) {
            word = "SchedulingGated".to_owned();
        }
        let start = Start::of(self);
        if let Some(waits) = &start.waits {
            word.clone_from(waits);
        }
        if start.is_over(self) {
            word = word_of_containers(&status, word);
        }
        match self.metadata.deletion_timestamp {
            Some(_) if reason.as_deref() == Some("NodeLost") => "Unknown".to_owned(),
            Some(_) if !matches!(&*phase, "Succeeded" | "Failed") => "Terminating".to_owned(),
            _ => word,
        }
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

/// Init containers in their order, up to and with the first that has not done its part.
struct Start<'a> {
    seen: Vec<&'a ContainerStatus>,
    ready_sidecars: usize,
    /// What that one is doing; `None` when all have done theirs.
    waits: Option<String>,
}

impl Start<'_> {
    fn of(pod: &Pod) -> Start<'_> {
        let statuses = pod
            .status
            .iter()
            .flat_map(|status| &status.init_container_statuses);
        let count = |spec: &PodSpec| spec.init_containers.as_ref().map_or(0, Vec::len);
        let all = pod.spec.as_ref().map_or(0, count);
        let mut start = Start {
            seen: Vec::new(),
            ready_sidecars: 0,
            waits: None,
        };
        for (i, status) in statuses.flatten().enumerate() {
            start.seen.push(status);
            let waits = match (terminated(&status.state), waiting(&status.state)) {
                (Some(end), _) if end.exit_code == 0 => continue,
                _ if status.started == Some(true) && is_sidecar(pod, status) => {
                    start.ready_sidecars += usize::from(status.ready);
                    continue;
                }
                (Some(end), _) => format!("Init:{}", word_of_end(end)),
                (None, Some(reason)) if reason != "PodInitializing" => format!("Init:{reason}"),
                _ => format!("Init:{i}/{all}"),
            };
            start.waits = Some(waits);
            break;
        }
        start
    }

    /// Do the containers themselves count by now?
    fn is_over(&self, pod: &Pod) -> bool {
        self.waits.is_none() || condition(pod, "Initialized")
    }
}

/// The first container that waits or has ended gives the word; without one it stays.
fn word_of_containers(status: &PodStatus, mut word: String) -> String {
    let statuses = status.container_statuses.as_deref().unwrap_or_default();
    let mut failure = None;
    for one in statuses.iter().rev() {
        if let Some(reason) = waiting(&one.state) {
            reason.clone_into(&mut word);
        } else if let Some(end) = terminated(&one.state) {
            word = word_of_end(end);
            if end.exit_code != 0 {
                failure = Some(word.clone());
            }
        }
    }
    let runs = statuses.iter().any(is_ready);
    let is_ready = |one: &PodCondition| one.type_ == "Ready" && one.status == "True";
    let ready = status.conditions.iter().flatten().any(is_ready);
    // Completed beside others: what they are says more.
    match (word.as_str(), failure) {
        ("Completed", _) if runs && ready => "Running".to_owned(),
        ("Completed", Some(failure)) => failure,
        ("Completed", None) if runs => "NotReady".to_owned(),
        _ => word,
    }
}

/// `Error`, `OOMKilled`; without a reason the signal or the exit code.
fn word_of_end(end: &ContainerStateTerminated) -> String {
    match (end.reason.as_deref(), end.signal) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", end.exit_code),
    }
}

fn statuses(pod: &Pod) -> &[ContainerStatus] {
    let status = pod.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_deref());
    statuses.unwrap_or_default()
}

fn terminated(state: &Option<ContainerState>) -> Option<&ContainerStateTerminated> {
    state.as_ref()?.terminated.as_ref()
}

/// The reason it waits for, if it says one.
fn waiting(state: &Option<ContainerState>) -> Option<&str> {
    let waiting = state.as_ref()?.waiting.as_ref()?;
    waiting
        .reason
        .as_deref()
        .filter(|reason| !reason.is_empty())
}

fn is_ready(one: &ContainerStatus) -> bool {
    let runs = one
        .state
        .as_ref()
        .is_some_and(|state| state.running.is_some());
    let stopped = waiting(&one.state).is_some() || terminated(&one.state).is_some();
    one.ready && runs && !stopped
}

fn is_sidecar(pod: &Pod, status: &ContainerStatus) -> bool {
    let spec = pod.spec.iter().flat_map(|spec| &spec.init_containers);
    let mut named = spec.flatten().filter(|one| one.name == status.name);
    named.any(|one| one.restart_policy.as_deref() == Some("Always"))
}

/// Is the first condition of this type true?
fn condition(pod: &Pod, kind: &str) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let mut of_kind = conditions.flatten().filter(|one| one.type_ == kind);
    of_kind.next().is_some_and(|one| one.status == "True")
}
