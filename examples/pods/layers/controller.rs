//! A controller: a reflector with a queue. However often a Pod changes, its function is called once at a
//! time, with what the Pod is now; what fails is retried, what succeeds is reconciled again later.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::watcher;

use super::super::screen::Screen;
use super::told;

pub async fn controller(pods: Api<Pod>, screen: &Screen, errors: &Screen) -> anyhow::Result<()> {
    let on_error = |_, _: &std::io::Error, _| Action::requeue(Duration::from_secs(10));
    let work = Controller::new(pods, watcher::Config::default())
        // Without a bound it would work on all Pods at once.
        .with_config(controller::Config::default().concurrency(4))
        .run(reconcile, on_error, Arc::new(screen.clone()));
    let mut work = std::pin::pin!(work);
    while let Some(done) = work.next().await {
        match done {
            // It went while it waited for its turn.
            Ok(_) | Err(controller::Error::ObjectNotFound(_)) => {}
            Err(error) => errors.line(format_args!("again soon: {error}"))?,
        }
    }
    Ok(())
}

/// Level-triggered: it sees what is, never what happened. A real one would compare and write here.
async fn reconcile(pod: Arc<Pod>, screen: Arc<Screen>) -> Result<Action, std::io::Error> {
    screen.line(told("RECONCILE", &pod))?;
    Ok(Action::requeue(Duration::from_secs(300)))
}
