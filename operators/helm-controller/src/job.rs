//! The Job that runs Helm for a chart, and what it reads: a Secret with values, a ConfigMap with the chart.
//!
//! Guarantees: pure; field by field what helm-controller v0.17 makes (`job` and its neighbours in
//! `pkg/controllers/chart/chart.go`), which the digest depends on. Leaves to others: when it is made and replaced (`reconcile`).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::chart::{Chart, SecretSpec};
use crate::digest::digest;
use crate::go_duration;
use crate::yaml;

/// The label with the name of the chart, on the Job and its pods.
pub const CHART_LABEL: &str = "helmcharts.helm.cattle.io/chart";
/// The annotation of the pods with the digest; also the label of a release that was installed with it, without its first part.
pub const CONFIG_HASH: &str = "helmcharts.helm.cattle.io/configHash";
/// The type of the Secret with values.
const VALUES_TYPE: &str = "helmcharts.helm.cattle.io/values";
/// Retries of the Job where the chart says nothing.
const BACK_OFF_LIMIT: i32 = 1_000;
/// As many characters as a label has.
const LABEL: usize = 63;
/// Environment variables that say which release is expected: another value of them is no other Job.
const EXPECTED: [&str; 2] = ["CONFIG_HASH", "EXPECTED_RELEASE_REVISION"];

/// What is the same for all Jobs.
#[derive(Debug, Clone)]
pub struct Settings {
    pub image: String,
    /// `resources` of the container.
    pub resources: Value,
    pub tolerations: Vec<Value>,
    /// The ClusterRole of Jobs.
    pub cluster_role: String,
    /// Proxies of this process, as variables of the container.
    pub proxies: Vec<Value>,
}

/// A Job with what it reads.
pub struct Made {
    pub job: Value,
    /// Of a chart that is being deleted there is none of both.
    pub values: Option<Value>,
    pub content: Option<Value>,
    /// As the label of a release has it.
    pub config_hash: String,
}

/// `secrets`: the `data` of [followed](Chart::followed_secrets) Secrets that are there.
pub fn make(chart: Chart<'_>, settings: &Settings, secrets: &[Value]) -> Made {
    let reads = !chart.is_deleted;
    let values = reads.then(|| values(chart));
    let content = reads.then(|| content(chart));
    let mut template = template(chart, settings);
    let limit = chart.spec.back_off_limit.unwrap_or(BACK_OFF_LIMIT);
    let made = [&content, &values].map(|made| made.as_ref().map(|made| &made["data"]));
    let data = made.into_iter().flatten().chain(secrets);
    let hash = digest(Some(limit), &template, data);
    template["metadata"]["annotations"] = json!({CONFIG_HASH: format!("SHA256={hash}")});
    let labels = json!({CHART_LABEL: chart.name});
    Made {
        job: json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": chart.job_name(), "namespace": chart.namespace, "labels": labels},
            "spec": {"suspend": true, "backoffLimit": limit, "template": template},
        }),
        values,
        content,
        config_hash: hash[..LABEL].to_owned(),
    }
}

/// Adds which release the Job is to find: it does nothing where there is another one.
pub fn expect(job: &mut Value, revision: i64, config_hash: &str) {
    let env = &mut job["spec"]["template"]["spec"]["containers"][0]["env"];
    if let Some(env) = env.as_array_mut() {
        env.push(variable("EXPECTED_RELEASE_REVISION", &revision.to_string()));
        env.push(variable("CONFIG_HASH", config_hash));
    }
}

/// Whether the pods of a Job on the server are other ones than those of `wanted`, whatever release they expect.
pub fn is_other(found: &Value, wanted: &Value) -> bool {
    let template = |job: &Value| {
        let mut template = job["spec"]["template"].clone();
        let env = &mut template["spec"]["containers"][0]["env"];
        if let Some(env) = env.as_array_mut() {
            env.retain(|one| !EXPECTED.iter().any(|name| one["name"] == *name));
        }
        // The controller of Jobs adds labels.
        template["metadata"]["labels"] = Value::Null;
        template
    };
    !has(&template(found), &template(wanted))
}

