//! Ctrl-C and SIGTERM.
//!
//! Guarantees: a request to stop is never lost, however late it is awaited. Leaves to others:
//! what is kept; whoever awaits [`Interrupt::requested`] drops what it was doing.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A request to stop that may come.
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens from now on. A second signal ends the process at once: children die with it.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
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
