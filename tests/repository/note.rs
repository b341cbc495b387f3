use tare_runtime::prelude::*;

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Note", namespaced)]
pub struct NoteSpec { text: String }

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
        let map = Child::new(CONFIG_MAP, note.meta.name.as_ref(), json!({"data": {"text": note.spec.text}}));
        Ok(Plan { children: vec![map], status: NoStatus, requeue: Requeue::Default })
    }
}

fn main() -> ExitCode {
    Program::of::<Note>("an operator for Notes", "0.1.0").main(Notes, std::env::args_os().skip(1))
}
