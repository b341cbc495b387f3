//! A reflector: a watcher that writes into a store. A reader asks the store instead of the server:
//! no request, at the price of every Pod in memory.

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;

use super::super::pod_ext::PodExt;
use super::super::screen::Screen;
use super::watcher::watch;

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
