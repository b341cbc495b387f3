//! What users are told of what goes wrong outside their EdgeApp: a webhook that is down, a server that is busy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http::Method;
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, foreign_deployment, text, web};
use crate::cluster::simulated::{Simulated, pass};
use crate::cluster::user::JSON;

const CALLED: &str = "failed calling webhook \"policy.example.com\"";

/// A refusal of the server's own, with the port of a connection in its words, which differs each time.
fn webhook_is_down(nth: u64) -> RequestFault {
    RequestFault::Status {
        code: 500,
        reason: "InternalError".to_owned(),
        message: format!(
            "Internal error occurred: {CALLED}: dial tcp 10.0.0.1:{nth}: connection refused"
        ),
        retry_after_s: None,
    }
}

pub async fn a_webhook_that_is_down_is_told_after_the_first_back_off(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("old", web()).await;
    cluster.until_phase("old", "Running").await;
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create" | "patch", "deployments") => webhook_is_down(facts.nth),
            _ => RequestFault::Pass,
        });
    cluster.create("new", web()).await;
    cluster.change("old", json!({ "image": "web:2" })).await;
    for name in ["new", "old"] {
        cluster
            .until(&format!("{name} says why"), |cluster| {
                let degraded = cluster.condition(name, "Degraded");
                degraded["reason"] == "ServerError" && text(&degraded, "/message").contains(CALLED)
            })
            .await;
    }
    let attempts = cluster.requests("create", "deployments");
    assert_eq!(attempts, 3, "that of `old`, and two of `new`");
    let old = cluster.get("edgeapps", "old");
    assert_eq!(
        old["status"]["observedGeneration"], 1,
        "of its newest spec nothing is applied"
    );
    assert_eq!(
        old["status"]["readyReplicas"], 1,
        "its pod runs all the same"
    );
    pass(600).await;
    let events = cluster.server.objects("events");
    let reasons = events.iter().map(|event| &event["reason"]);
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        ["ServerError", "ServerError"],
        "each once"
    );
    cluster.server.faults().clear();
    let cluster =
        cluster.waiting_up_to(std::time::Duration::from_secs(480), "the longest back-off");
    for name in ["new", "old"] {
        cluster.until_phase(name, "Running").await;
        assert_eq!(cluster.condition(name, "Degraded")["status"], "False");
    }
    running.stop().await;
}

/// What the first back-off repairs is nobody's business.
pub async fn an_error_of_the_server_that_passes_is_not_told(mode: Mode) {
    let cluster = Simulated::new(mode);
    let first = AtomicU64::new(0);
    cluster.server.faults().on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") if first.fetch_add(1, Relaxed) == 0 => {
                webhook_is_down(facts.nth)
            }
            _ => RequestFault::Pass,
        }
    });
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    assert_eq!(cluster.server.objects("events"), Vec::<Value>::new());
    running.stop().await;
}

/// Nothing of an outage is written once it is over: as many writes as without it, and no Event.
pub async fn an_outage_of_the_server_leaves_no_wave_of_writes(mode: Mode) {
    const OWNERS: usize = 60;
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster
        .server
        .faults()
        .on_request(|facts| match facts.user {
            "tare" => RequestFault::Status {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "no server".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    for n in 0..OWNERS {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    pass(120).await;
    cluster.server.faults().clear();
    cluster.until_all_running(OWNERS).await;
    let written = cluster.successes("patch", "edgeapps/status");
    assert!(written <= 2 * OWNERS as u64, "{written} writes of statuses");
    assert_eq!(cluster.server.objects("events"), Vec::<Value>::new());
    running.stop().await;
}

/// A policy engine that is down, on a server that calls webhooks.
pub async fn a_policy_engine_that_is_down_is_told(cluster: Cluster) {
    const CONFIGURATIONS: &str =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let operator = cluster.operate().await;
    cluster.create("old", web()).await;
    cluster.until_running("old").await;
    let name = format!("down-{}", cluster.namespace);
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "policy.example.com",
            // Nobody listens there.
            "clientConfig": { "url": "https://127.0.0.1:9/validate" },
            "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": cluster.namespace } },
            "rules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
                "operations": ["CREATE", "UPDATE"],
            }],
        }],
    });
    let made = cluster
        .request(Method::POST, CONFIGURATIONS, JSON, &webhook)
        .await;
    made.expect("install the webhook");
    until_called(&cluster).await;
    cluster.create("new", web()).await;
    cluster
        .change("old", json!({ "image": "registry.local/web:2" }))
        .await;
    for name in ["new", "old"] {
        let told = cluster.until_degraded(name, "ServerError").await;
        let message = text(condition(&told, "Degraded"), "/message");
        assert!(message.contains(CALLED), "{message}");
    }
    let path = format!("{CONFIGURATIONS}/{name}");
    let deleted = cluster
        .request(Method::DELETE, &path, JSON, &Value::Null)
        .await;
    deleted.expect("remove the webhook");
    for name in ["new", "old"] {
        cluster.until_running(name).await;
    }
    operator.terminate().await;
    cluster.end().await;
}

