//! What only our `Controller` promises.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{PartialObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, ResourceExt};
use serde_json::json;
use tare_runtime::free::{Action, Config, Controller, Error};
use tare_runtime::leader::{Candidate, Election};

use crate::world::{NAMESPACE, OnPurpose, Reconciled, World, record, seconds};

async fn reconcile(map: Arc<ConfigMap>, seen: Arc<Reconciled>) -> Result<Action, OnPurpose> {
    seen.reconcile(&map, Duration::ZERO).await;
    Ok(Action::await_change())
}

fn back_off(_: Arc<ConfigMap>, _: &OnPurpose, _: Arc<Reconciled>) -> Action {
    Action::back_off()
}

fn is_quiet(map: &ConfigMap) -> bool {
    let data = map.data.as_ref();
    data.and_then(|data| data.get("v"))
        .is_some_and(|v| v.starts_with("quiet"))
}

fn of_maps(world: &World) -> Controller<ConfigMap> {
    let maps = Api::namespaced(world.client(), NAMESPACE);
    Controller::new(maps, watcher::Config::default())
}

fn start(controller: Controller<ConfigMap>, seen: &Arc<Reconciled>) {
    let seen = Arc::clone(seen);
    tokio::spawn(async move {
        let said = controller.run(reconcile, back_off, seen);
        said.for_each(|_| async {}).await;
    });
}

#[tokio::test(start_paused = true)]
async fn more_objects_than_the_queue_has_room_for_are_each_reconciled_once() {
    let (world, seen) = (World::new(), record());
    for n in 0..6_000 {
        world.create(&format!("map-{n}"), "1", None).await;
    }
    start(of_maps(&world), &seen);
    seconds(120).await;
    let counts = seen.counts();
    assert_eq!(counts.len(), 6_000);
    assert!(counts.values().all(|count| *count == 1));
}

