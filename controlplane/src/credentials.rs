//! Keys, certificates and credentials of one control plane.
//!
//! Guarantees: made anew at every start, readable by their owner only. Users log in with random
//! tokens: a token carries several groups, and costs the server no signature per connection.

pub(crate) mod owner_only;

use std::path::{Path, PathBuf};

use rcgen::{KeyPair, PublicKeyData};

use crate::error::Error;
use crate::options::User;
use kubesim::{Tls, kubeconfig};

/// The user of kube-controller-manager. It is an administrator: its permissions are not under test.
pub(crate) const CONTROLLERS: &str = "system:kube-controller-manager";
/// The user of the readiness agent.
pub(crate) const READINESS: &str = "tare:readiness";
/// The user of this library itself, which polls for readiness and installs CRDs.
pub(crate) const OWN: &str = "tare:controlplane";

/// Users of the control plane itself, whose requests are not audited.
pub(crate) const INTERNAL: [&str; 3] = [CONTROLLERS, READINESS, OWN];

/// Files that the components are pointed at.
#[derive(Debug)]
pub(crate) struct Access {
    dir: PathBuf,
    ca_pem: String,
}

impl Access {
    /// `names` are those of the server besides 127.0.0.1 and localhost.
    pub(crate) fn create(
        dir: &Path,
        url: &str,
        names: &[String],
        users: &[User],
    ) -> Result<Access, Error> {
        let tls = Tls::generate_for(names).map_err(|cause| Error::Keys(cause.to_string()))?;
        let access = Access {
            dir: dir.to_owned(),
            ca_pem: tls.ca_pem().to_owned(),
        };
        owner_only::file(&access.ca(), tls.ca_pem())?;
        owner_only::file(&access.serving_certificate(), tls.certificate_pem())?;
        owner_only::file(&access.serving_key(), tls.key_pem())?;
        let (certificate, key) = tls
            .client("kube-apiserver", "system:masters")
            .map_err(|cause| Error::Keys(cause.to_string()))?;
        owner_only::file(&access.kubelet_client_certificate(), &certificate)?;
        owner_only::file(&access.kubelet_client_key(), &key)?;
        let accounts = KeyPair::generate().map_err(|cause| Error::Keys(cause.to_string()))?;
        owner_only::file(&access.account_key(), &accounts.serialize_pem())?;
        owner_only::file(&access.account_public_key(), &public_pem(&accounts))?;
        let internal = INTERNAL.map(User::admin);
        let mut tokens = String::new();
        for user in internal.iter().chain(users) {
            let token = token()?;
            tokens.push_str(&row(user, &token)?);
            let text = kubeconfig(url, tls.ca_pem(), &user.name, &token);
            owner_only::file(&access.kubeconfig(&user.name), &text)?;
        }
        owner_only::file(&access.tokens(), &tokens)?;
        Ok(access)
    }

    pub(crate) fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    pub(crate) fn serving_certificate(&self) -> PathBuf {
        self.dir.join("serving.pem")
    }

    pub(crate) fn serving_key(&self) -> PathBuf {
        self.dir.join("serving.key")
    }

    /// By which kubelets know kube-apiserver.
    pub(crate) fn kubelet_client_certificate(&self) -> PathBuf {
        self.dir.join("kubelet-client.pem")
    }

    pub(crate) fn kubelet_client_key(&self) -> PathBuf {
        self.dir.join("kubelet-client.key")
    }

    pub(crate) fn account_key(&self) -> PathBuf {
        self.dir.join("service-accounts.key")
    }

    pub(crate) fn account_public_key(&self) -> PathBuf {
        self.dir.join("service-accounts.pem")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.dir.join("tokens.csv")
    }

    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.kubeconfig"))
    }
}

fn public_pem(pair: &KeyPair) -> String {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.subject_public_key_info());
    let lines: Vec<&str> = (0..encoded.len())
        .step_by(64)
        .map(|start| &encoded[start..(start + 64).min(encoded.len())])
        .collect();
    format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        lines.join("\n")
    )
}

/// 128 random bits.
fn token() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| Error::Keys("no randomness".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// One line of the token file: token, name, uid, groups.
fn row(user: &User, token: &str) -> Result<String, Error> {
    let refuse = |why| Error::User {
        name: user.name.clone(),
        why,
    };
    let unusable = |text: &str| text.chars().any(|c| c == '"' || c == ',' || c.is_control());
    if user.name.is_empty() || user.name.starts_with('.') || user.name.contains('/') {
        return Err(refuse("not usable as a file name"));
    }
    if unusable(&user.name) || user.groups.iter().any(|group| unusable(group)) {
        return Err(refuse(
            "quotes, commas and line breaks cannot be in a name or group",
        ));
    }
    let (name, groups) = (&user.name, user.groups.join(","));
    Ok(format!("{token},\"{name}\",\"{name}\",\"{groups}\"\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_row_carries_all_groups_or_is_refused() {
        let user = |name: &str, groups: &[&str]| User {
            name: name.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
        };
        let row_of = |user: User| row(&user, "t").map_err(|error| error.to_string());
        assert_eq!(
            row_of(user("a", &["g", "h"])),
            Ok("t,\"a\",\"a\",\"g,h\"\n".to_owned())
        );
        for (name, groups) in [
            ("a\"b", vec![]),
            ("a", vec!["x\ny"]),
            ("../a", vec![]),
            ("", vec![]),
        ] {
            let refusal = row_of(user(name, &groups)).unwrap_err();
            assert!(
                refusal.starts_with(&format!("user {name:?}: ")),
                "{refusal}"
            );
        }
    }

    #[test]
    fn credentials_are_their_owners_and_no_two_are_equal() {
        use std::os::unix::fs::PermissionsExt;
        let dir = std::env::temp_dir().join(format!("tare-access-{}", std::process::id()));
        owner_only::folder(&dir).unwrap();
        let access = Access::create(&dir, "https://127.0.0.1:1", &[], &[User::admin("a")]).unwrap();
        let files: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|f| f.unwrap())
            .collect();
        let open = files
            .iter()
            .filter(|file| file.metadata().unwrap().permissions().mode() & 0o077 != 0);
        assert_eq!(open.count(), 0);
        let tokens = std::fs::read_to_string(access.tokens()).unwrap();
        let mut distinct: Vec<_> = tokens.lines().map(|line| &line[..32]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), INTERNAL.len() + 1);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
