//! Kubeconfigs that can be used.

use crate::http::client::tests::*;

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
            "a token file takes precedence",
            https,
            "token: t, tokenFile: pki/token",
            "https://h:6443/ Bearer from-file; 1 roots ",
        ),
        (
            "the token is used while the file cannot be read",
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
            "data takes precedence over files",
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
            "no credentials over plain HTTP",
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