/// Whether `found` has everything of `wanted`; the server adds defaults.
pub fn has(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            let found = found.get(name).unwrap_or(&Value::Null);
            has(found, wanted)
        }),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| has(f, w))
        }
        // What is empty is left out.
        (Value::Null, Value::Object(wanted)) => wanted.is_empty(),
        (found, wanted) => found == wanted,
    }
}

fn template(chart: Chart<'_>, settings: &Settings) -> Value {
    let spec = chart.spec;
    let image = match spec.job_image.trim() {
        "" => &settings.image,
        image => image,
    };
    let mut volumes = ["klipper-helm", "klipper-cache", "klipper-config", "tmp"]
        .map(|name| json!({"name": name, "emptyDir": {"medium": "Memory"}}))
        .to_vec();
    let home = "/home/klipper-helm";
    let mut mounts = vec![
        mount("klipper-helm", &format!("{home}/.helm")),
        mount("klipper-cache", &format!("{home}/.cache")),
        mount("klipper-config", &format!("{home}/.config")),
        mount("tmp", "/tmp"),
    ];
    let mut add = |name: &str, source: (&str, Value), path: &str| {
        volumes.push(json!({"name": name, source.0: source.1}));
        mounts.push(mount(name, path));
    };
    if let Some(secret) = &spec.auth_secret {
        let source = json!({"secretName": secret.name, "defaultMode": 0o644});
        add("auth", ("secret", source), "/auth");
    }
    if let Some(secret) = &spec.docker_registry_secret {
        let items = json!([{"key": ".dockerconfigjson", "path": "config.json"}]);
        let source = json!({"secretName": secret.name, "items": items, "defaultMode": 0o644});
        add(
            "dockerconfig",
            ("secret", source),
            &format!("{home}/.docker"),
        );
    }
    if let Some(map) = &spec.repo_ca_config_map {
        let source = named(&map.name, json!({"defaultMode": 0o644}));
        add("ca-files", ("configMap", source), "/ca-files");
    }
    if !chart.is_deleted {
        let source = json!({"defaultMode": 0o644, "sources": value_sources(chart)});
        add("values", ("projected", source), "/config");
        let source = named(&chart.content_name(), json!({"defaultMode": 0o644}));
        add("content", ("configMap", source), "/chart");
    }

    let mut container = json!({
        "name": "helm", "image": image, "imagePullPolicy": "IfNotPresent", "args": args(chart),
        "env": env(chart, settings), "resources": settings.resources, "volumeMounts": mounts,
        "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    let mut pod = json!({
        "restartPolicy": "OnFailure", "serviceAccountName": format!("helm-{}", chart.name),
        "securityContext": {
            "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "priorityClassName": "system-cluster-critical", "volumes": volumes,
        "nodeSelector": {"kubernetes.io/os": "linux"},
    });
    if let Some(context) = &spec.security_context {
        container["securityContext"] = context.clone();
    }
    if let Some(context) = &spec.pod_security_context {
        pod["securityContext"] = context.clone();
    }
    let mut tolerations = Vec::new();
    if spec.bootstrap {
        pod["nodeSelector"]["node-role.kubernetes.io/control-plane"] = json!("true");
        pod["hostNetwork"] = json!(true);
        tolerations = tolerations_of_bootstrap();
    } else {
        pod["affinity"] = json!({"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
                "matchExpressions": [{
                    "key": "node-role.kubernetes.io/control-plane", "operator": "In", "values": ["true"],
                }],
            }}],
        }});
    }
    tolerations.extend(settings.tolerations.iter().cloned());
    if !tolerations.is_empty() {
        pod["tolerations"] = Value::Array(tolerations);
    }
    pod["containers"] = json!([container]);
    json!({"metadata": {"labels": {CHART_LABEL: chart.name}}, "spec": pod})
}

