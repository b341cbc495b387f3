//! The smallest subject: what the program of these tests is where its first argument is `mock-subject`.
//!
//! Guarantees: writes the status that converges an object, and nothing else; dies or hangs on
//! request. Leaves to others: being an operator. It has no children, no finalizer, no cache.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use http::Method;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use loadgen::cli;
use loadgen::spec::workload;
use loadgen::spec::workload::CANARY;
use loadgen::target::cluster::{Cluster, Error};

#[derive(Parser)]
struct MockArgs {
    #[arg(long)]
    admin: SocketAddr,
    #[arg(long, value_enum, default_value = "works")]
    behaviour: Behaviour,
    /// A workload, by its name or folder.
    #[arg(long)]
    workload: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Behaviour {
    /// Observes every object.
    Works,
    /// Ends as it starts.
    DiesAtOnce,
    /// Observes the canary, ends at the first object.
    Dies,
    /// Observes the canary only, and stays.
    Hangs,
    /// Observes every object, and answers each event of it with another write of its status.
    HotLoop,
    /// Observes every object, and keeps a megabyte for each.
    Holds,
    /// Observes every object, and keeps all Secrets that it finds at its start.
    KeepsSecrets,
    /// Says that it is ready at once, and observes every object from two seconds later on.
    Standby,
}

const HELD_BYTES: usize = 1 << 20;
const STANDBY: Duration = Duration::from_secs(2);
/// Before a watch that has ended is opened again.
const REOPEN: Duration = Duration::from_millis(100);

#[derive(Clone, Deserialize)]
struct Owner {
    metadata: OwnerMeta,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerMeta {
    name: String,
    namespace: String,
    #[serde(default)]
    generation: i64,
}

struct Mock {
    cluster: Cluster,
    resource: workload::Resource,
    behaviour: Behaviour,
    reconciled: Arc<AtomicU64>,
    held: Mutex<BTreeMap<String, Vec<u8>>>,
}

/// Reconciles until it is ended, where the arguments ask for that.
pub fn asked_for() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1).peekable();
    args.peek().filter(|first| *first == "mock-subject")?;
    let ended = run(MockArgs::parse_from(args));
    Some(ended.unwrap_or_else(|error| cli::explain(&error)))
}

