//! Which operator of a cluster is meant, and Kubernetes' way to write amounts.
//!
//! Guarantees: pure; a name that is read is safe in a path of a request. Leaves to others: whether it is there.

use std::fmt;
use std::str::FromStr;

/// `deployment/NAMESPACE/NAME`: what keeps the operator's pods running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorName {
    pub kind: Kind,
    pub namespace: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

impl Kind {
    /// As in a path.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Deployment => "deployments",
            Kind::StatefulSet => "statefulsets",
            Kind::DaemonSet => "daemonsets",
        }
    }
}

impl OperatorName {
    /// Path of the object.
    pub fn path(&self) -> String {
        let (namespace, plural, name) = (&self.namespace, self.kind.plural(), &self.name);
        format!("/apis/apps/v1/namespaces/{namespace}/{plural}/{name}")
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.plural().trim_end_matches('s');
        write!(f, "{kind}/{}/{}", self.namespace, self.name)
    }
}

impl FromStr for OperatorName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let way = || format!("{text:?}: write deployment/NAMESPACE/NAME");
        let words: Vec<&str> = text.split('/').collect();
        let [kind, namespace, name] = words[..] else {
            return Err(way());
        };
        let kind = match kind {
            "deployment" | "deployments" | "deploy" => Kind::Deployment,
            "statefulset" | "statefulsets" | "sts" => Kind::StatefulSet,
            "daemonset" | "daemonsets" | "ds" => Kind::DaemonSet,
            _ => {
                return Err(format!(
                    "{text:?}: {kind:?} is none of deployment, statefulset, daemonset"
                ));
            }
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        let is_name = |word: &str| !word.is_empty() && word.len() <= 253 && word.chars().all(plain);
        if !is_name(namespace) || !is_name(name) {
            return Err(way());
        }
        Ok(Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// A Kubernetes quantity, such as `16Mi`, `250m` or `1e3`, as a number.
pub fn quantity(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 16] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
        ("", 1.0),
    ];
    let of = |(suffix, factor): &(&str, f64)| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    };
    SUFFIXES.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_named_by_kind_namespace_and_name() {
        for (text, want) in [
            ("deployment/shop/web", Some("deployment/shop/web")),
            ("deploy/shop/web", Some("deployment/shop/web")),
            ("sts/a/b.c", Some("statefulset/a/b.c")),
            ("daemonset/kube-system/x", Some("daemonset/kube-system/x")),
            ("web", None),
            ("shop/web", None),
            ("job/shop/web", None),
            ("deployment//web", None),
            ("deployment/shop/web?x=1", None),
            ("deployment/shop/web/more", None),
        ] {
            let got: Option<OperatorName> = text.parse().ok();
            let got = got.map(|name| name.to_string());
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, want) in [
            ("16Mi", Some(16_777_216.0)),
            ("1500Ki", Some(1_536_000.0)),
            ("128974848", Some(128_974_848.0)),
            ("129M", Some(129e6)),
            ("1e3", Some(1000.0)),
            ("250m", Some(0.25)),
            ("", None),
            ("-1Mi", None),
            ("many", None),
        ] {
            assert_eq!(quantity(text), want, "{text}");
        }
    }
}
