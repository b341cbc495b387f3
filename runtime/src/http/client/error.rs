//! Why no client can be built: one line that names the file, the entry and what to do.
//!
//! Guarantees: no token, key or other content of a file is part of a message.

use crate::http::client::file::FileError;
use crate::http::client::yaml::YamlError;

/// Why no client can be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {path}: {cause}{hint}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: FileError,
        /// What to do.
        hint: &'static str,
    },
    /// There is no kubeconfig, and this process does not run in a pod.
    #[error("no kubeconfig: set KUBECONFIG to one{hint}")]
    Missing {
        /// The suggestion of a kubeconfig that exists, or nothing.
        hint: String,
    },
    /// The content of a kubeconfig cannot be used.
    #[error("kubeconfig {path}: {flaw}")]
    Unusable {
        /// The file or files.
        path: String,
        /// Why.
        flaw: Flaw,
    },
    /// The pod's service account cannot be used.
    #[error("service account of this pod: {0}")]
    InCluster(String),
    /// The client certificate and its key do not match, or their kind is not supported.
    #[error("client certificate: {0}")]
    Identity(rustls::Error),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(rustls::Error),
}

/// What is wrong with a kubeconfig.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Neither YAML nor JSON.
    #[error("{0}")]
    Yaml(#[from] YamlError),
    /// It is YAML, but not a kubeconfig.
    #[error("not a kubeconfig: {0}")]
    Shape(String),
    /// `current-context` is not set and no context was given.
    #[error("no current-context; choose one with --context; {0}")]
    NoContext(Known),
    /// A context, cluster or user is referred to but not defined.
    #[error("{what} {name:?} is not there; {known}")]
    Unknown {
        /// `context`, `cluster` or `user`, the kind of the missing entry.
        what: &'static str,
        /// Its name.
        name: String,
        /// The names that are defined.
        known: Known,
    },
    /// An entry cannot be used.
    #[error("{what} {name:?}: {problem}")]
    Entry {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// Its name.
        name: String,
        /// Why.
        problem: Problem,
    },
}

/// The names to choose from.
#[derive(Debug, PartialEq, Eq)]
pub struct Known(pub Vec<String>);

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("there is none");
        }
        write!(f, "there is: {}", self.0.join(", "))
    }
}

/// What is wrong with an entry of a kubeconfig.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A context without a cluster, a cluster without a server.
    #[error("it has no {0}")]
    Lacks(&'static str),
    /// A field is of the wrong kind.
    #[error("{0} is not {1}")]
    Kind(&'static str, &'static str),
    /// Not a URL, or not one of an API server.
    #[error("server {0:?} is not a URL; give one like https://10.0.0.1:6443")]
    Server(String),
    /// A password in a URL; it is not quoted.
    #[error("server has a user name in it; remove it and use a token or a client certificate")]
    Userinfo,
    /// A file that is referred to cannot be read.
    #[error("{field} {path}: {cause}")]
    File {
        /// The field.
        field: &'static str,
        /// The file.
        path: String,
        /// Why.
        cause: FileError,
    },
    /// Data that is not base64.
    #[error("{0}-data is not base64")]
    Base64(&'static str),
    /// No certificate or no key where one should be.
    #[error("{field}: {cause}")]
    Pem {
        /// The field, and the file if it is one.
        field: String,
        /// Why.
        cause: PemError,
    },
    /// There is no CA to verify the server's certificate with.
    #[error(
        "https without certificate-authority or certificate-authority-data; add the CA of the API server"
    )]
    NoAuthority,
    /// A CA beside `insecure-skip-tls-verify`, which would ignore it.
    #[error("insecure-skip-tls-verify and a certificate authority; remove one of them")]
    InsecureAuthority,
    /// `proxy-url`.
    #[error("proxy-url is not supported; give a server that can be reached without a proxy")]
    Proxy,
    /// Credentials that only a plugin can get.
    #[error(
        "{0} plugins are not supported; use a token or a client certificate, or run in the cluster with its service account"
    )]
    Plugin(&'static str),
    /// Basic authentication, which no supported API server accepts.
    #[error("username and password are not supported; use a token or a client certificate")]
    Basic,
    /// Impersonation of another user.
    #[error("impersonation ({0}) is not supported; use the credentials of that user")]
    Impersonation(&'static str),
    /// A user without any credentials.
    #[error("it has no token and no client certificate; add one of them")]
    NoCredentials,
    /// A token that an HTTP header cannot hold.
    #[error("{0} is not a token: empty, or with characters that cannot be sent")]
    Token(String),
}

/// Why there is no certificate or key in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    /// The text has no PEM section of that kind.
    #[error("no {0} in PEM")]
    Missing(&'static str),
    /// A PEM section begins and does not end, or its content is not base64.
    #[error("a broken PEM section")]
    Broken,
    /// None of them can be used.
    #[error("no certificate that can be used")]
    Useless,
}
