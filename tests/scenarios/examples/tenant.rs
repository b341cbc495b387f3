//! Tenant: the entry in a directory outside the cluster, behind HTTP on loopback, goes with its owner.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use serde_json::json;
use tare_runtime::cache::Mode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::cluster::Cluster;
use crate::cluster::simulated::{Simulated, config, pass};
use example::Tenants;

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/tenant.rs"]
pub mod example;

/// A directory that is asked to delete entries.
#[derive(Default)]
struct Directory {
    deletions: AtomicUsize,
    refuses: AtomicBool,
}

impl Directory {
    /// Serves one request after the other; returns where.
    async fn serve(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let directory = Arc::clone(self);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1_024];
                let length = stream.read(&mut request).await.unwrap_or(0);
                assert!(request[..length].starts_with(b"DELETE /entries/"));
                let answer = match directory.refuses.load(Relaxed) {
                    true => "HTTP/1.1 503 Service Unavailable\r\n\r\n",
                    false if directory.deletions.fetch_add(1, Relaxed) == 0 => {
                        "HTTP/1.1 204 No Content\r\n\r\n"
                    }
                    false => "HTTP/1.1 404 Not Found\r\n\r\n",
                };
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        address
    }
}

pub async fn its_entry_in_the_directory_goes_before_it(mode: Mode) {
    let directory = Arc::new(Directory::default());
    directory.refuses.store(true, Relaxed);
    let tenants = |directory| Tenants { directory };
    let address = directory.serve().await;
    let simulated = Simulated::new(mode);
    let crd = include_str!("../../../examples/tenant/crd.yaml");
    simulated.server.install(crd).expect("install the CRD");
    let operate = || {
        let client = simulated.server.client("tare");
        simulated.operate_with(tenants(address), client, config())
    };
    let running = operate();
    let user = Cluster::simulated(simulated.clone());
    let tenant = json!({
        "apiVersion": "example.com/v1", "kind": "Tenant", "metadata": { "name": "hello" },
        "spec": { "image": "nginx:1.27" },
    });
    user.make("tenants", tenant).await;
    user.until_there("deployments", "hello").await;
    user.delete("tenants", "hello").await;
    simulated.until_gone("deployments", "hello").await;
    pass(30).await;
    let refused = "tenant_operator_reconcile_errors_total{reason=\"Directory\"}";
    assert!(running.rendered_metrics().contains(refused));
    let held = simulated.get("tenants", "hello");
    assert!(!held.is_null(), "it waits for the directory");
    running.kill().await;
    directory.refuses.store(false, Relaxed);
    let running = operate();
    simulated.until_gone("tenants", "hello").await;
    assert_eq!(directory.deletions.load(Relaxed), 1);
    running.stop().await;
}
