//! How a Pod is, in one word.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod, PodCondition, PodStatus};

use super::parts::{is_ready, terminated, waiting};
use super::start::Start;

/// One word for the whole Pod.
pub fn of(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let phase = status.phase.clone().unwrap_or_default();
    let reason = status.reason.clone().filter(|reason| !reason.is_empty());
    let gated = |one: &PodCondition| {
        one.type_ == "PodScheduled" && one.reason.as_deref() == Some("SchedulingGated")
    };
    let mut word = reason.clone().unwrap_or_else(|| phase.clone());
    if status.conditions.iter().flatten().any(gated) {
        word = "SchedulingGated".to_owned();
    }
    let start = Start::of(pod);
    if let Some(waits) = &start.waits {
        word.clone_from(waits);
    }
    if start.is_over(pod) {
        word = word_of_containers(&status, word);
    }
    match pod.metadata.deletion_timestamp {
        Some(_) if reason.as_deref() == Some("NodeLost") => "Unknown".to_owned(),
        Some(_) if !matches!(&*phase, "Succeeded" | "Failed") => "Terminating".to_owned(),
        _ => word,
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
pub fn word_of_end(end: &ContainerStateTerminated) -> String {
    match (end.reason.as_deref(), end.signal) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", end.exit_code),
    }
}
