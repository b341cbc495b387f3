//! What can go wrong outside of requests.

/// What can go wrong outside of requests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the CustomResourceDefinition cannot be installed: {0}")]
    Definition(String),
    #[error("{object} cannot be seeded: {cause}")]
    Seed { object: String, cause: String },
    #[error("the line cannot be logged: {0}")]
    Log(String),
    #[error("the serving certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("the TLS configuration is refused: {0}")]
    Tls(#[from] rustls::Error),
}
