//! Conformance files that are read, and those that are not: one line each, with file, line, field and way out.

use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::spec::workload::{find, shipped};

const WORKLOAD: &str = r#"description = "Widgets"
conformance = "conformance.toml"

[object]
api_version = "v1"
kind = "ConfigMap"
plural = "configmaps"
name = "w"
template = "object.yaml"

[[children]]
api_version = "v1"
kind = "Secret"
plural = "secrets"
"#;

const CONFORMANCE: &str = r#"object = "object.yaml"

[[settled]]
expect = ["named"]

[[settled]]
kind = "Secret"
expect = ["same"]

[[expect.named]]
field = "/data/a"
equals = "'b'"

[[expect.same]]
holds = "self.data.a == owner.data.a"
says = "data of its owner"

[[steps]]
name = "create"
acts = [{ do = "create" }, { do = "settle" }]

[[steps]]
name = "delete"
acts = [{ do = "delete", kind = "Secret" }, { do = "await-another", kind = "Secret", expect = ["same"] }]
"#;

fn read_from(name: &str, conformance: &str) -> Result<ConformanceScenario, String> {
    let folder: PathBuf =
        std::env::temp_dir().join(format!("loadgen-conformance-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", WORKLOAD),
        ("conformance.toml", conformance),
        ("object.yaml", "data: {a: b}\n"),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    let found = find(&folder.display().to_string(), None);
    std::fs::remove_dir_all(&folder).expect("ours");
    let found = found.map_err(|error| {
        let error = error.to_string();
        error.replace(&format!("{}/", folder.display()), "")
    });
    found.map(|workload| workload.conformance.expect("it has some"))
}

#[test]
fn a_scenario_names_its_objects_and_what_is_expected_of_them() {
    let scenario = read_from("good", CONFORMANCE).expect("valid");
    let names: Vec<&str> = scenario
        .steps
        .iter()
        .map(|step| step.name.as_str())
        .collect();
    assert_eq!(names, ["create", "delete"]);
    let object = scenario.named("create");
    assert_eq!(
        object["metadata"],
        json!({"name": "create", "namespace": "loadgen"})
    );
    assert_eq!(object["data"], json!({"a": "b"}));
    let secrets = Some("/api/v1/namespaces/loadgen/secrets".to_owned());
    assert_eq!(scenario.path("Secret"), secrets);
    assert_eq!(scenario.path("Pod"), None);
    let same = [String::from("same")];
    for (child, met) in [
        (json!({"data": {"a": "b"}}), true),
        (json!({"data": {}}), false),
    ] {
        let mut all = scenario.expectations(&same, &[]);
        let checked = all.try_for_each(|it| it.check(&child, &object));
        assert_eq!(checked.is_ok(), met, "{child}");
    }
}

#[test]
fn what_is_wrong_is_one_line_with_its_place() {
    for (name, from, to, want) in [
        (
            "unknown field",
            "object = ",
            "colour = 1\nobject = ",
            "1: unknown field `colour`",
        ),
        (
            "no object",
            "object.yaml",
            "absent.yaml",
            "1: object: cannot read absent.yaml: ",
        ),
        (
            "unknown kind",
            "kind = \"Secret\"\nexpect",
            "kind = \"Pod\"\nexpect",
            "7: settled.kind: \"Pod\": no such kind; add it to [[children]]",
        ),
        (
            "unknown expectation",
            "expect = [\"named\"]",
            "expect = [\"other\"]",
            "4: settled.expect: \"other\": there is no [[expect.other]]",
        ),
        (
            "no CEL",
            "owner.data.a\"",
            "owner.data.\"",
            "15: expect.same.holds: \"self.data.a == owner.data.\" is not CEL",
        ),
        (
            "unknown variable",
            "\"'b'\"",
            "\"b\"",
            "12: expect.named.equals: unknown variable `b`",
        ),
        (
            "unknown kind of an act",
            "{ do = \"delete\", kind = \"Secret\" }",
            "{ do = \"delete\", kind = \"Pod\" }",
            "24: steps.acts: \"Pod\": no such kind",
        ),
        (
            "twice",
            "name = \"delete\"",
            "name = \"create\"",
            "23: steps.name: \"create\": another step has this name",
        ),
    ] {
        let conformance = CONFORMANCE.replacen(from, to, 1);
        assert_ne!(conformance, CONFORMANCE, "{name}");
        let error = read_from("bad", &conformance).expect_err(name);
        let want = format!("conformance.toml:{want}");
        assert!(error.starts_with(&want), "{name}: {error}");
    }
}

/// What an operator that does everything makes is as expected; each field that an operator may forget is missed.
#[test]
fn each_expectation_of_a_shipped_scenario_can_fail() {
    for name in shipped::names() {
        let workload = find(name, None).expect("shipped");
        let Some(scenario) = workload.conformance else {
            continue;
        };
        for (set, all) in &scenario.expectations {
            for expectation in all {
                let nothing = json!({"metadata": {"finalizers": ["x/y"]}, "status": {}});
                let checked = expectation.check(&nothing, &scenario.named("owner"));
                assert!(checked.is_err(), "{name}: {set}: {expectation:?}");
            }
        }
    }
}

/// One of the cases that are beside a shipped scenario.
#[derive(serde::Deserialize)]
struct Case {
    expect: Vec<String>,
    object: Value,
    #[serde(default)]
    owner: Option<Value>,
    fails: Vec<Fails>,
}

#[derive(serde::Deserialize)]
struct Fails {
    /// A JSON pointer to what is changed.
    at: String,
    value: Value,
    expected: String,
}

#[test]
fn objects_as_a_good_operator_makes_them_are_told_from_others() {
    let mut cases_seen = 0;
    for name in shipped::names() {
        let workload = find(name, None).expect("shipped");
        let Some(scenario) = workload.conformance else {
            continue;
        };
        let file = format!("workloads/{name}/conformance/cases.yaml");
        let text = shipped::text(&file).unwrap_or_else(|| panic!("{file} is not there"));
        let cases: Vec<Case> = serde_saphyr::from_str(text).expect("cases");
        for case in &cases {
            let check = |object: &Value| {
                let owner = case.owner.as_ref().unwrap_or(object);
                let mut all = scenario.expectations(&case.expect, &[]);
                all.try_for_each(|it| it.check(object, owner))
            };
            assert_eq!(check(&case.object), Ok(()), "{file}: {:?}", case.expect);
            for fails in &case.fails {
                let mut object = case.object.clone();
                *object.pointer_mut(&fails.at).expect(&fails.at) = fails.value.clone();
                let mismatch = check(&object).expect_err(&fails.at);
                let as_said = mismatch.expected.contains(&fails.expected);
                assert!(as_said, "{file}: {}: {mismatch:?}", fails.at);
                cases_seen += 1;
            }
        }
    }
    assert!(cases_seen > 20, "{cases_seen}");
}

#[test]
fn a_rule_is_expected_of_those_that_do_not_deviate_from_it() {
    let edgeapp = find("edgeapp", None).expect("it is shipped");
    let scenario = edgeapp.conformance.expect("it has a scenario");
    let rules = Vec::from_iter(scenario.rules());
    assert_eq!(rules, ["collision", "controller-reference", "no-finalizer"]);
    let sets = ["owned".to_owned()];
    let count = |deviates: &[String]| scenario.expectations(&sets, deviates).count();
    let deviates = ["controller-reference".to_owned()];
    assert_eq!(count(&deviates) + 1, count(&[]));
    assert_eq!(scenario.knows(&deviates), Ok(()));
    let unknown = scenario.knows(&["speed".to_owned()]);
    assert_eq!(
        unknown.expect_err("no rule"),
        "deviates \"speed\": the conformance scenario has no such rule; it has collision, controller-reference, no-finalizer"
    );
}
