//! The contract suite on real servers: every case is a test of each, `SERVER::CASE`.
//!
//! `kube::` and `kine::`: one control plane for all cases, kube-apiserver on etcd and on kine, ignored where
//! its binaries are missing. `cargo test -p controlplane --test contract -- kine::a_stale` runs those with
//! that in the name. With `CONTRACT_KUBECONFIG=FILE` the cases run as `cluster::` on that cluster, in
//! namespaces of their own, and on no other server; `CONTRACT_COMPACT=COMMAND` makes it forget its
//! history, and without it the cases that need that are ignored. kubesim runs the suite on itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use controlplane::shared::Shared;
use controlplane::{Binaries, ControlPlane, Datastore, User};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubesim_contract::clients::{Installed, LIBRARIES, Library};
use kubesim_contract::{self as contract, Case, Compact, Options, Outcome};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tare_procstat::temp_dir::TempDir;
use tokio::sync::Mutex;

/// Cases that wait for a server leave the processor to others.
const THREADS: usize = 16;
const USER: &str = "contract";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = match std::env::var_os("CONTRACT_KUBECONFIG") {
        Some(kubeconfig) => on_cluster(kubeconfig.into()),
        None => on_control_planes(),
    };
    match trials {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn on_control_planes() -> std::io::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    match Binaries::find() {
        Ok(binaries) => {
            trials.extend(real(Datastore::Etcd, &binaries)?);
            trials.extend(real(Datastore::Kine, &binaries)?);
        }
        Err(reason) => {
            eprintln!("ignored, kube:: and kine::: {reason}");
            for server in ["kube", "kine"] {
                trials.extend(ignored(server));
            }
        }
    }
    Ok(trials)
}

fn named(
    server: &str,
    case: &Case,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::test(format!("{server}::{}", case.name), run).with_kind(case.theme)
}

/// All cases of a server that is not there.
fn ignored(server: &'static str) -> impl Iterator<Item = Trial> {
    let cases = contract::cases();
    let libraries = LIBRARIES.map(|library| (library.name, "clients"));
    let cases = cases.into_iter().map(|case| (case.name, case.theme));
    cases.chain(libraries).map(move |(name, theme)| {
        Trial::test(format!("{server}::{name}"), || Err("it is ignored".into()))
            .with_kind(theme)
            .with_ignored_flag(true)
    })
}

/// A client library of another language, ignored where this machine cannot have it.
fn of_library(
    server: &str,
    library: Library,
    run: impl FnOnce(Installed) -> Result<Result<(), contract::Failure>, String> + Send + 'static,
) -> Trial {
    let run = move || match library.install() {
        Ok(installed) => match run(installed)? {
            Ok(()) => Ok(Completion::Completed),
            Err(failure) => Err(failure.to_string().into()),
        },
        Err(reason) => Ok(Completion::ignored_with(reason)),
    };
    Trial::ignorable_test(format!("{server}::{}", library.name), run).with_kind("clients")
}

fn judge(outcome: Outcome) -> Result<(), Failed> {
    match outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failure) => Err(failure.to_string().into()),
        Outcome::Skipped(reason) => Err(format!("not run: {reason}").into()),
    }
}

/// A control plane of this binary, ended with it.
struct Site {
    // Ended before its folder is removed.
    plane: Arc<Mutex<ControlPlane>>,
    client: Client,
    _dir: TempDir,
}

impl Site {
    async fn start(binaries: &Binaries, datastore: Datastore) -> Result<Site, String> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("contract-{}", datastore.name());
        let dir = TempDir::create(base, &name).map_err(|error| error.to_string())?;
        // JSON is YAML too.
        let crd = dir.path().join("crd.yaml");
        std::fs::write(&crd, contract::crd().to_string()).map_err(|error| error.to_string())?;
        let options = controlplane::Options {
            datastore,
            crds: vec![crd],
            dir: dir.path().to_owned(),
            logs: base.join("logs").join(name),
            users: vec![User::admin(USER)],
            ..controlplane::Options::default()
        };
        let plane = ControlPlane::start(binaries, options).await;
        let plane = plane.map_err(|error| error.to_string())?;
        let client = plane
            .client(USER)
            .await
            .map_err(|error| error.to_string())?;
        contract::install(&client)
            .await
            .map_err(|failure| failure.to_string())?;
        Ok(Site {
            plane: Arc::new(Mutex::new(plane)),
            client,
            _dir: dir,
        })
    }

    fn options(&self) -> Options {
        let plane = Arc::clone(&self.plane);
        let compact: Compact = Arc::new(move || {
            let plane = Arc::clone(&plane);
            Box::pin(async move {
                let compacted = plane.lock().await.compact().await;
                compacted.map_err(|error| error.to_string())
            })
        });
        Options {
            real: true,
            compact: Some(compact),
            leave_namespaces: true,
            ..Options::default()
        }
    }
}

