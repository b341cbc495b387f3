//! A watcher: lists and watches again by itself, whatever happens. It says when it begins anew, so that
//! what is not named between `INIT` and `INIT DONE` is known to be gone.

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};

use super::super::screen::Screen;
use super::told;

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

/// After a failure it waits, longer and longer.
pub fn watch(pods: Api<Pod>) -> impl Stream<Item = watcher::Result<Event<Pod>>> + Send + Unpin {
    let events = kube::runtime::watcher(pods, watcher::Config::default());
    events.default_backoff().boxed()
}
