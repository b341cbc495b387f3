//! A slow link between an operator and its server: bytes pass through it late and one after the other.
//!
//! Guarantees: all connections share its capacity, each direction has its own; order is kept; no byte is changed, so TLS
//! goes through it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// What is sent at once, bytes: about a packet.
const PACKET_BYTES: usize = 1_400;
/// Packets of a connection that are under way.
const UNDER_WAY: usize = 8;

/// Capacity and delay.
#[derive(Clone, Copy)]
pub struct Speed {
    pub bits_per_s: u64,
    pub round_trip: Duration,
}

/// The link; it ends when it is dropped.
pub struct Link {
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// One direction of the link: when it is free again.
#[derive(Clone)]
struct Direction {
    speed: Speed,
    free: Arc<Mutex<Instant>>,
}

impl Link {
    /// Listens on a free port of loopback and leads to `server`.
    pub async fn to(server: SocketAddr, speed: Speed) -> std::io::Result<Link> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let [up, down] = [(); 2].map(|()| Direction {
            speed,
            free: Arc::new(Mutex::new(Instant::now())),
        });
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connection(client, server, up.clone(), down.clone()));
            }
        });
        Ok(Link { address, accepting })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connection(client: TcpStream, server: SocketAddr, up: Direction, down: Direction) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(
        up.carry(from_client, to_server),
        down.carry(from_server, to_client)
    );
}

impl Direction {
    /// Carries bytes until one of the two ends.
    async fn carry(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let (sender, mut packets) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
        let read = async move {
            let mut buffer = [0; PACKET_BYTES];
            while let Ok(bytes @ 1..) = from.read(&mut buffer).await {
                let sent = self.sent(bytes);
                sleep_until(sent).await;
                let arrives = sent + self.speed.round_trip / 2;
                if sender
                    .send((arrives, buffer[..bytes].to_vec()))
                    .await
                    .is_err()
                {
                    return;
                }
            }
        };
        let write = async move {
            while let Some((arrives, packet)) = packets.recv().await {
                sleep_until(arrives).await;
                if to.write_all(&packet).await.is_err() {
                    return;
                }
            }
            let _ = to.shutdown().await;
        };
        tokio::join!(read, write);
    }

    /// When so many bytes have been sent, after those before them.
    fn sent(&self, bytes: usize) -> Instant {
        let takes = Duration::from_secs_f64(8.0 * bytes as f64 / self.speed.bits_per_s as f64);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = (*free).max(Instant::now()) + takes;
        *free
    }
}
