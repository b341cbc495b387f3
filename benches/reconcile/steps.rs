//! The parts of the operator's work, each as what criterion repeats.
//!
//! Guarantees: each ends in the state that it should, or the bench stops; what is needed beforehand
//! (objects, pages, a server) is made outside of what is measured. Clocks stand still while anything
//! can run, so nothing waits.
//! Leaves to others: what is measured of it, and for how long; whole EdgeApps (`lifecycle`).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::Measurement;
use criterion::{BatchSize, Bencher};
use kube::Client;
use kube::api::PostParams;
use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::api::{Children, DEPLOYMENT, Operator, Owner, SERVICE};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Limits;
use tare_runtime::internals::{
    Admission, Api, ChildNames, Comparer, Coverage, Found, Observation, Observed, Observer,
    Outcome, Paths, Queue, Relist, WatchEvent, WatchStream,
};
use tare_runtime::model::{
    ChildState, Finalizers, KindId, Meta, ObjectKey, OwnerObject, OwnerState, Retention, Uid,
    Versions,
};
use tokio::runtime::{Builder, Runtime};

use super::scenario::{Simulated, pass};
use super::support::canned;
use super::support::object::Template;

/// For one request to a server that answers from memory.
const DEADLINE: Duration = Duration::from_secs(10);
/// Owners that pass through the queue: each is heard of twice.
const QUEUED: usize = 500;

/// The pure plan of a ready EdgeApp.
///
/// # Errors
/// The scenario's object cannot be read.
pub fn plan<M: Measurement>() -> anyhow::Result<impl FnMut(&mut Bencher<'_, M>)> {
    let object = Template::read()?.object("web", 1);
    let owner = Owner::<EdgeApps>::new(
        Meta {
            name: "web".into(),
            namespace: "default".into(),
            generation: 1,
            ..Meta::default()
        },
        serde_json::from_value(object["spec"].clone())?,
    );
    let ready = ChildState {
        generation: 1,
        observed_generation: 1,
        replicas: 1,
        updated_replicas: 1,
        ready_replicas: 1,
        available_replicas: 1,
        ..ChildState::default()
    };
    let mut children = Children::default();
    children.record(&DEPLOYMENT, "web", ready);
    children.record(&SERVICE, "web", ChildState::default());
    Ok(move |bencher: &mut Bencher<'_, M>| {
        bencher.iter(|| EdgeApps.plan(black_box(&owner), black_box(&children)));
    })
}

/// One event of an EdgeApp, from the bytes of the watch to what the cache keeps of it.
///
/// # Errors
/// The scenario's object cannot be read, or there is no runtime.
pub fn decode<M: Measurement>(
    mode: Mode,
    measurement: M,
) -> anyhow::Result<impl FnMut(&mut Bencher<'_, M>)> {
    let runtime = paused()?;
    let template = Template::read()?;
    let mut stream = runtime.block_on(async {
        let event = event(mode, &template).await;
        let api = Api::new(canned::endless_watch(&event), Arc::default(), DEADLINE);
        let paths = Paths::of::<EdgeApps>(&[], None);
        let paths = match mode {
            Mode::Metadata => paths.watched_as_metadata::<EdgeApps>(),
            Mode::None | Mode::Pruned => paths,
        };
        let mut stream = {
            let paths = Arc::new(paths);
            let observer = {
                let names = Arc::new(ChildNames::new(EdgeApps::KINDS.len()));
                Observer::<EdgeApps>::new(Arc::clone(&paths), names)
            };
            let collection = Arc::clone(paths.collection(KindId::OWNER));
            WatchStream::new(api, collection, observer, KindId::OWNER, 1)
        };
        assert!(matches!(stream.next().await.event, WatchEvent::Opened));
        stream
    });
    let mut cache = mode.cache(&Arc::new(EdgeApps));
    Ok(move |bencher: &mut Bencher<'_, M>| {
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                let before = measurement.start();
                for _ in 0..times {
                    let item = stream.next().await;
                    let WatchEvent::Object {
                        object: Observed::Owner { mut state, .. },
                        ..
                    } = item.event
                    else {
                        panic!("not an owner: {item:?}");
                    };
                    assert!(cache.on_owner(&mut state, None));
                    black_box(state);
                }
                measurement.end(before)
            })
        });
    })
}

/// What the watch of a mode shows of a converged EdgeApp.
async fn event(mode: Mode, template: &Template) -> Value {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    post(&cluster, template.object("web", 1)).await;
    cluster.until_phase("web", "Running").await;
    pass(5).await;
    running.stop().await;
    let object = cluster.get("edgeapps", "web");
    let object = match mode {
        Mode::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
        }
        Mode::None | Mode::Pruned => object,
    };
    json!({"type": "MODIFIED", "object": object})
}