/// The server learns of a webhook a moment later.
async fn until_called(cluster: &Cluster) {
    let path = cluster.path("deployments", "") + "?dryRun=All";
    let probe = foreign_deployment("probe", Value::Null);
    let deadline = tokio::time::Instant::now() + cluster.timeout;
    while cluster
        .request(Method::POST, &path, JSON, &probe)
        .await
        .is_ok()
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the webhook is not called"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// A user who reads the condition finds the Event by its reason, and an administrator the metric.
pub async fn a_condition_an_event_and_a_metric_have_one_reason(mode: Mode) {
    let refusals: [(&str, u16, &str); 4] = [
        (
            "Rejected",
            422,
            "Deployment.apps \"web\" is invalid: spec: no",
        ),
        (
            "Rejected",
            403,
            "deployments.apps \"web\" is forbidden: exceeded quota: few",
        ),
        (
            "Forbidden",
            403,
            "deployments.apps is forbidden: User \"tare\" cannot create resource \"deployments\" in API group \"apps\" in the namespace \"default\"",
        ),
        (
            "ServerError",
            500,
            "Internal error occurred: failed calling webhook",
        ),
    ];
    for (reason, code, words) in refusals {
        let cluster = Simulated::new(mode);
        cluster.server.faults().on_request(move |facts| {
            match (facts.user, facts.verb, facts.resource) {
                ("tare", "create", "deployments") => RequestFault::Status {
                    code,
                    reason: "Refused".to_owned(),
                    message: words.to_owned(),
                    retry_after_s: None,
                },
                _ => RequestFault::Pass,
            }
        });
        one_reason(&cluster, reason).await;
    }
    let cluster = Simulated::new(mode);
    cluster.foreign_deployment("web", None).await;
    one_reason(&cluster, "Collision").await;
}

/// Creates an EdgeApp and compares what is told of it.
async fn one_reason(cluster: &Simulated, reason: &str) {
    let running = cluster.operate();
    cluster.create("web", web()).await;
    pass(20).await;
    let degraded = cluster.condition("web", "Degraded");
    assert_eq!(
        (&degraded["status"], &degraded["reason"]),
        (&"True".into(), &reason.into())
    );
    let events = cluster.server.objects("events");
    let told: Vec<_> = events
        .iter()
        .map(|event| (&event["reason"], &event["message"]))
        .collect();
    assert_eq!(told, [(&degraded["reason"], &degraded["message"])]);
    let counted = counted(&running.rendered_metrics());
    assert_eq!(counted.keys().collect::<Vec<_>>(), [reason]);
    running.stop().await;
}

/// Failures by reason.
fn counted(metrics: &str) -> BTreeMap<String, String> {
    let lines = metrics.lines();
    let of = |line: &str| {
        let rest = line.strip_prefix("tare_reconcile_errors_total{reason=\"")?;
        let (reason, count) = rest.split_once("\"} ")?;
        Some((reason.to_owned(), count.to_owned()))
    };
    lines.filter_map(of).collect()
}

/// The endpoint can be connected to: a headless Service maps no ports.
pub async fn an_endpoint_has_the_port_that_answers(cluster: Cluster) {
    let operator = cluster.operate().await;
    for (name, headless, port) in [("pods", true, 8080), ("mapped", false, 80)] {
        let mut spec = web();
        spec["headless"] = headless.into();
        cluster.create(name, spec).await;
        let running = cluster.until_running(name).await;
        let service = cluster.get("services", name).await;
        assert_eq!(service["spec"]["clusterIP"] == "None", headless);
        let endpoint = text(&running, "/status/endpoint");
        assert_eq!(endpoint, format!("{name}.{}.svc:{port}", cluster.namespace));
    }
    operator.terminate().await;
    cluster.end().await;
}

/// The longest name of an owner leaves no room for what is added to it in the name of an Event.
pub async fn an_owner_with_the_longest_name_has_its_event(mode: Mode) {
    let cluster = Simulated::new(mode);
    // The CRD allows 63 characters: so long a name is only in a CRD of one's own.
    let mut crd: Value = serde_saphyr::from_str(tare::edgeapp::CRD_YAML).expect("the CRD");
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["x-kubernetes-validations"] = json!([]);
    cluster.server.install(&crd.to_string()).expect("the CRD");
    let name = format!("{}.{}", "a".repeat(243), "b".repeat(9));
    let running = cluster.operate();
    // No Service can have that name.
    cluster
        .create(&name, json!({ "image": "web:1", "port": 80 }))
        .await;
    cluster
        .until("an Event tells it", |cluster| {
            !cluster.server.objects("events").is_empty()
        })
        .await;
    let events = cluster.server.objects("events");
    assert_eq!(events[0]["involvedObject"]["name"], name);
    assert!(text(&events[0], "/metadata/name").len() <= 253);
    running.stop().await;
}
