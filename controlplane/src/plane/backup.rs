//! A backup of the datastore, and a control plane that is set back to it.
//!
//! Guarantees: a backup is taken and restored while nothing writes. Afterwards resourceVersions go on from the
//! backup, so that they are used again for other changes. Everything that watches is started anew, as the
//! documentation of etcd asks for; others who watch have to notice by themselves.

use std::path::Path;

use crate::credentials::{READINESS, owner_only};
use crate::error::Error;
use crate::plane::{ControlPlane, GRACE, client, log, start_datastore};
use crate::readiness::Agent;
use crate::{component::Component, controllers};

impl ControlPlane {
    /// Copies the datastore's files into the folder `to`.
    ///
    /// # Errors
    /// `File` when they cannot be copied; otherwise as for [`ControlPlane::start`].
    pub async fn back_up(&mut self, to: &Path) -> Result<(), Error> {
        self.stop_api_server().await?;
        self.datastore.process.terminate(GRACE).await?;
        owner_only::copy(&self.data_dir(), to)?;
        self.datastore = start_datastore(&self.options, &self.binaries, &[]).await?;
        self.start_api_server().await
    }

    /// Puts the files of a backup in the place of the datastore's own.
    ///
    /// # Errors
    /// `File` when they cannot be copied; otherwise as for [`ControlPlane::start`].
    pub async fn restore(&mut self, from: &Path) -> Result<(), Error> {
        let delay = self.options.readiness.filter(|_| self.agent.is_some());
        drop(self.agent.take());
        self.controllers.process.terminate(GRACE).await?;
        self.stop_api_server().await?;
        self.datastore.process.terminate(GRACE).await?;
        let data = self.data_dir();
        std::fs::remove_dir_all(&data).map_err(Error::file(&data))?;
        owner_only::copy(from, &data)?;
        self.datastore = start_datastore(&self.options, &self.binaries, &[]).await?;
        self.start_api_server().await?;
        let log = log(&self.options, "kube-controller-manager");
        let spec = controllers::spec(&self.options, &self.binaries, &self.access, log);
        self.controllers = Component::spawn("kube-controller-manager", spec).await?;
        if let Some(delay) = delay {
            let client = client(&self.access.kubeconfig(READINESS)).await?;
            self.agent = Some(Agent::start(client, delay));
        }
        Ok(())
    }
}
