//! Edits of a workload that can be used, and what is said of each: the place, what is wrong, and the way out.

pub struct Case {
    pub name: &'static str,
    /// File, text in it, and what stands in its place.
    pub edits: &'static [(&'static str, &'static str, &'static str)],
    pub place: &'static str,
    pub what: &'static str,
    pub way_out: &'static str,
    /// Whether only a server can say it.
    pub on_server: bool,
}

pub const fn of_file(
    name: &'static str,
    edits: &'static [(&'static str, &'static str, &'static str)],
    place: &'static str,
    what: &'static str,
    way_out: &'static str,
) -> Case {
    Case {
        name,
        edits,
        place,
        what,
        way_out,
        on_server: false,
    }
}

const fn of_server(
    name: &'static str,
    edits: &'static [(&'static str, &'static str, &'static str)],
    place: &'static str,
    what: &'static str,
    way_out: &'static str,
) -> Case {
    Case {
        on_server: true,
        ..of_file(name, edits, place, what, way_out)
    }
}

pub const CASES: &[Case] = &[
    of_file(
        "unknown field",
        &[("workload.toml", "kind = ", "colour = 1\nkind = ")],
        "workload.toml:8: ",
        "unknown field `colour`",
        "expected one of",
    ),
    of_file(
        "missing field",
        &[("workload.toml", "plural = \"widgets\"\n", "")],
        "workload.toml:6: ",
        "missing field `plural`",
        "loadgen schema workload",
    ),
    of_file(
        "no TOML",
        &[("workload.toml", "[object]", "[object")],
        "workload.toml:6: ",
        "is not TOML: ",
        "correct this line",
    ),
    of_file(
        "wrong type",
        &[("workload.toml", "1024", "\"1k\"")],
        "workload.toml:2: ",
        "invalid type: string \"1k\"",
        "expected",
    ),
    of_file(
        "API version",
        &[("workload.toml", "example.com/v1", "example.com")],
        "workload.toml:7: object.api_version: ",
        "\"example.com\"",
        "write it as group/version",
    ),
    of_file(
        "name too long",
        &[(
            "workload.toml",
            "\"w\"",
            "\"a-name-of-more-than-thirty-characters\"",
        )],
        "workload.toml:10: object.name: ",
        "a-name-of-more",
        "use 1 to 30 of a-z",
    ),
    of_file(
        "no template",
        &[("workload.toml", "widget.yaml", "gadget.yaml")],
        "workload.toml:11: object.template: ",
        "cannot read gadget.yaml",
        "paths are relative to this file",
    ),
    of_file(
        "no CRD",
        &[("workload.toml", "crd.yaml", "crds.yaml")],
        "workload.toml:3: crds: ",
        "cannot read crds.yaml",
        "paths are relative to this file",
    ),
    of_file(
        "CRD of another kind",
        &[("crd.yaml", "plural: widgets", "plural: gadgets")],
        "workload.toml:3: crds: ",
        "none of the files defines widgets.example.com",
        "add its file",
    ),
    of_file(
        "version that the CRD does not serve",
        &[("workload.toml", "example.com/v1", "example.com/v2")],
        "workload.toml:7: object.api_version: ",
        "crd.yaml does not serve version v2",
        "only v1",
    ),
    of_file(
        "scope",
        &[("crd.yaml", "scope: Namespaced", "scope: Cluster")],
        "workload.toml:6: object.namespaced: ",
        "crd.yaml has scope Cluster",
        "write namespaced = false",
    ),
    of_file(
        "no CRD in the file",
        &[("crd.yaml", "CustomResourceDefinition", "Deployment")],
        "crd.yaml:2: ",
        "holds a Deployment",
        "CustomResourceDefinitions only",
    ),
    of_file(
        "object too large",
        &[("workload.toml", "1024", "2000000")],
        "workload.toml:2: object_bytes: ",
        "2000000",
        "at most 1400000",
    ),
    of_file(
        "a size without words",
        &[("widget.yaml", "{{ words }}", "none")],
        "workload.toml:2: object_bytes: ",
        "no text of the template has {{ words }}",
        "add an annotation",
    ),
    of_file(
        "template is no YAML",
        &[("widget.yaml", "  shelf: 3", "  shelf: [")],
        "widget.yaml:",
        "is not YAML",
        "needs quotes around all of it",
    ),
    of_file(
        "unknown variable",
        &[("widget.yaml", "{{ name }}", "{{ nam }}")],
        "widget.yaml:5: spec.image: ",
        "unknown variable `nam`",
        "known: name, namespace",
    ),
    of_file(
        "expression that fails for an object",
        &[("widget.yaml", "shop/{{ name }}", "{{ name | shout }}")],
        "widget.yaml:5: spec.image: ",
        "for object canary: unknown filter",
        "shout",
    ),
    of_file(
        "name in the template",
        &[("widget.yaml", "metadata:\n", "metadata:\n  name: a\n")],
        "widget.yaml:2: metadata.name: ",
        "is set by loadgen",
        "leave it out",
    ),
    of_file(
        "CEL that does not compile",
        &[("workload.toml", "phase ==", "phase =")],
        "workload.toml:14: convergence.ready: ",
        "is not CEL: column",
        "write one such as self.status.phase == 'Ready'",
    ),
    of_file(
        "CEL over nothing",
        &[("workload.toml", "self.status", "object.status")],
        "workload.toml:14: convergence.ready: ",
        "unknown variable `object`",
        "the object is `self`",
    ),
    of_file(
        "CEL with a function that it does not have",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'",
            "ready(self)",
        )],
        "workload.toml:14: convergence.ready: ",
        "there is no function `ready`",
        "use one of CEL, such as has",
    ),
    of_file(
        "fixture that is no YAML",
        &[("fixture.yaml", "  name: class", "  name: [")],
        "fixture.yaml:",
        "is not YAML",
        "correct this line",
    ),
    of_file(
        "CEL that is no condition",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'",
            "self.metadata.name",
        )],
        "workload.toml:14: convergence.ready: ",
        "gives a ",
        "not true or false; compare it, as in",
    ),
    of_file(
        "fixture without a name",
        &[("fixture.yaml", "  name: class", "  labels: {}")],
        "fixture.yaml:1: ",
        "an object has apiVersion, kind and metadata.name",
        "missing field `name`",
    ),
    of_server(
        "fixture of a kind that is not served",
        &[(
            "fixture.yaml",
            "v1\nkind: ConfigMap",
            "cert.example/v1\nkind: Issuer",
        )],
        "fixture.yaml:4: Issuer class: ",
        "the server does not serve Issuer of cert.example/v1",
        "add its definition to crds, or install it",
    ),
    of_server(
        "kind that is not served",
        &[
            ("workload.toml", "example.com/v1", "example.com/v2"),
            ("crd.yaml", "name: v1", "name: v2"),
        ],
        "workload.toml:9: object.plural: ",
        "does not serve widgets.example.com",
        "install its CRD",
    ),
    of_server(
        "object that the server rejects",
        &[("widget.yaml", "shelf: 3", "shelf: 7")],
        "workload.toml:11: object.template: ",
        "the server rejects an object: ",
        "correct the template",
    ),
    of_server(
        "update that the server rejects",
        &[
            (
                "workload.toml",
                "template = \"widget.yaml\"",
                "template = \"widget.yaml\"\nupdate = \"update.yaml\"",
            ),
            (
                "workload.toml",
                "self.status.phase == 'Ready'\"",
                "true\"\nobserved = \"true\"\n\n[[steps]]\ndo = \"update\"",
            ),
            ("update.yaml", "shelf: 2", "shelf: 7"),
        ],
        "workload.toml:12: object.update: ",
        "the server rejects an updated object: ",
        "correct its file",
    ),
    of_server(
        "scale to a value that the server rejects",
        &[(
            "workload.toml",
            "self.status.phase == 'Ready'\"",
            "true\"\nobserved = \"true\"\n\n[[steps]]\ndo = \"scale\"\nfield = \"/spec/shelf\"\nvalue = 7",
        )],
        "workload.toml:20: steps.value: ",
        "the server rejects an object with it: ",
        "choose another value",
    ),
    of_server(
        "fixture that the server rejects",
        &[(
            "fixture.yaml",
            "  name: class",
            "  name: class\ndata: {a: 1}",
        )],
        "fixture.yaml:4: ConfigMap class: ",
        "the server rejects it: ",
        "correct the fixture",
    ),
];
