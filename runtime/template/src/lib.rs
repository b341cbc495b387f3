//! The resource `Note`, and what should exist for one.

use tare_runtime::prelude::*;

/// What a user writes.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Note", namespaced, status = "NoteStatus")]
pub struct NoteSpec {
    /// The text of the ConfigMap.
    pub text: String,
}

/// What the operator says.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct NoteStatus {
    /// The generation of the spec that is carried out.
    pub observed_generation: Option<i64>,
    /// `Ready`.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl OwnerStatus for NoteStatus {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }

    fn ready(&self) -> bool {
        self.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    // For their transition times, which a plan has no clock for.
    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

/// The operator.
pub struct Notes;

impl Operator for Notes {
    type Resource = Note;
    type Status = NoteStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "notes";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];

    fn plan(&self, note: &Owner<Self>, _: &Children) -> Result<Plan<NoteStatus>, Infallible> {
        let body = json!({"data": {"text": note.spec.text}});
        let ready = Condition::new("Ready", true, "Written", "the ConfigMap has the text", note.meta.generation);
        Ok(Plan {
            children: vec![Child::new(CONFIG_MAP, &*note.meta.name, body)],
            status: NoteStatus { observed_generation: Some(note.meta.generation), conditions: vec![ready] },
            requeue: Requeue::Default,
        })
    }
}
