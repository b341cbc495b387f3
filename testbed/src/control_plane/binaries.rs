//! Where the programs of the control plane are.
//!
//! Guarantees: each is looked for in `KUBEBUILDER_ASSETS` first, then in the per-user cache that
//! [`super::build`] fills; what is missing is named together with where it was looked for.

use std::path::{Path, PathBuf};

use super::Error;

pub(super) const GO_MOD: &str = include_str!("../../../controlplane/go.mod");
pub(super) const GO_SUM: &str = include_str!("../../../controlplane/go.sum");

/// The programs, each by its full path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kube_controller_manager: PathBuf,
    /// Not needed to run one, and not always there.
    pub kubectl: Option<PathBuf>,
    /// Needed for [`super::Datastore::Kine`] only; its build takes a C compiler.
    pub kine: Option<PathBuf>,
    searched: Vec<String>,
}

impl Binaries {
    /// # Errors
    /// `NoBinaries` says which are missing, where they were looked for and how to get them.
    pub fn find() -> Result<Binaries, Error> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty());
        let mut folders: Vec<PathBuf> = assets.map(PathBuf::from).into_iter().collect();
        match cache() {
            Ok(cache) => folders.push(cache),
            // Without a home there may still be assets.
            Err(error) if folders.is_empty() => return Err(error),
            Err(_) => {}
        }
        Binaries::find_in(&folders)
    }

    fn find_in(folders: &[PathBuf]) -> Result<Binaries, Error> {
        let find = |name: &str| {
            folders
                .iter()
                .map(|dir| dir.join(name))
                .find(|it| is_program(it))
        };
        let searched: Vec<String> = folders
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        let needed = ["etcd", "kube-apiserver", "kube-controller-manager"];
        let found = needed.map(find);
        match found {
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
            _ => Err(Error::NoBinaries {
                missing: needed
                    .into_iter()
                    .zip(found)
                    .filter_map(|(name, path)| path.is_none().then_some(name))
                    .collect(),
                searched,
            }),
        }
    }

    pub(super) fn kine(&self) -> Result<&Path, Error> {
        self.kine.as_deref().ok_or_else(|| Error::NoBinaries {
            missing: vec!["kine"],
            searched: self.searched.clone(),
        })
    }
}

/// The folder of this module's binaries: `$XDG_CACHE_HOME/tare/control-plane/KEY`, where the key
/// follows from the module, the flags and the platform.
///
/// # Errors
/// `NoCache` when neither `XDG_CACHE_HOME` nor `HOME` says where.
pub fn cache() -> Result<PathBuf, Error> {
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    let base = absolute("XDG_CACHE_HOME")
        .or_else(home)
        .ok_or(Error::NoCache)?;
    Ok(base.join("tare/control-plane").join(key()))
}

/// A name for what the build would make.
fn key() -> String {
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let mut parts = vec![GO_MOD, GO_SUM, &platform];
    let recipes = super::build::recipes();
    parts.extend(recipes.iter().map(String::as_str));
    format!("{:016x}", fnv1a(&parts))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), with a zero after each part. It names folders of one user;
/// nobody gains by a collision.
fn fnv1a(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

pub(super) fn is_program(path: &Path) -> bool {
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
    fn fnv1a_is_the_published_function() {
        // From draft-eastlake-fnv, "foobar"; ours appends a zero byte.
        let foobar = 0x8594_4171_f739_67e8_u64;
        assert_eq!(
            fnv1a(&["foobar"]),
            foobar.wrapping_mul(0x0000_0100_0000_01b3)
        );
        assert_ne!(fnv1a(&["ab", "c"]), fnv1a(&["a", "bc"]));
    }

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
        std::fs::remove_dir_all(&root).unwrap();
    }
}
