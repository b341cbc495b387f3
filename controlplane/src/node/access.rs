//! How a node and its control plane find each other.
//!
//! Guarantees: inside of the node kube-apiserver has the address that pods are told; outside, a port
//! of loopback. Leaves to others: the addresses themselves being there (`init.sh`).

use std::path::PathBuf;

use http::Request;
use serde_json::Value;

use crate::credentials::owner_only;
use crate::node::components::{KUBELET, SCHEDULER};
use crate::node::namespaces::Namespaces;
use crate::node::{Error, NAME, Options};
use crate::options::{Network, User};
use crate::plane::ControlPlane;

/// The control plane's options for a node that is reached from a port of 127.0.0.1.
pub(crate) fn options(
    options: &Options,
    namespaces: &Namespaces,
    forwarded_from: u16,
) -> Result<crate::options::Options, Error> {
    let family = options.family;
    let names = [
        family.node().to_string(),
        "kubernetes.default.svc".to_owned(),
    ];
    let mut users = options.users.clone();
    users.extend([KUBELET, SCHEDULER].map(User::admin));
    Ok(crate::options::Options {
        datastore: options.datastore,
        dir: options.dir.join("plane"),
        logs: options.logs.clone(),
        users,
        nodes: true,
        network: Some(Network {
            enter: namespaces.enter_network()?,
            address: family.server().ip(),
            port: family.server().port(),
            services: family.services().to_owned(),
            names: names.to_vec(),
            forwarded_from,
        }),
        service_account_admission: true,
        crds: options.crds.clone(),
        start_within: options.start_within,
        ..crate::options::Options::default()
    })
}

/// Credentials that work inside.
pub(crate) fn from_inside(
    plane: &ControlPlane,
    user: &str,
    options: &Options,
) -> Result<PathBuf, Error> {
    let outside = plane.kubeconfig(user);
    let text = std::fs::read_to_string(&outside).map_err(Error::file(&outside))?;
    let text = text.replace(
        &plane.url(),
        &format!("https://{}", options.family.server()),
    );
    let path = options.dir.join(format!("{user}-inside.kubeconfig"));
    owner_only::file(&path, &text)?;
    Ok(path)
}

/// Whether pods can be put on the node; else what it still waits for.
pub(crate) async fn takes_pods(client: &kube::Client) -> Result<(), String> {
    let request = Request::get(format!("/api/v1/nodes/{NAME}")).body(Vec::new());
    let request = request.map_err(|cause| cause.to_string())?;
    let node: Value = client
        .request(request)
        .await
        .map_err(|cause| cause.to_string())?;
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Ready");
    match ready {
        Some(ready) if ready["status"] != "True" => Err(format!("not Ready: {}", ready["message"])),
        None => Err("not Ready: the kubelet has not reported yet".to_owned()),
        // Taken away by a controller a moment after the node is Ready.
        Some(_) if !node["spec"]["taints"].is_null() => {
            Err(format!("tainted: {}", node["spec"]["taints"]))
        }
        Some(_) => Ok(()),
    }
}
