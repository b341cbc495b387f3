//! The chart in `deploy/helm`, rendered by Helm; no cluster.
//!
//! Guarantees: with its default values it gives the objects of `deploy/install.yaml`, with others those of the overlays;
//! a wrong value is refused in one line that names it. Where Helm or kubectl is missing, tests are ignored, with a line
//! that says how to get it. Leaves to others: an installation ([`crate::node`]), the CRD (`tests/repository/crd.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use controlplane::Binaries;
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

use crate::helm::{self, CHART, printed};
use crate::manifests::{by_name, differences, documents, parse};

type Objects = BTreeMap<String, Value>;

/// Helm's own word for "do not delete this": the one thing that `install.yaml` has not.
const KEPT: &str = "CustomResourceDefinition -/edgeapps.tare.dev /metadata/annotations/helm.sh/resource-policy: \
                    null and \"keep\"";

/// A test of the chart that needs no cluster.
type Test = fn(&Helm);

pub fn trials() -> Vec<Trial> {
    let helm = helm::find().map(Helm);
    let kubectl = Binaries::find()
        .map_err(|error| error.to_string())
        .and_then(|binaries| binaries.kubectl.ok_or_else(|| "no kubectl".to_owned()));
    for reason in [helm.as_ref().err(), kubectl.as_ref().err()]
        .into_iter()
        .flatten()
    {
        eprintln!("tests of the chart are ignored: {reason}");
    }
    let alone: [(&str, Test); 6] = [
        ("lint_has_no_warning", lint_has_no_warning),
        (
            "by_default_it_is_install_yaml",
            by_default_it_is_install_yaml,
        ),
        ("values_reach_the_pod", values_reach_the_pod),
        (
            "a_namespace_that_is_there_is_not_made",
            a_namespace_that_is_there_is_not_made,
        ),
        (
            "what_a_distribution_decides_is_a_value",
            what_a_distribution_decides_is_a_value,
        ),
        (
            "a_wrong_value_is_refused_in_one_line",
            a_wrong_value_is_refused_in_one_line,
        ),
    ];
    let mut trials = Vec::new();
    for (name, test) in alone {
        let found = helm.clone();
        let run = move || found.as_ref().map(test).map_err(Failed::from);
        trials.push(Trial::test(format!("chart::{name}"), run).with_ignored_flag(helm.is_err()));
    }
    for overlay in &OVERLAYS {
        let (helm, kubectl) = (helm.clone(), kubectl.clone());
        let ignored = helm.is_err() || kubectl.is_err();
        let name = format!("chart::values give deploy/{}", overlay.folder);
        let run = move || {
            overlay.is_rendered(&helm?, &kubectl?);
            Ok(())
        };
        trials.push(Trial::test(name, run).with_ignored_flag(ignored));
    }
    trials
}

#[derive(Clone)]
struct Helm(PathBuf);

impl Helm {
    fn says(&self, command: &[&str], options: &[&str]) -> Result<String, String> {
        printed(Command::new(&self.0).args(command).arg(CHART).args(options))
    }

    /// What a release in namespace `default` consists of.
    fn rendered(&self, options: &[&str]) -> Objects {
        let command = ["template", "--namespace=default", "tare"];
        let said = self.says(&command, options);
        let said = said.unwrap_or_else(|error| panic!("{options:?}: {error}"));
        by_name(parse(&said).expect("YAML"))
    }
}

fn lint_has_no_warning(helm: &Helm) {
    let said = helm.says(&["lint", "--strict"], &[]);
    let said = said.unwrap_or_else(|said| panic!("{said}"));
    assert!(said.contains("0 chart(s) failed"), "{said}");
}

fn by_default_it_is_install_yaml(helm: &Helm) {
    let installed = by_name(documents("deploy/install.yaml").expect("install.yaml"));
    let found = differences(&installed, &helm.rendered(&[]));
    assert_eq!(found, [KEPT], "install.yaml and the chart");
    let found = differences(&installed, &helm.rendered(&["--set=crd.keep=false"]));
    assert_eq!(found, [""; 0], "install.yaml and the chart");
}

/// A folder of `deploy/`, and the values that give the same.
struct Overlay {
    folder: &'static str,
    values: &'static [&'static str],
}

static OVERLAYS: [Overlay; 3] = [
    Overlay {
        folder: "two-replicas",
        values: &["--set=crd.keep=false,replicas=2"],
    },
    Overlay {
        folder: "namespaced",
        values: &["--set=scope=namespace,namespace.name=edge"],
    },
    Overlay {
        folder: "k3s",
        values: &[
            "--set=crd.keep=false,image.pullPolicy=Never",
            "--set-json=tolerations=[\
                {\"key\":\"node-role.kubernetes.io/control-plane\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"},\
                {\"key\":\"CriticalAddonsOnly\",\"operator\":\"Exists\"}]",
        ],
    },
];

