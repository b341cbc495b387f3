//! Drafts from definitions.

use serde_json::json;

use super::*;

fn crd(scope: &str, spec: Value, status: Value) -> Value {
    json!({
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": scope,
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [
                {"name": "v1alpha1", "storage": false},
                {"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {
                    "properties": {"spec": spec, "status": status}}}},
            ],
        },
    })
}

fn draft(crd: &Value, file: &str) -> String {
    let drafts = drafts("gadgets", crd).expect("a definition");
    let found = drafts.into_iter().find(|(name, _)| name == file);
    found.expect("a file").1
}

#[test]
fn an_object_has_what_is_required_and_says_what_cannot_be_guessed() {
    let spec = json!({"type": "object", "required": ["schedule", "mode", "count", "parts", "size", "from"], "properties": {
        "schedule": {"type": "string", "pattern": "^@.*$"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 3},
        "size": {"type": "integer", "default": 7},
        "optional": {"type": "string"},
        "from": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "parts": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}}}},
    }});
    let object = draft(&crd("Namespaced", spec, json!({})), "gadgets/object.yaml");
    let read: Value = serde_saphyr::from_str(&object).expect("YAML");
    assert_eq!(
        read["spec"],
        json!({"schedule": "{{ name }}", "mode": "a", "count": 3, "from": {"name": "{{ name }}"}, "parts": [{"on": false}]})
    );
    assert!(
        object.contains("# spec.schedule: has to match ^@.*$\n"),
        "{object}"
    );
    assert_eq!(object.matches("# spec").count(), 1, "{object}");
}

#[test]
fn convergence_is_asked_of_what_the_status_has() {
    let of = |fields: &[&str]| {
        let fields: serde_json::Map<String, Value> = fields
            .iter()
            .map(|field| ((*field).to_owned(), json!({})))
            .collect();
        let status = json!({"properties": fields});
        draft(
            &crd("Namespaced", json!({}), status),
            "gadgets/workload.toml",
        )
    };
    let conditions = of(&["conditions"]);
    assert!(
        conditions.contains("observed = \"self.status.conditions.exists(c, c.type == 'Ready')\"")
    );
    let both = of(&["conditions", "observedGeneration"]);
    assert!(
        both.contains("observed = \"self.status.observedGeneration >= self.metadata.generation\"")
    );
    assert!(both.contains("c.status == 'True')\""));
    assert!(of(&["phase"]).contains("ready = \"self.status.phase in ['Ready'"));
    assert!(of(&[]).contains("observed = \"has(self.status)\""));
    let none = crd("Namespaced", json!({}), Value::Null);
    let none = draft(&none, "gadgets/workload.toml");
    assert!(none.contains("The kind has no status.") && none.contains("ready = \"true\""));
}

#[test]
fn the_stored_version_is_created_and_a_kind_of_the_cluster_has_no_namespace() {
    let namespaced = draft(
        &crd("Namespaced", json!({}), json!({})),
        "gadgets/workload.toml",
    );
    assert!(namespaced.contains("api_version = \"example.com/v1\"\n"));
    assert!(!namespaced.contains("namespaced ="));
    let cluster = draft(
        &crd("Cluster", json!({}), json!({})),
        "gadgets/workload.toml",
    );
    assert!(cluster.contains("namespaced = false"));
}

#[test]
fn a_definition_that_is_not_there_or_not_alone_is_refused() {
    let one = crd("Namespaced", json!({}), json!({}));
    let mut other = one.clone();
    other["metadata"]["name"] = json!("parts.example.com");
    let both = [one.clone(), other.clone()];
    assert_eq!(
        definition(&[json!({"kind": "Service"})], None),
        Err(Error::NoDefinition)
    );
    let several = definition(&both, None).expect_err("several").to_string();
    assert!(
        several.contains("--kind gadgets.example.com, or --kind parts.example.com"),
        "{several}"
    );
    assert_eq!(definition(&both, Some("parts.example.com")), Ok(other));
    let mut broken = one;
    broken["spec"]["group"] = json!("");
    assert_eq!(
        drafts("gadgets", &broken),
        Err(Error::Missing("spec.group"))
    );
}
