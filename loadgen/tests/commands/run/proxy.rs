//! A proxy on the way to the cluster is used as kubectl uses it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::run::simulated_cluster::{SimulatedCluster, assert_success, command, said};

/// A server on this machine is reached without the proxy that is set for all others.
pub fn of_the_environment() {
    let cluster = SimulatedCluster::without_crd("proxy-environment");
    let mut run = command(&["run", "configmaps", "--count", "2"], &cluster.kubeconfig);
    // Nobody listens there.
    run.env("HTTPS_PROXY", "http://127.0.0.1:1");
    assert_success(&run.output().expect("loadgen starts"));
}

/// `proxy-url` of a kubeconfig is what the user chose, for whichever server.
pub fn of_the_kubeconfig() {
    let cluster = SimulatedCluster::without_crd("proxy-url");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let tunnels = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tunnels);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || tunnel(client));
        }
    });
    let text = std::fs::read_to_string(&cluster.kubeconfig).expect("written");
    let through = cluster.kubeconfig.with_file_name("through-a-proxy");
    let url = |url: &str| {
        let (before, after) = text.split_once("server:").expect("a cluster");
        let indent = before.rsplit('\n').next().unwrap_or_default().len();
        let indent = " ".repeat(indent);
        let with = format!("{before}proxy-url: {url}\n{indent}server:{after}");
        std::fs::write(&through, with).expect("writable");
    };
    url(&format!("http://{address}"));
    let run = || command(&["run", "configmaps", "--count", "2"], &through).output();
    assert_success(&run().expect("loadgen starts"));
    assert!(
        tunnels.load(Ordering::SeqCst) > 0,
        "nothing went through it"
    );
    url("nonsense");
    let refused = run().expect("loadgen starts");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let want = "proxy-url: \"nonsense\" is no URL; write http://HOST:PORT";
    assert!(said(&refused).contains(want), "{}", said(&refused));
}

/// Answers one CONNECT, and passes on what comes.
fn tunnel(mut client: TcpStream) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let server = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    let mut server = TcpStream::connect(server).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let (mut from, mut to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    std::io::copy(&mut server, &mut client).ok()?;
    Some(())
}
