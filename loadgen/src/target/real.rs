//! A real control plane for one run: data, keys and ports of its own.
//!
//! Guarantees: starts empty, without an audit log unless it is asked for. Leaves to others: how
//! it is built and started (`controlplane`).

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
    pub plane: ControlPlane,
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

    /// What the readiness agent has written so far.
    pub fn agent_writes(&self) -> u64 {
        let counts = self.plane.readiness_counts().unwrap_or_default();
        counts.status_writes.saturating_sub(counts.failed_writes)
    }
}