/// Nothing else runs yet where a chart brings the network or the cloud.
fn tolerations_of_bootstrap() -> Vec<Value> {
    let exists =
        |key: &str, effect: &str| json!({"key": key, "operator": "Exists", "effect": effect});
    vec![
        json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}),
        json!({"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}),
        json!({
            "key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Equal",
            "value": "true", "effect": "NoSchedule",
        }),
        json!({"key": "CriticalAddonsOnly", "operator": "Exists"}),
        exists("node-role.kubernetes.io/etcd", "NoExecute"),
        exists("node-role.kubernetes.io/control-plane", "NoSchedule"),
    ]
}

fn mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}

/// A source with a name; an empty one is left out.
fn named(name: &str, mut source: Value) -> Value {
    if !name.is_empty() {
        source["name"] = json!(name);
    }
    source
}

/// Go leaves out a value that is empty.
fn variable(name: &str, value: &str) -> Value {
    match value {
        "" => json!({"name": name}),
        value => json!({"name": name, "value": value}),
    }
}

fn env(chart: Chart<'_>, settings: &Settings) -> Vec<Value> {
    let (spec, config) = (chart.spec, chart.config);
    let or = |text: &str, default: &str| match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let of_chart = match &*spec.repo {
        "" => spec.chart.clone(),
        _ => format!("{}/{}", chart.name, spec.chart),
    };
    let mut env = vec![
        variable("NAME", chart.name),
        variable("VERSION", &spec.version),
        variable("REPO", &spec.repo),
        variable("HELM_DRIVER", &or(&spec.driver, "secret")),
        variable("CHART_NAMESPACE", chart.namespace),
        variable("CHART", &of_chart),
        variable("HELM_VERSION", &spec.helm_version),
        variable("TARGET_NAMESPACE", chart.target_namespace()),
        variable(
            "AUTH_PASS_CREDENTIALS",
            &spec.auth_pass_credentials.to_string(),
        ),
        variable(
            "INSECURE_SKIP_TLS_VERIFY",
            &spec.insecure_skip_tls_verify.to_string(),
        ),
        variable("PLAIN_HTTP", &spec.plain_http.to_string()),
    ];
    if let Some(timeout) = &spec.timeout {
        env.push(variable("TIMEOUT", &go_duration::normal(timeout)));
    }
    if spec.bootstrap {
        env.push(variable("KUBERNETES_SERVICE_HOST", "127.0.0.1"));
        env.push(variable("KUBERNETES_SERVICE_PORT", "6443"));
        env.push(variable("BOOTSTRAP", "true"));
    }
    env.extend(settings.proxies.iter().cloned());
    let of_config = config.filter(|_| !chart.is_deleted);
    let policy = of_config.map_or("", |config| &config.failure_policy);
    let server_side = of_config.map_or("", |config| &config.server_side);
    let conflicts = of_config.and_then(|config| config.force_conflicts);
    let conflicts = conflicts.unwrap_or(spec.force_conflicts);
    let policy = or(policy, &or(&spec.failure_policy, "reinstall"));
    env.push(variable("FAILURE_POLICY", &policy));
    env.push(variable(
        "SERVER_SIDE",
        &or(server_side, &or(&spec.server_side, "auto")),
    ));
    env.push(variable("FORCE_CONFLICTS", &conflicts.to_string()));
    env
}

/// Arguments of Helm.
fn args(chart: Chart<'_>) -> Vec<String> {
    let spec = chart.spec;
    if chart.is_deleted {
        return vec!["delete".to_owned()];
    }
    let mut args = vec!["install".to_owned()];
    let mut add = |texts: &[&str]| args.extend(texts.iter().map(|text| (*text).to_owned()));
    if !spec.target_namespace.is_empty() {
        add(&["--namespace", &spec.target_namespace]);
    }
    if spec.create_namespace {
        add(&["--create-namespace"]);
    }
    if spec.take_ownership {
        add(&["--take-ownership"]);
    }
    if !spec.version.is_empty() {
        add(&["--version", &spec.version]);
    }
    for (name, value) in &spec.set {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let lower = text.to_lowercase();
        let is_typed = value.is_number() || ["true", "false", "null"].contains(&&*lower);
        match is_typed {
            true => add(&["--set", &format!("{name}={text}")]),
            false => add(&["--set-string", &format!("{name}={}", with_commas(&text))]),
        }
    }
    args
}

