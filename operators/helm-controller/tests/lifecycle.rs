//! The life of a HelmChart on the simulated server, on paused time; the test is the controller of Jobs and Helm.

#![allow(clippy::unwrap_used)] // a test that meets an unexpected value fails

use helm_controller::objects::Objects;
use helm_controller::settings::{Options, options};
use helm_controller::{CRDS, run};
use kubesim::Server;
use serde_json::{Value, json};
use tare_runtime::testing::{shared, until};

const NAMESPACE: &str = "default";
const JOB: &str = "helm-install-web";

struct World {
    server: Server,
    user: Objects,
}

impl World {
    fn new() -> World {
        let server = Server::new(kubesim::Options::default());
        for (_, text) in CRDS {
            server.install(text).unwrap();
        }
        let user = Objects(server.client("user"));
        let Ok::<Options, _>(options) = options(&mut Vec::new()) else {
            panic!("defaults are valid")
        };
        tokio::spawn(run(shared(server.client("helm")), options));
        World { server, user }
    }

    fn get(&self, plural: &str, name: &str) -> Value {
        let namespace = if plural == "clusterrolebindings" {
            ""
        } else {
            NAMESPACE
        };
        self.server
            .object(plural, namespace, name)
            .unwrap_or(Value::Null)
    }

    async fn create(&self, object: Value) {
        assert!(
            self.user.create(&object).await.unwrap(),
            "it is there already"
        );
    }

    async fn edit(&self, chart: &str, spec: Value) {
        self.user
            .merge(&like("HelmChart", chart), "", &json!({"spec": spec}))
            .await
            .unwrap();
    }

    /// The controller of Jobs has seen it, or it has come to an end.
    async fn say(&self, job: &str, condition: &str) {
        let status = json!({"status": {"conditions": [{"type": condition, "status": "True"}]}});
        let mut like = like("Job", job);
        like["apiVersion"] = json!("batch/v1");
        self.user.merge(&like, "/status", &status).await.unwrap();
    }

    async fn until_there(&self, plural: &str, name: &str) -> Value {
        until(&format!("{plural} {name} is there"), async || {
            !self.get(plural, name).is_null()
        })
        .await;
        self.get(plural, name)
    }

    async fn until_resumed(&self, job: &str) {
        let is_resumed = async || self.get("jobs", job)["spec"]["suspend"] == false;
        until(&format!("{job} is resumed"), is_resumed).await;
    }

    /// Nothing is written for ten minutes.
    async fn stays_quiet(&self) {
        let writes = || self.server.requests().writes("helm");
        until("it has finished", async || {
            let before = writes();
            tokio::time::sleep(std::time::Duration::from_secs(10)).await;
            writes() == before
        })
        .await;
        let before = writes();
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
        assert_eq!(writes(), before);
    }
}

fn like(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "helm.cattle.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
    })
}

fn chart(spec: Value) -> Value {
    let mut chart = like("HelmChart", "web");
    chart["spec"] = spec;
    chart
}

fn hash(job: &Value) -> &str {
    let annotations = &job["spec"]["template"]["metadata"]["annotations"];
    annotations["helmcharts.helm.cattle.io/configHash"]
        .as_str()
        .unwrap()
}

fn reason(chart: &Value, type_: &str) -> String {
    let conditions = chart["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = conditions
        .into_iter()
        .find(|one| one["type"] == type_)
        .unwrap_or_default();
    format!(
        "{} {}",
        found["status"].as_str().unwrap_or_default(),
        found["reason"].as_str().unwrap_or_default()
    )
}

#[tokio::test(start_paused = true)]
async fn a_chart_is_installed_upgraded_and_removed() {
    let world = World::new();
    world
        .create(chart(json!({"chart": "web", "valuesContent": "a: 1\n"})))
        .await;
    let job = world.until_there("jobs", JOB).await;
    assert_eq!(job["spec"]["suspend"], true);
    for (plural, name) in [
        ("secrets", "chart-values-web"),
        ("configmaps", "chart-content-web"),
        ("serviceaccounts", "helm-web"),
        ("clusterrolebindings", "helm-default-web"),
    ] {
        assert!(!world.get(plural, name).is_null(), "{plural} {name}");
    }
    world.say(JOB, "Suspended").await;
    world.until_resumed(JOB).await;
    assert_eq!(
        reason(&world.get("helmcharts", "web"), "JobCreated"),
        "True Job created"
    );
    world.stays_quiet().await;

    // Helm has installed it.
    let labels = json!({
        "owner": "helm", "name": "web", "version": "1", "status": "deployed",
        "helmcharts.helm.cattle.io/configHash": hash(&job)["SHA256=".len()..][..63],
    });
    world.create(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": "sh.helm.release.v1.web.v1", "namespace": NAMESPACE, "labels": labels},
    })).await;
    world.say(JOB, "Complete").await;
    world.stays_quiet().await;
    assert_eq!(
        world.get("jobs", JOB)["metadata"]["uid"],
        job["metadata"]["uid"]
    );

    // Other values are another Job, which expects the release that is there.
    world.edit("web", json!({"valuesContent": "a: 2\n"})).await;
    until("there is another Job", async || {
        let other = world.get("jobs", JOB);
        !other.is_null() && other["metadata"]["uid"] != job["metadata"]["uid"]
    })
    .await;
    let upgrade = world.get("jobs", JOB);
    let env = upgrade["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array()
        .unwrap();
    let expected = json!({"name": "EXPECTED_RELEASE_REVISION", "value": "1"});
    assert!(env.contains(&expected), "{env:?}");
    assert_ne!(hash(&upgrade), hash(&job));

    world.user.delete(&like("HelmChart", "web")).await.unwrap();
    world.until_there("jobs", "helm-delete-web").await;
    world.say("helm-delete-web", "Suspended").await;
    world.until_resumed("helm-delete-web").await;
    assert!(
        !world.get("helmcharts", "web").is_null(),
        "it waits for Helm"
    );
    world.say("helm-delete-web", "Complete").await;
    until("it is gone", async || {
        world.get("helmcharts", "web").is_null()
    })
    .await;
    assert!(
        world
            .get("clusterrolebindings", "helm-default-web")
            .is_null()
    );
    assert!(world.get("serviceaccounts", "helm-web").is_null());
}

