//! A subject's own HTTP server: is it ready, and what does its metrics page say.
//!
//! Guarantees: one plain request per connection, past any proxy, with a deadline and a bound on the answer.
//! Leaves to others: what the answer means.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

const ANSWER: Duration = Duration::from_secs(5);
/// A larger page is an error: the rest of it may have the figure that is looked for.
const MOST_BYTES: usize = 64 << 20;

/// Why a page could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("http://{address}{path}: {}", words(.cause.as_ref()))]
    Failed {
        address: SocketAddr,
        path: String,
        cause: Cause,
    },
    #[error("http://{address}{path}: no answer within {} s", ANSWER.as_secs())]
    Silent { address: SocketAddr, path: String },
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The last of its causes: what is around it says that a client failed.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
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
    let answer = tokio::time::timeout(ANSWER, exchange(address, path, MOST_BYTES)).await;
    let path = path.to_owned();
    match answer {
        Err(_) => Err(Error::Silent { address, path }),
        Ok(Err(cause)) => Err(Error::Failed {
            address,
            path,
            cause,
        }),
        Ok(Ok(page)) => Ok(page),
    }
}

async fn exchange(address: SocketAddr, path: &str, most_bytes: usize) -> Result<Page, Cause> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client
        .get(format!("http://{address}{path}").parse()?)
        .await?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), most_bytes).collect().await;
    let body = body.map_err(
        |cause| match cause.is::<http_body_util::LengthLimitError>() {
            true => format!("the answer is larger than {most_bytes} bytes").into(),
            false => cause,
        },
    )?;
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    Ok(Page { status, body })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn answers() {
        let ok = get(
            serving("HTTP/1.1 200 OK\r\nX: y\r\n\r\nbody".into()).await,
            "/x",
        )
        .await;
        let body = "body".into();
        assert_eq!(ok.expect("HTTP"), Page { status: 200, body });
        let chunked =
            "HTTP/1.1 503 Not Ready\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n";
        let not_ready = get(serving(chunked.into()).await, "/x").await;
        let body = "no".into();
        assert_eq!(not_ready.expect("HTTP"), Page { status: 503, body });
        let other = serving("hello".into()).await;
        let error = get(other, "/x").await.expect_err("not HTTP").to_string();
        let url = format!("http://{other}/x: ");
        assert!(error.starts_with(&url) && error.contains("HTTP"), "{error}");
        let [closed, _] = free_addresses().expect("ports");
        let refused = get(closed, "/x").await;
        let error = refused.expect_err("nobody listens").to_string();
        assert!(error.contains("Connection refused"), "{error}");
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
        let most_bytes = answer.len() - "HTTP/1.0 200 OK\r\n\r\n".len();
        assert!(most_bytes > 5 << 20);
        let read = get(serving(answer.clone()).await, "/metrics").await;
        assert!(read.expect("a page").body.ends_with("\nerrors_total 7\n"));
        for (most_bytes, is_read) in [(most_bytes, true), (most_bytes - 1, false)] {
            let read = exchange(serving(answer.clone()).await, "/metrics", most_bytes).await;
            assert_eq!(read.is_ok(), is_read, "at most {most_bytes} bytes");
        }
    }
}