/// The cases on one real control plane, which the first of them starts.
fn real(datastore: Datastore, binaries: &Binaries) -> std::io::Result<Vec<Trial>> {
    let server = match datastore {
        Datastore::Etcd => "kube",
        Datastore::Kine => "kine",
    };
    let mut cases = contract::cases();
    if datastore == Datastore::Kine && binaries.kine.is_none() {
        eprintln!("ignored, kine::: its binary is not there; run `loadgen control-plane build`");
        return Ok(ignored(server).collect());
    }
    let binaries = binaries.clone();
    let shared = Shared::new(move || {
        let binaries = binaries.clone();
        async move { Site::start(&binaries, datastore).await }
    })?;
    let shared = Arc::new(shared);
    // The long ones first. Those that are alone last: they would wait for all that began before.
    cases.sort_by_key(|case| (case.compacts, case.theme != "garbage collection"));
    let of_libraries = LIBRARIES.map(|library| {
        let shared = Arc::clone(&shared);
        of_library(server, library, move |installed| {
            shared.beside_others(async |site: &Site| {
                let kubeconfig = site.plane.lock().await.kubeconfig(USER);
                installed.run(&site.client, &kubeconfig).await
            })
        })
    });
    let trials = cases.into_iter().map(|case| {
        let shared = Arc::clone(&shared);
        named(server, &case, move || {
            let test =
                async |site: &Site| contract::run_case(&case, &site.client, &site.options()).await;
            judge(match case.compacts {
                true => shared.alone(test)?,
                false => shared.beside_others(test)?,
            })
        })
    });
    // A test that runs alone waits for all before it, so these are before those.
    Ok(of_libraries.into_iter().chain(trials).collect())
}

fn on_cluster(kubeconfig: PathBuf) -> std::io::Result<Vec<Trial>> {
    let of_client = kubeconfig.clone();
    let shared = Shared::new(move || {
        let kubeconfig = of_client.clone();
        async move { connect(&kubeconfig).await }
    })?;
    let shared = Arc::new(shared);
    let of_libraries = LIBRARIES.map(|library| {
        let (shared, kubeconfig) = (Arc::clone(&shared), kubeconfig.clone());
        of_library("cluster", library, move |installed| {
            shared.beside_others(async |client: &Client| installed.run(client, &kubeconfig).await)
        })
    });
    let trials = contract::cases().into_iter().map(|case| {
        let ignored = case.compacts && compact_command().is_none();
        let shared = Arc::clone(&shared);
        let run = move || {
            let options = Options {
                real: true,
                compact: compact_command(),
                ..Options::default()
            };
            let test = async |client: &Client| contract::run_case(&case, client, &options).await;
            judge(match case.compacts {
                true => shared.alone(test)?,
                false => shared.beside_others(test)?,
            })
        };
        named("cluster", &case, run).with_ignored_flag(ignored)
    });
    Ok(of_libraries.into_iter().chain(trials).collect())
}

async fn connect(kubeconfig: &Path) -> Result<Client, String> {
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| error.to_string())?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| error.to_string())?;
    // A refusal is an answer here, and not to be asked for again.
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|error| error.to_string())?;
    contract::install(&client)
        .await
        .map_err(|failure| failure.to_string())?;
    Ok(client)
}

/// Runs the command and waits for it.
fn compact_command() -> Option<Compact> {
    let command = std::env::var("CONTRACT_COMPACT").ok()?;
    Some(Arc::new(move || {
        let status = std::process::Command::new("sh")
            .args(["-c", &command])
            .status();
        let done = match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{command}: {status}")),
            Err(error) => Err(format!("{command}: {error}")),
        };
        Box::pin(async { done })
    }))
}