impl Overlay {
    fn is_rendered(&self, helm: &Helm, kubectl: &Path) {
        let folder = Path::new(CHART).with_file_name(self.folder);
        let said = printed(Command::new(kubectl).arg("kustomize").arg(folder));
        let overlay = by_name(parse(&said.expect("kubectl kustomize")).expect("YAML"));
        let found = differences(&overlay, &helm.rendered(self.values));
        assert_eq!(found, [""; 0], "deploy/{} and the chart", self.folder);
    }
}

fn values_reach_the_pod(helm: &Helm) {
    let digest = format!("sha256:{}", "0".repeat(64));
    let image = format!("--set=image.repository=registry.example/edge/tare,image.digest={digest}");
    let objects = helm.rendered(&[
        &image,
        "--set=cache=pruned,extraArgs={--concurrency=8},resources.limits.memory=64Mi",
        "--set=priorityClassName=system-cluster-critical,nodeSelector.site=edge,imagePullSecrets[0].name=edge",
        "--set=networkPolicy=false,crd.install=false,namespace.create=false,namespace.name=operators",
    ]);
    let kinds: Vec<&str> = objects
        .keys()
        .filter_map(|name| name.split(' ').next())
        .collect();
    let wanted = [
        "ClusterRole",
        "ClusterRoleBinding",
        "Deployment",
        "Service",
        "ServiceAccount",
    ];
    assert_eq!(kinds, wanted);
    let pod = &objects["Deployment operators/tare"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        container["image"],
        format!("registry.example/edge/tare@{digest}")
    );
    let args = [
        "run",
        "--admin",
        ":8080",
        "--cache=pruned",
        "--concurrency=8",
    ];
    assert_eq!(container["args"], json!(args));
    let resources =
        json!({ "limits": { "memory": "64Mi" }, "requests": { "cpu": "10m", "memory": "8Mi" } });
    assert_eq!(container["resources"], resources);
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(pod["nodeSelector"], json!({ "site": "edge" }));
    assert_eq!(pod["imagePullSecrets"], json!([{ "name": "edge" }]));
    let account = &objects["ClusterRoleBinding -/tare"]["subjects"][0];
    assert_eq!(account["namespace"], "operators");
}

/// OpenShift assigns the user; MicroK8s has another port.
fn what_a_distribution_decides_is_a_value(helm: &Helm) {
    let objects = helm.rendered(&["--set=runAsUser=null,apiServerPorts={443,16443}"]);
    let pod = &objects["Deployment tare-system/tare"]["spec"]["template"]["spec"];
    let security = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    assert_eq!(pod["securityContext"], security);
    let policy = &objects["NetworkPolicy tare-system/tare"]["spec"]["egress"];
    let port = |number: u16| json!({ "protocol": "TCP", "port": number });
    assert_eq!(policy, &json!([{ "ports": [port(443), port(16443)] }]));
}

/// `helm install --namespace tare-system --create-namespace`: Helm would not take over the namespace that it has made.
fn a_namespace_that_is_there_is_not_made(helm: &Helm) {
    let command = ["template", "--namespace=tare-system", "tare"];
    let said = helm.says(&command, &[]).expect("rendered");
    assert!(!said.contains("kind: Namespace\n"), "{said}");
}

fn a_wrong_value_is_refused_in_one_line(helm: &Helm) {
    for (value, place) in [
        ("cache=all", "'/cache'"),
        ("cashe=none", "'cashe'"),
        ("replicas=0", "'/replicas'"),
        ("replicas=two", "'/replicas'"),
        ("image.tag=a:b", "'/image/tag'"),
        ("image.digest=sha256:12", "'/image/digest'"),
        ("image.pullPolicy=Sometimes", "'/image/pullPolicy'"),
        (
            "resources.limits.memory=16 MiB",
            "'/resources/limits/memory'",
        ),
        ("resources.limits.memmory=16Mi", "'memmory'"),
        ("namespace.name=Tare", "'/namespace/name'"),
        ("scope=everything", "'/scope'"),
        ("crd.keep=maybe", "'/crd/keep'"),
        ("runAsUser=0", "'/runAsUser'"),
        ("apiServerPorts[0]=0", "'/apiServerPorts/0'"),
    ] {
        let set = format!("--set={value}");
        let said = helm.says(&["template", "tare"], &[&set]);
        let said = said.expect_err(value);
        let problems: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("- at "))
            .collect();
        let [problem] = problems[..] else {
            panic!("{value}: {said}");
        };
        assert!(problem.contains(place), "{value}: {problem}");
    }
}
