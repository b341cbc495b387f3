//! What an author relies on, in the words of kube's documentation of `Controller`, `applier` and `finalizer`. Compiled against each.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Api;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Action, Config, Controller, Error, finalizer};
use crate::world::{NAMESPACE, OnPurpose, Reconciled, World, record, seconds};

const AT_ONCE: Duration = Duration::ZERO;

/// How a test's reconcile behaves.
struct Context {
    seen: Arc<Reconciled>,
    lasts: Duration,
    action: Action,
    /// Fails so many times.
    failures: Mutex<usize>,
}

impl Context {
    fn new(seen: &Arc<Reconciled>, lasts: Duration, action: Action) -> Arc<Context> {
        Arc::new(Context {
            seen: Arc::clone(seen),
            lasts,
            action,
            failures: Mutex::new(0),
        })
    }
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, OnPurpose> {
    context.seen.reconcile(&map, context.lasts).await;
    let mut failures = context.failures.lock().expect("no panic");
    if *failures > 0 {
        *failures -= 1;
        return Err(OnPurpose);
    }
    Ok(context.action.clone())
}

fn error_policy(_: Arc<ConfigMap>, _: &OnPurpose, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(7))
}

fn labelled(label: &str) -> watcher::Config {
    watcher::Config::default().labels(label)
}

/// A controller of all ConfigMaps.
fn of_maps(world: &World) -> Controller<ConfigMap> {
    let maps = Api::namespaced(world.client(), NAMESPACE);
    Controller::new(maps, watcher::Config::default())
}

/// Runs until the test ends; what it says is dropped.
fn start(controller: Controller<ConfigMap>, context: &Arc<Context>) -> JoinHandle<()> {
    let context = Arc::clone(context);
    tokio::spawn(async move {
        let said = controller.run(reconcile, error_policy, context);
        said.for_each(|_| async {}).await;
    })
}

