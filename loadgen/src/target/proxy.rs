//! The HTTP proxy on the way to a cluster.
//!
//! Guarantees: as kubectl chooses it. `proxy-url` of a kubeconfig is used as it is; without one `HTTPS_PROXY`, for a server
//! without TLS `HTTP_PROXY`, unless `NO_PROXY` names the server or it is on this machine (golang.org/x/net/http/httpproxy).
//! Leaves to others: connecting.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;
use kube::Config;
use kube::config::Kubeconfig;

/// Chooses the proxy of a client for the cluster of a context.
///
/// # Errors
/// What is set is no URL.
pub fn choose(config: &mut Config, file: &Kubeconfig, context: Option<&str>) -> Result<(), String> {
    let context = context.or(file.current_context.as_deref());
    let context = file
        .contexts
        .iter()
        .find(|it| Some(it.name.as_str()) == context);
    let cluster = context
        .and_then(|it| it.context.as_ref())
        .map(|it| it.cluster.as_str());
    let cluster = file
        .clusters
        .iter()
        .find(|it| Some(it.name.as_str()) == cluster);
    let told = cluster.and_then(|it| it.cluster.as_ref()?.proxy_url.clone());
    let told = told
        .filter(|url| !url.is_empty())
        .map(|url| ("proxy-url", url));
    let chosen =
        told.or_else(|| of_environment(&config.cluster_url, |name| std::env::var(name).ok()));
    config.proxy_url = match chosen {
        None => None,
        Some((whose, url)) => match url.parse::<Uri>() {
            Ok(parsed) if parsed.scheme().is_some() && parsed.host().is_some() => Some(parsed),
            _ => {
                return Err(format!(
                    "{whose}: {url:?} is no URL; write http://HOST:PORT"
                ));
            }
        },
    };
    Ok(())
}

/// The variable that names a proxy for this server, and its value.
fn of_environment(
    server: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let names = match server.scheme_str() {
        Some("http") => ["HTTP_PROXY", "http_proxy"],
        _ => ["HTTPS_PROXY", "https_proxy"],
    };
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let (name, url) = names.iter().find_map(|name| Some((*name, set(name)?)))?;
    let excepted = ["NO_PROXY", "no_proxy"]
        .iter()
        .find_map(set)
        .unwrap_or_default();
    let url = match url.contains("://") {
        true => url,
        false => format!("http://{url}"),
    };
    (!is_excepted(server, &excepted)).then_some((name, url))
}

/// Whether the server is on this machine, or one of the exceptions: `*`, an address, a network, a host with all below
/// it, or with a dot in front only what is below it; each but a network with a port or without.
fn is_excepted(server: &Uri, exceptions: &str) -> bool {
    let host = server
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_lowercase();
    let port = server.port_u16().unwrap_or(match server.scheme_str() {
        Some("http") => 80,
        _ => 443,
    });
    let address = host.parse::<IpAddr>().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let named = |exception: &str| {
        let exception = exception.trim().to_lowercase();
        if exception == "*" {
            return true;
        }
        if let (Ok(network), Some(address)) = (exception.parse::<IpNet>(), address) {
            return network.contains(&address);
        }
        let (name, its_port) = match exception.rsplit_once(':') {
            Some((name, its_port)) if exception.parse::<IpAddr>().is_err() => (
                name.trim_matches(['[', ']']).to_owned(),
                its_port.parse::<u16>().ok(),
            ),
            _ => (exception.clone(), None),
        };
        if name.is_empty() || its_port.is_some_and(|its_port| its_port != port) {
            return false;
        }
        let below = name.trim_start_matches("*.").trim_start_matches('.');
        let is_below = host
            .strip_suffix(below)
            .is_some_and(|rest| rest.ends_with('.'));
        match name.starts_with(['.', '*']) {
            true => is_below,
            false => name == host || is_below,
        }
    };
    exceptions.split(',').any(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_chosen_as_kubectl_does() {
        let all = "HTTPS_PROXY=http://proxy:1 HTTP_PROXY=plain:2";
        for (name, server, set, want) in [
            ("nothing set", "https://k8s.example.com", "", None),
            (
                "a server with TLS",
                "https://k8s.example.com:6443",
                all,
                Some("http://proxy:1"),
            ),
            (
                "one without",
                "http://k8s.example.com",
                all,
                Some("http://plain:2"),
            ),
            ("this machine", "https://127.0.0.1:6443", all, None),
            ("this machine by name", "https://localhost:6443", all, None),
            ("this machine, IPv6", "https://[::1]:6443", all, None),
            (
                "empty is not set",
                "https://k8s.example.com",
                "HTTPS_PROXY= https_proxy=http://p:3",
                Some("http://p:3"),
            ),
        ] {
            let variable = |wanted: &str| {
                let mut all = set.split(' ').filter_map(|it| it.split_once('='));
                all.find(|(name, _)| *name == wanted)
                    .map(|(_, value)| value.to_owned())
            };
            let server = server.parse().expect("a URL");
            let chosen = of_environment(&server, variable).map(|(_, url)| url);
            assert_eq!(chosen.as_deref(), want, "{name}");
        }
    }

    #[test]
    fn what_no_proxy_names_is_reached_without_one() {
        for (exceptions, server, want) in [
            ("*", "https://k8s.example.com", true),
            ("example.com", "https://k8s.example.com", true),
            ("example.com", "https://example.com", true),
            (".example.com", "https://example.com", false),
            ("*.example.com", "https://k8s.example.com", true),
            ("ample.com", "https://example.com", false),
            ("K8S.example.com:6443", "https://k8s.example.com:6443", true),
            ("k8s.example.com:443", "https://k8s.example.com", true),
            ("k8s.example.com:6443", "https://k8s.example.com", false),
            ("10.0.0.0/8", "https://10.1.2.3:6443", true),
            ("10.0.0.0/8", "https://11.1.2.3", false),
            ("fd00::/8", "https://[fd00::1]:6443", true),
            ("10.1.2.3", "https://10.1.2.3", true),
            ("a, ,10.1.2.3", "https://10.1.2.3", true),
            ("", "https://10.1.2.3", false),
        ] {
            let server = server.parse().expect("a URL");
            assert_eq!(
                is_excepted(&server, exceptions),
                want,
                "{exceptions} {server}"
            );
        }
    }
}
