//! Workloads that cannot be used: one line each, with file, line, field and what to do.

mod steps;

use std::path::PathBuf;

use super::*;
use crate::spec::workload::find;

const WORKLOAD: &str = r#"description = "Widgets"
object_bytes = 1024
crds = ["crd.yaml"]

[object]
api_version = "example.com/v1"
kind = "Widget"
plural = "widgets"
name = "w"
template = "widget.yaml"

[convergence]
ready = "self.status.phase == 'Ready'"
"#;

const TEMPLATE: &str = r#"metadata:
  annotations:
    example.com/changes: "{{ words }}"
spec:
  image: "shop/{{ name }}"
  tags: ["a"]
"#;

const CRD: &str = r#"kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true}, {name: v1beta1, served: false}]
"#;

/// A folder with a workload of three files.
fn folder(name: &str, workload: &str, template: &str, crd: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("loadgen-workload-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", workload),
        ("widget.yaml", template),
        ("crd.yaml", crd),
    ] {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    folder
}

fn read(name: &str, workload: &str, template: &str, crd: &str) -> Result<Workload, String> {
    let folder = folder(name, workload, template, crd);
    let found = find(&folder.display().to_string(), None);
    std::fs::remove_dir_all(&folder).expect("ours");
    // The folder is another one on each machine.
    found.map_err(|error| {
        error
            .to_string()
            .replace(&format!("{}/", folder.display()), "")
    })
}

#[test]
fn a_workload_of_somebody_elses_is_read() {
    let workload = read("good", WORKLOAD, TEMPLATE, CRD).expect("valid");
    assert!(
        workload.name.starts_with("loadgen-workload-"),
        "{}",
        workload.name
    );
    assert_eq!(
        workload.scenario.resource.full_name(),
        "widgets.example.com"
    );
    assert_eq!(workload.crds.len(), 1);
    let bytes = workload.scenario.object("w-1", 1, 1).expect("it renders");
    assert_eq!(bytes.len(), 1024);
}

#[test]
fn definitions_may_share_a_file() {
    let other = CRD
        .replace("widgets", "gadgets")
        .replace("Widget", "Gadget");
    let both = format!("---\n{other}---\n{CRD}");
    let workload = read("both", WORKLOAD, TEMPLATE, &both).expect("valid");
    assert_eq!(workload.crds.len(), 2);
}

#[test]
fn objects_of_a_built_in_kind_may_have_an_operators_definitions_beside_them() {
    let services = WORKLOAD
        .replace("example.com/v1", "v1")
        .replace("\"Widget\"", "\"Service\"")
        .replace("\"widgets\"", "\"services\"");
    let workload = read("services", &services, TEMPLATE, CRD).expect("valid");
    assert_eq!(workload.scenario.resource.full_name(), "services");
    assert_eq!(workload.crds.len(), 1);
}

#[test]
fn a_condition_that_is_a_field_has_to_be_true_or_false() {
    let condition = |field: &str| WORKLOAD.replace("self.status.phase == 'Ready'", field);
    let status = "served: true, schema: {openAPIV3Schema: {properties: {status: {properties: \
                  {phase: {type: string}, ready: {type: boolean}}}}}}";
    let crd = CRD.replace("served: true", status);
    read("boolean", &condition("self.status.ready"), TEMPLATE, &crd).expect("true or false");
    read("unknown", &condition("self.status.phase"), TEMPLATE, CRD).expect("nobody says its type");
    let wrong = read("string", &condition("self.status.phase"), TEMPLATE, &crd);
    let want =
        "workload.toml:13: convergence.ready: \"self.status.phase\" is a string, not true or false";
    let wrong = wrong.expect_err("a string");
    assert!(wrong.starts_with(want), "{wrong}");
}

