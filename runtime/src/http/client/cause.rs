//! Why a connection failed, in one line.
//!
//! Guarantees: a certificate that is not trusted comes with the way out.

use std::error::Error;

use rustls::CertificateError::{
    BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, UnknownIssuer,
};

/// Why a request or the stream of its answer broke.
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

/// The innermost cause says it best: "connection refused" rather than "client error (Connect)".
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("{cause}{}", way_out(cause))
}

fn way_out(cause: &(dyn Error + 'static)) -> &'static str {
    // What is inside of an io::Error is not its source: `source()` is that of what is inside.
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
