//! The `tare` binary as a user starts it.

#[path = "../shared/example.rs"]
mod example;
mod several;

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kubesim::{Options, Server, Tls, kubeconfig};

const TIMEOUT: Duration = Duration::from_secs(30);

/// `tare` with nothing of this machine's own configuration.
fn tare(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command.env_clear().env("HOME", dir).stdin(Stdio::null());
    command
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Fails unless it is one line on standard error that holds `wanted`, with this exit code.
fn assert_one_line(output: &Output, code: i32, wanted: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with("error: ") && text.contains(wanted),
        "{text}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn bad_usage_is_one_line_and_exit_code_2() {
    let dir = folder("usage");
    for (arguments, wanted) in [
        (vec!["walk"], "unknown command \"walk\""),
        (vec!["run", "--cache", "warm"], "cache mode \"warm\""),
        (
            vec!["run", "--concurrency", "many"],
            "--concurrency \"many\" is not a number from 1 to 256",
        ),
        (vec![], "a command is missing"),
    ] {
        assert_one_line(&tare(&dir).args(arguments).output().unwrap(), 2, wanted);
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named_with_the_way_out() {
    let dir = folder("kubeconfig");
    let output = |path: &Path| {
        tare(&dir)
            .args(["install"])
            .env("KUBECONFIG", path)
            .output()
            .unwrap()
    };

    let missing = dir.join("missing");
    assert_one_line(
        &output(&missing),
        1,
        &format!("{}: no such file", missing.display()),
    );

    let broken = dir.join("broken");
    std::fs::write(&broken, "clusters: [").unwrap();
    assert_one_line(&output(&broken), 1, &broken.display().to_string());

    let secret = dir.join("secret");
    std::fs::write(&secret, "").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&secret).is_err() {
        assert_one_line(
            &output(&secret),
            1,
            "permission denied; run as a user who may read it",
        );
    } else {
        eprintln!("not checked: root may read every file, so permission is never denied here");
    }

    if !Path::new("/etc/rancher/k3s/k3s.yaml").exists() {
        assert_one_line(
            &tare(&dir).arg("install").output().unwrap(),
            1,
            "no kubeconfig: set KUBECONFIG",
        );
    }
}

#[test]
fn the_version_names_the_commit() {
    let dir = folder("version");
    for word in ["version", "--version", "-V"] {
        let output = tare(&dir).arg(word).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let commit = tare::VERSION.split_once('+').unwrap().1;
        assert!(
            text.starts_with(&format!("tare {} (", tare::VERSION)),
            "{text}"
        );
        assert!(!commit.is_empty() && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn the_crd_is_printed_as_it_is_shipped() {
    let output = tare(&folder("crd")).arg("crd").output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, include_bytes!("../../deploy/base/crd.yaml"));
}

/// A simulated server on TLS loopback that lives as long as the test.
struct Cluster {
    server: Server,
    kubeconfig: PathBuf,
    _runtime: tokio::runtime::Runtime,
}

impl Cluster {
    fn start(dir: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (server, tls) = (
            runtime.block_on(async { Server::new(Options::default()) }),
            Tls::generate().unwrap(),
        );
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let text = kubeconfig(&url, tls.ca_pem(), "tare", &server.token("tare"));
        let path = dir.join("kubeconfig");
        std::fs::write(&path, text).unwrap();
        runtime.spawn(server.clone().serve(listener, tls, std::future::pending()));
        Self {
            server,
            kubeconfig: path,
            _runtime: runtime,
        }
    }
}

/// A process that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn ask(admin: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(admin).ok()?;
    stream
        .write_all(
            format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn free_port() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

/// Creates an EdgeApp as a user would.
fn create_web(cluster: &Cluster) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let api: kube::Api<tare::edgeapp::EdgeApp> =
            kube::Api::default_namespaced(cluster.server.client("user"));
        let object = serde_json::from_value(serde_json::json!({
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp", "metadata": {"name": "web"},
            "spec": {"image": "web:1", "port": 80}}));
        api.create(&kube::api::PostParams::default(), &object.unwrap())
            .await
            .unwrap();
    });
}

#[test]
fn install_run_reconcile_and_stop_on_sigterm() {
    let dir = folder("run");
    let cluster = Cluster::start(&dir);
    let admin = free_port();
    let all_addresses = format!(":{}", admin.port());
    let start = || {
        let mut command = tare(&dir);
        command
            .args(["run", "--admin", &all_addresses])
            .env("KUBECONFIG", &cluster.kubeconfig);
        Running(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    };

    // Without its CRD it lives, is not ready, and says what to do.
    let running = start();
    until("readyz names the command", || {
        ask(admin, "/readyz")
            .filter(|answer| answer.contains("503") && answer.contains("run `tare install`"))
    });
    // As a probe on an IPv6-only cluster asks, and one on any other.
    let of_ipv6 = SocketAddr::from((Ipv6Addr::LOCALHOST, admin.port()));
    for address in [admin, of_ipv6] {
        let answer = ask(address, "/livez").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{address}: {answer}");
    }

    let installed = tare(&dir)
        .arg("install")
        .env("KUBECONFIG", &cluster.kubeconfig)
        .output()
        .unwrap();
    assert!(
        installed.status.success(),
        "{}",
        String::from_utf8_lossy(&installed.stderr)
    );
    assert_eq!(installed.stdout, b"edgeapps.tare.dev is Established\n");
    until("ready", || {
        ask(admin, "/readyz").filter(|answer| answer.starts_with("HTTP/1.1 200"))
    });

    create_web(&cluster);
    until("it is Running", || {
        let object = cluster.server.object("edgeapps", "default", "web")?;
        (object["status"]["phase"] == "Running").then_some(())
    });
    let metrics = ask(admin, "/metrics").unwrap();
    for name in [
        "tare_reconcile_duration_seconds_count",
        "process_resident_memory_bytes",
        "tare_ready 1",
    ] {
        assert!(metrics.contains(name), "{name} is missing in {metrics}");
    }

    // The port is taken: one line, exit 1.
    let second = tare(&dir)
        .args(["run", "--admin", &admin.to_string()])
        .env("KUBECONFIG", &cluster.kubeconfig)
        .output()
        .unwrap();
    assert_one_line(
        &second,
        1,
        "already in use; choose another one with --admin",
    );

    let mut running = running;
    let stopped = Command::new("kill")
        .args(["-TERM", &running.0.id().to_string()])
        .status()
        .unwrap();
    assert!(stopped.success());
    let asked = Instant::now();
    let status = until("it ends", || running.0.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(6),
        "{:?}",
        asked.elapsed()
    );
    let mut log = String::new();
    running
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut log)
        .unwrap();
    for line in log.lines() {
        let parsed: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(parsed["level"].is_string(), "{line}");
    }
    assert!(
        !log.contains(&cluster.server.token("tare")),
        "no secret in the log"
    );
}

#[test]
fn each_cache_mode_is_chosen_by_its_name() {
    for (mode, kept) in [("none", 0), ("metadata", 1), ("pruned", 1)] {
        let dir = folder(mode);
        let cluster = Cluster::start(&dir);
        let admin = free_port();
        let mut command = tare(&dir);
        command
            .args(["run", "--install-crd", "--cache", mode])
            .args(["--admin", &admin.to_string()])
            .env("KUBECONFIG", &cluster.kubeconfig)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        until("ready", || {
            ask(admin, "/readyz").filter(|answer| answer.starts_with("HTTP/1.1 200"))
        });
        create_web(&cluster);
        until("it is Running", || {
            let object = cluster.server.object("edgeapps", "default", "web")?;
            (object["status"]["phase"] == "Running").then_some(())
        });
        until("it has come to rest", || {
            ask(admin, "/metrics").filter(|text| {
                text.contains("tare_entries 0\n")
                    && text.contains(&format!("tare_cached_owners {kept}\n"))
            })
        });
        running.0.kill().unwrap();
        running.0.wait().unwrap();
        let mut log = String::new();
        let mut stderr = running.0.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        assert!(log.contains(&format!("\"cache\":\"{mode}\"")), "{log}");
        assert!(log.contains("\"message\":\"ready\""), "{log}");
    }
}

fn terminate(running: &mut Running) -> Option<i32> {
    let pid = running.0.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.unwrap().success());
    until("it ends", || running.0.try_wait().unwrap()).code()
}

#[test]
fn of_two_replicas_one_works_and_the_other_follows() {
    let dir = folder("replicas");
    let cluster = Cluster::start(&dir);
    let holder = || {
        let lease = cluster.server.object("leases", "default", "tare")?;
        let holder = lease["spec"]["holderIdentity"].as_str();
        Some(holder.unwrap_or_default().to_owned())
    };
    let start = |pod: &str| {
        let admin = free_port();
        let mut command = tare(&dir);
        command
            .args(["run", "--install-crd", "--leader-elect"])
            .args(["--admin", &admin.to_string()])
            .env("KUBECONFIG", &cluster.kubeconfig)
            .env("HOSTNAME", pod)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        (Running(command.spawn().unwrap()), admin)
    };
    let works = |admin| {
        until("it works", || {
            ask(admin, "/readyz").filter(|answer| answer.ends_with("\nok\n"))
        });
        assert!(ask(admin, "/metrics").unwrap().contains("tare_leader 1\n"));
    };
    let stands_by = |admin| {
        until("it stands by", || {
            ask(admin, "/readyz").filter(|answer| {
                answer.starts_with("HTTP/1.1 200") && answer.ends_with("standby\n")
            })
        });
        assert!(ask(admin, "/metrics").unwrap().contains("tare_leader 0\n"));
    };

    let (mut one, admin_of_one) = start("pod-1");
    works(admin_of_one);
    assert!(holder().unwrap().starts_with("pod-1_"));
    let (mut other, admin_of_other) = start("pod-2");
    stands_by(admin_of_other);
    create_web(&cluster);
    until("it is Running", || {
        let object = cluster.server.object("edgeapps", "default", "web")?;
        (object["status"]["phase"] == "Running").then_some(())
    });

    assert_eq!(terminate(&mut one), Some(0));
    works(admin_of_other);
    assert!(holder().unwrap().starts_with("pod-2_"));
    let (mut third, admin_of_third) = start("pod-3");
    stands_by(admin_of_third);
    assert_eq!(terminate(&mut third), Some(0), "a standby ends at once");
    assert_eq!(terminate(&mut other), Some(0));
    assert_eq!(holder().unwrap(), "", "it was released");
}

#[test]
fn a_server_that_does_not_answer_is_one_line() {
    let dir = folder("away");
    let (path, away) = (dir.join("kubeconfig"), free_port());
    let tls = Tls::generate().unwrap();
    std::fs::write(
        &path,
        kubeconfig(&format!("https://{away}"), tls.ca_pem(), "tare", "x"),
    )
    .unwrap();
    let output = tare(&dir)
        .arg("install")
        .env("KUBECONFIG", &path)
        .output()
        .unwrap();
    assert_one_line(&output, 1, &format!("https://{away}"));
}