/// A comma that is not escaped, after no or an even number of backslashes, separates values: it gets one more.
fn with_commas(text: &str) -> String {
    let mut out = String::new();
    let mut backslashes = 0;
    for character in text.chars() {
        if character == ',' && backslashes % 2 == 0 {
            out.push('\\');
        }
        backslashes = if character == '\\' {
            backslashes + 1
        } else {
            0
        };
        out.push(character);
    }
    out
}

/// Files of values, in the order in which Helm takes them.
fn value_sources(chart: Chart<'_>) -> Vec<Value> {
    let (spec, config) = (chart.spec, chart.config);
    let mut items = Vec::new();
    let mut add = |is_there: bool, key: &str, path: &str| {
        if is_there {
            items.push(json!({"key": key, "path": path}));
        }
    };
    let is_set = |values: &Option<Value>| values.as_ref().is_some_and(|values| !values.is_null());
    let content = "HelmChartValuesContent";
    add(
        !spec.values_content.is_empty(),
        content,
        "values-0-000-HelmChart-ValuesContent.yaml",
    );
    add(
        is_set(&spec.values),
        "HelmChartValues",
        "values-0-001-HelmChart-Values.yaml",
    );
    add(!spec.repo_ca.is_empty(), "RepoCA", "ca-file.pem");
    if let Some(config) = config {
        let content = "HelmChartConfigValuesContent";
        let path = "values-1-000-HelmChartConfig-ValuesContent.yaml";
        add(!config.values_content.is_empty(), content, path);
        let path = "values-1-001-HelmChartConfig-Values.yaml";
        add(is_set(&config.values), "HelmChartConfigValues", path);
    }
    let mut own = json!({"name": chart.values_name()});
    if !items.is_empty() {
        own["items"] = Value::Array(items);
    }
    let mut sources = vec![json!({"secret": own})];
    sources.extend(others(chart, &spec.values_secrets, "0", "HelmChart"));
    if let Some(config) = config {
        sources.extend(others(
            chart,
            &config.values_secrets,
            "1",
            "HelmChartConfig",
        ));
    }
    sources
}

/// Values in Secrets of others.
fn others(chart: Chart<'_>, secrets: &[SecretSpec], rank: &str, of: &str) -> Vec<Value> {
    let mut number = 1;
    let used = secrets.iter();
    let used = used.filter(|one| !one.keys.is_empty() && one.name != chart.values_name());
    let source = |secret: &SecretSpec| {
        let items = secret.keys.iter().map(|key| {
            number += 1;
            let path = format!("values-{rank}-{number:03}-{of}-ValuesSecret.yaml");
            json!({"key": key, "path": path})
        });
        let items = items.collect::<Vec<_>>();
        let source = json!({"items": items, "optional": secret.ignore_updates});
        json!({"secret": named(&secret.name, source)})
    };
    used.map(source).collect()
}

/// The Secret with the values of the chart and of its HelmChartConfig.
fn values(chart: Chart<'_>) -> Value {
    let mut data = json!({});
    let mut add = |key: &str, text: &str| {
        if !text.is_empty() {
            data[key] = json!(BASE64_STANDARD.encode(text));
        }
    };
    let as_yaml = |values: &Option<Value>| values.as_ref().map_or_else(String::new, yaml::write);
    add("HelmChartValuesContent", &chart.spec.values_content);
    add("HelmChartValues", &as_yaml(&chart.spec.values));
    add("RepoCA", &chart.spec.repo_ca);
    if let Some(config) = chart.config {
        add("HelmChartConfigValuesContent", &config.values_content);
        add("HelmChartConfigValues", &as_yaml(&config.values));
    }
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": VALUES_TYPE, "data": data,
        "metadata": {"name": chart.values_name(), "namespace": chart.namespace},
    })
}

/// The ConfigMap with a chart that is in the spec.
fn content(chart: Chart<'_>) -> Value {
    let mut data = json!({});
    if !chart.spec.chart_content.is_empty() {
        data[format!("{}.tgz.base64", chart.name)] = json!(chart.spec.chart_content);
    }
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": chart.content_name(), "namespace": chart.namespace},
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
