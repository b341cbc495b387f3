//! Ctrl-C and SIGTERM.
//!
//! Guarantees: a request to stop is not lost, however late it is awaited. Leaves to others: the clean-up;
//! a caller that sees [`Interrupt::requested`] return ends its own work.

use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Signals within that time are one request: `timeout` and a shell's job control send two.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Tells whether the user has asked to stop.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on. A second signal, a second later or more, ends the process at once, and its child processes with it.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub fn on_signals() -> std::io::Result<Interrupt> {
        let (send, receive) = watch::channel(false);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            let mut first: Option<Instant> = None;
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if first.is_some_and(|first| first.elapsed() >= ONE_REQUEST) {
                    std::process::exit(130);
                }
                first.get_or_insert_with(Instant::now);
                send.send_replace(true);
            }
        });
        Ok(Interrupt(receive))
    }

    /// Nobody asks: whoever waits is dropped instead.
    pub fn never() -> Interrupt {
        Interrupt(watch::channel(false).1)
    }

    /// What comes of the work; `None` where a stop is asked for first, and then the work is dropped.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.requested() => None,
            done = work => Some(done),
        }
    }

    /// Returns once a stop was asked for.
    pub async fn requested(&self) {
        let mut receive = self.0.clone();
        if receive.wait_for(|asked| *asked).await.is_err() {
            // The listener ended, so nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }
}
