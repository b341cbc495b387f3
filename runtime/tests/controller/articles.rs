//! The controllers of well-known articles on kube-rs, as programs for `Controller`: a WebApp with a finalizer and drift, a MyService with two
//! children, an InferenceService with phases and a GPU, an Echo that keeps its finalizer by hand. Compiled against kube's and against ours.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Client, CustomResource, CustomResourceExt, KubeSchema, Resource, ResourceExt};
use kubesim::{Options, Server};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Action, Controller, finalizer};
use crate::world::{NAMESPACE, seconds};

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "WebApp", namespaced)]
#[kube(status = "WebAppStatus")]
struct WebAppSpec {
    image: String,
    replicas: i32,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
struct WebAppStatus {
    available_replicas: i32,
    ready: bool,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "MyService", namespaced)]
struct MyServiceSpec {
    replicas: i32,
    image: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "InferenceService",
    namespaced
)]
#[kube(status = "InferenceServiceStatus")]
#[serde(rename_all = "camelCase")]
struct InferenceServiceSpec {
    model: String,
    replicas: i32,
    gpu_count: i32,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct InferenceServiceStatus {
    phase: String,
    ready_replicas: i32,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Echo",
    plural = "echoes",
    namespaced
)]
struct EchoSpec {
    replicas: i32,
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    Server(#[from] kube::Error),
    #[error("{0}")]
    Body(#[from] serde_json::Error),
}

struct Context {
    client: Client,
}

impl Context {
    fn api<K>(&self, of: &impl ResourceExt) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &of.namespace().unwrap_or_default())
    }

    /// Applies a child of `owner` on the server.
    async fn apply<O, C>(&self, owner: &O, name: &str, spec: Value) -> Result<C, Failed>
    where
        O: Resource<DynamicType = ()>,
        C: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        let body = json!({
            "apiVersion": C::api_version(&()), "kind": C::kind(&()),
            "metadata": {"name": name, "ownerReferences": [owner.controller_owner_ref(&())]},
            "spec": spec,
        });
        let child: C = serde_json::from_value(body)?;
        let params = PatchParams::apply("articles").force();
        let api = self.api::<C>(owner);
        Ok(api.patch(name, &params, &Patch::Apply(&child)).await?)
    }
}

fn pods(name: &str, image: &str, replicas: i32) -> Value {
    json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": image}]},
        },
    })
}

fn try_again<K>(_: Arc<K>, _: &impl std::error::Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(10))
}

async fn web_app(
    app: Arc<WebApp>,
    context: Arc<Context>,
) -> Result<Action, finalizer::Error<Failed>> {
    let apps = context.api::<WebApp>(&*app);
    finalizer::finalizer(&apps, "webapp.example.com/cleanup", app, |event| async {
        let app = match event {
            finalizer::Event::Apply(app) => app,
            finalizer::Event::Cleanup(_) => return Ok(Action::await_change()),
        };
        let spec = pods(&app.name_any(), &app.spec.image, app.spec.replicas);
        let deployment: Deployment = context.apply(&*app, &app.name_any(), spec).await?;
        let available = deployment
            .status
            .and_then(|status| status.available_replicas);
        let available_replicas = available.unwrap_or(0);
        let status = WebAppStatus {
            available_replicas,
            ready: available_replicas >= app.spec.replicas,
        };
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        apps.patch_status(&app.name_any(), &params, &patch).await?;
        Ok(Action::requeue(Duration::from_secs(300)))
    })
    .await
}

