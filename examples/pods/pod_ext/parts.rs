//! Parts of a Pod that may not be there.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};

pub fn statuses(pod: &Pod) -> &[ContainerStatus] {
    let status = pod.status.as_ref();
    let statuses = status.and_then(|status| status.container_statuses.as_deref());
    statuses.unwrap_or_default()
}

pub fn terminated(state: &Option<ContainerState>) -> Option<&ContainerStateTerminated> {
    state.as_ref()?.terminated.as_ref()
}

/// The reason it waits for, if it says one.
pub fn waiting(state: &Option<ContainerState>) -> Option<&str> {
    let waiting = state.as_ref()?.waiting.as_ref()?;
    waiting
        .reason
        .as_deref()
        .filter(|reason| !reason.is_empty())
}

pub fn is_ready(one: &ContainerStatus) -> bool {
    let runs = one
        .state
        .as_ref()
        .is_some_and(|state| state.running.is_some());
    let stopped = waiting(&one.state).is_some() || terminated(&one.state).is_some();
    one.ready && runs && !stopped
}

pub fn is_sidecar(pod: &Pod, status: &ContainerStatus) -> bool {
    let spec = pod.spec.iter().flat_map(|spec| &spec.init_containers);
    let mut named = spec.flatten().filter(|one| one.name == status.name);
    named.any(|one| one.restart_policy.as_deref() == Some("Always"))
}

/// Is the first condition of this type true?
pub fn condition(pod: &Pod, kind: &str) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let mut of_kind = conditions.flatten().filter(|one| one.type_ == kind);
    of_kind.next().is_some_and(|one| one.status == "True")
}
