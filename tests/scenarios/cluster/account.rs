//! Service accounts for operators, with the role of `deploy/install.yaml` or with a smaller one.
//!
//! Guarantees: the API server issues the token of an operator for its service account, as it does for
//! the kubelet; the role is read from `install.yaml`.
//! Leaves to others: what each permission is for (`permission_table`), the process (`process`).

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::objects::text;
use super::user::{JSON, MERGE, send};

/// The namespace of the shipped service account.
pub const NAMESPACE: &str = "tare-system";
/// The shipped service account, and the role that it is bound to.
pub const SHIPPED: &str = "tare";

const INSTALL: &str = include_str!("../../../deploy/install.yaml");
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

/// Longer than any run of the tests, s.
const TOKEN_S: u32 = 14_400;

/// The documents of `deploy/install.yaml` of these kinds, in its order.
pub fn documents(kinds: &[&str]) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(INSTALL).expect("install.yaml is YAML");
    let is_asked_for = |object: &Value| kinds.contains(&text(object, "/kind").as_str());
    all.into_iter().filter(is_asked_for).collect()
}

/// The rules of the shipped role.
pub fn shipped_rules() -> Vec<Value> {
    let roles = documents(&["ClusterRole"]);
    let rules = roles.iter().flat_map(|role| role["rules"].as_array());
    rules.flatten().cloned().collect()
}

/// What the API server calls a service account.
pub fn username(account: &str) -> String {
    format!("system:serviceaccount:{NAMESPACE}:{account}")
}

/// The shipped account with the shipped role, as `kubectl apply` would make them.
pub async fn install(client: &Client) {
    for object in documents(&["Namespace"]) {
        make(client, "/api/v1/namespaces", &object).await;
    }
    let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
    for object in documents(&["ServiceAccount"]) {
        make(client, &accounts, &object).await;
    }
    for object in documents(&["ClusterRole"]) {
        make(client, ROLES, &object).await;
    }
    for object in documents(&["ClusterRoleBinding"]) {
        make(client, BINDINGS, &object).await;
    }
}

/// Another account with the shipped role.
pub async fn bind_another(client: &Client, account: &str) {
    make_account(client, account).await;
    bind(client, account, SHIPPED).await;
}

/// Another account with a role of its own that has these rules.
pub async fn make_with(client: &Client, account: &str, rules: &[Value]) {
    make_account(client, account).await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": account }, "rules": rules,
    });
    make(client, ROLES, &role).await;
    bind(client, account, account).await;
}

/// Gives an account of [`make_with`] these rules instead.
pub async fn change(client: &Client, account: &str, rules: &[Value]) {
    let path = format!("{ROLES}/{account}");
    let patch = json!({ "rules": rules });
    let patched = send(client, Method::PATCH, &path, MERGE, &patch).await;
    patched.expect("change a role");
}

/// A token of an account in `namespace` (TokenRequest).
pub async fn token(client: &Client, namespace: &str, account: &str) -> String {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": [], "expirationSeconds": TOKEN_S },
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let answer = send(client, Method::POST, &path, JSON, &request).await;
    text(&answer.expect("ask for a token"), "/status/token")
}

/// Whether this account may create a child of an EdgeApp in `namespace`: admission knows its token, its role and the
/// new kind. A dry run: nothing is created.
pub async fn is_known(client: &Client, namespace: &str) -> Result<(), kube::Error> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "probe", "ownerReferences": [{
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp", "name": "probe",
            "uid": "00000000-0000-4000-8000-000000000000",
            "controller": true, "blockOwnerDeletion": true,
        }] },
        "spec": { "clusterIP": "None", "ports": [{ "port": 80 }] },
    });
    let path = format!("/api/v1/namespaces/{namespace}/services?dryRun=All");
    let made = send(client, Method::POST, &path, JSON, &service).await;
    made.map(drop)
}

async fn make_account(client: &Client, account: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": account, "namespace": NAMESPACE },
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
    make(client, &path, &object).await;
}

async fn bind(client: &Client, account: &str, role: &str) {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": account },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": NAMESPACE }],
    });
    make(client, BINDINGS, &binding).await;
}

async fn make(client: &Client, path: &str, object: &Value) {
    let made = send(client, Method::POST, path, JSON, object).await;
    made.unwrap_or_else(|error| panic!("create {object}: {error}"));
}
