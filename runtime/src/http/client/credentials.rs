//! The `user` entry of a kubeconfig, and the token of every request.
//!
//! Guarantees: a token is in no message and no debug output. A token file is read again about every
//! minute, and when the server refuses the token (401); while it cannot be read, the last token stays in use. What is
//! not supported (plugins, passwords, impersonation) is an error, never ignored.
//! Leaves to others: the handshake with a client certificate (`certificate`).
//! Source: client-go 0.36, transport/token_source.go, tools/clientcmd/client_config.go.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;
use tracing::warn;

use crate::http::client::certificate::Identity;
use crate::http::client::entry::Entry;
use crate::http::client::error::{Flaw, Problem};
use crate::http::client::file;
use crate::http::client::tls;

/// Half of the two minutes that remain of the shortest-lived token when the kubelet replaces it.
const REREAD: Duration = Duration::from_secs(60);

/// Longer than a request waits for its answer.
const LATELY: Duration = Duration::from_secs(30);

/// A token, a client certificate or both.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// Sent with every request.
    pub token: Option<Token>,
    /// The client certificate of the handshake.
    pub identity: Option<Identity>,
}

impl Credentials {
    /// Reads a `user` entry and the files it names.
    pub fn read(entry: &Entry, now: Instant) -> Result<Self, Flaw> {
        let token = token(entry, now)?;
        let identity = identity(entry)?;
        if entry.has("username") || entry.has("password") {
            return Err(entry.flaw(Problem::Basic));
        }
        for field in ["as", "as-uid", "as-groups", "as-user-extra"] {
            if entry.has(field) {
                return Err(entry.flaw(Problem::Impersonation(field)));
            }
        }
        if entry.has("auth-provider") {
            return Err(entry.flaw(Problem::Plugin("auth-provider")));
        }
        if token.is_none() && identity.is_none() {
            // kubectl, too, ignores `exec` where there is a token or a certificate.
            return Err(entry.flaw(if entry.has("exec") {
                Problem::Plugin("exec")
            } else {
                Problem::NoCredentials
            }));
        }
        Ok(Self { token, identity })
    }
}

/// A token file takes precedence; `token` is used until the file can be read.
fn token(entry: &Entry, now: Instant) -> Result<Option<Token>, Flaw> {
    let given = entry.text("token")?;
    let Some(path) = entry.path("tokenFile")? else {
        return given
            .map(|text| {
                Token::fixed(text).ok_or_else(|| entry.flaw(Problem::Token("token".to_owned())))
            })
            .transpose();
    };
    match (Token::of_file(path.clone(), now), given.map(Token::fixed)) {
        (Ok(token), _) => Ok(Some(token)),
        (Err(_), Some(Some(token))) => Ok(Some(token.replaced_by(path, now))),
        (Err(cause), _) => Err(entry.flaw(match cause {
            TokenError::File(cause) => Problem::File {
                field: "tokenFile",
                path: path.display().to_string(),
                cause,
            },
            TokenError::Unsendable => Problem::Token(format!("tokenFile {}", path.display())),
        })),
    }
}

fn identity(entry: &Entry) -> Result<Option<Identity>, Flaw> {
    let certificate = entry.material("client-certificate", "client-certificate-data")?;
    let Some(certificate) = certificate else {
        return Ok(None);
    };
    let key = entry
        .material("client-key", "client-key-data")?
        .ok_or_else(|| entry.flaw(Problem::Lacks("client-key for its client-certificate")))?;
    Ok(Some(Identity {
        chain: tls::certificates(&certificate.pem)
            .map_err(|cause| entry.pem_flaw(&certificate, cause))?,
        key: tls::key(&key.pem).map_err(|cause| entry.pem_flaw(&key, cause))?,
        files: certificate.path.zip(key.path),
    }))
}

/// A bearer token.
#[derive(Clone)]
pub struct Token {
    header: HeaderValue,
    file: Option<TokenFile>,
}

/// The file that the token is read from; `None` for a token that does not change.
#[derive(Debug, Clone)]
struct TokenFile {
    path: PathBuf,
    /// When it is read again.
    due: Instant,
    /// When its content was another one for the last time.
    changed: Option<Instant>,
}

