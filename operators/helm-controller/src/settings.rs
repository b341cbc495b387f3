//! Options of the program beside those of every program on the library: the names are those of helm-controller.
//!
//! Guarantees: resources are written as Kubernetes writes them, because the digest of a Job depends on it. Leaves to others:
//! checking what the API server checks.

use std::ffi::OsString;
use std::process::ExitCode;

use serde_json::{Value, json};
use tare_runtime::app::cli;

use crate::job::Settings;

/// Variables of this process that the Job has too.
const PROXIES: [&str; 8] = [
    "all_proxy",
    "ALL_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// What the command line says.
#[derive(Clone)]
pub struct Options {
    /// The name of the controller.
    pub controller: String,
    pub settings: Settings,
}

/// Takes the options from the command line.
///
/// # Errors
/// One is invalid, which is printed: the exit code of the program.
pub fn options(arguments: &mut Vec<OsString>) -> Result<Options, ExitCode> {
    let mut option = |name: &str, default: &str| cli::option(arguments, name, default.to_owned());
    let controller = option("--controller-name", "helm-controller")?;
    let image = option("--default-job-image", "rancher/klipper-helm:latest")?;
    let cluster_role = option("--job-cluster-role", "cluster-admin")?;
    let limits = r#"{"requests": {"cpu": "0.1", "memory": "10M"}, "limits": {"cpu": "32", "memory": "32G"}}"#;
    let resources = option("--job-resources", limits)?;
    let tolerations = option("--job-tolerations", "[]")?;
    let json = |name: &str, text: &str| {
        serde_json::from_str::<Value>(text).map_err(|error| {
            eprintln!("error: {name} is no JSON: {error}");
            ExitCode::from(2)
        })
    };
    let mut resources = json("--job-resources", &resources)?;
    canonical(&mut resources);
    let Value::Array(tolerations) = json("--job-tolerations", &tolerations)? else {
        eprintln!("error: --job-tolerations is no list");
        return Err(ExitCode::from(2));
    };
    let proxies = PROXIES.iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.map(|value| json!({"name": name, "value": value}))
    });
    Ok(Options {
        controller,
        settings: Settings {
            image,
            resources,
            tolerations,
            cluster_role,
            proxies: proxies.collect(),
        },
    })
}

/// Writes each quantity in its canonical form, as far as it is a plain number: `0.1` is `100m`.
fn canonical(resources: &mut Value) {
    let lists = resources.as_object_mut().into_iter().flatten();
    for (_, list) in lists {
        for (_, quantity) in list.as_object_mut().into_iter().flatten() {
            let text = match quantity {
                Value::String(text) => text.clone(),
                ref other => other.to_string(),
            };
            *quantity = json!(canonical_quantity(&text));
        }
    }
}

fn canonical_quantity(text: &str) -> String {
    let Some((whole, fraction)) = text.split_once('.') else {
        return text.to_owned();
    };
    let is_plain = [whole, fraction]
        .iter()
        .all(|part| part.chars().all(|c| c.is_ascii_digit()));
    let padded = format!("{fraction:0<3}");
    match (
        is_plain && fraction.len() <= 3,
        format!("{whole}{padded}").parse::<u64>(),
    ) {
        (true, Ok(milli)) if milli % 1_000 == 0 => (milli / 1_000).to_string(),
        (true, Ok(milli)) => format!("{milli}m"),
        _ => text.to_owned(),
    }
}
