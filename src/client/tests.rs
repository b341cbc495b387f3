//! What a kubeconfig asks for, and what comes of it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use testbed::embedded::Tls;

use super::*;

const TOKEN: &str = "a-secret-token";

/// A folder with certificates in it, gone at the end.
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

/// What matters of a configuration, in a line.
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

#[tokio::test]
async fn clusters_and_users_are_read_as_they_are_meant() {
    let folder = Folder::new("read");
    let https = "server: https://h:6443, certificate-authority-data: $CA";
    let cases = [
        (
            "token",
            https,
            "token: t",
            "https://h:6443/ Bearer t; 1 roots ",
        ),
        (
            "number as token",
            https,
            "token: 0017",
            "https://h:6443/ Bearer 0017; 1 roots ",
        ),
        (
            "token file",
            https,
            "tokenFile: pki/token",
            "https://h:6443/ Bearer from-file; 1 roots ",
        ),
        (
            "a token file wins",
            https,
            "token: t, tokenFile: pki/token",
            "https://h:6443/ Bearer from-file; 1 roots ",
        ),
        (
            "the token stands in for the file",
            https,
            "token: t, tokenFile: pki/none",
            "https://h:6443/ Bearer t; 1 roots ",
        ),
        (
            "certificate from data",
            https,
            "client-certificate-data: $CERT, client-key-data: $KEY",
            "https://h:6443/ no token; 1 roots , certificate",
        ),
        (
            "certificate from files",
            https,
            "client-certificate: pki/client.crt, client-key: pki/client.key",
            "https://h:6443/ no token; 1 roots , certificate",
        ),
        (
            "certificate and key in one file",
            https,
            "client-certificate: pki/both.pem, client-key: pki/both.pem",
            "https://h:6443/ no token; 1 roots , certificate",
        ),
        (
            "both",
            https,
            "token: t, client-certificate-data: $CERT, client-key-data: $KEY",
            "https://h:6443/ Bearer t; 1 roots , certificate",
        ),
        (
            "data wins over files",
            "server: https://h, certificate-authority: pki/none, certificate-authority-data: $CA",
            "token: t, client-certificate-data: $CERT, client-certificate: pki/none, client-key: pki/none, client-key-data: $KEY",
            "https://h/ Bearer t; 1 roots , certificate",
        ),
        (
            "CA file",
            "server: https://h, certificate-authority: pki/ca.crt",
            "token: t",
            "https://h/ Bearer t; 1 roots of a file ",
        ),
        (
            "another name",
            "server: 'https://[::1]:6443', certificate-authority-data: $CA, tls-server-name: api.example",
            "token: t",
            "https://[::1]:6443/ Bearer t; 1 roots api.example",
        ),
        (
            "a path",
            "server: https://h/k8s/clusters/c, certificate-authority-data: $CA",
            "token: t",
            "https://h/k8s/clusters/c Bearer t; 1 roots ",
        ),
        (
            "insecure",
            "server: https://h, insecure-skip-tls-verify: true",
            "token: t",
            "https://h/ Bearer t; anything ",
        ),
        (
            "not insecure",
            "server: https://h, insecure-skip-tls-verify: false, certificate-authority-data: $CA",
            "token: t",
            "https://h/ Bearer t; 1 roots ",
        ),
        (
            "no credentials in the clear",
            "server: http://127.0.0.1:8001",
            "token: t",
            "http://127.0.0.1:8001/ no token; plain",
        ),
        (
            "exec is not run beside a token",
            https,
            "token: t, exec: {command: aws}",
            "https://h:6443/ Bearer t; 1 roots ",
        ),
        (
            "empty fields are none",
            "server: https://h, proxy-url: '', certificate-authority: '', certificate-authority-data: $CA",
            "token: t, username: '', tokenFile: ~",
            "https://h/ Bearer t; 1 roots ",
        ),
    ];
    for (name, cluster, user, want) in cases {
        let config = folder.configure(cluster, user);
        assert_eq!(config.as_ref().map(summary), Ok(want.to_owned()), "{name}");
        assert!(
            config.is_ok_and(|config| build(&config).is_ok()),
            "{name}: no client"
        );
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_the_entry_and_the_way_out() {
    let folder = Folder::new("refuse");
    let https = "server: https://h, certificate-authority-data: $CA";
    let cases = [
        (
            "certificate-authority-data: $CA",
            "token: t",
            "cluster \"c\": it has no server",
        ),
        (
            "server: 'h:6443', certificate-authority-data: $CA",
            "token: t",
            "server \"h:6443\" is not a URL; give one like https://10.0.0.1:6443",
        ),
        (
            "server: ftp://h",
            "token: t",
            "server \"ftp://h\" is not a URL",
        ),
        (
            "server: [a]",
            "token: t",
            "cluster \"c\": server is not a string",
        ),
        (
            "server: https://h",
            "token: t",
            "https without certificate-authority or certificate-authority-data; add the CA",
        ),
        (
            "server: https://h, insecure-skip-tls-verify: true, certificate-authority-data: $CA",
            "token: t",
            "insecure-skip-tls-verify and a certificate authority; remove one",
        ),
        (
            "server: https://h, insecure-skip-tls-verify: maybe",
            "token: t",
            "insecure-skip-tls-verify is not true or false",
        ),
        (
            "server: https://h, proxy-url: 'http://p'",
            "token: t",
            "proxy-url is not supported",
        ),
        (
            "server: https://h, tls-server-name: '/', certificate-authority-data: $CA",
            "token: t",
            "tls-server-name is not a host name or an address",
        ),
        (
            "server: https://h, certificate-authority-data: '%'",
            "token: t",
            "certificate-authority-data is not base64",
        ),
        (
            "server: https://h, certificate-authority-data: aGVsbG8=",
            "token: t",
            "certificate-authority-data: no certificate in PEM",
        ),
        (
            "server: https://h, certificate-authority: pki/none",
            "token: t",
            "pki/none: no such file",
        ),
        (
            "server: https://h, certificate-authority: pki/client.key",
            "token: t",
            "pki/client.key: no certificate in PEM",
        ),
        (
            https,
            "x: y",
            "user \"u\": it has no token and no client certificate",
        ),
        (
            https,
            "exec: {command: aws}",
            "exec plugins are not supported; use a token or a client certificate",
        ),
        (
            https,
            "auth-provider: {name: gcp}",
            "auth-provider plugins are not supported; use a token",
        ),
        (
            https,
            "username: ada, password: p",
            "username and password are not supported",
        ),
        (
            https,
            "token: t, as: root",
            "impersonation (as) is not supported",
        ),
        (
            https,
            "token: \"a\\nb\"",
            "user \"u\": token is not a token: empty, or",
        ),
        (https, "tokenFile: pki/none", "tokenFile "),
        (
            https,
            "tokenFile: pki/empty",
            "pki/empty is not a token: empty, or",
        ),
        (
            https,
            "client-certificate-data: $CERT",
            "it has no client-key for its client-certificate",
        ),
        (
            https,
            "client-certificate-data: $CERT, client-key-data: $CERT",
            "client-key-data: no private key in PEM",
        ),
        (
            https,
            "client-certificate-data: $KEY, client-key-data: $KEY",
            "client-certificate-data: no certificate in PEM",
        ),
    ];
    for (cluster, user, want) in cases {
        let error = folder
            .configure(cluster, user)
            .map(|config| summary(&config))
            .expect_err(want);
        assert!(
            error.contains(want) && !error.contains('\n'),
            "{want}: {error}"
        );
        assert!(
            error.starts_with("kubeconfig ") && error.contains("/config: "),
            "{error}"
        );
    }
}

#[test]
fn no_secret_is_printed() {
    let folder = Folder::new("secret");
    let https = "server: https://h, certificate-authority-data: $CA";
    let user = format!("token: {TOKEN}, client-certificate-data: $CERT, client-key-data: $KEY");
    let config = folder.configure(https, &user).expect("a configuration");
    let printed = format!("{config:?}");
    assert!(
        !printed.contains(TOKEN) && printed.contains("redacted"),
        "{printed}"
    );

    let key: String = folder.key.lines().nth(1).unwrap_or_default().to_owned();
    let half = STANDARD.encode(&folder.key[..folder.key.len() - 20]);
    let broken = [
        format!("token: [{TOKEN}]"),
        format!("token: {{a: {TOKEN}}}"),
        format!("token: \"{TOKEN}\\n.\""),
        format!("token: {TOKEN}, token: {TOKEN}"),
        format!("token: \"{TOKEN}"),
        format!("token: {TOKEN}]"),
        format!("client-certificate-data: $CERT, client-key-data: {half}"),
        format!("client-certificate-data: $CERT, client-key-data: '{TOKEN}'"),
        "client-certificate-data: $CERT, client-key-data: [$KEY]".to_owned(),
    ];
    for user in broken {
        let error = folder.configure(https, &user).expect_err(&user);
        assert!(!error.contains(TOKEN) && !error.contains(&key), "{error}");
    }
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (folder, other) = (Folder::new("pair"), Folder::new("other"));
    let user = format!(
        "client-certificate-data: $CERT, client-key-data: {}",
        STANDARD.encode(&other.key)
    );
    let config = folder
        .configure("server: https://h, certificate-authority-data: $CA", &user)
        .expect("both can be read");
    let error = build(&config)
        .map(drop)
        .expect_err("they are no pair")
        .to_string();
    assert!(error.starts_with("client certificate: "), "{error}");
}

#[test]
fn a_file_of_the_list_may_be_missing_but_not_every_one() {
    let folder = Folder::new("list");
    let cluster = "clusters: [{name: c, cluster: {server: 'http://h'}}]\n";
    let context = "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n";
    let files = [
        folder.path.join("none"),
        folder.write("cluster", cluster),
        folder.write("context", context),
    ];
    let config = from_files(&files, None).expect("two of three");
    assert_eq!(summary(&config), "http://h/ no token; plain");

    let error = from_files(&files[..1], None).expect_err("none").to_string();
    assert!(
        error.ends_with("none: no such file; set KUBECONFIG to a file that exists"),
        "{error}"
    );
    let error = from_files(&files[1..], Some("y"))
        .expect_err("no y")
        .to_string();
    let want = format!(
        "kubeconfig {}:{}: context \"y\" is not there; there is: x",
        files[1].display(),
        files[2].display()
    );
    assert_eq!(error, want);
}

#[test]
fn https_needs_a_user() {
    let folder = Folder::new("nobody");
    let text = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n\
        clusters: [{name: c, cluster: {server: 'https://h', insecure-skip-tls-verify: true}}]\n";
    let error = from_files(&[folder.write("config", text)], None)
        .expect_err("nobody")
        .to_string();
    assert!(
        error.ends_with("config: context \"x\": it has no user"),
        "{error}"
    );
}
