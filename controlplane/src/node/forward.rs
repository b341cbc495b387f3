//! Connections from a port of 127.0.0.1 into the node's network.
//!
//! A thread of its own enters that network and connects from there; the port it listens on was bound
//! before and stays in the machine's. Guarantees: no other thread changes its network; the thread
//! ends when this is dropped, and with it every connection.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::node::Error;

pub(crate) struct Forward {
    port: u16,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Forward {
    /// From this port, or any that is free, to an address in the network of a process.
    pub(crate) fn start(port: Option<u16>, pid: i32, to: SocketAddr) -> Result<Forward, Error> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(|cause| Error::Port {
            port: wanted,
            cause,
        })?;
        let port = listener.local_addr().map_err(Error::Network)?.port();
        let path = format!("/proc/{pid}/ns/net");
        let network = File::open(&path).map_err(Error::file(path))?;
        let (end, ended) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("forward".to_owned());
        let work = move || match entered(&network, listener) {
            Ok((runtime, listener)) => {
                let _ = tell.send(Ok(()));
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, to) => {}
                        _ = ended => {}
                    }
                });
            }
            Err(cause) => {
                let _ = tell.send(Err(cause));
            }
        };
        let thread = thread.spawn(work).map_err(Error::Network)?;
        let gone = || Err(io::Error::other("its thread is gone"));
        told.recv()
            .unwrap_or_else(|_| gone())
            .map_err(Error::Network)?;
        Ok(Forward {
            port,
            end: Some(end),
            thread: Some(thread),
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves this thread into the network, with a runtime that stays on it.
fn entered(
    network: &File,
    listener: TcpListener,
) -> io::Result<(tokio::runtime::Runtime, tokio::net::TcpListener)> {
    enter(network)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let listener = {
        let _on = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    Ok((runtime, listener))
}

#[cfg(target_os = "linux")]
fn enter(network: &File) -> io::Result<()> {
    use std::os::fd::AsFd;

    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

async fn serve(listener: tokio::net::TcpListener, to: SocketAddr) {
    loop {
        match listener.accept().await {
            // Ends with the runtime at the latest.
            Ok((outside, _)) => drop(tokio::spawn(forward(outside, to))),
            Err(cause) => {
                // Mostly no more file descriptors: those that are open have to end first.
                tracing::warn!(%cause, "the forwarder could not accept a connection");
                tokio::task::yield_now().await;
            }
        }
    }
}

/// One connection. A refusal inside shows outside as a connection that ends.
async fn forward(mut outside: TcpStream, to: SocketAddr) {
    let inside = TcpStream::connect(to).await;
    let ended = match inside {
        Ok(mut inside) => {
            // Small answers are not to wait for more.
            let _ = inside.set_nodelay(true);
            let _ = outside.set_nodelay(true);
            tokio::io::copy_bidirectional(&mut outside, &mut inside)
                .await
                .map(drop)
        }
        Err(cause) => Err(cause),
    };
    if let Err(cause) = ended {
        tracing::debug!(%cause, "a forwarded connection ended");
    }
}
