//! Tells many tasks that something has changed.
//!
//! Guarantees: a change is seen once by each receiver, however many it missed. Those that wait go on in the order in
//! which they began to wait. A `tokio::sync::watch` wakes them in a random order, which a simulation cannot repeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use tokio::sync::Notify;

/// Says that something has changed; those who receive it are told when this is dropped.
#[derive(Default)]
pub(crate) struct Signal(Arc<Shared>);

#[derive(Default)]
struct Shared {
    changes: AtomicU64,
    ended: AtomicBool,
    notify: Notify,
}

/// Waits for changes.
pub(crate) struct Changes {
    shared: Arc<Shared>,
    seen: u64,
}

/// Nothing will change any more.
#[derive(Debug)]
pub(crate) struct Ended;

impl Signal {
    pub(crate) fn send(&self) {
        self.0.changes.fetch_add(1, SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Changes from now on.
    pub(crate) fn subscribe(&self) -> Changes {
        Changes {
            shared: Arc::clone(&self.0),
            seen: self.0.changes.load(SeqCst),
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        self.0.ended.store(true, SeqCst);
        self.0.notify.notify_waiters();
    }
}

impl Changes {
    /// The changes so far count as seen.
    pub(crate) fn mark_unchanged(&mut self) {
        self.seen = self.shared.changes.load(SeqCst);
    }

    /// Waits for a change that was not seen. Nothing is lost where this is dropped.
    ///
    /// # Errors
    /// Nothing will change any more.
    pub(crate) async fn changed(&mut self) -> Result<(), Ended> {
        loop {
            // Before the look: it is woken by every change from here on.
            let notified = self.shared.notify.notified();
            let changes = self.shared.changes.load(SeqCst);
            if changes != self.seen {
                self.seen = changes;
                return Ok(());
            }
            if self.shared.ended.load(SeqCst) {
                return Err(Ended);
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::Signal;

    #[tokio::test]
    async fn those_that_wait_go_on_in_their_order() {
        let (signal, order) = (Signal::default(), Arc::new(Mutex::new(Vec::new())));
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let (mut changes, order) = (signal.subscribe(), Arc::clone(&order));
                tokio::spawn(async move {
                    changes.changed().await.expect("a change");
                    order.lock().expect("whole").push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        signal.send();
        for task in tasks {
            task.await.expect("no panic");
        }
        let order = order.lock().expect("whole");
        assert_eq!(*order, (0..40).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn changes_that_were_missed_are_one_and_the_end_is_told() {
        let signal = Signal::default();
        let mut changes = signal.subscribe();
        signal.send();
        signal.send();
        changes.changed().await.expect("a change");
        signal.send();
        changes.mark_unchanged();
        drop(signal);
        assert!(changes.changed().await.is_err());
    }
}
