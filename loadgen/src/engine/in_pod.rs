//! Credentials as in a pod: the files of a service account, and where the API server is.
//!
//! Guarantees: the files are seen by the subject alone, in a mount namespace of its own; the process that is started
//! becomes the subject, so it is measured and ended like any other. Leaves to others: starting it. Needs root or
//! user namespaces, and a kubeconfig with a token. Where the folder of the files is not there, the subject sees an
//! empty `/run`.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use tare_procstat::process::Spec;

use crate::engine::session::Reason;
use crate::private_file;

/// Mounts `$1` where client libraries look, and becomes what follows.
const SCRIPT: &str = r#"set -e
account=/var/run/secrets/kubernetes.io/serviceaccount
if [ ! -d "$account" ]; then
  mount -t tmpfs tmpfs "$(readlink -f /var/run)"
  mkdir -p "$account"
fi
mount --bind "$1" "$account"
shift
exec "$@""#;

/// What a service account's files hold, and the address beside them.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    host: String,
    port: u16,
    ca_pem: Vec<u8>,
    token: String,
}

/// The same start, with the credentials of `kubeconfig` as a pod has them; files are written into `dir`.
///
/// # Errors
/// The kubeconfig has no token, or the files cannot be written.
pub fn wrapped(spec: Spec, kubeconfig: &Path, dir: &Path) -> Result<Spec, Reason> {
    let text = std::fs::read_to_string(kubeconfig);
    let text = text.map_err(|e| format!("cannot read {}: {e}", kubeconfig.display()))?;
    let account = account(&text)?;
    let files = dir.join("serviceaccount");
    let failed = |e: std::io::Error| format!("cannot write {}: {e}", files.display());
    std::fs::create_dir_all(&files).map_err(failed)?;
    for (name, content) in [
        ("ca.crt", &account.ca_pem[..]),
        ("token", account.token.as_bytes()),
        ("namespace", &b"default"[..]),
    ] {
        private_file::write(&files.join(name), content).map_err(failed)?;
    }
    let mut args = vec![
        "--mount".to_owned(),
        "--propagation".into(),
        "private".into(),
    ];
    if !rustix::process::geteuid().is_root() {
        args.push("--map-root-user".into());
    }
    args.extend(["--", "sh", "-c", SCRIPT, "sh"].map(str::to_owned));
    args.push(files.display().to_string());
    args.push(spec.program.display().to_string());
    args.extend(spec.args);
    let mut env = spec.env;
    env.push(("KUBERNETES_SERVICE_HOST".into(), account.host));
    env.push(("KUBERNETES_SERVICE_PORT".into(), account.port.to_string()));
    Ok(Spec {
        program: "unshare".into(),
        args,
        env,
        ..spec
    })
}

fn account(kubeconfig: &str) -> Result<Account, Reason> {
    let way = "credentials = \"in-pod\" needs a kubeconfig with a server, a certificate authority and a token";
    let config: Value = serde_saphyr::from_str(kubeconfig).map_err(|e| format!("{way}: {e}"))?;
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
    let missing = |what: &str| format!("{way}; it has no {what}");
    let server = text("/clusters/0/cluster/server").ok_or_else(|| missing("server"))?;
    let url = server.parse::<http::Uri>();
    let url = url.map_err(|e| format!("{way}: {server}: {e}"))?;
    let host = url.host().ok_or_else(|| missing("server"))?;
    let ca_pem = match text("/clusters/0/cluster/certificate-authority-data") {
        Some(data) => BASE64.decode(data).map_err(|e| format!("{way}: {e}"))?,
        None => {
            let file = text("/clusters/0/cluster/certificate-authority");
            let file = file.ok_or_else(|| missing("certificate authority"))?;
            std::fs::read(file).map_err(|e| format!("{way}: {file}: {e}"))?
        }
    };
    let token = match (text("/users/0/user/token"), text("/users/0/user/tokenFile")) {
        (Some(token), _) => token.to_owned(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|e| format!("{way}: {file}: {e}"))?
        }
        (None, None) => return Err(missing("token")),
    };
    Ok(Account {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port_u16().unwrap_or(443),
        ca_pem,
        token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_becomes_the_files_of_an_account() {
        let text = kubesim::kubeconfig("https://127.0.0.1:6443", "PEM", "me", "secret");
        let want = Account {
            host: "127.0.0.1".into(),
            port: 6443,
            ca_pem: b"PEM".to_vec(),
            token: "secret".into(),
        };
        assert_eq!(account(&text), Ok(want));
        let without = text.replace("token:", "username:");
        let refused = account(&without).expect_err("no token");
        assert!(refused.ends_with("it has no token"), "{refused}");
    }
}