#[tokio::test(start_paused = true)]
async fn every_object_is_reconciled_once_at_the_start() {
    let (world, seen) = (World::new(), record());
    for n in 0..250 {
        world.create(&format!("map-{n}"), "1", None).await;
    }
    start(
        of_maps(&world),
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(60).await;
    let counts = seen.counts();
    assert_eq!(counts.len(), 250);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_is_reconciled_with_the_object_as_it_is_then() {
    let (world, seen) = (World::new(), record());
    start(
        of_maps(&world),
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(1).await;
    world.create("map", "1", None).await;
    seconds(1).await;
    world.edit("map", "2").await;
    seconds(1).await;
    assert_eq!(seen.versions("map"), ["1", "2"]);
    world.delete("map").await;
    seconds(60).await;
    assert_eq!(
        seen.count("map"),
        2,
        "the deletion of an object is no reconcile"
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_reconcile_is_another_one_after_it() {
    let (world, seen) = (World::new(), record());
    let context = Context::new(&seen, Duration::from_secs(10), Action::await_change());
    start(of_maps(&world), &context);
    seconds(1).await;
    world.create("map", "1", None).await;
    for v in ["2", "3", "4"] {
        seconds(2).await;
        world.edit("map", v).await;
    }
    seconds(60).await;
    assert_eq!(seen.versions("map"), ["1", "4"]);
}

#[tokio::test(start_paused = true)]
async fn different_objects_are_reconciled_at_once_within_the_bound() {
    let (world, seen) = (World::new(), record());
    for n in 0..20 {
        world.create(&format!("map-{n}"), "1", None).await;
    }
    let context = Context::new(&seen, Duration::from_secs(1), Action::await_change());
    let controller = of_maps(&world).with_config(Config::default().concurrency(5));
    start(controller, &context);
    seconds(60).await;
    assert_eq!((seen.counts().len(), seen.most_at_once()), (20, 5));
}

#[tokio::test(start_paused = true)]
async fn a_requeue_comes_without_a_change_and_awaiting_one_does_not() {
    let (world, seen) = (World::new(), record());
    world.create("map", "1", None).await;
    let every_minute = Action::requeue(Duration::from_secs(60));
    start(of_maps(&world), &Context::new(&seen, AT_ONCE, every_minute));
    seconds(600).await;
    assert!(
        (10..=11).contains(&seen.count("map")),
        "{:?}",
        seen.counts()
    );

    let (world, seen) = (World::new(), record());
    world.create("map", "1", None).await;
    start(
        of_maps(&world),
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(600).await;
    assert_eq!(seen.count("map"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_before_a_requeue_is_reconciled_at_once() {
    let (world, seen) = (World::new(), record());
    world.create("map", "1", None).await;
    let hourly = Action::requeue(Duration::from_secs(3_600));
    start(of_maps(&world), &Context::new(&seen, AT_ONCE, hourly));
    seconds(10).await;
    world.edit("map", "2").await;
    seconds(10).await;
    assert_eq!(seen.versions("map"), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn the_error_policy_says_when_a_failed_object_is_tried_again() {
    let (world, seen) = (World::new(), record());
    world.create("map", "1", None).await;
    let context = Context::new(&seen, AT_ONCE, Action::await_change());
    *context.failures.lock().expect("no panic") = 2;
    let said = of_maps(&world).run(reconcile, error_policy, context);
    let said: Vec<String> = said
        .take(3)
        .map(|said| match said {
            Ok((object, _)) => format!("{} is done", object.name),
            Err(Error::ReconcilerFailed(error, object)) => format!("{}: {error}", object.name),
            Err(error) => format!("{error}"),
        })
        .collect()
        .await;
    assert_eq!(said, ["map: on purpose", "map: on purpose", "map is done"]);
    assert_eq!(seen.count("map"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_and_the_deletion_of_an_owned_object_have_its_owner_reconciled() {
    let (world, seen) = (World::new(), record());
    world.create("owner", "1", None).await;
    let owner = world.get("owner").await;
    world.create("child", "1", owner.as_ref()).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let controller = Controller::new(maps.clone(), labelled("of=owner"));
    let controller = controller.owns(maps, labelled("of=child"));
    start(
        controller,
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(10).await;
    let at_start = seen.count("owner");
    world.edit("child", "2").await;
    seconds(10).await;
    assert_eq!(seen.count("owner"), at_start + 1);
    world.delete("child").await;
    seconds(10).await;
    assert_eq!(seen.count("owner"), at_start + 2);
    assert_eq!(seen.count("child"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_an_object_that_one_of_the_cluster_owns_has_that_reconciled() {
    let (world, seen) = (World::new(), record());
    let namespaces = Api::<Namespace>::all(world.client());
    let owner = namespaces.get(NAMESPACE).await.expect("it is there");
    world.create("child", "1", None).await;
    let owners = json!([{"apiVersion": "v1", "kind": "Namespace", "name": NAMESPACE,
        "uid": owner.metadata.uid}]);
    let patch = json!({"metadata": {"ownerReferences": owners}});
    world.patch("child", patch).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let controller = Controller::new(namespaces, watcher::Config::default())
        .owns(maps, labelled("of=child"))
        .run(
            |namespace: Arc<Namespace>, seen: Arc<Reconciled>| async move {
                let named = ConfigMap {
                    metadata: namespace.metadata.clone(),
                    ..ConfigMap::default()
                };
                seen.reconcile(&named, AT_ONCE).await;
                Ok(Action::await_change())
            },
            |_, _: &OnPurpose, _| Action::await_change(),
            Arc::clone(&seen),
        );
    tokio::spawn(controller.for_each(|_| async {}));
    seconds(10).await;
    let at_start = seen.count(NAMESPACE);
    world.edit("child", "2").await;
    seconds(10).await;
    assert_eq!(seen.count(NAMESPACE), at_start + 1);
}

#[tokio::test(start_paused = true)]
async fn a_mapper_says_whom_a_watched_object_concerns() {
    let (world, seen) = (World::new(), record());
    world.create("reader", "1", None).await;
    world.create("referenced", "1", None).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let controller = Controller::new(maps.clone(), labelled("of=reader")).watches(
        maps,
        labelled("of=referenced"),
        |map: ConfigMap| {
            let v = map.data.unwrap_or_default().remove("v").unwrap_or_default();
            let readers = if v == "2" {
                vec!["reader", "nobody"]
            } else {
                Vec::new()
            };
            readers
                .into_iter()
                .map(|name| ObjectRef::<ConfigMap>::new(name).within(NAMESPACE))
        },
    );
    let missing = Arc::new(Mutex::new(Vec::new()));
    let context = Context::new(&seen, AT_ONCE, Action::await_change());
    let named = Arc::clone(&missing);
    tokio::spawn(async move {
        let said = controller.run(reconcile, error_policy, context);
        said.for_each(|said| {
            if let Err(Error::ObjectNotFound(object)) = said {
                named.lock().expect("no panic").push(object.name.clone());
            }
            async {}
        })
        .await;
    });
    seconds(10).await;
    assert_eq!(seen.count("reader"), 1);
    world.edit("referenced", "2").await;
    seconds(10).await;
    assert_eq!(seen.count("reader"), 2);
    assert_eq!(*missing.lock().expect("no panic"), ["nobody"]);
}

#[tokio::test(start_paused = true)]
async fn changes_within_the_debounce_are_one_reconcile() {
    let (world, seen) = (World::new(), record());
    let controller = of_maps(&world);
    let controller = controller.with_config(Config::default().debounce(Duration::from_secs(5)));
    start(
        controller,
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(10).await;
    world.create("map", "1", None).await;
    for v in ["2", "3", "4"] {
        seconds(1).await;
        world.edit("map", v).await;
    }
    seconds(60).await;
    assert_eq!(seen.versions("map"), ["4"]);
}

#[tokio::test(start_paused = true)]
async fn everything_is_reconciled_when_that_is_asked_for() {
    let (world, seen) = (World::new(), record());
    for name in ["a", "b", "c"] {
        world.create(name, "1", None).await;
    }
    let (ask, asked) = futures::channel::mpsc::unbounded();
    let controller = of_maps(&world).reconcile_all_on(asked);
    start(
        controller,
        &Context::new(&seen, AT_ONCE, Action::await_change()),
    );
    seconds(10).await;
    ask.unbounded_send(()).expect("the controller runs");
    seconds(10).await;
    assert!(
        seen.counts().values().all(|count| *count == 2),
        "{:?}",
        seen.counts()
    );
    assert_eq!(seen.counts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_what_runs_and_begins_nothing() {
    let (world, seen) = (World::new(), record());
    for n in 0..4 {
        world.create(&format!("map-{n}"), "1", None).await;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let controller = of_maps(&world)
        .with_config(Config::default().concurrency(1))
        .graceful_shutdown_on(async move {
            let _ = stopped.await;
        });
    let context = Context::new(&seen, Duration::from_secs(20), Action::await_change());
    let running = start(controller, &context);
    seconds(5).await;
    drop(stop);
    let began = tokio::time::Instant::now();
    running.await.expect("it ends");
    assert!(
        began.elapsed() >= Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert!(seen.counts().len() <= 2, "{:?}", seen.counts());
}

#[tokio::test(start_paused = true)]
async fn a_built_in_kind_of_another_sort_is_reconciled_too() {
    let (world, seen) = (World::new(), record());
    let secrets = Api::<Secret>::namespaced(world.client(), NAMESPACE);
    let secret = json!({"metadata": {"name": "token"}, "stringData": {"v": "1"}});
    let secret = serde_json::from_value(secret).expect("a Secret");
    let created = secrets.create(&Default::default(), &secret).await;
    created.expect("it is created");
    let said = Controller::new(secrets, watcher::Config::default()).run(
        |secret: Arc<Secret>, seen: Arc<Reconciled>| async move {
            let named = ConfigMap {
                metadata: secret.metadata.clone(),
                ..ConfigMap::default()
            };
            seen.reconcile(&named, AT_ONCE).await;
            Ok(Action::await_change())
        },
        |_, _: &OnPurpose, _| Action::await_change(),
        Arc::clone(&seen),
    );
    let done: Vec<_> = said.take(1).collect().await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(seen.count("token"), 1);
}

/// Applies and cleans up, and keeps in which order.
async fn with_finalizer(
    map: Arc<ConfigMap>,
    context: Arc<(Api<ConfigMap>, Mutex<Vec<&'static str>>)>,
) -> Result<Action, finalizer::Error<OnPurpose>> {
    let done = &context.1;
    finalizer::finalizer(&context.0, "example.com/cleanup", map, |event| async move {
        let what = match event {
            finalizer::Event::Apply(_) => "apply",
            finalizer::Event::Cleanup(_) => "cleanup",
        };
        done.lock().expect("no panic").push(what);
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn an_object_with_a_finalizer_is_cleaned_up_before_it_goes() {
    let world = World::new();
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let context = Arc::new((maps, Mutex::new(Vec::new())));
    let controller = of_maps(&world);
    let shared = Arc::clone(&context);
    tokio::spawn(async move {
        let policy = |_, _: &_, _| Action::requeue(Duration::from_secs(1));
        let said = controller.run(with_finalizer, policy, shared);
        said.for_each(|_| async {}).await;
    });
    seconds(1).await;
    world.create("map", "1", None).await;
    seconds(10).await;
    let map = world.get("map").await.expect("it is there");
    assert_eq!(
        map.metadata.finalizers,
        Some(vec!["example.com/cleanup".to_owned()])
    );
    assert_eq!(*context.1.lock().expect("no panic"), ["apply"]);
    world.delete("map").await;
    seconds(10).await;
    assert!(world.get("map").await.is_none());
    assert_eq!(*context.1.lock().expect("no panic"), ["apply", "cleanup"]);
}
