//! The operator in a container of runc, with a memory limit and no swap.
//!
//! Guarantees: the container ends with its case. What the program reads of its
//! own file is in its cgroup: the copy that it runs from is in nobody's page cache before.
//! Leaves to others: the container itself (`tests/shared/runc.rs`), the image as it ships (`tests/release`), a kubelet (`tests/release/node`).

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::fs::{Advice, fadvise};

use crate::overload::record::Figures;
use crate::overload::runc::{Container, run};
use crate::overload::setting::{Kubeconfig, Operator, Setting, is_shipped, program};

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running operator and its container.
pub struct Contained {
    // Ended before what is left of the container is deleted.
    operator: Operator,
    container: Container,
}

/// Starts the operator in a container with this limit and waits until it is ready.
pub async fn operate(
    setting: &Setting,
    kubeconfig: &Kubeconfig,
    limit_bytes: u64,
) -> Result<Contained, Failed> {
    if !is_shipped() {
        return Err("needs the static program: run `just overload`".into());
    }
    let bundle = setting.file("bundle");
    let _ = std::fs::remove_dir_all(&bundle);
    copy_unread(&program(), &bundle.join("rootfs"))?;
    run("runc", &["spec", "--bundle", &bundle.display().to_string()])?;
    let name = format!("tare-{}", setting.cluster.namespace);
    let container = Container::new(name, bundle, setting.file("runc"));
    let by = |arguments: Vec<String>| {
        let words: Vec<String> = ["/tare".to_owned()].into_iter().chain(arguments).collect();
        // The kubeconfig names other files of the case by their paths on the machine.
        let files = (setting.folder(), setting.folder());
        container.configure(limit_bytes, &words, &setting.kubeconfig(), files)?;
        Ok(container.command())
    };
    let operator = setting.start_by(kubeconfig, by).await?;
    let contained = Contained {
        operator,
        container,
    };
    contained.operator.until_ready(READY_WITHIN).await?;
    Ok(contained)
}

/// Copies the program to where it is the only file, and takes the copy out of the page cache.
fn copy_unread(program: &Path, folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(folder)?;
    let copy = folder.join("tare");
    std::fs::copy(program, &copy)?;
    let file = File::open(copy)?;
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

impl Contained {
    /// Fails the case if the operator ended by itself.
    pub fn check_alive(&mut self) -> Result<(), Failed> {
        self.operator.check_alive()
    }

    /// Kills and peaks of this life.
    pub fn tell(&self, life: &str, figures: &mut Figures) -> Result<(), Failed> {
        let container = &self.container;
        let limit_mb = container.limit_bytes()? as f64 / 1e6;
        let mb = |bytes: u64| (bytes as f64 / 1e5).round() / 10.0;
        figures.at_most(
            &format!("{life}: kills"),
            container.kills()? as f64,
            "",
            0.0,
        );
        figures.at_most(
            &format!("{life}: peak of the cgroup"),
            mb(container.peak_bytes()?),
            "MB",
            (limit_mb * 10.0).ceil() / 10.0,
        );
        figures.tell(
            &format!("{life}: peak of the operator"),
            mb(container.resident_peak_bytes()?),
            "MB",
        );
        Ok(())
    }

    /// Ends the container and waits until its cgroup is gone.
    pub async fn end(self) -> Result<(), Failed> {
        let Contained {
            operator,
            container,
        } = self;
        operator.kill();
        Ok(container.delete()?)
    }
}
