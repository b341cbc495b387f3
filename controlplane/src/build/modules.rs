//! The Go modules, the programs that are built from them, and how.
//!
//! A node has a Go module of its own, so that its requirements change nothing for a control plane without
//! nodes. An older Kubernetes has one with its own programs alone; etcd and kine are those of the control plane. Each
//! module has a folder of its own in the cache, whose name follows from what is built.
//! Guarantees: knows its modules without a checkout; a node and the control plane require the same Kubernetes.
//! Leaves to others: building, and finding what was built.

use std::path::PathBuf;

use crate::error::Error;

/// A Go module, as its two files say, and what is built from it.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) go_mod: &'static str,
    pub(crate) go_sum: &'static str,
    pub(crate) tools: &'static [Tool],
    /// The option of `loadgen control-plane build` that builds it.
    pub(crate) option: &'static str,
}

#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// Needs a C compiler.
    pub(crate) cgo: bool,
    /// Reads Kubernetes's version from linker flags; without them the API server calls itself v0.0.0
    /// and refuses its own features.
    versioned: bool,
}

const KUBE_APISERVER: Tool =
    Tool::new("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver").versioned();
const KUBE_CONTROLLER_MANAGER: Tool = Tool::new(
    "kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
)
.versioned();
const KUBECTL: Tool = Tool::new("kubectl", "k8s.io/kubernetes/cmd/kubectl").versioned();

pub(crate) static CONTROL_PLANE: Module = Module {
    go_mod: include_str!("../../go.mod"),
    go_sum: include_str!("../../go.sum"),
    tools: &[
        Tool::new("etcd", "go.etcd.io/etcd/server/v3"),
        KUBE_APISERVER,
        KUBE_CONTROLLER_MANAGER,
        KUBECTL,
        // With its SQLite in Go, which needs no C compiler, kine never checkpoints while it runs.
        Tool::new("kine", "github.com/k3s-io/kine").cgo(),
    ],
    option: "",
};

pub(crate) static NODE: Module = Module {
    go_mod: include_str!("../../node/go.mod"),
    go_sum: include_str!("../../node/go.sum"),
    tools: &[
        Tool::new("kubelet", "k8s.io/kubernetes/cmd/kubelet").versioned(),
        Tool::new("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler").versioned(),
    ],
    option: " --node",
};

/// What an older Kubernetes consists of here.
static KUBERNETES: [Tool; 3] = [KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBECTL];

/// Made by `scripts/kubernetes-module.sh`.
pub(crate) static OLDER: [Module; 2] = [
    Module {
        go_mod: include_str!("../../kubernetes/1.36/go.mod"),
        go_sum: include_str!("../../kubernetes/1.36/go.sum"),
        tools: &KUBERNETES,
        option: " --kubernetes 1.36",
    },
    Module {
        go_mod: include_str!("../../kubernetes/1.35/go.mod"),
        go_sum: include_str!("../../kubernetes/1.35/go.sum"),
        tools: &KUBERNETES,
        option: " --kubernetes 1.35",
    },
];

/// A module for each version of Kubernetes, the newest first.
pub(crate) fn of_versions() -> impl Iterator<Item = &'static Module> {
    std::iter::once(&CONTROL_PLANE).chain(&OLDER)
}

/// The module of a version such as `1.35`, or of exactly that release, such as `v1.35.4`.
pub(crate) fn of_version(version: &str) -> Option<&'static Module> {
    let version = version.strip_prefix('v').unwrap_or(version);
    of_versions().find(|module| [module.minor_version(), module.release()].contains(&version))
}

impl Module {
    /// Of Kubernetes, as `1.37`.
    pub(crate) fn minor_version(&self) -> &'static str {
        let release = self.release();
        release.rsplit_once('.').map_or(release, |(minor, _)| minor)
    }

    /// Of Kubernetes, as `1.37.2`.
    fn release(&self) -> &'static str {
        let version = self.required_version("k8s.io/kubernetes");
        version.trim_start_matches('v')
    }

    /// The folder of its programs: `$XDG_CACHE_HOME/tare/control-plane/KEY`, where the key follows
    /// from the module, the flags and the platform.
    ///
    /// # Errors
    /// `NoCache` when neither `XDG_CACHE_HOME` nor `HOME` says where.
    pub(crate) fn cache(&self) -> Result<PathBuf, Error> {
        let base = tare_procstat::cache_dir().ok_or(Error::NoCache)?;
        Ok(base.join("tare/control-plane").join(self.key()))
    }

    /// A name for what the build would make.
    fn key(&self) -> String {
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let mut parts = vec![self.go_mod, self.go_sum, &platform];
        let recipes: Vec<String> = self.tools.iter().map(|tool| self.recipe(tool)).collect();
        parts.extend(recipes.iter().map(String::as_str));
        format!("{:016x}", fnv1a(&parts))
    }

    /// How a tool is built, as far as it decides what comes out.
    fn recipe(&self, tool: &Tool) -> String {
        let flags = self.ld_flags(tool);
        format!("{} {} {flags}", tool.package, tool.cgo_enabled())
    }

    pub(crate) fn ld_flags(&self, tool: &Tool) -> String {
        let mut flags = "-s -w".to_owned();
        if tool.versioned {
            let version = self.required_version("k8s.io/kubernetes");
            let mut numbers = version.trim_start_matches('v').split('.');
            let (major, minor) = (numbers.next(), numbers.next());
            for (name, value) in [
                ("gitVersion", version),
                ("gitMajor", major.unwrap_or_default()),
                ("gitMinor", minor.unwrap_or_default()),
                ("gitTreeState", "clean"),
            ] {
                flags.push_str(&format!(" -X k8s.io/component-base/version.{name}={value}"));
            }
        }
        flags
    }

    /// The version of Go that it requires.
    pub(crate) fn go_version(&self) -> &'static str {
        let line = self
            .go_mod
            .lines()
            .find_map(|line| line.strip_prefix("go "));
        line.unwrap_or_default().trim()
    }

    /// The version of a module that go.mod requires, or nothing.
    fn required_version(&self, module: &str) -> &'static str {
        let requirement = |line: &'static str| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?);
            // A replacement has an arrow there.
            (name == module && version.starts_with('v')).then_some(version)
        };
        self.go_mod
            .lines()
            .find_map(requirement)
            .unwrap_or_default()
    }
}