#[test]
fn what_is_wrong_is_one_line_with_its_place_and_the_way_out() {
    struct Case {
        name: &'static str,
        /// Replaced in one of the three files.
        from: &'static str,
        to: &'static str,
        want: &'static str,
        /// The way out.
        hint: &'static str,
    }
    let case = |name, from, to, want, hint| Case {
        name,
        from,
        to,
        want,
        hint,
    };
    let cases = [
        case(
            "unknown field",
            "kind = ",
            "colour = 1\nkind = ",
            "workload.toml:7: unknown field `colour`",
            "expected one of",
        ),
        case(
            "missing field",
            "plural = \"widgets\"\n",
            "",
            "workload.toml:5: missing field `plural`",
            "loadgen schema workload",
        ),
        case("no TOML", "[object]", "[object", "workload.toml:5: ", "]"),
        case(
            "wrong type",
            "object_bytes = 1024",
            "object_bytes = \"1k\"",
            "workload.toml:2: invalid type",
            "usize",
        ),
        case(
            "api version",
            "example.com/v1\"",
            "example.com\"",
            "workload.toml:6: object.api_version: \"example.com\"",
            "group/version",
        ),
        case(
            "kind",
            "\"Widget\"",
            "\"widget\"",
            "workload.toml:7: object.kind: \"widget\"",
            "such as ConfigMap",
        ),
        case(
            "plural",
            "\"widgets\"",
            "\"Widgets\"",
            "workload.toml:8: object.plural: \"Widgets\"",
            "such as configmaps",
        ),
        case(
            "name with a dot",
            "name = \"w\"",
            "name = \"w.\"",
            "workload.toml:9: object.name: \"w.\"",
            "1 to 30 of a-z",
        ),
        case(
            "name too long",
            "name = \"w\"",
            "name = \"abcdefghijklmnopqrstuvwxyz-0123456789\"",
            "workload.toml:9: object.name: ",
            "1 to 30 of a-z",
        ),
        case(
            "no template",
            "template = \"widget.yaml\"",
            "template = \"gadget.yaml\"",
            "workload.toml:10: object.template: cannot read gadget.yaml",
            "relative to this file",
        ),
        case(
            "no CRD",
            "crds = [\"crd.yaml\"]",
            "crds = [\"crds.yaml\"]",
            "workload.toml:3: crds: cannot read crds.yaml",
            "relative to this file",
        ),
        case(
            "another CRD",
            "plural: widgets",
            "plural: gadgets",
            "workload.toml:3: crds: none of the files defines widgets.example.com, only gadgets.example.com",
            "add its file",
        ),
        case(
            "version not served",
            "example.com/v1\"",
            "example.com/v1beta1\"",
            "workload.toml:6: object.api_version: crd.yaml does not serve version v1beta1",
            "only v1",
        ),
        case(
            "another kind",
            "kind: Widget",
            "kind: Gadget",
            "workload.toml:7: object.kind: \"Widget\"",
            "crd.yaml defines \"Gadget\"",
        ),
        case(
            "scope",
            "scope: Namespaced",
            "scope: Cluster",
            "workload.toml:5: object.namespaced: crd.yaml has scope Cluster",
            "namespaced = false",
        ),
        case(
            "no definition",
            "kind: CustomResourceDefinition",
            "kind: Deployment",
            "crd.yaml:1: holds a Deployment",
            "CustomResourceDefinitions only",
        ),
        case(
            "CRD is no YAML",
            "spec:\n  group",
            "spec: [\n  group",
            "crd.yaml:",
            "is not YAML",
        ),
        case(
            "object too large",
            "object_bytes = 1024",
            "object_bytes = 2000000",
            "workload.toml:2: object_bytes: 2000000",
            "at most 1400000",
        ),
        case(
            "a size without words",
            "{{ words }}",
            "none",
            "workload.toml:2: object_bytes: no text of the template has {{ words }}",
            "add an annotation",
        ),
        case(
            "CEL",
            "self.status.phase ==",
            "self.status.phase =",
            "workload.toml:13: convergence.ready: ",
            "is not CEL",
        ),
        case(
            "CEL of another object",
            "self.status",
            "object.status",
            "workload.toml:13: convergence.ready: unknown variable `object`",
            "the object is `self`",
        ),
        case(
            "CEL gives a text",
            "self.status.phase == 'Ready'",
            "self.metadata.name",
            "workload.toml:13: convergence.ready: ",
            "not true or false",
        ),
        case(
            "pointer elsewhere",
            "ready = \"self.status.phase == 'Ready'\"",
            "conditions = \"/spec/x\"",
            "workload.toml:12: convergence: \"/spec/x\"",
            "into /status/",
        ),
        case(
            "template is no YAML",
            "  image: \"shop/{{ name }}\"",
            "  image: [",
            "widget.yaml:",
            "is not YAML",
        ),
        case(
            "no quotes",
            "\"shop/{{ name }}\"",
            "{{ name }}",
            "widget.yaml",
            "needs quotes",
        ),
        case(
            "no object",
            "spec:",
            "- spec:",
            "widget.yaml",
            "is not YAML",
        ),
        case(
            "unknown variable",
            "{{ name }}",
            "{{ nam }}",
            "widget.yaml:5: spec.image: unknown variable `nam`",
            "known: name, namespace",
        ),
        case(
            "template error",
            "{{ name }}",
            "{{ name",
            "widget.yaml:5: spec.image: {{ without }}",
            "}}",
        ),
        case(
            "statement",
            "{{ name }}",
            "{% if a %}",
            "widget.yaml:5: spec.image: statements",
            "use an expression",
        ),
        case(
            "unknown filter",
            "{{ name }}",
            "{{ name | shout }}",
            "widget.yaml:5: spec.image: for object canary: unknown filter",
            "shout",
        ),
        case(
            "name in the template",
            "metadata:\n  ann",
            "metadata:\n  name: x\n  ann",
            "widget.yaml:2: metadata.name: is set by loadgen",
            "leave it out",
        ),
        case(
            "labels are no map",
            "metadata:\n  ann",
            "metadata:\n  labels: x\n  ann",
            "widget.yaml:2: metadata.labels: is not a map",
            "map",
        ),
        case(
            "another kind in the template",
            "spec:\n  image",
            "kind: Gadget\nspec:\n  image",
            "widget.yaml:4: kind: differs from Widget",
            "leave it out",
        ),
        case(
            "no list to grow",
            "[convergence]",
            "[object.enlarge]\nlist = \"/spec/env\"\nitem = {}\n[convergence]",
            "workload.toml:12: object.enlarge: \"/spec/env\": no such list",
            "JSON pointer",
        ),
        case(
            "pods",
            "[convergence]",
            "[object.pods]\nfield = \"replicas\"\ndefault = 1\n[convergence]",
            "workload.toml:12: object.pods: \"replicas\"",
            "JSON pointer",
        ),
        case(
            "no share",
            "[convergence]",
            "[[also]]\nshare = 0\n[also.object]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\nname = \"s\"\ntemplate = \"widget.yaml\"\n[convergence]",
            "workload.toml:13: also.share: 0",
            "use 1 to 1000",
        ),
        case(
            "kind of another group that is not defined",
            "[convergence]",
            "[[also]]\n[also.object]\napi_version = \"example.com/v1\"\nkind = \"Gadget\"\nplural = \"gadgets\"\nname = \"g\"\ntemplate = \"widget.yaml\"\n[convergence]",
            "workload.toml:3: crds: none of the files defines gadgets.example.com",
            "add its file",
        ),
        case(
            "two kinds that are one",
            "[convergence]",
            "[[also]]\n[also.object]\napi_version = \"example.com/v1\"\nkind = \"Widget\"\nplural = \"widgets\"\nname = \"w\"\ntemplate = \"widget.yaml\"\n[convergence]",
            "workload.toml:17: also.object.name: \"w\": another kind has the same",
            "choose another name",
        ),
        case(
            "another namespace",
            "[convergence]",
            "[[also]]\n[also.object]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\nnamespace = \"a\"\nname = \"s\"\ntemplate = \"widget.yaml\"\n[convergence]",
            "workload.toml:17: also.object.namespace: \"a\": the objects of a workload are in one namespace, loadgen",
            "leave it out",
        ),
        case(
            "a condition of a further kind",
            "[convergence]",
            "[[also]]\n[also.object]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\nname = \"s\"\ntemplate = \"widget.yaml\"\n[also.convergence]\nready = \"self.\"\n[convergence]",
            "workload.toml:20: also.convergence.ready: ",
            "is not CEL",
        ),
        case(
            "no fixture",
            "[object]",
            "fixtures = [\"issuer.yaml\"]\n[object]",
            "workload.toml:5: fixtures: cannot read issuer.yaml",
            "relative to this file",
        ),
        case(
            "child found in no way",
            "[convergence]",
            "[[children]]\napi_version = \"v1\"\nkind = \"Secret\"\nplural = \"secrets\"\nfound_by = \"magic\"\n[convergence]",
            "workload.toml:16: unknown variant `magic`",
            "expected one of",
        ),
        case(
            "a step by its old name",
            "[convergence]",
            "[[steps]]\ndo = \"churn\"\nshare = 0.5\n[convergence]",
            "workload.toml:13: steps.do: churn",
            "write recreate",
        ),
    ];
    for (number, case) in cases.iter().enumerate() {
        let files = [WORKLOAD, TEMPLATE, CRD];
        assert!(
            files.iter().any(|file| file.contains(case.from)),
            "{}",
            case.name
        );
        let [workload, template, crd] = files.map(|file| file.replacen(case.from, case.to, 1));
        let error = read(&format!("bad-{number}"), &workload, &template, &crd);
        let error = error
            .err()
            .unwrap_or_else(|| panic!("{} was accepted", case.name));
        assert!(error.starts_with(case.want), "{}: {error}", case.name);
        assert!(error.contains(case.hint), "{}: {error}", case.name);
        assert!(!error.contains('\n'), "{}: {error}", case.name);
    }
}
