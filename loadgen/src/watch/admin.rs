//! A subject's own HTTP server: is it ready, and what does its metrics page say.
//!
//! Guarantees: one plain request per connection, with a deadline and a bound on the answer.
//! Leaves to others: what the answer means. HTTP/1.0, so that no answer comes in chunks.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ANSWER: Duration = Duration::from_secs(5);
/// A larger page is an error: the rest of it may have the figure that is looked for.
const MOST_BYTES: u64 = 64 << 20;

/// Why a page could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("http://{address}{path}: {source}")]
    Io {
        address: SocketAddr,
        path: String,
        source: std::io::Error,
    },
    #[error("http://{address}{path}: no answer within {} s", ANSWER.as_secs())]
    Silent { address: SocketAddr, path: String },
    #[error("http://{address}{path}: the answer is not HTTP")]
    NotHttp { address: SocketAddr, path: String },
    #[error("http://{address}{path}: the answer is larger than {MOST_BYTES} bytes")]
    TooLarge { address: SocketAddr, path: String },
}

/// A page and its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    pub body: String,
}

/// Two ports that are free now, for a subject to listen on.
///
/// # Errors
/// When loopback has none.
pub fn free_addresses() -> std::io::Result<[SocketAddr; 2]> {
    // Both are held, or the second might be the first again.
    let held = [
        TcpListener::bind(("127.0.0.1", 0))?,
        TcpListener::bind(("127.0.0.1", 0))?,
    ];
    Ok([held[0].local_addr()?, held[1].local_addr()?])
}

/// # Errors
/// See [`Error`].
pub async fn get(address: SocketAddr, path: &str) -> Result<Page, Error> {
    let path_owned = || path.to_owned();
    let text = tokio::time::timeout(ANSWER, exchange(address, path, MOST_BYTES)).await;
    let text = text.map_err(|_| Error::Silent {
        address,
        path: path_owned(),
    })?;
    let text = text.map_err(|source| Error::Io {
        address,
        path: path_owned(),
        source,
    })?;
    let Some(text) = text else {
        return Err(Error::TooLarge {
            address,
            path: path_owned(),
        });
    };
    page(&text).ok_or_else(|| Error::NotHttp {
        address,
        path: path_owned(),
    })
}

/// `None`: the answer is too large.
async fn exchange(
    address: SocketAddr,
    path: &str,
    most_bytes: u64,
) -> std::io::Result<Option<String>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(most_bytes + 1).read_to_end(&mut answer).await?;
    let is_whole = answer.len() as u64 <= most_bytes;
    Ok(is_whole.then(|| String::from_utf8_lossy(&answer).into_owned()))
}

fn page(text: &str) -> Option<Page> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head
        .strip_prefix("HTTP/")?
        .split(' ')
        .nth(1)?
        .parse()
        .ok()?;
    Some(Page {
        status,
        body: body.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let ok = page("HTTP/1.1 200 OK\r\nX: y\r\n\r\nbody").expect("HTTP");
        assert_eq!(
            ok,
            Page {
                status: 200,
                body: "body".into()
            }
        );
        assert_eq!(
            page("HTTP/1.0 503 Not Ready\r\n\r\n").expect("HTTP").status,
            503
        );
        assert_eq!(page("hello"), None);
    }

    /// The address of a server that gives one answer.
    async fn serving(answer: String) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            let _ = stream.read(&mut [0; 1024]).await?;
            stream.write_all(answer.as_bytes()).await
        });
        address
    }

    #[tokio::test]
    async fn a_large_page_is_read_to_its_last_counter_and_no_page_is_cut() {
        let series = "a_bucket{le=\"1\"} 1\n".repeat(5 << 20 >> 4);
        let answer = format!("HTTP/1.0 200 OK\r\n\r\n{series}errors_total 7\n");
        let most_bytes = answer.len() as u64;
        assert!(most_bytes > 5 << 20);
        let read = get(serving(answer.clone()).await, "/metrics").await;
        assert!(read.expect("a page").body.ends_with("\nerrors_total 7\n"));
        for (most_bytes, is_read) in [(most_bytes, true), (most_bytes - 1, false)] {
            let read = exchange(serving(answer.clone()).await, "/metrics", most_bytes).await;
            let read = read.expect("an answer");
            assert_eq!(read.is_some(), is_read, "at most {most_bytes} bytes");
        }
    }
}
