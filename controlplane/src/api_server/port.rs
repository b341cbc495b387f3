//! kube-apiserver's port, held for as long as the control plane lives.
//!
//! A free port that is let go before the server binds it may be taken by another process in
//! between, and again at every restart. So it stays bound here, shared with the server
//! (SO_REUSEPORT here, `--permit-port-sharing` there). Guarantees: a socket that is bound and does
//! not listen gets no connections, so whatever is accepted is the server's.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

use crate::error::Error;

#[derive(Debug)]
pub(crate) struct HeldPort {
    number: u16,
    _socket: TcpSocket,
}

impl HeldPort {
    /// Takes this port, or any that is free.
    pub(crate) fn take(wanted: Option<u16>) -> Result<HeldPort, Error> {
        let port = wanted.unwrap_or(0);
        let held = || {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
            let number = socket.local_addr()?.port();
            Ok(HeldPort {
                number,
                _socket: socket,
            })
        };
        held().map_err(|cause| Error::Port { port, cause })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}
