//! Kubeconfigs that cannot be used, and their error messages.

use crate::http::client::tests::*;

const TOKEN: &str = "a-secret-token";

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
            "server: 'https://ada:p@h'",
            "token: t",
            "cluster \"c\": server has a user name in it; remove it",
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