fn run(args: MockArgs) -> anyhow::Result<ExitCode> {
    if args.behaviour == Behaviour::DiesAtOnce {
        anyhow::bail!("the mock subject dies at once, as asked for");
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(reconcile(args))
}

async fn reconcile(args: MockArgs) -> anyhow::Result<ExitCode> {
    let cluster = match std::env::var_os("KUBECONFIG") {
        Some(file) => Cluster::connect(&PathBuf::from(file)).await?,
        None => Cluster::of(kube::Config::incluster().context("no KUBECONFIG, and no pod")?)?,
    };
    let reconciled = Arc::new(AtomicU64::new(0));
    let listener = TcpListener::bind(args.admin)
        .await
        .with_context(|| format!("cannot listen on {}", args.admin))?;
    let admin = tokio::spawn(answer(listener, reconciled.clone()));
    let workload = workload::named(args.workload.as_deref(), None)?;
    let resource = workload.scenario.resource;
    let mock = Mock {
        cluster,
        resource,
        behaviour: args.behaviour,
        reconciled,
        held: Mutex::default(),
    };
    if args.behaviour == Behaviour::KeepsSecrets {
        mock.keep_secrets().await?;
    }
    if args.behaviour == Behaviour::Standby {
        tokio::time::sleep(STANDBY).await;
    }
    let watched = mock.watch().await;
    admin.abort();
    watched.map(|()| ExitCode::SUCCESS)
}

impl Mock {
    /// Lists and watches, and again whenever the server ends the watch.
    async fn watch(&self) -> anyhow::Result<()> {
        loop {
            if let Some(mut events) = self.listed().await? {
                while let Ok(Some(event)) = events.try_next().await {
                    if let WatchEvent::Added(owner) | WatchEvent::Modified(owner) = event {
                        self.hold(&owner.metadata.name);
                        self.observe(owner.clone()).await?;
                        self.write_again(owner).await?;
                    }
                }
            }
            tokio::time::sleep(REOPEN).await;
        }
    }

    /// Observes what there is; the events from there on, or nothing where the server is away.
    async fn listed(
        &self,
    ) -> anyhow::Result<Option<BoxStream<'static, Result<WatchEvent<Owner>, Error>>>> {
        let path = self.resource.path_everywhere();
        let mut owners: Vec<Owner> = Vec::new();
        let listed = self.cluster.pages(&path, "", |page| {
            owners.extend(page);
            true
        });
        let Ok(version) = listed.await else {
            return Ok(None);
        };
        for owner in owners {
            self.observe(owner).await?;
        }
        let path = format!("{path}?watch=true&resourceVersion={version}");
        Ok(self.cluster.events(&path).await.ok())
    }

    /// Keeps memory for an object, once; a page that is never written to would take none.
    fn hold(&self, name: &str) {
        if self.behaviour == Behaviour::Holds && name != CANARY {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || vec![1; HELD_BYTES];
            held.entry(name.to_owned()).or_insert_with(new);
        }
    }

    /// As a cache of the whole cluster does.
    async fn keep_secrets(&self) -> anyhow::Result<()> {
        let secrets = self.cluster.text("/api/v1/secrets").await?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert("secrets".to_owned(), secrets.into_bytes());
        Ok(())
    }

    /// Each write is an event, which brings the next one.
    async fn write_again(&self, owner: Owner) -> anyhow::Result<()> {
        if self.behaviour != Behaviour::HotLoop || owner.metadata.name == CANARY {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let resource = workload::Resource {
            namespace: owner.metadata.namespace,
            ..self.resource.clone()
        };
        let path = format!("{}/{}/status", resource.path(), owner.metadata.name);
        let turn = self.reconciled.fetch_add(1, Ordering::Relaxed);
        let message = format!("turn {turn}");
        let condition =
            json!({"type": "Ready", "status": "True", "reason": "Mock", "message": message});
        let status = json!({"status": {"conditions": [condition]}});
        let merge = Some("application/merge-patch+json");
        let body = status.to_string().into_bytes();
        let patched = self.cluster.ask::<Value>(Method::PATCH, &path, merge, body);
        match patched.await {
            // Deleted in the meantime.
            Err(error) if error.code() == Some(404) => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    async fn observe(&self, owner: Owner) -> anyhow::Result<()> {
        let OwnerMeta {
            name,
            namespace,
            generation,
        } = owner.metadata;
        match self.behaviour {
            _ if name == CANARY => {}
            Behaviour::Works
            | Behaviour::HotLoop
            | Behaviour::Holds
            | Behaviour::KeepsSecrets
            | Behaviour::Standby => {}
            Behaviour::Hangs => return Ok(()),
            Behaviour::Dies | Behaviour::DiesAtOnce => {
                anyhow::bail!("the mock subject dies at {name}, as asked for")
            }
        }
        if owner.status["observedGeneration"] == generation {
            return Ok(());
        }
        let started = Instant::now();
        let condition = json!({"type": "Ready", "status": "True", "reason": "Mock", "message": ""});
        let status =
            json!({"status": {"observedGeneration": generation, "conditions": [condition]}});
        let resource = workload::Resource {
            namespace,
            ..self.resource.clone()
        };
        let path = format!("{}/{name}/status", resource.path());
        let merge = Some("application/merge-patch+json");
        let patched = self
            .cluster
            .ask::<Value>(Method::PATCH, &path, merge, status.to_string().into_bytes())
            .await;
        match patched {
            // Deleted in the meantime.
            Err(error) if error.code() == Some(404) => {}
            other => drop(other?),
        }
        self.reconciled.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(name, ms = started.elapsed().as_millis(), "observed");
        Ok(())
    }
}

/// Answers every path with 200 and the same page.
async fn answer(listener: TcpListener, reconciled: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let page = page(reconciled.load(Ordering::Relaxed));
        let answered = tokio::time::timeout(Duration::from_secs(2), answer_one(stream, page)).await;
        if let Ok(Err(error)) = answered {
            tracing::warn!("admin: {error}");
        }
    }
}

async fn answer_one(mut stream: TcpStream, page: String) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let _ = stream.read(&mut request).await?;
    stream
        .write_all(format!("HTTP/1.0 200 OK\r\n\r\n{page}").as_bytes())
        .await
}

fn page(reconciled: u64) -> String {
    format!(
        "# TYPE mock_seconds histogram\nmock_seconds_bucket{{le=\"1\"}} {reconciled}\nmock_seconds_bucket{{le=\"+Inf\"}} {reconciled}\n# TYPE mock_errors_total counter\n"
    )
}
