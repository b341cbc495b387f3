//! The one task behind the server: garbage collection, namespaces, readiness.
//!
//! Guarantees: it holds the server only while it works, so dropping the last handle ends it; it
//! yields between steps, so requests are served while it works through a long queue.

use std::sync::{Arc, Weak};

use crate::server::Inner;

pub(crate) async fn run(server: Weak<Inner>) {
    loop {
        let (work, due) = {
            let Some(inner) = server.upgrade() else {
                return;
            };
            let mut steps: u32 = 0;
            while inner.garbage.step(&inner) || inner.agenda.step(&inner) {
                steps += 1;
                if steps.is_multiple_of(16) {
                    tokio::task::yield_now().await;
                }
            }
            (Arc::clone(&inner.work), inner.agenda.next_due())
        };
        match due {
            Some(due) => {
                tokio::select! {
                    () = work.notified() => {}
                    () = tokio::time::sleep_until(due) => {}
                }
            }
            None => work.notified().await,
        }
    }
}
