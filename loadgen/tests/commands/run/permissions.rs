//! What a run needs permission for: `lint` says what is missing, and `run` does with what there is.

use kubesim::RequestFault;

use crate::run::bad_workloads::{WORKLOAD, cluster, folder, left, write_good};
use crate::run::simulated_cluster::{SimulatedCluster, assert_success, code, stderr, stdout};

/// Of every kind of permission that a run needs.
pub fn without_permission() {
    let simulated_cluster = cluster("no-permission");
    let folder = folder("no-permission");
    let steps = "\n[[children]]\napi_version = \"apps/v1\"\nkind = \"Deployment\"\nplural = \"deployments\"\n\
        \n[[steps]]\ndo = \"delete-children\"\n\
        \n[[steps]]\ndo = \"bystanders\"\nobjects = \"secrets=3\"\nchanges = 1\n";
    write_good(&folder);
    std::fs::write(folder.join("workload.toml"), WORKLOAD.to_owned() + steps).expect("writable");
    let workload = folder.display().to_string();
    let lint = || {
        let output = simulated_cluster.loadgen(&["lint", &workload]);
        let said = stdout(&output) + &stderr(&output);
        (code(&output), said.replace(&format!("{workload}/"), ""))
    };
    let (ended, said) = lint();
    assert_eq!(ended, Some(0), "{said}");
    for (verb, resource, want) in [
        (
            "create",
            "widgets",
            "workload.toml:11: object.template: you may not create widgets.example.com in namespace default; ask for a Role that allows it",
        ),
        (
            "delete",
            "namespaces",
            "workload.toml:6: object: you may not delete namespaces; ask for a ClusterRole that allows it, or run in",
        ),
        (
            "list",
            "configmaps",
            "fixture.yaml:4: ConfigMap class: you may not list configmaps in namespace default; ask for a Role that",
        ),
        (
            "delete",
            "deployments",
            "workload.toml:19: children.plural: you may not delete deployments.apps in namespace default; ask for a Role",
        ),
        (
            "patch",
            "secrets",
            "workload.toml:26: steps.objects: you may not patch secrets; ask for a ClusterRole that allows it",
        ),
    ] {
        forbid(&simulated_cluster, verb, resource);
        let (ended, said) = lint();
        let wrong = said.lines().filter(|line| line.starts_with("FAIL "));
        let wrong: Vec<&str> = wrong.collect();
        assert_eq!(wrong.len(), 1, "{verb} {resource}: {said}");
        let want = format!("FAIL {want}");
        assert!(wrong[0].starts_with(&want), "{want} not in {}", wrong[0]);
        assert_eq!(ended, Some(1), "{said}");
    }
    forbid(&simulated_cluster, "create", "widgets");
    let run = simulated_cluster.loadgen(&["run", &workload, "--count", "2"]);
    assert_eq!(code(&run), Some(1), "{}", stderr(&run));
    assert!(
        stdout(&run).contains("cannot create widgets"),
        "{}",
        stdout(&run)
    );
    assert_eq!(left(&simulated_cluster), Vec::<String>::new());
}

/// One verb on one resource.
fn forbid(simulated_cluster: &SimulatedCluster, verb: &'static str, resource: &'static str) {
    let faults = simulated_cluster.server.faults();
    faults.on_request(move |facts| match (facts.verb, facts.resource) {
        asked if asked == (verb, resource) => RequestFault::Status {
            code: 403,
            reason: "Forbidden".into(),
            message: format!("{resource} is forbidden: User \"tester\" cannot {verb} {resource}"),
            retry_after_s: None,
        },
        _ => RequestFault::Pass,
    });
}

/// Somebody who may not make a namespace uses one that is there.
pub fn namespace_of_others() {
    let simulated_cluster = SimulatedCluster::without_crd("namespace-of-others");
    simulated_cluster.create_namespace("shop");
    forbid(&simulated_cluster, "create", "namespaces");
    let run = |more: &[&str]| {
        let mut args = vec!["run", "configmaps", "--count", "3"];
        args.extend(more);
        simulated_cluster.loadgen(&args)
    };
    let refused = run(&[]);
    let said = stderr(&refused);
    assert_eq!(code(&refused), Some(1), "{said}");
    let want = "cannot create namespaces; choose one that exists with --namespace";
    assert!(said.contains(want), "{said}");
    assert_success(&run(&["--namespace", "shop"]));
    assert!(
        simulated_cluster
            .names("namespaces")
            .contains(&"shop".to_owned())
    );
    assert_eq!(simulated_cluster.names("configmaps"), Vec::<String>::new());
}
