//! Ctrl-C and SIGTERM.
//!
//! Guarantees: a request to stop is not lost, however late it is awaited. Leaves to others: the clean-up;
//! a caller that sees [`Interrupt::requested`] return ends its own work.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Tells whether the user has asked to stop.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on. A second signal ends the process at once, and its child processes with it.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub fn on_signals() -> std::io::Result<Interrupt> {
        let (send, receive) = watch::channel(false);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            for asked_before in [false, true] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if asked_before {
                    std::process::exit(130);
                }
                send.send_replace(true);
            }
        });
        Ok(Interrupt(receive))
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
