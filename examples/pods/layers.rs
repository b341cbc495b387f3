//! From a client to a controller: the same Pods through four layers, each on top of the one before.
//!
//! Each prints one line per thing it is told. All but the first run until they are dropped.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::reflector::store;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};

use super::pod_ext::PodExt;
use super::screen::Screen;

/// A client: one list, one watch from where the list was. Both end, and what to do then is yours: the
/// server closes a watch after some minutes, or answers that its history does not reach back that far.
pub async fn client(pods: Api<Pod>, screen: &Screen) -> anyhow::Result<()> {
    let list = pods.list(&ListParams::default()).await?;
    for pod in &list {
        screen.line(told("LISTED", pod))?;
    }
    let from = list.metadata.resource_version.unwrap_or_default();
    let mut events = pods.watch(&WatchParams::default(), &from).await?.boxed();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(pod) => screen.line(told("ADDED", &pod))?,
            WatchEvent::Modified(pod) => screen.line(told("MODIFIED", &pod))?,
            WatchEvent::Deleted(pod) => screen.line(told("DELETED", &pod))?,
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => bail!("the watch has ended: {}", status.message),
        }
    }
    Ok(())
}

/// A watcher: lists and watches again by itself, whatever happens. It says when it begins anew, so that
/// what is not named between `INIT` and `INIT DONE` is known to be gone.
pub async fn watcher(pods: Api<Pod>, screen: &Screen, errors: &Screen) -> anyhow::Result<()> {
    let mut events = watch(pods);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => screen.line("INIT")?,
            Ok(Event::InitApply(pod)) => screen.line(told("INIT APPLY", &pod))?,
            Ok(Event::InitDone) => screen.line("INIT DONE")?,
            Ok(Event::Apply(pod)) => screen.line(told("APPLY", &pod))?,
            Ok(Event::Delete(pod)) => screen.line(told("DELETE", &pod))?,
            // It goes on by itself; who only logs errors never ends with one.
            Err(error) => errors.line(format_args!("again soon: {error}"))?,
        }
    }
    Ok(())
}

/// A reflector: a watcher that writes into a store. Whoever has the store asks it instead of the server:
/// no request, at the price of every Pod in memory.
pub async fn reflector(pods: Api<Pod>, screen: &Screen, errors: &Screen) -> anyhow::Result<()> {
    let (store, writer) = store();
    let mut events = watch(pods).reflect(writer).boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)) => {
                let pods = store.state();
                let of = |status: &str| pods.iter().filter(|pod| pod.status() == status).count();
                let (all, running, pending) = (pods.len(), of("Running"), of("Pending"));
                screen.line(format_args!(
                    "{all} Pods: {running} Running, {pending} Pending"
                ))?;
            }
            Ok(Event::Init | Event::InitApply(_)) => {}
            Err(error) => errors.line(format_args!("again soon: {error}"))?,
        }
    }
    Ok(())
}

/// A controller: a reflector with a queue. However often a Pod changes, its function is called once at a
/// time, with what the Pod is now; what fails is tried again, what succeeds is looked at again later.
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

fn watch(pods: Api<Pod>) -> impl Stream<Item = watcher::Result<Event<Pod>>> + Send + Unpin {
    let events = kube::runtime::watcher(pods, watcher::Config::default());
    events.default_backoff().boxed()
}

fn told(what: &str, pod: &Pod) -> String {
    let namespace = pod.namespace().unwrap_or_default();
    format!("{what} {namespace}/{} {}", pod.name_any(), pod.status())
}
