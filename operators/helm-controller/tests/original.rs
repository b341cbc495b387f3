//! The same story with helm-controller itself and with this program, on a real control plane with all of its controllers: the objects are
//! compared field by field, and then this program goes on where the other one has stopped.
//!
//! `HELM_CONTROLLER` names the original program; without it, that which loadgen has built is taken (`loadgen conform --control-plane
//! kube --subjects helm-controller/default`). Without a program or the binaries of a control plane the tests are
//! ignored, and the list says why.
//!
//! Not compared: identities and times; the annotation with the object as wrangler applied it, which this program does not write; what
//! the controller of Jobs adds.

#![allow(clippy::unwrap_used)] // a test that meets an unexpected value fails

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use controlplane::{Binaries, ControlPlane, Options, User};
use helm_controller::objects::Objects;
use http::Request;
use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};
use tare_procstat::temp_dir::TempDir;
use tokio::time::sleep;

const NAMESPACE: &str = "edge";
const PATIENCE: Duration = Duration::from_secs(90);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let no_plane = Binaries::find().err().map(|error| error.to_string());
    let no_original = original()
        .is_none()
        .then(|| "the original, built".to_owned());
    let neither = no_plane.clone().or(no_original);
    let trials = vec![
        trial("what_it_makes_is_equal_field_by_field", &neither, || {
            block_on(equal())
        }),
        trial(
            "it_goes_on_where_the_original_has_stopped",
            &neither,
            || block_on(goes_on()),
        ),
        trial("the_shipped_role_suffices", &no_plane, || {
            block_on(role_suffices())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test that is ignored where something is missing.
fn trial(name: &str, missing: &Option<String>, run: fn()) -> Trial {
    let name = match missing {
        Some(why) => format!("{name} [needs {why}]"),
        None => name.to_owned(),
    };
    let test = Trial::test(name, move || {
        run();
        Ok(())
    });
    test.with_ignored_flag(missing.is_some())
}

fn block_on(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(story);
}

fn original() -> Option<PathBuf> {
    let named = std::env::var_os("HELM_CONTROLLER").map(PathBuf::from);
    // One folder for each version.
    let versions = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()?
        .join("dist/go");
    let versions = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let mut built = versions.map(|version| version.path().join("helm-controller"));
    named
        .into_iter()
        .chain(built.by_ref())
        .find(|path| path.exists())
}

/// A program that works until this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct World {
    objects: Objects,
    kubeconfig: PathBuf,
    logs: PathBuf,
    // Ended before its folder is removed.
    plane: ControlPlane,
    dir: TempDir,
}

impl World {
    async fn start(name: &str) -> World {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = TempDir::create(base, name).unwrap();
        let logs = base.join("logs").join(name);
        std::fs::create_dir_all(&logs).unwrap();
        let crds = helm_controller::CRDS.map(|(name, text)| {
            let path = dir.path().join(format!("{name}.yaml"));
            std::fs::write(&path, text).unwrap();
            path
        });
        let options = Options {
            dir: dir.path().join("plane"),
            logs: logs.join("plane"),
            users: vec![User::admin("person")],
            nodes: true,
            crds: crds.to_vec(),
            ..Options::default()
        };
        let plane = ControlPlane::start(&Binaries::find().unwrap(), options)
            .await
            .unwrap();
        let objects = Objects(plane.client("person").await.unwrap());
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        objects.create(&namespace).await.unwrap();
        let kubeconfig = plane.kubeconfig("person");
        World {
            objects,
            kubeconfig,
            logs,
            plane,
            dir,
        }
    }

    fn run(&self, command: &mut Command, log: &str) -> Running {
        let log = std::fs::File::create(self.logs.join(log)).unwrap();
        command
            .env_clear()
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        Running(command.spawn().unwrap())
    }

    fn original(&self) -> Running {
        let mut command = Command::new(original().unwrap());
        self.run(&mut command, "original.log")
    }

    fn ours(&self) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare-helm-controller"));
        command.args(["run", "--admin", "127.0.0.1:0"]);
        self.run(&mut command, "ours.log")
    }

    async fn get(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let mut like = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        if kind != "ClusterRoleBinding" {
            like["metadata"]["namespace"] = json!(NAMESPACE);
        }
        self.objects
            .get(&like)
            .await
            .unwrap()
            .unwrap_or(Value::Null)
    }

    async fn until(&self, what: &str, is_so: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !is_so().await {
            assert!(
                began.elapsed() < PATIENCE,
                "not so: {what}; logs: {}",
                self.logs.display()
            );
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn job(&self, name: &str) -> Value {
        self.get("batch/v1", "Job", name).await
    }

    /// Waits for a Job that was resumed, and is another one than `before`; returns its uid.
    async fn until_resumed(&self, name: &str, before: &str) -> String {
        let uid = |job: &Value| {
            job["metadata"]["uid"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let what = format!("Job {name} is resumed, and another one than {before:?}");
        self.until(&what, async || {
            let job = self.job(name).await;
            job["spec"]["suspend"] == false && uid(&job) != before
        })
        .await;
        uid(&self.job(name).await)
    }

    /// All that belongs to a chart.
    async fn snapshot(&self, chart: &str, job: &str) -> Value {
        let mut all = json!({});
        for (api_version, kind, name) in [
            ("helm.cattle.io/v1", "HelmChart", chart.to_owned()),
            ("v1", "Secret", format!("chart-values-{chart}")),
            ("v1", "ConfigMap", format!("chart-content-{chart}")),
            ("v1", "ServiceAccount", format!("helm-{chart}")),
            (
                "rbac.authorization.k8s.io/v1",
                "ClusterRoleBinding",
                format!("helm-{NAMESPACE}-{chart}"),
            ),
            ("batch/v1", "Job", job.to_owned()),
        ] {
            all[format!("{kind} {name}")] = bare(self.get(api_version, kind, &name).await);
        }
        all
    }

    /// Its pod has done its work.
    async fn succeed(&self, job: &str) {
        let what = format!("Job {job} is complete");
        self.until(&what, async || {
            let path =
                format!("/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=job-name%3D{job}");
            for pod in self.objects.metadata(&path).await.unwrap() {
                let name = pod["name"].as_str().unwrap();
                let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}/status");
                let request =
                    Request::patch(path).header("content-type", "application/merge-patch+json");
                let patch = json!({"status": {"phase": "Succeeded"}})
                    .to_string()
                    .into_bytes();
                let patched = self
                    .objects
                    .0
                    .request::<Value>(request.body(patch).unwrap());
                let _ = patched.await;
            }
            let job = self.job(job).await;
            let conditions = job["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            job.is_null()
                || conditions
                    .iter()
                    .any(|one| one["type"] == "Complete" && one["status"] == "True")
        })
        .await;
    }
}

/// What two programs have to agree on.
fn bare(mut object: Value) -> Value {
    if object.is_null() {
        return object;
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "deletionTimestamp",
    ] {
        metadata.remove(field);
    }
    for owner in metadata
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        owner["uid"] = Value::Null;
    }
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove("objectset.rio.cattle.io/applied");
    }
    if object["kind"] == "Job" {
        object["status"] = Value::Null;
        object["spec"]["selector"] = Value::Null;
        object["spec"]["template"]["metadata"]["labels"]
            .as_object_mut()
            .unwrap()
            .retain(|label, _| !label.ends_with("controller-uid"));
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.retain(|label, _| !label.ends_with("controller-uid"));
        }
    }
    object
}

fn chart(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "spec": spec,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"team": "shop"}},
    })
}

