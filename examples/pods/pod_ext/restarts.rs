//! How often the containers of a Pod were started again.

use k8s_openapi::api::core::v1::ContainerStatus;
use k8s_openapi::jiff::Timestamp;

use super::age;
use super::parts::terminated;

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

    pub fn of<'a>(statuses: impl IntoIterator<Item = &'a ContainerStatus>) -> Restarts {
        let (mut count, mut last) = (0, None);
        for status in statuses {
            count += status.restart_count;
            let ended = terminated(&status.last_state).and_then(|end| end.finished_at.as_ref());
            last = last.max(ended.map(|time| time.0));
        }
        Restarts { count, last }
    }
}
