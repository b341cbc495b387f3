//! EdgeApps whose pods really run.

use controlplane::node::{NAME, PAUSE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::node::test_node::{TestNode, text};

pub async fn edgeapps_become_pods_and_status_follows(test_node: &TestNode) {
    test_node.install();
    test_node.namespace("work");
    test_node.give("apply", "web.yaml", &web("work", 2));
    let app = test_node.until_ready("work", "web", 2);
    assert_eq!(text(&app, "/status/phase"), "Running");
    assert_eq!(text(&app, "/status/endpoint"), "web.work.svc:80");
    let pods = test_node.pods("work", "web");
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        assert_eq!(text(pod, "/status/phase"), "Running");
        assert_eq!(text(pod, "/spec/nodeName"), NAME);
        assert!(text(pod, "/status/podIP").starts_with("10.98.0."), "{pod}");
    }
    // The Service finds them.
    test_node.until("the Service has two endpoints", || {
        let slices = test_node.list("-n work get endpointslices -l kubernetes.io/service-name=web");
        let ends = slices
            .iter()
            .filter_map(|slice| slice["endpoints"].as_array());
        (ends.map(Vec::len).sum::<usize>() == 2).then_some(())
    });

    test_node.kubectl("-n work scale ea/web --replicas=3");
    test_node.until_ready("work", "web", 3);
    // An image that does not exist: the old pods keep running, and the status says Progressing.
    let absent = r#"{"spec":{"image":"localhost/absent:1"}}"#;
    test_node.kubectl(&format!("-n work patch ea web --type=merge -p {absent}"));
    test_node.until("the new pod has no image", || {
        let pods = test_node.pods("work", "web");
        let reason = |pod: &Value| {
            let reason = pod.pointer("/status/containerStatuses/0/state/waiting/reason");
            reason.cloned().unwrap_or_default()
        };
        let waits = |pod: &Value| {
            ["ErrImagePull", "ImagePullBackOff"].contains(&reason(pod).as_str().unwrap_or(""))
        };
        pods.iter().any(waits).then_some(())
    });
    let app = test_node.until("the status says so", || {
        let app = test_node.get("-n work get ea web");
        (app["status"]["phase"] == "Progressing").then_some(app)
    });
    assert!(app["status"]["readyReplicas"].as_u64() >= Some(2), "{app}");
    let back = format!(r#"{{"spec":{{"image":"{PAUSE}"}}}}"#);
    test_node.kubectl(&format!("-n work patch ea web --type=merge -p {back}"));
    test_node.until_ready("work", "web", 3);

    test_node.kubectl("-n work scale ea/web --replicas=0");
    test_node.until("no pod is left", || {
        let left = test_node.list("-n work get pods");
        left.is_empty().then_some(())
    });
    test_node.until_ready("work", "web", 0);
    test_node.kubectl("delete namespace work --timeout=120s");
}

pub async fn a_deleted_pod_comes_back(test_node: &TestNode) {
    test_node.install();
    test_node.namespace("heal");
    test_node.give("apply", "web.yaml", &web("heal", 1));
    test_node.until_ready("heal", "web", 1);
    let before = uids(&test_node.pods("heal", "web"));
    test_node.kubectl("-n heal delete pod -l tare.dev/owner=web --timeout=120s");
    test_node.until("another pod is there", || {
        let now = uids(&test_node.pods("heal", "web"));
        (now.len() == 1 && now != before).then_some(())
    });
    test_node.until_ready("heal", "web", 1);

    // The same for the operator's own pod.
    let before = uids(&test_node.operators());
    test_node.kubectl(&format!(
        "-n tare-system delete pod -l {} --timeout=120s",
        crate::node::test_node::OPERATOR
    ));
    test_node.until_rolled_out();
    assert_ne!(uids(&test_node.operators()), before);
    test_node.kubectl("delete namespace heal --timeout=120s");
}

pub async fn a_killed_operator_goes_on_where_it_was(test_node: &TestNode) {
    test_node.install();
    // A new operator pod, so that its restart count is 0.
    test_node.kubectl("-n tare-system rollout restart deployment tare");
    test_node.until_rolled_out();
    test_node.namespace("kill");
    test_node.give("apply", "web.yaml", &web("kill", 1));
    test_node.until_ready("kill", "web", 1);
    let pod = test_node.operator();
    let deployment = test_node.get("-n kill get deployment web");

    let killed = Pid::from_raw(test_node.operator_pid()).expect("a process id");
    kill_process(killed, Signal::KILL).expect("kill it");
    // A deletion while the operator is down is corrected when it is back.
    test_node.kubectl("-n kill delete deployment web --timeout=120s");
    let again = test_node.until("its container was started again", || {
        let now = test_node.operator();
        let status = &now["status"]["containerStatuses"][0];
        (status["restartCount"] == 1 && status["ready"] == true).then_some(now)
    });
    assert_eq!(again["metadata"]["uid"], pod["metadata"]["uid"]);
    let ended = &again["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(ended["exitCode"], json!(137), "{ended}");
    test_node.until("the Deployment is back", || {
        let now = test_node.list("-n kill get deployments");
        let now = now.first()?;
        (now["metadata"]["uid"] != deployment["metadata"]["uid"]).then_some(())
    });
    test_node.until_ready("kill", "web", 1);
    test_node.kubectl("delete namespace kill --timeout=120s");
}

/// An EdgeApp with a Service, of an image that the node has.
pub fn web(namespace: &str, replicas: u32) -> String {
    format!(
        "apiVersion: tare.dev/v1alpha1\n\
         kind: EdgeApp\n\
         metadata: {{name: web, namespace: {namespace}}}\n\
         spec: {{image: \"{PAUSE}\", replicas: {replicas}, port: 8080}}\n"
    )
}

pub fn uids(objects: &[Value]) -> Vec<String> {
    let uid = |it: &Value| text(it, "/metadata/uid").to_owned();
    let mut uids: Vec<String> = objects.iter().map(uid).collect();
    uids.sort();
    uids
}