fn secret(name: &str, data: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"values.yaml": data},
        "metadata": {"name": name, "namespace": NAMESPACE},
    })
}

/// Installs, changes, and removes charts; what there is in between.
async fn story(world: &World) -> Vec<(&'static str, Value)> {
    let objects = &world.objects;
    let mut seen = Vec::new();
    objects.create(&secret("more", "a: 1\n")).await.unwrap();
    objects.create(&secret("most", "b: 1\n")).await.unwrap();
    let web = chart(
        "web",
        json!({
            "chart": "web", "repo": "https://charts.example.com", "version": "1.0.0", "targetNamespace": "edge",
            "set": {"replicas": 2, "name": "x,y"}, "valuesContent": "a: 1\n", "values": {"b": [1, "yes"]},
            "valuesSecrets": [{"name": "more", "keys": ["values.yaml"]}], "timeout": "300s",
        }),
    );
    objects.create(&web).await.unwrap();
    let job = "helm-install-web";
    let first = world.until_resumed(job, "").await;
    seen.push(("installed", world.snapshot("web", job).await));

    let changed = json!({"spec": {"valuesContent": "a: 2\n", "failurePolicy": "abort"}});
    objects.merge(&web, "", &changed).await.unwrap();
    let second = world.until_resumed(job, &first).await;
    seen.push(("changed", world.snapshot("web", job).await));

    let config = json!({
        "apiVersion": "helm.cattle.io/v1", "kind": "HelmChartConfig",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"valuesContent": "c: 3\n", "valuesSecrets": [{"name": "most", "keys": ["values.yaml"]}], "forceConflicts": true},
    });
    objects.create(&config).await.unwrap();
    let third = world.until_resumed(job, &second).await;
    seen.push(("with a HelmChartConfig", world.snapshot("web", job).await));

    let other = json!({"stringData": {"values.yaml": "a: 2\n"}});
    objects
        .merge(&secret("more", ""), "", &other)
        .await
        .unwrap();
    let fourth = world.until_resumed(job, &third).await;
    seen.push((
        "a Secret of the chart changed",
        world.snapshot("web", job).await,
    ));
    objects
        .merge(&secret("most", ""), "", &other)
        .await
        .unwrap();
    let fifth = world.until_resumed(job, &fourth).await;
    seen.push((
        "a Secret of the HelmChartConfig changed",
        world.snapshot("web", job).await,
    ));

    objects.delete(&config).await.unwrap();
    world.until_resumed(job, &fifth).await;
    seen.push((
        "without the HelmChartConfig",
        world.snapshot("web", job).await,
    ));

    let node = chart(
        "node",
        json!({
            "chartContent": "H4sIAAAAAAAA", "bootstrap": true, "jobImage": "registry.local/helm:1", "backOffLimit": 3,
            "authSecret": {"name": "auth"}, "repoCA": "x", "driver": "configmap",
        }),
    );
    objects.create(&node).await.unwrap();
    world.until_resumed("helm-install-node", "").await;
    seen.push((
        "another one",
        world.snapshot("node", "helm-install-node").await,
    ));

    let old = chart("old", json!({"chart": "old", "helmVersion": "v2"}));
    objects.create(&old).await.unwrap();
    world
        .until("the old one failed", async || {
            let old = world.get("helm.cattle.io/v1", "HelmChart", "old").await;
            old["status"]["conditions"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
        })
        .await;
    seen.push((
        "unsupported",
        world.snapshot("old", "helm-install-old").await,
    ));

    for (chart, job) in [(&web, "helm-delete-web"), (&node, "helm-delete-node")] {
        objects.delete(chart).await.unwrap();
        world.until_resumed(job, "").await;
        let name = chart["metadata"]["name"].as_str().unwrap();
        let mut snapshot = world.snapshot(name, job).await;
        // What is left of an install may or may not be collected yet.
        snapshot
            .as_object_mut()
            .unwrap()
            .retain(|kind, _| !kind.starts_with("Secret") && !kind.starts_with("ConfigMap"));
        seen.push(("deleted", snapshot));
        world.succeed(job).await;
        world
            .until("the chart is gone", async || {
                world
                    .get("helm.cattle.io/v1", "HelmChart", name)
                    .await
                    .is_null()
            })
            .await;
        world
            .until("all that it owned is gone", async || {
                let left = world.snapshot(name, job).await;
                left.as_object().unwrap().values().all(Value::is_null)
            })
            .await;
    }
    objects.delete(&old).await.unwrap();
    world
        .until("the old one is gone", async || {
            world
                .get("helm.cattle.io/v1", "HelmChart", "old")
                .await
                .is_null()
        })
        .await;
    seen
}