/// 1,000 events through the queue: 500 new owners and what our own writes to them show, with a worker
/// that is done at once.
pub fn queue<M: Measurement>() -> impl FnMut(&mut Bencher<'_, M>) {
    let owners: Vec<(ObjectKey, OwnerState, OwnerState)> = (0..QUEUED).map(owner_states).collect();
    move |bencher: &mut Bencher<'_, M>| {
        bencher.iter_batched(
            || owners.clone(),
            |owners| {
                let versions = Versions::new(EdgeApps::KINDS.len() + 1);
                let mut queue = Queue::new(Limits::default(), versions, true, 7);
                for (key, new, written) in owners {
                    assert_eq!(queue.observe(&key, shown(new), 0), Admission::Accepted);
                    let Some((taken, mut state)) = queue.take() else {
                        panic!("{key} was not queued");
                    };
                    state.object.own_version = written.object.resource_version;
                    state.object.status = written.object.status.clone();
                    let outcome = Outcome::Written {
                        ready: true,
                        requeue_after: None,
                    };
                    queue.finish(&taken, state, outcome, 0);
                    queue
                        .versions()
                        .advance(KindId::OWNER, 0, written.object.resource_version);
                    queue.observe(&key, shown(written), 0);
                }
                assert!(queue.is_empty(), "a converged owner needs no entry");
                queue
            },
            BatchSize::LargeInput,
        );
    }
}

/// The watch of the owners shows it.
fn shown(shown: OwnerState) -> Observation<'static> {
    let is_known = false;
    Observation::Owner { shown, is_known }
}

/// An owner as it is new, and as our write to its status shows it.
fn owner_states(n: usize) -> (ObjectKey, OwnerState, OwnerState) {
    let new = OwnerState::from(OwnerObject {
        uid: Uid::parse(&format!("00000000-0000-0000-0000-{n:012x}")).unwrap_or_default(),
        generation: 1,
        resource_version: 2 * n as u64 + 1,
        finalizers: Finalizers {
            ours: Some(0),
            retired: None,
            count: 1,
            orphan: false,
        },
        body: Some(r#"{"image":"registry.local/shop/web:1.4","replicas":1,"port":8080}"#.into()),
        ..OwnerObject::default()
    });
    let mut written = new.clone();
    written.object.resource_version += 1;
    written.object.status.observed_generation = Some(1);
    written.object.status.ready = true;
    (ObjectKey::new("default", &format!("ea-{n}")), new, written)
}

/// A relist over so many converged EdgeApps, from pages in memory.
pub fn relist<M: Measurement>(edgeapps: usize, measurement: M) -> impl FnMut(&mut Bencher<'_, M>) {
    let mut pages: Option<(Runtime, Client)> = None;
    move |bencher: &mut Bencher<'_, M>| {
        let (runtime, client) = pages.get_or_insert_with(|| remembered(edgeapps));
        bencher.iter_custom(|times| {
            runtime.block_on(async {
                let before = measurement.start();
                for _ in 0..times {
                    relist_once(client.clone()).await;
                }
                measurement.end(before)
            })
        });
    }
}

/// A server that has the pages of so many converged EdgeApps in memory.
fn remembered(edgeapps: usize) -> (Runtime, Client) {
    let runtime = paused().expect("a runtime");
    let template = Template::read().expect("the scenario");
    let client = runtime.block_on(async {
        let cluster = Simulated::new(Mode::None);
        let running = cluster.operate();
        running.until_ready().await;
        let name = |n: usize| format!("ea-{n}");
        for n in 0..edgeapps {
            post(&cluster, template.object(&name(n), n)).await;
        }
        let all_run =
            |cluster: &Simulated| (0..edgeapps).all(|n| cluster.phase(&name(n)) == "Running");
        cluster.until("all are Running", all_run).await;
        pass(5).await;
        running.stop().await;
        let client = canned::remembering(cluster.server.client("tare"));
        relist_once(client.clone()).await;
        client
    });
    (runtime, client)
}

async fn relist_once(client: Client) {
    let api = Api::new(client, Arc::default(), DEADLINE);
    let paths = Arc::new(Paths::of::<EdgeApps>(&[], None));
    let names = Arc::new(ChildNames::new(EdgeApps::KINDS.len()));
    let comparer = Comparer::new(Arc::new(EdgeApps), api.clone(), names, Retention::Nothing);
    let mut relist = Relist::new(comparer, api, paths, Coverage::All);
    loop {
        match relist.next().await {
            Found::Opened { .. } => {}
            Found::Done { .. } => return,
            found => panic!("the objects have not converged: {found:?}"),
        }
    }
}

/// Creates an EdgeApp.
pub(super) async fn post(cluster: &Simulated, object: Value) {
    let object = serde_json::from_value(object).expect("the scenario's object is an EdgeApp");
    let created = cluster
        .edgeapps()
        .create(&PostParams::default(), &object)
        .await;
    created.expect("create EdgeApp");
}

/// Time stands still while anything can run and leaps while everything waits.
pub(super) fn paused() -> std::io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
}
