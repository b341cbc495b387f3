//! The operator as a process that can stand still and can be killed between any two of its steps.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Whether a process runs. Everything that it does is polled by one task, which this holds.
#[derive(Default)]
pub struct Process {
    killed: AtomicBool,
    suspended: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Process {
    /// Nothing of it runs from here on.
    pub fn kill(&self) {
        self.killed.store(true, Relaxed);
    }

    pub fn suspend(&self) {
        self.suspended.store(true, Relaxed);
    }

    pub fn resume(&self) {
        self.suspended.store(false, Relaxed);
        let waker = self
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Runs `program` while the process runs.
    pub async fn run<T>(&self, program: impl Future<Output = T>) -> T {
        let mut program = std::pin::pin!(program);
        poll_fn(|cx| {
            if self.killed.load(Relaxed) {
                return Poll::Pending;
            }
            if self.suspended.load(Relaxed) {
                let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
                *waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            program.as_mut().poll(cx)
        })
        .await
    }

    /// Goes on only if the process was not killed.
    pub async fn is_alive(&self) {
        if self.killed.load(Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}