/// Where the two differ, on purpose, and why.
const DIFFERENCES: [(&str, &str); 1] = [(
    "/HelmChart web/spec/timeout",
    "the original writes the chart whole when it claims it, with 300s as 5m0s; this program writes its own fields alone",
)];

/// The paths at which two values differ.
fn differences(path: &str, theirs: &Value, ours: &Value, out: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let side = |side: &serde_json::Map<String, Value>| {
                    side.get(key).cloned().unwrap_or_default()
                };
                differences(&format!("{path}/{key}"), &side(a), &side(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (place, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{place}"), a, b, out);
            }
        }
        (a, b) if a == b => {}
        (a, b) => out.push(format!("{path}: theirs {a}, ours {b}")),
    }
}

async fn equal() {
    let theirs = World::start("helm-original").await;
    let program = theirs.original();
    let theirs_seen = story(&theirs).await;
    drop((program, theirs));
    let ours = World::start("helm-ours").await;
    let program = ours.ours();
    let ours_seen = story(&ours).await;
    drop(program);
    let mut found = Vec::new();
    for ((when, theirs), (_, ours)) in theirs_seen.iter().zip(&ours_seen) {
        differences(&format!("{when}: "), theirs, ours, &mut found);
    }
    for (path, why) in DIFFERENCES {
        let count = found.len();
        found.retain(|found| !found.contains(path));
        assert!(found.len() < count, "no longer true, {path}: {why}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A release as Helm keeps it, installed with the digest of the Job.
async fn release(world: &World, chart: &str) {
    let job = world.job(&format!("helm-install-{chart}")).await;
    let annotations = &job["spec"]["template"]["metadata"]["annotations"];
    let hash = annotations["helmcharts.helm.cattle.io/configHash"]
        .as_str()
        .unwrap();
    let hash = hash.trim_start_matches("SHA256=");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "stringData": {"release": "x"},
        "metadata": {"name": format!("sh.helm.release.v1.{chart}.v1"), "namespace": NAMESPACE, "labels": {
            "owner": "helm", "name": chart, "version": "1", "status": "deployed",
            "helmcharts.helm.cattle.io/configHash": &hash[..63],
        }},
    });
    world.objects.create(&secret).await.unwrap();
}

async fn goes_on() {
    let world = World::start("helm-switch").await;
    let program = world.original();
    let names = ["web", "node"];
    for name in names {
        let chart = chart(
            name,
            json!({"chart": name, "valuesContent": "a: 1\n", "values": {"b": "yes"}}),
        );
        world.objects.create(&chart).await.unwrap();
    }
    for name in names {
        world
            .until_resumed(&format!("helm-install-{name}"), "")
            .await;
    }
    // One is installed, of the other the Job still runs.
    release(&world, "web").await;
    world.succeed("helm-install-web").await;
    drop(program);
    let whole = async || {
        let mut all = Vec::new();
        for name in names {
            for (api_version, kind, name) in [
                ("helm.cattle.io/v1", "HelmChart", name.to_owned()),
                ("v1", "Secret", format!("chart-values-{name}")),
                ("v1", "ConfigMap", format!("chart-content-{name}")),
                ("v1", "ServiceAccount", format!("helm-{name}")),
                ("batch/v1", "Job", format!("helm-install-{name}")),
            ] {
                let object = world.get(api_version, kind, &name).await;
                all.push(object["metadata"]["resourceVersion"].clone());
            }
        }
        all
    };
    let before = whole().await;
    let program = world.ours();
    // A third one is installed, so that it has worked.
    let third = chart("third", json!({"chart": "third"}));
    world.objects.create(&third).await.unwrap();
    world.until_resumed("helm-install-third", "").await;
    assert_eq!(whole().await, before, "nothing of the others is written");
    world
        .objects
        .delete(&chart("web", json!({})))
        .await
        .unwrap();
    world.until_resumed("helm-delete-web", "").await;
    world.succeed("helm-delete-web").await;
    world
        .until("it is gone", async || {
            world
                .get("helm.cattle.io/v1", "HelmChart", "web")
                .await
                .is_null()
        })
        .await;
    drop(program);
}

/// The account, the role and its binding of `deploy/install.yaml`, and all that the story needs.
async fn role_suffices() {
    let mut world = World::start("helm-role").await;
    let install = include_str!("../deploy/install.yaml");
    for text in install.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(text).unwrap();
        if object["kind"] != "Deployment" {
            world.objects.create(&object).await.unwrap();
        }
    }
    let path = "/api/v1/namespaces/kube-system/serviceaccounts/tare-helm-controller/token";
    let asked =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(asked.to_string().into_bytes()).unwrap();
    let token: Value = world.objects.0.request(request).await.unwrap();
    let token = token["status"]["token"].as_str().unwrap();
    let (url, ca) = (world.plane.url(), world.plane.ca_pem());
    let text = kubesim::kubeconfig(&url, ca, "tare-helm-controller", token);
    world.kubeconfig = world.dir.path().join("account.kubeconfig");
    std::fs::write(&world.kubeconfig, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare-helm-controller"));
    command.args(["run", "--install-crd", "--admin", "127.0.0.1:0"]);
    let program = world.run(&mut command, "ours.log");
    story(&world).await;
    let log = std::fs::read_to_string(world.logs.join("ours.log")).unwrap();
    assert!(!log.contains("orbidden"), "{log}");
    drop(program);
}