#[tokio::test(start_paused = true)]
async fn a_job_with_pods_is_replaced_when_they_are_gone() {
    let world = World::new();
    world.create(chart(json!({"chart": "web"}))).await;
    let first = world.until_there("jobs", JOB).await;
    world.say(JOB, "Suspended").await;
    world.until_resumed(JOB).await;
    let active = |count: u32| {
        let mut like = like("Job", JOB);
        like["apiVersion"] = json!("batch/v1");
        (like, json!({"status": {"active": count}}))
    };
    let (job, running) = active(1);
    world.user.merge(&job, "/status", &running).await.unwrap();
    world.edit("web", json!({"version": "2"})).await;
    let waits = async || world.get("jobs", JOB)["spec"]["suspend"] == true;
    until("it is suspended, so that its pods go", waits).await;
    world.stays_quiet().await;
    let uid = |job: &Value| job["metadata"]["uid"].clone();
    assert_eq!(uid(&world.get("jobs", JOB)), uid(&first));
    let (job, gone) = active(0);
    world.user.merge(&job, "/status", &gone).await.unwrap();
    let is_another = async || {
        let job = world.get("jobs", JOB);
        !job.is_null() && uid(&job) != uid(&first)
    };
    until("there is another Job", is_another).await;
}

#[tokio::test(start_paused = true)]
async fn a_config_and_its_secret_change_the_chart_of_its_name() {
    let world = World::new();
    world.create(chart(json!({"chart": "web"}))).await;
    let first = world.until_there("jobs", JOB).await;
    world.say(JOB, "Suspended").await;
    world.until_resumed(JOB).await;
    let another = async |than: &str| {
        let what = format!("the Job has another digest than {than}");
        let is_another = async || {
            let job = world.get("jobs", JOB);
            !job.is_null() && hash(&job) != than
        };
        until(&what, is_another).await;
        // A new Job has to be seen before it can be replaced.
        world.say(JOB, "Suspended").await;
        hash(&world.get("jobs", JOB)).to_owned()
    };
    let mut config = like("HelmChartConfig", "web");
    config["spec"] =
        json!({"valuesContent": "b: 1\n", "valuesSecrets": [{"name": "more", "keys": ["v"]}]});
    world.create(config.clone()).await;
    let second = another(hash(&first)).await;
    let mut secret = like("Secret", "more");
    secret["apiVersion"] = json!("v1");
    secret["stringData"] = json!({"v": "c: 1\n"});
    world.create(secret).await;
    let third = another(&second).await;
    world.user.delete(&config).await.unwrap();
    let fourth = another(&third).await;
    assert_eq!(fourth, hash(&first));
}

#[tokio::test(start_paused = true)]
async fn what_it_cannot_do_is_in_the_status_and_what_is_not_its_own_is_left() {
    let world = World::new();
    world
        .create(chart(json!({"chart": "web", "helmVersion": "v2"})))
        .await;
    until("it is refused", async || {
        reason(&world.get("helmcharts", "web"), "Failed") == "True Unsupported version"
    })
    .await;
    for (name, annotation) in [
        (
            "others",
            json!({"helmcharts.cattle.io/managed-by": "somebody"}),
        ),
        (
            "nobodys",
            json!({"helmcharts.helm.cattle.io/unmanaged": "true"}),
        ),
    ] {
        let mut chart = like("HelmChart", name);
        chart["metadata"]["annotations"] = annotation;
        chart["spec"] = json!({"chart": "x"});
        world.create(chart).await;
    }
    world.stays_quiet().await;
    for name in ["others", "nobodys"] {
        let chart = world.get("helmcharts", name);
        assert!(chart["metadata"]["finalizers"].is_null() && chart["status"].is_null());
    }
    let mut third = like("HelmChart", "third");
    third["spec"] = json!({"chart": "y"});
    world.create(third).await;
    world.until_there("jobs", "helm-install-third").await;
    world.say("helm-install-third", "Failed").await;
    until("its Job has failed", async || {
        reason(&world.get("helmcharts", "third"), "Failed") == "True Job failed"
    })
    .await;
    world.stays_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_lost_its_mark_while_it_goes_is_removed_all_the_same() {
    let world = World::new();
    world.create(chart(json!({"chart": "web"}))).await;
    world.until_there("jobs", JOB).await;
    let held = json!({"metadata": {"finalizers": ["example.com/held", "wrangler.cattle.io/on-helm-chart-remove"]}});
    let web = like("HelmChart", "web");
    world.user.merge(&web, "", &held).await.unwrap();
    world.user.delete(&web).await.unwrap();
    let unmarked = json!({"metadata": {"annotations": {"helmcharts.cattle.io/managed-by": null}}});
    world.user.merge(&web, "", &unmarked).await.unwrap();
    world.until_there("jobs", "helm-delete-web").await;
    world.say("helm-delete-web", "Complete").await;
    until("only the other finalizer is left", async || {
        world.get("helmcharts", "web")["metadata"]["finalizers"] == json!(["example.com/held"])
    })
    .await;
}