async fn my_service(owner: Arc<MyService>, context: Arc<Context>) -> Result<Action, Failed> {
    let name = owner.name_any();
    let spec = pods(&name, &owner.spec.image, owner.spec.replicas);
    let named = format!("{name}-deployment");
    let _: Deployment = context.apply(&*owner, &named, spec).await?;
    let front = json!({"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 80}]});
    let named = format!("{name}-service");
    let _: Service = context.apply(&*owner, &named, front).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn inference(
    service: Arc<InferenceService>,
    context: Arc<Context>,
) -> Result<Action, Failed> {
    let name = service.name_any();
    let mut spec = pods(&name, "registry.local/server:1", service.spec.replicas);
    spec["template"]["spec"]["containers"][0]["resources"] =
        json!({"limits": {"nvidia.com/gpu": service.spec.gpu_count.to_string()}});
    spec["template"]["spec"]["containers"][0]["args"] = json!(["--model", service.spec.model]);
    let deployment: Deployment = context.apply(&*service, &name, spec).await?;
    let front = json!({"selector": {"app": name}, "ports": [{"port": 8080}]});
    let _: Service = context.apply(&*service, &name, front).await?;
    let ready = deployment.status.and_then(|status| status.ready_replicas);
    let ready_replicas = ready.unwrap_or(0);
    let phase = match ready_replicas >= service.spec.replicas {
        true => "Ready",
        false => "Provisioning",
    };
    let status = InferenceServiceStatus {
        phase: phase.to_owned(),
        ready_replicas,
    };
    let patch = Patch::Merge(json!({"status": status}));
    let services = context.api::<InferenceService>(&*service);
    services
        .patch_status(&name, &PatchParams::default(), &patch)
        .await?;
    Ok(Action::requeue(Duration::from_secs(30)))
}

async fn echo(echo: Arc<Echo>, context: Arc<Context>) -> Result<Action, Failed> {
    let (echoes, name) = (context.api::<Echo>(&*echo), echo.name_any());
    let finalizers = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let params = PatchParams::default();
    if echo.metadata.deletion_timestamp.is_some() {
        let deployments = context.api::<Deployment>(&*echo);
        let deleted = deployments.delete(&name, &DeleteParams::default()).await;
        if let Err(error) = deleted
            && !matches!(&error, kube::Error::Api(status) if status.code == 404)
        {
            return Err(error.into());
        }
        echoes
            .patch(&name, &params, &finalizers(Value::Null))
            .await?;
        return Ok(Action::await_change());
    }
    let patch = finalizers(json!(["echoes.example.com/finalizer"]));
    echoes.patch(&name, &params, &patch).await?;
    let spec = pods(&name, "inanimate/echo-server", echo.spec.replicas);
    let _: Deployment = context.apply(&*echo, &name, spec).await?;
    Ok(Action::requeue(Duration::from_secs(10)))
}

fn server(definition: &impl Serialize) -> Server {
    let server = Server::new(Options::default());
    let definition = serde_json::to_string(definition).expect("a definition is JSON");
    server.install(&definition).expect("it is installed");
    server
}

async fn create<K>(server: &Server, object: &K)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let api = Api::<K>::namespaced(server.client("user"), NAMESPACE);
    let created = api.create(&PostParams::default(), object).await;
    created.expect("it is created");
}

/// Runs a controller of the objects of one kind, and of their Deployments and Services.
macro_rules! run {
    ($server:expr, $kind:ty, $reconcile:expr) => {{
        let client = $server.client("controller");
        let objects = Api::<$kind>::namespaced(client.clone(), NAMESPACE);
        let controller = Controller::new(objects, watcher::Config::default())
            .owns(
                Api::<Deployment>::namespaced(client.clone(), NAMESPACE),
                watcher::Config::default(),
            )
            .owns(
                Api::<Service>::namespaced(client.clone(), NAMESPACE),
                watcher::Config::default(),
            );
        let context = Arc::new(Context { client });
        tokio::spawn(async move {
            let said = controller.run($reconcile, try_again, context);
            said.for_each(|_| async {}).await;
        });
    }};
}

fn meta(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_web_app_becomes_ready_is_set_back_and_goes_with_its_finalizer() {
    let server = server(&WebApp::crd());
    run!(server, WebApp, web_app);
    let spec = WebAppSpec {
        image: "nginx:1.27".to_owned(),
        replicas: 2,
    };
    let mut app = WebApp::new("web", spec);
    app.metadata = meta("web");
    create(&server, &app).await;
    seconds(30).await;
    let found = server
        .object("webapps", NAMESPACE, "web")
        .expect("it is there");
    assert_eq!(
        found["status"],
        json!({"available_replicas": 2, "ready": true})
    );
    assert_eq!(
        found["metadata"]["finalizers"],
        json!(["webapp.example.com/cleanup"])
    );

    let deployments = Api::<Deployment>::namespaced(server.client("user"), NAMESPACE);
    let edit = Patch::Merge(json!({"spec": {"replicas": 9}}));
    let edited = deployments
        .patch("web", &PatchParams::default(), &edit)
        .await;
    edited.expect("it is edited");
    seconds(30).await;
    let deployment = server.object("deployments", NAMESPACE, "web");
    assert_eq!(deployment.expect("it is there")["spec"]["replicas"], 2);

    let apps = Api::<WebApp>::namespaced(server.client("user"), NAMESPACE);
    let deleted = apps.delete("web", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    seconds(30).await;
    assert_eq!(server.object("webapps", NAMESPACE, "web"), None);
}

#[tokio::test(start_paused = true)]
async fn a_my_service_has_two_children_and_makes_a_deleted_one_again() {
    let server = server(&MyService::crd());
    run!(server, MyService, my_service);
    let spec = MyServiceSpec {
        replicas: 1,
        image: "nginx".to_owned(),
    };
    create(&server, &MyService::new("shop", spec)).await;
    seconds(30).await;
    let services = Api::<Service>::namespaced(server.client("user"), NAMESPACE);
    let uid = services
        .get("shop-service")
        .await
        .expect("it is there")
        .uid();
    let params = DeleteParams::default();
    let deleted = services.delete("shop-service", &params).await;
    deleted.expect("it is deleted");
    seconds(30).await;
    let again = services
        .get("shop-service")
        .await
        .expect("it is there again");
    assert_ne!(again.uid(), uid);
    assert!(
        server
            .object("deployments", NAMESPACE, "shop-deployment")
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn an_inference_service_says_its_phase() {
    let server = server(&InferenceService::crd());
    run!(server, InferenceService, inference);
    let spec = InferenceServiceSpec {
        model: "small".to_owned(),
        replicas: 3,
        gpu_count: 1,
    };
    create(&server, &InferenceService::new("llm", spec)).await;
    seconds(60).await;
    let found = server.object("inferenceservices", NAMESPACE, "llm");
    let found = found.expect("it is there");
    assert_eq!(
        found["status"],
        json!({"phase": "Ready", "readyReplicas": 3})
    );
    let deployment = server.object("deployments", NAMESPACE, "llm");
    let deployment = deployment.expect("it is there");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "1");
}

#[tokio::test(start_paused = true)]
async fn an_echo_has_its_finalizer_and_its_deployment_goes_first() {
    let server = server(&Echo::crd());
    run!(server, Echo, echo);
    create(&server, &Echo::new("hello", EchoSpec { replicas: 2 })).await;
    seconds(30).await;
    let found = server
        .object("echoes", NAMESPACE, "hello")
        .expect("it is there");
    assert_eq!(
        found["metadata"]["finalizers"],
        json!(["echoes.example.com/finalizer"])
    );
    assert!(server.object("deployments", NAMESPACE, "hello").is_some());
    let echoes = Api::<Echo>::namespaced(server.client("user"), NAMESPACE);
    let deleted = echoes.delete("hello", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    seconds(30).await;
    assert_eq!(server.object("echoes", NAMESPACE, "hello"), None);
    assert_eq!(server.object("deployments", NAMESPACE, "hello"), None);
}