impl Tool {
    const fn new(name: &'static str, package: &'static str) -> Tool {
        Tool {
            name,
            package,
            cgo: false,
            versioned: false,
        }
    }

    const fn cgo(self) -> Tool {
        Tool { cgo: true, ..self }
    }

    const fn versioned(self) -> Tool {
        Tool {
            versioned: true,
            ..self
        }
    }

    pub(crate) fn cgo_enabled(&self) -> &'static str {
        if self.cgo { "1" } else { "0" }
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), with a zero after each part. It names folders of one user:
/// a collision gains nothing.
fn fnv1a(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
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
    fn flags_follow_the_module() {
        let version = CONTROL_PLANE.required_version("k8s.io/kubernetes");
        assert!(version.starts_with("v1."), "{version}");
        let server = &CONTROL_PLANE.tools[1];
        assert_eq!(server.name, "kube-apiserver");
        let flags = CONTROL_PLANE.ld_flags(server);
        assert!(
            flags.contains(&format!("version.gitVersion={version} ")),
            "{flags}"
        );
        assert!(flags.contains("version.gitMajor=1 "), "{flags}");
        assert!(!CONTROL_PLANE.go_version().is_empty());
        assert_eq!(CONTROL_PLANE.required_version("example.com/absent"), "");
    }

    #[test]
    fn every_tool_is_one_of_its_modules() {
        for module in [&CONTROL_PLANE, &NODE].into_iter().chain(&OLDER) {
            for tool in module.tools {
                assert!(
                    module
                        .go_mod
                        .lines()
                        .any(|line| line.trim() == tool.package),
                    "{} is no tool of go.mod",
                    tool.package
                );
            }
        }
    }

    #[test]
    fn a_kubernetes_is_found_by_its_version_and_built_as_that() {
        for version in ["1.35", "1.36", "1.37"] {
            let module = of_version(version).expect(version);
            let mut tools = module.tools.iter();
            let server = tools.find(|tool| tool.name == "kube-apiserver");
            let flags = module.ld_flags(server.expect("a server"));
            let wanted = format!("version.gitVersion=v{version}.");
            assert!(flags.contains(&wanted), "{version}: {flags}");
            for exact in [
                module.release().to_owned(),
                format!("v{}", module.release()),
            ] {
                assert!(of_version(&exact).is_some_and(|found| found.key() == module.key()));
            }
        }
        for unknown in ["1.2", "1.35.99", "1", "", "v"] {
            assert!(of_version(unknown).is_none(), "{unknown:?}");
        }
    }

    #[test]
    fn an_older_kubernetes_has_a_folder_of_its_own_and_the_same_go() {
        for module in &OLDER {
            assert!(module.option.ends_with(module.minor_version()));
            assert_eq!(module.go_version(), CONTROL_PLANE.go_version());
        }
        let mut keys: Vec<String> = of_versions().map(Module::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), of_versions().count());
    }

    /// A kubelet must not be newer than its API server; and what both need is compiled once.
    #[test]
    fn a_nodes_requirements_are_those_of_the_control_plane() {
        let words = |line: &'static str| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?)).filter(|(_, version)| version.starts_with('v'))
        };
        let required = NODE.go_mod.lines().filter_map(words);
        for (module, version) in required {
            let other = CONTROL_PLANE.required_version(module);
            assert!(
                other.is_empty() || other == version,
                "{module}: {version} for the node, {other} for the control plane; run in \
                 controlplane/node: go get {module}@{other} && go mod tidy"
            );
        }
        assert_eq!(NODE.go_version(), CONTROL_PLANE.go_version());
        assert_ne!(NODE.key(), CONTROL_PLANE.key());
    }
}
