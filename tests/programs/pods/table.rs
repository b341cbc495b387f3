//! The table has kubectl's columns and widths.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::example::table::wide;

fn pods() -> Vec<Pod> {
    let pods = json!([
        {
            "metadata": { "name": "web", "namespace": "shop", "creationTimestamp": "2026-11-21T11:59:18Z" },
            "spec": { "containers": [{ "name": "a" }], "nodeName": "node1" },
            "status": {
                "phase": "Running", "podIP": "10.0.0.7", "nominatedNodeName": "node2",
                "containerStatuses": [{
                    "name": "a", "ready": true, "restartCount": 12, "image": "", "imageID": "",
                    "state": { "running": {} },
                    "lastState": { "terminated": { "exitCode": 1, "finishedAt": "2026-11-21T11:59:50Z" } },
                }],
            },
        },
        {
            "metadata": { "name": "database-0", "namespace": "default", "creationTimestamp": "2026-11-19T11:00:00Z" },
            "spec": { "containers": [{ "name": "a" }], "readinessGates": [{ "conditionType": "x/y" }] },
            "status": { "phase": "Pending" },
        },
    ]);
    serde_json::from_value(pods).unwrap()
}

#[test]
fn columns_and_widths_are_those_of_kubectl() {
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    let want = "\
NAME         READY   STATUS    RESTARTS       AGE    IP         NODE     NOMINATED NODE   READINESS GATES
web          1/1     Running   12 (10s ago)   42s    10.0.0.7   node1    node2            <none>
database-0   0/1     Pending   0              2d1h   <none>     <none>   <none>           0/1
";
    assert_eq!(wide(&pods(), false, now), want);
    let everywhere = wide(&pods(), true, now);
    let first = "NAMESPACE   NAME         READY   STATUS ";
    assert!(everywhere.starts_with(first), "{everywhere}");
    assert!(
        everywhere.contains("\ndefault     database-0   0/1     Pending "),
        "{everywhere}"
    );
}
