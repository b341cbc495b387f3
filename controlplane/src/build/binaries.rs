//! Where the programs of the control plane, and those of a node, are.
//!
//! Guarantees: each is looked for in `KUBEBUILDER_ASSETS` first, then in the per-user cache that
//! [`crate::build`] fills; what is missing is named together with where it was looked for.

use std::path::{Path, PathBuf};

use crate::build::modules::{CONTROL_PLANE, Module, NODE};
use crate::error::Error;

/// The programs, each by its full path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kube_controller_manager: PathBuf,
    /// Not needed to run one, and not always there.
    pub kubectl: Option<PathBuf>,
    /// Needed for [`crate::Datastore::Kine`] only; its build takes a C compiler.
    pub kine: Option<PathBuf>,
    searched: Vec<String>,
}

impl Binaries {
    /// Finds the programs.
    ///
    /// # Errors
    /// `NoBinaries` says which are missing, where they were looked for and how to get them.
    pub fn find() -> Result<Binaries, Error> {
        Binaries::find_in(&folders(&CONTROL_PLANE)?)
    }

    fn find_in(folders: &[PathBuf]) -> Result<Binaries, Error> {
        let find = |name: &str| find(folders, name);
        let searched = searched(folders);
        let needed = ["etcd", "kube-apiserver", "kube-controller-manager"];
        match needed.map(find) {
            [
                Some(etcd),
                Some(kube_apiserver),
                Some(kube_controller_manager),
            ] => Ok(Binaries {
                etcd,
                kube_apiserver,
                kube_controller_manager,
                kubectl: find("kubectl"),
                kine: find("kine"),
                searched,
            }),
            found => Err(Error::NoBinaries {
                missing: absent(needed.into_iter().zip(&found)),
                searched,
                option: CONTROL_PLANE.option,
            }),
        }
    }

    pub(crate) fn kine(&self) -> Result<&Path, Error> {
        self.kine.as_deref().ok_or_else(|| self.without("kine"))
    }

    pub(crate) fn kubectl(&self) -> Result<&Path, Error> {
        let kubectl = self.kubectl.as_deref();
        kubectl.ok_or_else(|| self.without("kubectl"))
    }

    fn without(&self, program: &'static str) -> Error {
        Error::NoBinaries {
            missing: vec![program],
            searched: self.searched.clone(),
            option: CONTROL_PLANE.option,
        }
    }
}

/// What a node needs besides a control plane, as far as it is built here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBinaries {
    pub kubelet: PathBuf,
    pub kube_scheduler: PathBuf,
}

impl NodeBinaries {
    /// Finds the programs.
    ///
    /// # Errors
    /// As for [`Binaries::find`].
    pub fn find() -> Result<NodeBinaries, Error> {
        NodeBinaries::find_in(&folders(&NODE)?)
    }

    fn find_in(folders: &[PathBuf]) -> Result<NodeBinaries, Error> {
        let needed = ["kubelet", "kube-scheduler"];
        match needed.map(|name| find(folders, name)) {
            [Some(kubelet), Some(kube_scheduler)] => Ok(NodeBinaries {
                kubelet,
                kube_scheduler,
            }),
            found => Err(Error::NoBinaries {
                missing: absent(needed.into_iter().zip(&found)),
                searched: searched(folders),
                option: NODE.option,
            }),
        }
    }
}

/// Where a module's programs may be.
fn folders(module: &Module) -> Result<Vec<PathBuf>, Error> {
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty());
    let mut folders: Vec<PathBuf> = assets.map(PathBuf::from).into_iter().collect();
    match module.cache() {
        Ok(cache) => folders.push(cache),
        // Without a home there may still be assets.
        Err(error) if folders.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(folders)
}

fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let mut places = folders.iter().map(|dir| dir.join(name));
    places.find(|place| is_program(place))
}

fn searched(folders: &[PathBuf]) -> Vec<String> {
    let shown = |dir: &PathBuf| dir.display().to_string();
    folders.iter().map(shown).collect()
}

fn absent<'a>(
    found: impl Iterator<Item = (&'static str, &'a Option<PathBuf>)>,
) -> Vec<&'static str> {
    found
        .filter_map(|(name, path)| path.is_none().then_some(name))
        .collect()
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_come_from_the_first_folder_that_has_them() {
        let root = std::env::temp_dir().join(format!("tare-binaries-{}", std::process::id()));
        let (assets, cache) = (root.join("assets"), root.join("cache"));
        let program = |path: PathBuf| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let etcd = program(assets.join("etcd"));
        program(cache.join("etcd"));
        let server = program(cache.join("kube-apiserver"));
        let folders = [assets, cache.clone()];
        let error = Binaries::find_in(&folders).unwrap_err().to_string();
        assert!(
            error.starts_with("no kube-controller-manager in ")
                && error.contains("loadgen control-plane build"),
            "{error}"
        );
        program(cache.join("kube-controller-manager"));
        let binaries = Binaries::find_in(&folders).unwrap();
        assert_eq!(
            (binaries.etcd.clone(), binaries.kube_apiserver.clone()),
            (etcd, server)
        );
        assert_eq!(binaries.kubectl, None);
        let error = binaries.kine().unwrap_err().to_string();
        assert!(error.starts_with("no kine in "), "{error}");
        let error = binaries.kubectl().unwrap_err().to_string();
        assert!(error.starts_with("no kubectl in "), "{error}");
        program(cache.join("kubelet"));
        let error = NodeBinaries::find_in(&folders).unwrap_err().to_string();
        assert!(
            error.starts_with("no kube-scheduler in ")
                && error.contains("`loadgen control-plane build --node`"),
            "{error}"
        );
        std::fs::remove_dir_all(&root).unwrap();
    }
}
