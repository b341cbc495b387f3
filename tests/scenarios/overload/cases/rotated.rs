//! Credentials that are replaced while the operator runs.

use std::time::Duration;

use http::Method;
use kubesim::Tls;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::account::{NAMESPACE, SHIPPED};
use crate::cluster::objects::{text, web};
use crate::cluster::user::JSON;
use crate::overload::record::Figures;
use crate::overload::setting::{Kubeconfig, Setting};

/// The API server remembers for 10 s that a token is valid.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(11);
const TOKEN_WITHIN: Duration = Duration::from_secs(30);
/// The file is read again after a minute, and until then attempts are at most 30 s apart.
const AUTHORITY_WITHIN: Duration = Duration::from_secs(100);

/// The old token is no longer valid, and the file has another one.
pub async fn a_new_token_is_sent(setting: &Setting, figures: &mut Figures) -> Result<(), Failed> {
    let cluster = &setting.cluster;
    let (proxy, through) = setting.proxy().await?;
    let secret = format!("{}-token", cluster.namespace);
    let through = Kubeconfig {
        token: bound_token(setting, &secret).await?,
        ..through
    };
    let mut operator = setting.operate(&through).await?;
    cluster.create("before", web()).await;
    cluster.until_running("before").await;

    std::fs::write(setting.file("token"), &setting.direct().token)?;
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{secret}");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    cluster
        .request(Method::DELETE, &path, JSON, &options)
        .await?;
    tokio::time::sleep(FORGOTTEN_AFTER).await;
    proxy.end_connections();
    let began = Instant::now();
    cluster.create("after", web()).await;
    cluster.until_running("after").await;
    figures.within("the next EdgeApp Running", began.elapsed(), TOKEN_WITHIN);
    let refused = proxy.seen().iter().filter(|one| one.code == 401).count();
    figures.at_most("requests answered with 401", refused as f64, "", 16.0);
    if refused == 0 {
        return Err("the old token is still valid".into());
    }
    operator.check_alive()
}

/// The server's certificate is signed by another authority, which is in the file from then on.
pub async fn a_new_authority_is_trusted(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let cluster = &setting.cluster;
    let (proxy, through) = setting.proxy().await?;
    let mut operator = setting.operate(&through).await?;
    let other = Tls::generate()?;
    std::fs::write(setting.file("ca.pem"), other.ca_pem())?;
    proxy.present(&other)?;
    proxy.end_connections();
    let began = Instant::now();
    cluster.create("after", web()).await;
    crate::overload::wait::until_running(cluster, "after", 1, 2 * AUTHORITY_WITHIN, figures)
        .await?;
    figures.within(
        "the next EdgeApp Running",
        began.elapsed(),
        AUTHORITY_WITHIN,
    );
    operator.check_alive()
}

/// A token of the shipped account that is valid as long as a Secret exists.
async fn bound_token(setting: &Setting, secret: &str) -> Result<String, Failed> {
    let cluster = &setting.cluster;
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "namespace": NAMESPACE },
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    let made: Value = cluster.request(Method::POST, &path, JSON, &object).await?;
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": [], "expirationSeconds": 3_600, "boundObjectRef": {
            "apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made["metadata"]["uid"],
        }},
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{SHIPPED}/token");
    let answer = cluster.request(Method::POST, &path, JSON, &request).await?;
    Ok(text(&answer, "/status/token"))
}
