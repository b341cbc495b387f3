//! Something costly that the tests of one binary share, such as a control plane.
//!
//! Guarantees: the first test that needs it starts it, and it is started once, after a failure too; tests
//! run beside each other, except one that asks to be alone; it ends when [`Shared`] is dropped.
//! Leaves to others: what is shared, and how tests that run beside each other keep apart.

use futures::future::BoxFuture;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OnceCell, RwLock};

type Start<T> = Box<dyn Fn() -> BoxFuture<'static, Result<T, String>> + Send + Sync>;

/// A value that tests share, and the runtime on which it and its tests run.
pub struct Shared<T> {
    start: Start<T>,
    // Before the runtime: it is dropped first, while what it has spawned still runs.
    started: OnceCell<Result<T, String>>,
    /// Held for reading by tests beside each other, for writing by one alone.
    gate: RwLock<()>,
    runtime: Runtime,
}

impl<T> Shared<T> {
    /// Nothing is started before the first test.
    ///
    /// # Errors
    /// The runtime cannot be built.
    pub fn new<F>(start: impl Fn() -> F + Send + Sync + 'static) -> std::io::Result<Shared<T>>
    where
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        Ok(Shared {
            start: Box::new(move || Box::pin(start())),
            started: OnceCell::new(),
            gate: RwLock::new(()),
            runtime: Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?,
        })
    }

    /// Runs a test while others may run too.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn beside_others<R>(&self, test: impl AsyncFnOnce(&T) -> R) -> Result<R, String> {
        self.runtime.block_on(async {
            let shared = self.started().await?;
            let _others = self.gate.read().await;
            Ok(test(shared).await)
        })
    }

    /// Runs a test while no other runs: for one that disturbs them.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn alone<R>(&self, test: impl AsyncFnOnce(&T) -> R) -> Result<R, String> {
        self.runtime.block_on(async {
            let shared = self.started().await?;
            let _nobody = self.gate.write().await;
            Ok(test(shared).await)
        })
    }

    async fn started(&self) -> Result<&T, String> {
        let started = self.started.get_or_init(&self.start).await;
        started.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::Shared;

    #[test]
    fn the_first_user_starts_it_once() {
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&starts);
        let shared = Shared::new(move || {
            let nth = counted.fetch_add(1, SeqCst);
            async move { Ok(nth) }
        })
        .expect("a runtime");
        assert_eq!(starts.load(SeqCst), 0, "nobody needed it yet");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(shared.beside_others(async |nth| *nth), Ok(0)));
            }
        });
        assert_eq!(starts.load(SeqCst), 1);
    }

    #[test]
    fn a_failed_start_is_everyones_answer_and_not_tried_again() {
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&starts);
        let shared: Shared<()> = Shared::new(move || {
            counted.fetch_add(1, SeqCst);
            async { Err("no binaries".to_owned()) }
        })
        .expect("a runtime");
        for _ in 0..2 {
            let ran = shared.beside_others(async |()| ());
            assert_eq!(ran, Err("no binaries".to_owned()));
        }
        assert_eq!(starts.load(SeqCst), 1);
    }

    #[test]
    fn one_that_has_to_be_alone_is() {
        let shared = Shared::new(|| async { Ok(AtomicUsize::new(0)) }).expect("a runtime");
        let enter = async |inside: &AtomicUsize| {
            let others = inside.fetch_add(1, SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, SeqCst);
            others
        };
        std::thread::scope(|scope| {
            for nth in 0..8 {
                let shared = &shared;
                scope.spawn(move || match nth % 2 {
                    0 => assert_eq!(shared.alone(enter), Ok(0), "nobody else is inside"),
                    _ => assert!(shared.beside_others(enter).is_ok()),
                });
            }
        });
    }
}
