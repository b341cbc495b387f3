//! Why a connection failed, in one line.
//!
//! Guarantees: an error about a certificate says what to do.

use std::error::Error;

use rustls::CertificateError::{
    BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, UnknownIssuer,
};

/// Why a request, or the stream of its answer, failed.
///
/// kube's error never becomes a `dyn Error` here: its messages about plugins and kubeconfigs would
/// link a YAML renderer of 70 KB.
pub(crate) fn cause(error: &kube::Error) -> String {
    match error {
        kube::Error::Service(cause) => innermost(cause.as_ref()),
        kube::Error::HyperError(cause) => innermost(cause),
        _ => "the request failed".to_owned(),
    }
}

/// The innermost cause is the most specific: "connection refused", not "client error (Connect)".
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("{cause}{}", what_to_do(cause))
}

fn what_to_do(cause: &(dyn Error + 'static)) -> &'static str {
    // The error inside an io::Error is not its `source()`; that is the source of the inner error.
    let mut inner = cause;
    while let Some(deeper) = inner.downcast_ref().and_then(std::io::Error::get_ref) {
        inner = deeper;
    }
    let Some(rustls::Error::InvalidCertificate(flaw)) = inner.downcast_ref() else {
        return "";
    };
    match flaw {
        UnknownIssuer | BadSignature => {
            "; the certificate authority of the kubeconfig or service account is not the server's"
        }
        NotValidForName | NotValidForNameContext { .. } => {
            "; give a server name that is in the certificate, or tls-server-name"
        }
        Expired | ExpiredContext { .. } => "; renew it, or set the clock",
        _ => "",
    }
}
