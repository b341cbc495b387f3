//! What a control plane is for: objects, watches, garbage collection, users, audit, history.

use std::path::Path;

use controlplane::{Binaries, ControlPlane, Datastore, Options, User};
use futures::StreamExt;
use http::Request;
use kube::core::{DynamicObject, WatchEvent};
use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::fixture::{CONFIG_MAPS, Caller, DEADLINE, Folder, code, config_map, text};

const WIDGETS: &str = "/apis/example.dev/v1/namespaces/default/widgets";

pub async fn holds_objects(binaries: Binaries, datastore: Datastore) -> Result<(), Failed> {
    let folder = Folder::new(&format!("{}-objects", datastore.name()));
    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kubesim/tests/data/widget-crd.yaml");
    let options = Options {
        datastore,
        crds: vec![crd],
        ..folder.options()
    };
    let mut plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    assert!(plane.version().starts_with("v1."), "{}", plane.version());

    // The CRD is served, and its kind is one that garbage collection follows.
    let widget = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": { "name": "owner" }, "spec": { "size": 1 },
    });
    let owner = admin.post(WIDGETS, widget).await?;
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.dev/v1", "kind": "Widget", "name": "owner",
        "uid": owner["metadata"]["uid"], "controller": true,
    }]);
    let child = admin.post(CONFIG_MAPS, child).await?;
    watch_shows(&admin, &text(&owner, "/metadata/resourceVersion"), "child").await?;
    admin.delete(&format!("{WIDGETS}/owner")).await?;
    let path = format!("{CONFIG_MAPS}/child");
    admin.until(&path, |answer| code(answer) == 404).await?;

    // The same server at the same address after a restart.
    let (url, pid) = (plane.url(), plane.api_server_pid());
    admin.post(CONFIG_MAPS, config_map("kept")).await?;
    plane.restart_api_server().await?;
    assert_eq!(plane.url(), url);
    assert_ne!(plane.api_server_pid(), pid);
    let kept = admin.get(&format!("{CONFIG_MAPS}/kept")).await?;
    assert_ne!(kept["metadata"]["uid"], child["metadata"]["uid"]);

    assert!(plane.datastore_size_bytes()? > 0);
    let cpu = plane.cpu_seconds()?;
    assert!(cpu.api_server_s > 0.0 && cpu.datastore_s > 0.0 && cpu.controllers_s > 0.0);
    assert!(plane.exited()?.is_none());
    plane.stop().await?;
    Ok(())
}

/// A watch of ConfigMaps from a version shows that one of this name was created.
async fn watch_shows(admin: &Caller, version: &str, name: &str) -> Result<(), Failed> {
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}");
    let request = Request::get(path).body(Vec::new())?;
    let mut events = admin
        .0
        .request_events::<DynamicObject>(request)
        .await?
        .boxed();
    let shown = async {
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Added(object)) if object.metadata.name.as_deref() == Some(name) => {
                    return Ok(());
                }
                Ok(_) => {}
                Err(cause) => return Err(Failed::from(cause)),
            }
        }
        Err("the watch ended".into())
    };
    tokio::time::timeout(DEADLINE, shown).await?
}

pub async fn forgets(binaries: Binaries, datastore: Datastore) -> Result<(), Failed> {
    let folder = Folder::new(&format!("{}-compaction", datastore.name()));
    let options = Options {
        datastore,
        ..folder.options()
    };
    let mut plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    let first = admin.post(CONFIG_MAPS, config_map("first")).await?;
    let version = text(&first, "/metadata/resourceVersion");
    for name in ["second", "third"] {
        admin.post(CONFIG_MAPS, config_map(name)).await?;
        admin.delete(&format!("{CONFIG_MAPS}/{name}")).await?;
    }
    plane.compact().await?;
    // With a history the watch would begin and stay open; without, it is refused in one of two ways.
    let request = Request::get(format!(
        "{CONFIG_MAPS}?watch=true&resourceVersion={version}"
    ));
    let opened = admin
        .0
        .request_events::<DynamicObject>(request.body(Vec::new())?)
        .await;
    let refusal = match opened {
        Err(_) => code(&opened),
        Ok(events) => match tokio::time::timeout(DEADLINE, events.boxed().next()).await? {
            Some(Ok(WatchEvent::Error(status))) => status.code,
            other => return Err(format!("not refused: {other:?}").into()),
        },
    };
    assert_eq!(refusal, 410);
    // What there is stayed.
    admin.get(&format!("{CONFIG_MAPS}/first")).await?;
    plane.stop().await?;
    Ok(())
}

pub async fn starts_from_data(binaries: Binaries) -> Result<(), Failed> {
    let (old, new) = (Folder::new("data-old"), Folder::new("data-new"));
    let plane = ControlPlane::start(&binaries, old.options()).await?;
    let admin = Caller(plane.client("admin").await?);
    let made = admin.post(CONFIG_MAPS, config_map("made")).await?;
    let data = plane.data_dir();
    plane.stop().await?;
    let options = Options {
        data_from: Some(data),
        ..new.options()
    };
    let plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    let found = admin.get(&format!("{CONFIG_MAPS}/made")).await?;
    assert_eq!(found["metadata"]["uid"], made["metadata"]["uid"]);
    Ok(())
}

pub async fn audits(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("audit");
    let options = Options {
        audit: true,
        users: vec![User::admin("admin"), User::admin("subject")],
        ..folder.options()
    };
    let plane = ControlPlane::start(&binaries, options).await?;
    let subject = Caller(plane.client("subject").await?);
    subject.post(CONFIG_MAPS, config_map("seen")).await?;
    let refused = subject.get(&format!("{CONFIG_MAPS}/absent")).await;
    assert_eq!(code(&refused), 404);
    subject.get("/version").await?;
    let log = plane.audit_log().ok_or("no audit log")?;
    plane.stop().await?;
    let text = std::fs::read_to_string(&log)?;
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let lines = lines?;
    let line = |entry: &Value| {
        let field = |pointer| entry.pointer(pointer).cloned().unwrap_or_default();
        json!([
            field("/user/username"),
            field("/verb"),
            field("/objectRef/resource"),
            field("/objectRef/name"),
            field("/responseStatus/code"),
            field("/stage"),
        ])
    };
    let lines: Vec<Value> = lines.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            json!([
                "subject",
                "create",
                "configmaps",
                "seen",
                201,
                "ResponseComplete"
            ]),
            json!([
                "subject",
                "get",
                "configmaps",
                "absent",
                404,
                "ResponseComplete"
            ]),
        ]
    );
    Ok(())
}

pub async fn knows_groups(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("groups");
    let guest = User {
        name: "guest".to_owned(),
        groups: vec!["readers".to_owned(), "guests".to_owned()],
    };
    let options = Options {
        users: vec![User::admin("admin"), guest],
        ..folder.options()
    };
    let plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    let guest = Caller(plane.client("guest").await?);
    assert_eq!(code(&guest.get(CONFIG_MAPS).await), 403);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": "guests" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "guests" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    admin.post(bindings, binding).await?;
    guest.until(CONFIG_MAPS, Result::is_ok).await?;
    let refused = guest.post(CONFIG_MAPS, config_map("mine")).await;
    assert_eq!(code(&refused), 403);
    Ok(())
}
