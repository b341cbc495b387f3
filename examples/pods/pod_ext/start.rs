//! The beginning of a Pod: its init containers, one after the other.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodSpec};

use super::parts::{condition, is_sidecar, terminated, waiting};
use super::word::word_of_end;

/// Init containers in their order, up to and with the first that has not done its part.
pub struct Start<'a> {
    pub seen: Vec<&'a ContainerStatus>,
    pub ready_sidecars: usize,
    /// Selection that one is doing; `None` when all have done theirs.
    pub waits: Option<String>,
}

impl Start<'_> {
    pub fn of(pod: &Pod) -> Start<'_> {
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
    pub fn is_over(&self, pod: &Pod) -> bool {
        self.waits.is_none() || condition(pod, "Initialized")
    }
}
