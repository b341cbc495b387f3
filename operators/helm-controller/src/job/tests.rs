//! The digests are those of `TestHashObjects` in k3s-io/helm-controller v0.17.9; the objects beside them were written by its
//! functions (`tests/original/README.md`).

use serde_json::{Value, json};

use super::*;
use crate::chart::{HelmChartConfigSpec, HelmChartSpec};

fn settings() -> Settings {
    Settings {
        image: "rancher/klipper-helm:latest".to_owned(),
        resources: json!({}),
        tolerations: Vec::new(),
        cluster_role: "cluster-admin".to_owned(),
        proxies: Vec::new(),
    }
}

/// The digest of the chart of `TestHashObjects`, which has no policies in its environment and no limit of retries.
fn digest_of(spec: Value, config: Value, is_deleted: bool) -> String {
    let mut whole = json!({"chart": "stable/traefik", "set": {
        "rbac.enabled": "true", "ssl.enabled": "false", "acme.dnsProvider.name": "cloudflare",
        "global.clusterCIDR": "10.42.0.0/16,fd42::/48", "global.systemDefaultRegistry": "",
    }});
    whole
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    let spec: HelmChartSpec = serde_json::from_value(whole).unwrap();
    let config: HelmChartConfigSpec = serde_json::from_value(config).unwrap();
    let chart = Chart {
        name: "traefik",
        namespace: "kube-system",
        spec: &spec,
        config: (!is_deleted).then_some(&config),
        is_deleted,
    };
    let mut template = template(chart, &settings());
    let env = template["spec"]["containers"][0]["env"]
        .as_array_mut()
        .unwrap();
    env.retain(|one| {
        !["FAILURE_POLICY", "SERVER_SIDE", "FORCE_CONFLICTS"]
            .contains(&one["name"].as_str().unwrap())
    });
    let objects = [content(chart), values(chart)];
    let data = objects
        .iter()
        .filter(|_| !is_deleted)
        .map(|object| &object["data"]);
    // Without a limit nothing is hashed for it.
    digest(None, &template, data)
}

#[test]
fn digests_are_those_of_helm_controller() {
    let values = json!({"a": true, "b": 1, "c": "true"});
    for (name, spec, config, is_deleted, want) in [
        (
            "no values",
            json!({}),
            json!({}),
            false,
            "093BC73A1C288F832E33F887E0F1B23403188FCCAC57F1293FB19A7BA02D8A54",
        ),
        (
            "content",
            json!({"valuesContent": "foo: bar\n"}),
            json!({}),
            false,
            "9647B243590942AC04A543760720DD200E99E5DF2C86DE15899338138FA9FE52",
        ),
        (
            "content of types",
            json!({"valuesContent": "foo:\n  a: true\n  b: 1\n  c: 'true'\n"}),
            json!({}),
            false,
            "2447EFBFF7EB3CDDD7D0D837D66DA0464C6EBC74F2FD3139969094ECB6AD83B3",
        ),
        (
            "values",
            json!({"values": {"foo": "bar"}}),
            json!({}),
            false,
            "F45A4570241BE6597A2D91C17B5210B7F94C6EC8A4964E6010AB0E442AE9F582",
        ),
        (
            "content of the config",
            json!({}),
            json!({"valuesContent": "foo: baz\n"}),
            false,
            "592698FA722B72294DE013D670CB6865A60FDA0BE8737CD8969B19B2AA738C51",
        ),
        (
            "both of the config",
            json!({}),
            json!({"values": {"foo": "bar"}, "valuesContent": "foo: baz\n"}),
            false,
            "0565CD4E9BC3E25AB21AF73DA4DB3C4DA9244DF5635CF5D4C272783244A0D514",
        ),
        (
            "content of both",
            json!({"valuesContent": "foo: bar\n"}),
            json!({"valuesContent": "foo: baz\n"}),
            false,
            "591076A4F560F437686B9F49876598B4AB61E6672BC3AD09046A46ADE5D59B6E",
        ),
        (
            "values of both",
            json!({"values": {"foo": "bar"}}),
            json!({"values": {"foo": "baz"}}),
            false,
            "447A6CB9719F2A95476284DB44517E3F9A9395521427663DBBFD83A6CA4B2C7D",
        ),
        (
            "all",
            json!({"values": {"foo": values}, "valuesContent": "foo:\n  a: true\n  b: 1\n  c: 'true'\n"}),
            json!({"values": {"bar": {"a": false, "b": 0, "c": "false"}}, "valuesContent": "bar:\n  a: false\n  b: 0\n  c: 'false'\n"}),
            false,
            "84143FB884E39F719D5041FE7C3486DD1C3DC08CDFCBA7CAAAE73F6F0F336FE2",
        ),
        (
            "deleted",
            json!({"values": {"foo": values}}),
            json!({}),
            true,
            "F1D05B70BBD127B3488293FFE791D47E8D1DA79F96FEC32D7750892D7512598A",
        ),
    ] {
        assert_eq!(digest_of(spec, config, is_deleted), want, "{name}");
    }
}

