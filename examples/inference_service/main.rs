//! InferenceService: a model server on GPUs, its Service, and where it answers.
//!
//! `cargo run --example inference_service -- run --install-crd --image registry.local/server:1`, and in
//! another terminal `kubectl apply -f examples/inference_service/sample.yaml`

pub mod children;
pub mod resource;

use resource::{InferenceError, InferenceService, InferenceServiceStatus, Phase};
use tare_runtime::prelude::*;

pub struct InferenceServices {
    /// Image of the model server.
    pub image: String,
}

impl Operator for InferenceServices {
    type Resource = InferenceService;
    type Status = InferenceServiceStatus;
    type Error = InferenceError;
    type Observed = ();
    const NAME: &'static str = "inference-operator";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[SERVICE, DEPLOYMENT];
    const RETRY: Retry = Retry::From(Duration::from_secs(60));

    fn plan(
        &self,
        service: &Owner<Self>,
        seen: &Children,
    ) -> Result<Plan<InferenceServiceStatus>, InferenceError> {
        let (name, spec) = (&*service.meta.name, &service.spec);
        let deployment = children::deployment(name, spec, &self.image)?;
        let front = children::front(name);
        let state = seen.get(&DEPLOYMENT, name);
        let phase = match state {
            None => Phase::Pending,
            Some(state) if state.is_ready(spec.replicas) => Phase::Ready,
            Some(_) => Phase::Provisioning,
        };
        let url = format!("http://{name}.{}.svc.cluster.local", service.meta.namespace);
        Ok(Plan {
            children: vec![
                Child::new(DEPLOYMENT, name, deployment).immutable(&["/spec/selector"]),
                Child::new(SERVICE, name, front),
            ],
            status: InferenceServiceStatus {
                ready_replicas: state.map_or(0, |state| state.ready_replicas),
                endpoint: (phase == Phase::Ready).then_some(url),
                phase,
            },
            requeue: Requeue::After(Duration::from_secs(30)),
        })
    }

    fn failed(
        &self,
        service: &Owner<Self>,
        _: &Children,
        failure: &Failure,
    ) -> Option<InferenceServiceStatus> {
        tracing::debug!(name = %service.meta.name, error = %InferenceError::from(failure));
        let phase = Phase::Failed;
        Some(InferenceServiceStatus {
            phase,
            ..Default::default()
        })
    }
}

const ABOUT: &str =
    "an operator for InferenceServices; `run --image IMAGE` names the image of the model server";
const CRD: &str = include_str!("crd.yaml");

fn main() -> ExitCode {
    let program = Program::new(ABOUT, env!("TARE_VERSION"), CRD);
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match tare_runtime::app::cli::take(&mut arguments, "--image") {
        Ok(Some(image)) => program.main(InferenceServices { image }, arguments),
        Ok(None) if arguments.first().is_none_or(|command| command != "run") => program.main(
            InferenceServices {
                image: String::new(),
            },
            arguments,
        ),
        Ok(None) => program.misused("run needs --image IMAGE: the image of the model server"),
        Err(error) => program.misused(&error.to_string()),
    }
}
