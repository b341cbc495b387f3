//! Logs of Pods on a server without nodes: which container is chosen, and an empty log.

use kube::client::Body;
use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, blames, equal, mentions};
use crate::{Context, theme};

theme! { "logs":
    the_log_of_a_pod_without_a_node_is_empty,
    an_answer_without_content_has_no_type,
    one_of_several_containers_has_to_be_named,
    a_container_that_is_not_there_has_no_log,
    a_pod_that_is_not_there_has_no_log,
    a_negative_number_of_lines_is_refused,
}

/// A Pod that no scheduler takes, with these containers.
fn pod(name: &str, containers: &[&str]) -> Value {
    let containers: Vec<Value> = containers
        .iter()
        .map(|name| json!({ "name": name, "image": "registry.local/app:1" }))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "schedulerName": "nobody", "containers": containers },
    })
}

impl Context {
    async fn log(&self, pod: &str, query: &str) -> Result<String, kube::Error> {
        let namespace = &self.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?{query}");
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        self.client.request_text(request).await
    }

    async fn has_pod(&self, name: &str, containers: &[&str]) -> Check {
        let pods = self.at(&format!("/api/v1/namespaces/{}/pods", self.namespace));
        let created = pods.create(pod(name, containers)).await;
        created.succeeds("creating a Pod").map(|_| ())
    }
}

async fn the_log_of_a_pod_without_a_node_is_empty(context: Context) -> Check {
    context.has_pod("web", &["app"]).await?;
    for query in ["", "container=app", "follow=true&tailLines=5"] {
        let log = context.log("web", query).await.succeeds(query)?;
        equal("the log", log.as_str(), "")?;
    }
    Ok(())
}

async fn an_answer_without_content_has_no_type(context: Context) -> Check {
    context.has_pod("web", &["app"]).await?;
    let path = format!("/api/v1/namespaces/{}/pods/web/log", context.namespace);
    let invalid = |error: http::Error| Failure::new(&path, "a request", error.to_string());
    let request = http::Request::get(&path).body(Body::empty());
    let answer = context.client.send(request.map_err(invalid)?).await;
    let answer = answer.succeeds("a log")?;
    equal("the code", &answer.status().as_u16(), &204)?;
    let content_type = answer.headers().get(http::header::CONTENT_TYPE);
    equal("Content-Type", &content_type, &None)
}

async fn one_of_several_containers_has_to_be_named(context: Context) -> Check {
    context.has_pod("web", &["app", "proxy"]).await?;
    let refused = context.log("web", "").await;
    let status = refused.refused(400, "BadRequest", "a log of two containers")?;
    let why = "a container name must be specified for pod web, choose one of: [app proxy]";
    mentions("the message", &status.message, why)?;
    let log = context.log("web", "container=proxy").await;
    equal("the log", log.succeeds("its log")?.as_str(), "")
}

async fn a_container_that_is_not_there_has_no_log(context: Context) -> Check {
    context.has_pod("web", &["app"]).await?;
    let refused = context.log("web", "container=db").await;
    let status = refused.refused(400, "BadRequest", "the log of another container")?;
    mentions(
        "the message",
        &status.message,
        "container db is not valid for pod web",
    )
}

async fn a_pod_that_is_not_there_has_no_log(context: Context) -> Check {
    let refused = context.log("web", "").await;
    let status = refused.refused(404, "NotFound", "the log of no Pod")?;
    mentions("the message", &status.message, "pods \"web\" not found")
}

async fn a_negative_number_of_lines_is_refused(context: Context) -> Check {
    context.has_pod("web", &["app"]).await?;
    let refused = context.log("web", "tailLines=-1").await;
    let status = refused.refused(422, "Invalid", "the last -1 lines")?;
    blames(&status, "tailLines")
}
