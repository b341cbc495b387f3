//! A real control plane for one run: data, keys and ports of its own.
//!
//! Guarantees: starts empty, without an audit log unless it is asked for. Leaves to others: how
//! it is built and started (`controlplane`).

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use controlplane::{Binaries, ControlPlane, Datastore, Error, Flags, Options, User};

use crate::record::latency::Latencies;
use crate::record::request_counts::RequestCounts;
use crate::spec::workload::CANARY;
use crate::target::{HARNESS, Order, SUBJECT};
use crate::watch::audit_log::{Account, AuditLog};

#[derive(Debug)]
pub struct Real {
    plane: ControlPlane,
    audit: Option<Mutex<AuditLog>>,
}

/// What measured runs are given, against the servers' defaults.
pub fn flags(datastore: Datastore) -> &'static str {
    match datastore {
        Datastore::Etcd => {
            "etcd without fsync; kube-apiserver without priority and fairness and without limits on requests in flight; no nodes: an agent reports Deployments ready; audit log only in the runs that count requests"
        }
        Datastore::Kine => {
            "kine on SQLite as k3s sets it up; kube-apiserver without priority and fairness and without limits on requests in flight; no nodes: an agent reports Deployments ready; audit log only in the runs that count requests"
        }
    }
}

impl Real {
    /// # Errors
    /// When a component cannot be started or is not ready in time.
    pub async fn start(
        order: &Order<'_>,
        datastore: Datastore,
        binaries: &Binaries,
    ) -> Result<Self, Error> {
        let options = Options {
            datastore,
            dir: order.dir.join("control-plane"),
            logs: order.logs.clone(),
            users: vec![User::admin(HARNESS), User::admin(SUBJECT)],
            audit: order.audit,
            readiness: Some(Duration::from_millis(order.ready_delay_ms)),
            flags: if order.default_flags {
                Flags::Default
            } else {
                Flags::Quiet
            },
            crds: order.crds.clone(),
            ..Options::default()
        };
        let plane = ControlPlane::start(binaries, options).await?;
        let audit = plane
            .audit_log()
            .map(|path| Mutex::new(AuditLog::at(&path)));
        Ok(Self { plane, audit })
    }

    pub fn kubeconfig(&self, user: &str) -> PathBuf {
        self.plane.kubeconfig(user)
    }

    pub fn pid(&self) -> u32 {
        self.plane.api_server_pid()
    }

    pub fn controllers_pid(&self) -> u32 {
        self.plane.controllers_pid()
    }

    /// `None` without an audit log, or when it cannot be read.
    pub fn request_counts(&self) -> Option<RequestCounts> {
        self.audited(Account::request_counts)
    }

    fn audited<T>(&self, of: impl FnOnce(&Account) -> T) -> Option<T> {
        let log = self.audit.as_ref()?.lock();
        let mut log = log.unwrap_or_else(PoisonError::into_inner);
        Some(of(log.read().ok()?))
    }

    pub fn write_spans(&self) -> Option<Latencies> {
        self.audited(|account| account.write_spans(SUBJECT, HARNESS, CANARY))
    }

    pub fn datastore_written_bytes(&self) -> Option<u64> {
        self.plane.datastore_written_bytes().ok()
    }

    /// What the readiness agent has written so far.
    pub fn agent_writes(&self) -> u64 {
        let counts = self.plane.readiness_counts().unwrap_or_default();
        counts.status_writes.saturating_sub(counts.failed_writes)
    }

    pub fn datastore_size_bytes(&self) -> Option<u64> {
        self.plane.datastore_size_bytes().ok()
    }

    /// Ends kube-apiserver and starts it again at the same address.
    ///
    /// # Errors
    /// When it cannot be ended, or is not ready in time.
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.plane.restart_api_server().await
    }

    /// # Errors
    /// When the kernel does not tell.
    pub fn exited(&mut self) -> Result<Option<String>, Error> {
        let ended = self.plane.exited()?;
        Ok(ended.map(|(component, status)| format!("{component} ended by itself ({status})")))
    }

    /// # Errors
    /// When the signal cannot be sent.
    pub async fn stop(self) -> Result<(), Error> {
        self.plane.stop().await
    }
}
