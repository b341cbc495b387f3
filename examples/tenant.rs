//! Tenant: a Deployment whose pods register themselves with a directory outside the cluster. When a Tenant is
//! deleted, its entry in the directory goes too, by HTTP, and only then the Tenant.
//!
//! `cargo run --example tenant -- run --install-crd --directory 127.0.0.1:8500`, and in another terminal
//! `kubectl apply -f examples/tenant/sample.yaml`, then `kubectl delete -f examples/tenant/sample.yaml`

use std::net::SocketAddr;

use tare_runtime::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is to run for a tenant.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Tenant", namespaced)]
#[kube(doc = "A tenant: a Deployment, and an entry in a directory outside the cluster.")]
pub struct TenantSpec {
    /// Container image. Its pods register under the uid of the Tenant.
    pub image: String,
}

/// Why the directory still has the entry.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It cannot be reached.
    #[error("the directory {0} cannot be reached: {1}")]
    Unreachable(SocketAddr, std::io::Error),
    /// It answered with another status than 2xx and 404.
    #[error("the directory {0} answers {1:?}")]
    Rejected(SocketAddr, String),
}

impl PlanError for DirectoryError {
    fn reason(&self) -> &'static str {
        "Directory"
    }
}

pub struct Tenants {
    /// Where the directory listens.
    pub directory: SocketAddr,
}

impl Operator for Tenants {
    type Resource = Tenant;
    type Status = NoStatus;
    type Error = DirectoryError;
    type Observed = ();
    const NAME: &'static str = "tenant-operator";
    const FINALIZER: Option<&'static str> = Some("tenants.example.com/directory");
    const KINDS: &'static [Kind] = &[DEPLOYMENT];

    fn plan(&self, tenant: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, DirectoryError> {
        let labels = json!({"tenant": tenant.meta.name});
        let env = json!([{"name": "DIRECTORY_ENTRY", "value": tenant.meta.uid.to_string()}]);
        let container = json!({"name": "tenant", "image": tenant.spec.image, "env": env});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        let deployment = Child::new(DEPLOYMENT, &*tenant.meta.name, json!({"spec": spec}));
        Ok(Plan {
            children: vec![deployment.immutable(&["/spec/selector"])],
            status: NoStatus,
            requeue: Requeue::Default,
        })
    }

    /// Runs when no pod is left that could register again. The entry is named by the uid, which is known even
    /// where the spec cannot be decoded. An entry that is gone already is a success: a crash repeats this.
    async fn cleanup(&self, tenant: &DeletedOwner<Self>) -> Result<(), DirectoryError> {
        let answer = delete(self.directory, &tenant.meta.uid.to_string()).await;
        let answer = answer.map_err(|error| DirectoryError::Unreachable(self.directory, error))?;
        match answer.split(' ').nth(1) {
            Some("200" | "202" | "204" | "404") => Ok(()),
            _ => Err(DirectoryError::Rejected(self.directory, answer)),
        }
    }
}

/// Deletes an entry of the directory; returns the first line of the answer.
async fn delete(directory: SocketAddr, entry: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(directory).await?;
    let request = format!(
        "DELETE /entries/{entry} HTTP/1.1\r\nHost: {directory}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(4_096).read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

const ABOUT: &str =
    "an operator for Tenants; `run --directory ADDRESS` names the directory, as IP:PORT";
const CRD: &str = include_str!("tenant/crd.yaml");

fn main() -> ExitCode {
    let program = Program::new(ABOUT, env!("TARE_VERSION"), CRD);
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let directory = match tare_runtime::app::cli::take(&mut arguments, "--directory") {
        Ok(directory) => directory,
        Err(error) => return program.misused(&error.to_string()),
    };
    let runs = arguments.first().is_some_and(|command| command == "run");
    match directory.as_deref().unwrap_or("127.0.0.1:0").parse() {
        Ok(_) if runs && directory.is_none() => {
            program.misused("run needs --directory IP:PORT: where the directory listens")
        }
        Ok(directory) => program.main(Tenants { directory }, arguments),
        Err(_) => program.misused("--directory is not IP:PORT"),
    }
}
