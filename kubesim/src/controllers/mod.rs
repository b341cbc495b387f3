//! The one task behind the server: garbage collection, namespaces, readiness.
//!
//! Guarantees: the task holds the server only while it works, so dropping the last handle ends it; it
//! yields between steps, so requests are served while it works through a long queue.

mod garbage;
mod readiness;

use std::sync::{Arc, PoisonError, Weak};

use crate::state::Inner;

/// Starts the controllers on the current runtime, again if the runtime of before is gone.
pub(crate) fn ensure(inner: &Arc<Inner>) {
    let mut running = inner
        .controllers
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if running.as_ref().is_some_and(|task| !task.is_finished()) {
        return;
    }
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let task = runtime.spawn(run(Arc::downgrade(inner)));
        *running = Some(task.abort_handle());
    }
}

async fn run(server: Weak<Inner>) {
    loop {
        let (work, due) = {
            let Some(inner) = server.upgrade() else {
                return;
            };
            let mut steps: u32 = 0;
            while garbage::step(&inner) || readiness::step(&inner) {
                steps += 1;
                if steps.is_multiple_of(16) {
                    tokio::task::yield_now().await;
                }
            }
            (Arc::clone(&inner.work), inner.schedule.next_due())
        };
        match due {
            Some(due) => {
                tokio::select! {
                    biased;
                    () = work.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                }
            }
            None => work.notified().await,
        }
    }
}
