//! Two operators and a controller in one program: they share the command line, the connections, the Lease and the admin port.
//!
//! A `Note` owns a ConfigMap, a `Memo` a Secret, and the controller counts in each namespace how many Notes there are.
//!
//! `cargo run --example several -- run --install-crd`, and in another terminal
//! `kubectl apply -f examples/several/sample.yaml && kubectl get configmaps,secrets`

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use tare_runtime::free::{Action, Controller, back_off};
use tare_runtime::prelude::*;

/// A text for everybody.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Note", namespaced)]
pub struct NoteSpec {
    /// The text of the ConfigMap.
    pub text: String,
}

/// A text for few.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Memo", namespaced)]
pub struct MemoSpec {
    /// The text of the Secret.
    pub text: String,
}

const SECRET: Kind = Kind {
    api_version: "v1",
    kind: "Secret",
    plural: "secrets",
    namespaced: true,
    status: &[],
};

struct Notes;

impl Operator for Notes {
    type Resource = Note;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "notes";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];

    fn plan(&self, note: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let body = json!({"data": {"text": note.spec.text}});
        Ok(only(Child::new(CONFIG_MAP, &*note.meta.name, body)))
    }
}

struct Memos;

impl Operator for Memos {
    type Resource = Memo;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "memos";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[SECRET];

    fn plan(&self, memo: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let body = json!({"stringData": {"text": memo.spec.text}});
        Ok(only(Child::new(SECRET, &*memo.meta.name, body)))
    }
}

fn only(child: Child) -> Plan<NoStatus> {
    Plan {
        children: vec![child],
        status: NoStatus,
        requeue: Requeue::Default,
    }
}

/// Counts the Notes of the namespace into the ConfigMap `notes`.
async fn count(note: Arc<Note>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let namespace = note.namespace().unwrap_or_default();
    let notes = Api::<Note>::namespaced((*client).clone(), &namespace);
    let count = notes.list_metadata(&Default::default()).await?.items.len();
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"},
        "data": {"count": count.to_string()},
    });
    let maps = Api::<ConfigMap>::namespaced((*client).clone(), &namespace);
    let params = PatchParams::apply("note-counter").force();
    maps.patch("notes", &params, &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

async fn counter(shared: Shared) {
    let context = Arc::new(shared.client.clone());
    let notes = |place: &Place| Controller::new(place.objects(), place.selected());
    shared.run(notes, count, back_off, context).await;
}

fn main() -> ExitCode {
    Program::several(
        "several",
        "Notes and Memos in one program",
        env!("TARE_VERSION"),
    )
    .operator(Notes)
    .operator(Memos)
    .controller("note-counter", counter)
    .main(std::env::args_os().skip(1))
}
