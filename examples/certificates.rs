//! Certificates after cert-manager: a Certificate has a Secret of its name, self-signed for its issuer.
//!
//! It is made again after two thirds of its time, when the issuer or the Certificate changes, and when the Secret is deleted.
//!
//! `cargo run --example certificates -- run --install-crd`, and in another terminal
//! `kubectl apply -f examples/certificates/sample.yaml && kubectl get secret hello -o yaml`

use std::{sync::Arc, time::UNIX_EPOCH};

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::runtime::{reflector::ObjectRef, watcher::Config};
use kube::{Api, Client, Resource, ResourceExt};
use rcgen::{CertificateParams, DnType, KeyPair};
use tare_runtime::free::{Action, Controller, back_off};
use tare_runtime::prelude::*;

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Certificate")]
#[kube(namespaced, status = "CertificateStatus")]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// An Issuer in the same namespace, or, with `cluster`, a ClusterIssuer.
    pub issuer: String,
    #[serde(default)]
    pub cluster: bool,
    pub dns_names: Vec<String>,
    pub duration_s: u64,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatus {
    pub not_after: String,
    pub observed_generation: Option<i64>,
}

/// Certificates are signed with their own keys, in the name of this organization.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Issuer", namespaced)]
pub struct IssuerSpec {
    pub organization: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "ClusterIssuer")]
pub struct ClusterIssuerSpec {
    pub organization: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no issuer {0}")]
    NoIssuer(String),
    #[error("the certificate cannot be made: {0}")]
    Signing(#[from] rcgen::Error),
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// Annotations of the Secret: what it was made from, and when it is renewed, in seconds since 1970.
const MADE_FROM: &str = "example.com/made-from";
const RENEW_AT: &str = "example.com/renew-at";

/// The client, and what tells the time, in seconds since 1970.
pub struct Context(Client, fn() -> u64);

async fn reconcile(wanted: Arc<Certificate>, context: Arc<Context>) -> Result<Action, Error> {
    let (client, now_s) = (|| context.0.clone(), context.1());
    let (name, namespace) = (wanted.name_any(), wanted.namespace().unwrap_or_default());
    let (spec, issuer) = (&wanted.spec, &wanted.spec.issuer);
    let of_all = Api::<ClusterIssuer>::all(client());
    let beside = Api::<Issuer>::namespaced(client(), &namespace);
    let organization = match spec.cluster {
        true => of_all.get_opt(issuer).await?.map(|i| i.spec.organization),
        false => beside.get_opt(issuer).await?.map(|i| i.spec.organization),
    };
    let organization = organization.ok_or_else(|| Error::NoIssuer(issuer.clone()))?;
    let observed_generation = wanted.metadata.generation;
    let made_from = format!("{observed_generation:?} for {organization}");
    let secrets = Api::<Secret>::namespaced(client(), &namespace);
    let found = secrets.get_opt(&name).await?;
    let renew_at = found.and_then(|secret| renew_at(&secret, &made_from));
    if let Some(renew_at) = renew_at.filter(|renew_at| *renew_at > now_s) {
        return Ok(Action::requeue(Duration::from_secs(renew_at - now_s)));
    }
    let mut params = CertificateParams::new(spec.dns_names.clone())?;
    let whose = &mut params.distinguished_name;
    whose.push(DnType::OrganizationName, organization);
    params.not_before = (UNIX_EPOCH + Duration::from_secs(now_s)).into();
    params.not_after = params.not_before + Duration::from_secs(spec.duration_s);
    let key = KeyPair::generate()?;
    let valid_s = (spec.duration_s * 2 / 3).max(1);
    let owners = [wanted.controller_owner_ref(&())];
    let annotations = json!({MADE_FROM: made_from, RENEW_AT: (now_s + valid_s).to_string()});
    let secret = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": name, "annotations": annotations, "ownerReferences": owners},
        "stringData": {"tls.crt": params.self_signed(&key)?.pem(), "tls.key": key.serialize_pem()},
    }));
    let ours = PatchParams::apply("certificates").force();
    secrets.patch(&name, &ours, &secret).await?;

    let status = Patch::Merge(json!({"status": {
        "notAfter": params.not_after.to_string(), "observedGeneration": observed_generation,
    }}));
    let certificates = Api::<Certificate>::namespaced(client(), &namespace);
    let ours = PatchParams::default();
    certificates.patch_status(&name, &ours, &status).await?;
    Ok(Action::requeue(Duration::from_secs(valid_s)))
}

/// When a Secret is renewed that is whole and was made from this.
fn renew_at(secret: &Secret, made_from: &str) -> Option<u64> {
    let has = |key| Some(!secret.data.as_ref()?.get(key)?.0.is_empty());
    let said = |name| secret.annotations().get(name);
    let is_right = has("tls.crt")? && has("tls.key")? && said(MADE_FROM)? == made_from;
    said(RENEW_AT)?.parse().ok().filter(|_| is_right)
}

fn controller(place: &Place) -> Controller<Certificate> {
    let of_all = |one: &Certificate| one.spec.cluster.then(|| ObjectRef::new(&one.spec.issuer));
    let beside = |one: &Certificate| {
        let issuer = ObjectRef::new(&one.spec.issuer);
        (!one.spec.cluster).then(|| issuer.within(&one.namespace().unwrap_or_default()))
    };
    let observed = |one: &Certificate| one.status.as_ref()?.observed_generation;
    Controller::new(place.objects::<Certificate>(), place.selected())
        .owns(place.objects::<Secret>(), Config::default())
        .index(place.objects::<ClusterIssuer>(), Config::default(), of_all)
        .index(place.objects::<Issuer>(), Config::default(), beside)
        .skip(move |one| observed(one) == one.metadata.generation)
}

pub async fn run(shared: Shared, now: fn() -> u64) {
    let context = Arc::new(Context(shared.client.clone(), now));
    shared.run(controller, reconcile, back_off, context).await;
}

fn main() -> ExitCode {
    let now = || UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let about = "self-signed Certificates";
    Program::several("certificates", about, env!("TARE_VERSION"))
        .resource::<Issuer>()
        .resource::<ClusterIssuer>()
        .resource::<Certificate>()
        .controller("certificates", move |shared| run(shared, now))
        .main(std::env::args_os().skip(1))
}