/// Why a file holds no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// It cannot be read.
    #[error("{0}")]
    File(#[from] file::FileError),
    /// Its content is not a token.
    #[error("it is not a token: empty, or with characters that cannot be sent")]
    Unsendable,
}

impl Token {
    /// A token that does not change; `None` where an HTTP header cannot hold it.
    pub(crate) fn fixed(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let mut header = HeaderValue::try_from(format!("Bearer {text}")).ok()?;
        header.set_sensitive(true);
        Some(Self { header, file: None })
    }

    /// The token in a file, as of `now`.
    pub(crate) fn of_file(path: PathBuf, now: Instant) -> Result<Self, TokenError> {
        Ok(read(&path)?.replaced_by(path, now + REREAD))
    }

    fn replaced_by(mut self, path: PathBuf, due: Instant) -> Self {
        self.file = Some(TokenFile {
            path,
            due,
            changed: None,
        });
        self
    }

    /// The value of the `Authorization` header at `now`.
    pub(crate) fn header(&mut self, now: Instant) -> HeaderValue {
        if let Some(file) = self.file.as_mut().filter(|file| file.due <= now) {
            file.due = now + REREAD;
            match read(&file.path) {
                Ok(fresh) if fresh.header == self.header => {}
                Ok(fresh) => {
                    self.header = fresh.header;
                    file.changed = Some(now);
                }
                Err(cause) => {
                    warn!(file = %file.path.display(), "{cause}; the token read before stays in use");
                }
            }
        }
        self.header.clone()
    }

    /// The server has refused the token: reads the file again. Whether it has changed since a request that is
    /// answered now can have been sent.
    pub(crate) fn renew(&mut self, now: Instant) -> bool {
        let Some(file) = &mut self.file else {
            return false;
        };
        file.due = now;
        self.header(now);
        let changed = self.file.as_ref().and_then(|file| file.changed);
        changed.is_some_and(|at| now < at + LATELY)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

fn read(path: &Path) -> Result<Token, TokenError> {
    Token::fixed(&file::read_text(path)?).ok_or(TokenError::Unsendable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_is_read_again_after_a_minute_and_a_missing_one_changes_nothing() {
        let path = std::env::temp_dir().join(format!("tare-token-{}", std::process::id()));
        let write = |text: &str| std::fs::write(&path, text).expect("a temporary file");
        let start = Instant::now();
        write("one\n");
        let mut token = Token::of_file(path.clone(), start).expect("a token");
        let at = |token: &mut Token, seconds| {
            let header = token.header(start + Duration::from_secs(seconds));
            assert!(header.is_sensitive());
            header.to_str().map(str::to_owned).unwrap_or_default()
        };
        write("two");
        assert_eq!(at(&mut token, 59), "Bearer one");
        assert_eq!(at(&mut token, 60), "Bearer two");
        write(" \n");
        assert_eq!(at(&mut token, 120), "Bearer two", "an empty file is none");
        std::fs::remove_file(&path).expect("a temporary file");
        assert_eq!(at(&mut token, 180), "Bearer two");
        assert_eq!(format!("{token:?}"), "Token(redacted)");
    }

    #[test]
    fn a_token_that_is_refused_is_read_at_once() {
        let path = std::env::temp_dir().join(format!("tare-refused-{}", std::process::id()));
        let write = |text: &str| std::fs::write(&path, text).expect("a temporary file");
        let start = Instant::now();
        write("one");
        let mut token = Token::of_file(path.clone(), start).expect("a token");
        let second = |n| start + Duration::from_secs(n);
        assert!(!token.renew(second(1)), "it is the same");
        write("two");
        assert!(token.renew(second(2)));
        assert_eq!(token.header(second(2)).to_str().ok(), Some("Bearer two"));
        assert!(
            token.renew(second(3)),
            "of another request that was sent before"
        );
        assert!(!token.renew(second(60)), "it is refused itself");
        std::fs::remove_file(&path).expect("a temporary file");
        let mut fixed = Token::fixed("one").expect("a token");
        assert!(!fixed.renew(second(1)));
    }

    #[test]
    fn a_token_that_no_header_can_hold_is_refused() {
        for text in ["", " \n", "two\nlines", "\u{7f}"] {
            assert!(Token::fixed(text).is_none(), "{text:?}");
        }
    }
}