#[test]
fn commas_are_escaped_once() {
    for (given, want) in [
        ("a,b", r"a\,b"),
        (r"a\,b", r"a\,b"),
        (r"a\\,b", r"a\\\,b"),
        (",", r"\,"),
        ("a", "a"),
    ] {
        assert_eq!(with_commas(given), want, "{given}");
    }
}

/// Charts, and what helm-controller v0.17.9 makes of them.
const CHARTS: &str = include_str!("../../tests/original/charts.json");
const OBJECTS: &str = include_str!("../../tests/original/objects.json");

/// A chart of the file.
#[derive(serde::Deserialize)]
struct Given {
    name: String,
    #[serde(default)]
    deleted: bool,
    spec: HelmChartSpec,
    config: Option<HelmChartConfigSpec>,
    #[serde(default)]
    secrets: Vec<Value>,
}

/// Each value of a Secret or a ConfigMap, as text.
fn texts(object: &Value) -> Vec<(String, String)> {
    let is_secret = object["kind"] == "Secret";
    let data = object["data"].as_object().into_iter().flatten();
    let texts = data.map(|(key, value)| {
        let value = value.as_str().unwrap();
        let text = match is_secret {
            true => String::from_utf8(BASE64_STANDARD.decode(value).unwrap()).unwrap(),
            false => value.to_owned(),
        };
        (key.clone(), text)
    });
    texts.collect()
}

#[test]
fn what_it_makes_is_what_helm_controller_makes() {
    let charts: Vec<Given> = serde_json::from_str(CHARTS).unwrap();
    let objects: Vec<Value> = serde_json::from_str(OBJECTS).unwrap();
    assert_eq!(charts.len(), objects.len());
    let resources = json!({"requests": {"cpu": "100m", "memory": "10M"}, "limits": {"cpu": "32", "memory": "32G"}});
    let settings = Settings {
        resources,
        ..settings()
    };
    let mut differences = Vec::new();
    for (given, original) in charts.iter().zip(&objects) {
        let chart = Chart {
            name: &given.name,
            namespace: "edge",
            spec: &given.spec,
            config: given.config.as_ref(),
            is_deleted: given.deleted,
        };
        let made = make(chart, &settings, &given.secrets);
        let (ours, theirs) = (made.values.unwrap_or_default(), &original["values"]);
        for (ours, theirs) in texts(&ours).into_iter().zip(texts(theirs)) {
            if ours != theirs {
                let lines = ours
                    .1
                    .lines()
                    .zip(theirs.1.lines())
                    .filter(|(ours, theirs)| ours != theirs);
                differences.push(format!(
                    "{} {}: {:#?}",
                    given.name,
                    ours.0,
                    lines.collect::<Vec<_>>()
                ));
            }
        }
        let fields = [
            (&made.job["spec"], &original["job"]["spec"]),
            (
                &made.job["metadata"]["labels"],
                &original["job"]["metadata"]["labels"],
            ),
            (
                &made.job["metadata"]["name"],
                &original["job"]["metadata"]["name"],
            ),
            (&ours["type"], &theirs["type"]),
            (&ours["metadata"]["name"], &theirs["metadata"]["name"]),
        ];
        for (ours, theirs) in fields {
            if ours != theirs {
                differences.push(format!("{}: {ours:#}\n{theirs:#}", given.name));
            }
        }
        let content = made.content.unwrap_or_default();
        if texts(&content) != texts(&original["content"]) {
            differences.push(format!("{}: {content} {}", given.name, original["content"]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
