//! Kubeconfigs and the client configurations that follow from them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kubesim::Tls;
use rcgen::{CertificateParams, KeyPair};

use crate::http::client::*;

mod hostile;
mod read;
mod refuse;
mod rotated;

/// A folder with certificates in it; removed when dropped.
struct Folder {
    path: PathBuf,
    ca: String,
    certificate: String,
    key: String,
}

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tare-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("pki")).expect("a temporary folder");
        let ca = Tls::generate().expect("a CA").ca_pem().to_owned();
        let pair = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec!["ada".to_owned()]).expect("parameters");
        let certificate = parameters.self_signed(&pair).expect("a certificate").pem();
        let key = pair.serialize_pem();
        for (name, text) in [
            ("ca.crt", ca.as_str()),
            ("client.crt", &certificate),
            ("client.key", &key),
            ("both.pem", &format!("{certificate}{key}")),
            ("token", "from-file\n"),
            ("empty", ""),
        ] {
            std::fs::write(path.join("pki").join(name), text).expect("a temporary file");
        }
        Self {
            path,
            ca,
            certificate,
            key,
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, text).expect("a temporary file");
        path
    }

    /// The configuration of a cluster and a user, given as flow mappings without braces. `$CA`,
    /// `$CERT` and `$KEY` stand for certificates and key in base64.
    fn configure(&self, cluster: &str, user: &str) -> Result<Config, String> {
        let text = format!(
            "current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n"
        );
        let text = text
            .replace("$CA", &STANDARD.encode(&self.ca))
            .replace("$CERT", &STANDARD.encode(&self.certificate))
            .replace("$KEY", &STANDARD.encode(&self.key));
        let file = self.write("config", &text);
        from_files(&[file], None).map_err(|error| error.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Server, credentials and TLS of a configuration in one line, for comparison.
fn summary(config: &Config) -> String {
    let token = config
        .token
        .clone()
        .map_or("no token".to_owned(), |mut token| {
            token
                .header(Instant::now())
                .to_str()
                .map(str::to_owned)
                .unwrap_or_default()
        });
    let security = match &config.security {
        Security::Plain => "plain".to_owned(),
        Security::Tls {
            trust,
            server_name,
            identity,
        } => {
            let trust = match trust {
                Trust::Roots(roots) => format!("{} roots", roots.len()),
                Trust::File { roots, .. } => format!("{} roots of a file", roots.len()),
                Trust::Anything => "anything".to_owned(),
            };
            let name = server_name.as_ref().map_or("".into(), |name| name.to_str());
            let identity = identity.as_ref().map_or("", |_| ", certificate");
            format!("{trust} {name}{identity}")
        }
    };
    format!("{} {token}; {security}", config.server)
}
