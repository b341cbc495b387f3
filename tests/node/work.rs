//! EdgeApps whose pods really run.

use controlplane::node::{NAME, PAUSE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::site::{Site, text};

pub async fn edgeapps_become_pods_and_status_follows(site: &Site) {
    site.install();
    site.namespace("work");
    site.give("apply", "web.yaml", &web("work", 2));
    let app = site.until_ready("work", "web", 2);
    assert_eq!(text(&app, "/status/phase"), "Running");
    assert_eq!(text(&app, "/status/endpoint"), "web.work.svc:80");
    let pods = site.pods("work", "web");
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        assert_eq!(text(pod, "/status/phase"), "Running");
        assert_eq!(text(pod, "/spec/nodeName"), NAME);
        assert!(text(pod, "/status/podIP").starts_with("10.98.0."), "{pod}");
    }
    // The Service finds them.
    site.until("the Service has two endpoints", || {
        let slices = site.list("-n work get endpointslices -l kubernetes.io/service-name=web");
        let ends = slices
            .iter()
            .filter_map(|slice| slice["endpoints"].as_array());
        (ends.map(Vec::len).sum::<usize>() == 2).then_some(())
    });

    site.kubectl("-n work scale ea/web --replicas=3");
    site.until_ready("work", "web", 3);
    // An image that is not there: what runs goes on, and the status says that it is not done.
    let absent = r#"{"spec":{"image":"localhost/absent:1"}}"#;
    site.kubectl(&format!("-n work patch ea web --type=merge -p {absent}"));
    site.until("the new pod has no image", || {
        let pods = site.pods("work", "web");
        let reason = |pod: &Value| {
            let reason = pod.pointer("/status/containerStatuses/0/state/waiting/reason");
            reason.cloned().unwrap_or_default()
        };
        let waits = |pod: &Value| {
            ["ErrImagePull", "ImagePullBackOff"].contains(&reason(pod).as_str().unwrap_or(""))
        };
        pods.iter().any(waits).then_some(())
    });
    let app = site.until("the status says so", || {
        let app = site.get("-n work get ea web");
        (app["status"]["phase"] == "Progressing").then_some(app)
    });
    assert!(app["status"]["readyReplicas"].as_u64() >= Some(2), "{app}");
    let back = format!(r#"{{"spec":{{"image":"{PAUSE}"}}}}"#);
    site.kubectl(&format!("-n work patch ea web --type=merge -p {back}"));
    site.until_ready("work", "web", 3);

    site.kubectl("-n work scale ea/web --replicas=0");
    site.until("no pod is left", || {
        let left = site.list("-n work get pods");
        left.is_empty().then_some(())
    });
    site.until_ready("work", "web", 0);
    site.kubectl("delete namespace work --timeout=120s");
}

pub async fn a_deleted_pod_comes_back(site: &Site) {
    site.install();
    site.namespace("heal");
    site.give("apply", "web.yaml", &web("heal", 1));
    site.until_ready("heal", "web", 1);
    let before = uids(&site.pods("heal", "web"));
    site.kubectl("-n heal delete pod -l tare.dev/owner=web --timeout=120s");
    site.until("another pod is there", || {
        let now = uids(&site.pods("heal", "web"));
        (now.len() == 1 && now != before).then_some(())
    });
    site.until_ready("heal", "web", 1);

    // The operator's own, too.
    let before = uids(&site.operators());
    site.kubectl(&format!(
        "-n tare-system delete pod -l {} --timeout=120s",
        crate::site::OPERATOR
    ));
    site.until_rolled_out();
    assert_ne!(uids(&site.operators()), before);
    site.kubectl("delete namespace heal --timeout=120s");
}

pub async fn a_killed_operator_goes_on_where_it_was(site: &Site) {
    site.install();
    // A pod of its own, which has not restarted yet.
    site.kubectl("-n tare-system rollout restart deployment tare");
    site.until_rolled_out();
    site.namespace("kill");
    site.give("apply", "web.yaml", &web("kill", 1));
    site.until_ready("kill", "web", 1);
    let pod = site.operator();
    let deployment = site.get("-n kill get deployment web");

    let killed = Pid::from_raw(site.operator_pid()).expect("a process id");
    kill_process(killed, Signal::KILL).expect("kill it");
    // What happens while it is down is found when it is back.
    site.kubectl("-n kill delete deployment web --timeout=120s");
    let again = site.until("its container was started again", || {
        let now = site.operator();
        let status = &now["status"]["containerStatuses"][0];
        (status["restartCount"] == 1 && status["ready"] == true).then_some(now)
    });
    assert_eq!(again["metadata"]["uid"], pod["metadata"]["uid"]);
    let ended = &again["status"]["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(ended["exitCode"], json!(137), "{ended}");
    site.until("the Deployment is back", || {
        let now = site.list("-n kill get deployments");
        let now = now.first()?;
        (now["metadata"]["uid"] != deployment["metadata"]["uid"]).then_some(())
    });
    site.until_ready("kill", "web", 1);
    site.kubectl("delete namespace kill --timeout=120s");
}

/// An EdgeApp with a Service, of an image that is there.
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