#[tokio::test(start_paused = true)]
async fn requeues_beyond_the_room_of_the_queue_come_in_their_time() {
    let (world, seen) = (World::new(), record());
    for n in 0..6_000 {
        world.create(&format!("map-{n}"), "1", None).await;
    }
    let context = Arc::clone(&seen);
    let controller = of_maps(&world);
    tokio::spawn(async move {
        let reconcile = |map: Arc<ConfigMap>, seen: Arc<Reconciled>| async move {
            seen.reconcile(&map, Duration::ZERO).await;
            Ok(Action::requeue(Duration::from_secs(300)))
        };
        let said = controller.run(reconcile, back_off, context);
        said.for_each(|_| async {}).await;
    });
    seconds(100).await;
    assert_eq!(seen.counts().len(), 6_000);
    seconds(600).await;
    let counts = seen.counts();
    let few = counts.values().filter(|count| !(2..=3).contains(*count));
    assert_eq!(
        few.count(),
        0,
        "each after about 300 s, twice or three times in 700 s"
    );
    let lists = world
        .server
        .requests()
        .count("controller", "list", "configmaps");
    assert!(
        lists <= 70 * 14,
        "a list of 13 pages every 10 s at most: {lists}"
    );
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_with_the_failures_of_one_object() {
    let world = World::new();
    world.create("bad", "1", None).await;
    let began = tokio::time::Instant::now();
    let times = Arc::new(Mutex::new(Vec::new()));
    let controller = of_maps(&world);
    let shared = Arc::clone(&times);
    tokio::spawn(async move {
        let reconcile = |_: Arc<ConfigMap>, times: Arc<Mutex<Vec<u64>>>| async move {
            times
                .lock()
                .expect("no panic")
                .push(began.elapsed().as_secs());
            Err(OnPurpose)
        };
        let policy = |_, _: &OnPurpose, _| Action::back_off();
        let said = controller.run(reconcile, policy, shared);
        said.for_each(|_| async {}).await;
    });
    seconds(1_000).await;
    let times = times.lock().expect("no panic").clone();
    // 1, 2, 4, ... 256, 300 s, less a quarter of each at most.
    assert!((10..=13).contains(&times.len()), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_the_error_of_its_object() {
    let world = World::new();
    world.create("bad", "1", None).await;
    world.create("good", "1", None).await;
    let reconcile = |map: Arc<ConfigMap>, _: Arc<()>| async move {
        assert_ne!(map.name_any(), "bad", "on purpose");
        Ok::<_, OnPurpose>(Action::await_change())
    };
    let policy = |_, _: &OnPurpose, _| Action::back_off();
    let said = of_maps(&world).run(reconcile, policy, Arc::new(()));
    let said: Vec<_> = said.take(3).collect().await;
    let panics = said.iter().filter(
        |said| matches!(said, Err(Error::ReconcilerPanicked(words, object)) if object.name == "bad" && words.contains("on purpose")),
    );
    assert_eq!(panics.count(), 2, "{said:?}");
    assert!(
        said.iter()
            .any(|said| said.as_ref().is_ok_and(|(object, _)| object.name == "good"))
    );
}

/// A log in memory.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_reconcile_logs_names_its_object() {
    let (world, logged) = (World::new(), Logged::default());
    let writer = logged.clone();
    let log = tracing_subscriber::fmt().with_ansi(false);
    let log = log.with_writer(move || writer.clone()).finish();
    // Where there is but one, tracing asks the thread that comes to a place first, which may be that of another test.
    let _second = tracing::Dispatch::new(tracing_subscriber::fmt().finish());
    let _guard = tracing::subscriber::set_default(log);
    world.create("one", "1", None).await;
    let reconcile = |_: Arc<ConfigMap>, _: Arc<()>| {
        tracing::info!("begins");
        async {
            tokio::task::yield_now().await;
            tracing::info!("goes on");
            Ok::<_, OnPurpose>(Action::await_change())
        }
    };
    let policy = |_, _: &OnPurpose, _| Action::back_off();
    let said = of_maps(&world).run(reconcile, policy, Arc::new(()));
    said.take(1).for_each(|_| async {}).await;
    let logged = String::from_utf8(logged.0.lock().expect("no panic").clone()).expect("text");
    for words in ["begins", "goes on"] {
        let line = logged.lines().find(|line| line.ends_with(words));
        let span = "reconciling object{object.ref=ConfigMap.v1./one.default}";
        assert!(line.is_some_and(|line| line.contains(span)), "{logged}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_skipped_is_not_reconciled_and_never_seen_as_it_was() {
    let (world, seen) = (World::new(), record());
    let config = Config::default().debounce(Duration::from_secs(1));
    start(of_maps(&world).skip(is_quiet).with_config(config), &seen);
    seconds(1).await;
    world.create("map", "1", None).await;
    seconds(2).await;
    world.edit("map", "quiet-2").await;
    seconds(2).await;
    assert_eq!(seen.versions("map"), ["1"]);
    world.edit("map", "3").await;
    world.edit("map", "quiet-4").await;
    seconds(2).await;
    assert_eq!(seen.versions("map"), ["1", "quiet-4"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_skipped_during_the_first_list_is_reconciled_as_it_is_then() {
    let (world, seen) = (World::new(), record());
    for n in 0..300 {
        world.create(&format!("map-{n:03}"), "1", None).await;
    }
    let context = Arc::clone(&seen);
    let controller = of_maps(&world).skip(is_quiet);
    tokio::spawn(async move {
        let reconcile = |map: Arc<ConfigMap>, seen: Arc<Reconciled>| async move {
            seen.reconcile(&map, Duration::from_secs(1)).await;
            Ok(Action::await_change())
        };
        let said = controller.run(reconcile, back_off, context);
        said.for_each(|_| async {}).await;
    });
    seconds(2).await;
    // The list is read on as workers become free: it has shown the last one as it was before, or will.
    world.edit("map-299", "quiet").await;
    world.edit("map-000", "quiet").await;
    seconds(60).await;
    assert_eq!(seen.versions("map-299"), ["quiet"]);
    assert_eq!(seen.versions("map-000"), ["1"]);
    assert_eq!(seen.counts().len(), 300);
}

#[tokio::test(start_paused = true)]
async fn what_happened_while_the_history_was_lost_is_reconciled_and_nothing_else() {
    let (world, seen) = (World::new(), record());
    for name in ["a", "b", "c"] {
        world.create(name, "1", None).await;
    }
    start(of_maps(&world), &seen);
    seconds(10).await;
    world.lose_history(world.edit("b", "2")).await;
    seconds(60).await;
    let expected = [("a", 1), ("b", 2), ("c", 1)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(seen.counts(), expected.into());
}

#[tokio::test(start_paused = true)]
async fn after_the_watch_of_owned_objects_has_lost_what_happened_everything_is_reconciled() {
    let (world, seen) = (World::new(), record());
    world.create("owner", "1", None).await;
    let owner = world.get("owner").await;
    world.create("child", "1", owner.as_ref()).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let labelled = |label: &str| watcher::Config::default().labels(label);
    let controller = Controller::new(maps.clone(), labelled("of=owner"));
    start(controller.owns(maps, labelled("of=child")), &seen);
    seconds(10).await;
    world.lose_history(world.delete("child")).await;
    seconds(60).await;
    assert_eq!(seen.count("owner"), 2);
}

#[tokio::test(start_paused = true)]
async fn metadata_of_a_watched_object_says_whom_it_concerns() {
    let (world, seen) = (World::new(), record());
    world.create("reader", "1", None).await;
    world.create("referenced", "1", None).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let labelled = |label: &str| watcher::Config::default().labels(label);
    let mapper = |_: PartialObjectMeta<ConfigMap>| {
        Some(ObjectRef::<ConfigMap>::new("reader").within(NAMESPACE))
    };
    let controller = Controller::new(maps.clone(), labelled("of=reader"));
    let controller = controller.watches_metadata(maps, labelled("of=referenced"), mapper);
    start(controller, &seen);
    seconds(10).await;
    world.edit("referenced", "2").await;
    seconds(10).await;
    assert_eq!(seen.count("reader"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_an_object_that_others_name_has_those_reconciled_alone() {
    let (world, seen) = (World::new(), record());
    let secrets = Api::<Secret>::namespaced(world.server.client("user"), NAMESPACE);
    for name in ["one", "two", "nobodys"] {
        let secret = json!({"metadata": {"name": name}, "stringData": {"v": "1"}});
        let secret = serde_json::from_value(secret).expect("a Secret");
        let created = secrets.create(&PostParams::default(), &secret).await;
        created.expect("it is created");
    }
    for (name, named) in [("a", "one"), ("b", "two"), ("c", "one"), ("d", "")] {
        world.create(name, named, None).await;
    }
    let named = |map: &ConfigMap| {
        let named = map.data.as_ref().and_then(|data| data.get("v").cloned());
        let named = named.filter(|name| !name.is_empty());
        named.map(|name| ObjectRef::<Secret>::new(&name).within(NAMESPACE))
    };
    let of_controller = Api::<Secret>::namespaced(world.client(), NAMESPACE);
    let controller = of_maps(&world);
    start(
        controller.index(of_controller, watcher::Config::default(), named),
        &seen,
    );
    seconds(10).await;
    assert_eq!(seen.counts().values().sum::<usize>(), 4);
    let lists = || {
        world
            .server
            .requests()
            .count("controller", "list", "configmaps")
    };
    let at_start = lists();
    for name in ["nobodys", "one"] {
        let patch = Patch::Merge(json!({"stringData": {"v": "2"}}));
        let patched = secrets.patch(name, &PatchParams::default(), &patch).await;
        patched.expect("it is patched");
        seconds(10).await;
    }
    let expected = [("a", 2), ("b", 1), ("c", 2), ("d", 1)];
    assert_eq!(
        seen.counts(),
        expected
            .map(|(name, count)| (name.to_owned(), count))
            .into()
    );
    assert_eq!(lists() - at_start, 1, "nobody names the other one");
}

#[tokio::test(start_paused = true)]
async fn a_named_object_is_reconciled_on_request() {
    let (world, seen) = (World::new(), record());
    for name in ["a", "b"] {
        world.create(name, "1", None).await;
    }
    let (ask, asked) = futures::channel::mpsc::unbounded();
    start(of_maps(&world).reconcile_on(asked), &seen);
    seconds(10).await;
    let object = ObjectRef::<ConfigMap>::new("b").within(NAMESPACE);
    ask.unbounded_send(object).expect("the controller runs");
    seconds(10).await;
    assert_eq!((seen.count("a"), seen.count("b")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_change_costs_no_read_and_that_of_an_owned_object_one() {
    let (world, seen) = (World::new(), record());
    world.create("owner", "1", None).await;
    let owner = world.get("owner").await;
    world.create("child", "1", owner.as_ref()).await;
    let maps = Api::<ConfigMap>::namespaced(world.client(), NAMESPACE);
    let labelled = |label: &str| watcher::Config::default().labels(label);
    let controller = Controller::new(maps.clone(), labelled("of=owner"));
    start(controller.owns(maps, labelled("of=child")), &seen);
    // With a selector, an object is read as a list that has it alone.
    let reads = || {
        let requests = world.server.requests();
        let of = |verb: &str| requests.count("controller", verb, "configmaps");
        of("get") + of("list")
    };
    seconds(10).await;
    let at_start = reads();
    world.edit("owner", "2").await;
    seconds(10).await;
    assert_eq!((seen.count("owner"), reads() - at_start), (2, 0));
    world.edit("child", "2").await;
    seconds(10).await;
    assert_eq!((seen.count("owner"), reads() - at_start), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn of_two_with_one_lease_one_works_until_it_ends() {
    let world = World::new();
    let replica = |identity: &str| {
        let (seen, (stop, stopped)) = (record(), tokio::sync::oneshot::channel::<()>());
        let candidate = Candidate {
            identity: identity.to_owned(),
            ..Candidate::new(NAMESPACE, "maps", "maps")
        };
        let election = Election::new(world.client(), Arc::default(), candidate);
        let stopped = stopped.map(drop).shared();
        let said = of_maps(&world).graceful_shutdown_on(stopped.clone()).run(
            reconcile,
            back_off,
            Arc::clone(&seen),
        );
        let replica = tokio::spawn(election.lead(stopped, said.for_each(|_| async {})));
        (seen, stop, replica)
    };
    let (first, stop, ended) = replica("a");
    seconds(10).await;
    let (second, _stop, _running) = replica("b");
    world.create("one", "1", None).await;
    seconds(60).await;
    assert_eq!((first.count("one"), second.count("one")), (1, 0));
    drop(stop);
    seconds(60).await;
    assert!(
        ended.await.is_ok_and(|led| led.is_ok()),
        "it ended in order"
    );
    world.edit("one", "2").await;
    seconds(10).await;
    assert_eq!((first.count("one"), second.count("one")), (1, 2));
}
