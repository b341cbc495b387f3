//! The mark that a child gets, and what a list shows where it stands.

use super::*;

#[test]
fn the_mark_gets_the_generation_that_the_write_leads_to() {
    let case = |mark, plan: Value| Case {
        name: "",
        mark,
        plan,
        actual: json!({"metadata": {"labels": {"a": "x"}}, "spec": {"n": 1}}),
        owned: [
            Value::Null,
            json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:n": {}}}),
        ],
        want: None,
    };
    let generation = |case: Case| corrected(&case, Others::Stay).map(|all| all.mark.generation);
    assert_eq!(
        generation(case(Marked::This, json!({"spec": {"n": 2}}))),
        Some(3)
    );
    let label = || json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(
        generation(case(Marked::Touched, label())),
        Some(1),
        "labels move none"
    );
    assert_eq!(generation(case(Marked::Another, label())), Some(3));
}

#[test]
fn a_list_shows_enough_where_nobody_has_changed_the_spec() {
    let body = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"cpu": "0.5"}});
    let listed = |generation, mark: Option<(u64, i64)>, value: Value| {
        let mark = mark.map(|(digest, generation)| Mark {
            digest,
            generation,
            immutable: 0,
        });
        let planned = Planned {
            body: &body,
            mark: Mark {
                digest: DIGEST,
                generation: 1,
                immutable: 0,
            },
            immutable: &[],
            manager: "tare",
            is_new: false,
        };
        let found = Found {
            value: &value,
            generation,
            mark,
            copy: None,
            managed: None,
        };
        is_as_listed(&planned, &found)
    };
    let with = |label: &str, cpu: &str| json!({"metadata": {"labels": {"a": label}}, "spec": {"cpu": cpu}});
    assert!(listed(1, Some((DIGEST, 1)), with("b", "500m")));
    assert!(!listed(1, Some((DIGEST, 1)), with("x", "500m")));
    assert!(
        !listed(2, Some((DIGEST, 1)), with("b", "0.5")),
        "somebody has changed something"
    );
    assert!(!listed(1, Some((!DIGEST, 1)), with("b", "0.5")));
    assert!(listed(1, None, with("b", "0.5")) && !listed(1, None, with("b", "500m")));
}

#[test]
fn what_is_written_beside_a_copied_mark_is_ours_from_then_on() {
    let body = json!({"spec": {"image": "web:2"}});
    let value = json!({"spec": {"image": "web:1", "port": 1, "probe": 2}});
    let fields = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsV1": fields});
    let mark = || json!({"f:annotations": {"f:x/plan": {}}});
    let entry =
        |manager: &str, spec: Value| fields(manager, json!({"f:metadata": mark(), "f:spec": spec}));
    let of_others = fields("kubelet", json!({"f:spec": {"f:probe": {}}}));
    let of_ours = fields("tare", json!({"f:spec": {"f:replicas": {}}}));
    let copied = entry("kubectl", json!({"f:image": {}, "f:port": {}}));
    let managed = json!([of_others, copied, of_ours]).to_string();
    let copy = copy_of(&managed, "tare", "x/plan");
    assert_eq!(copy, Some(1));
    let ours = json!([copied, entry("tare", json!({}))]).to_string();
    assert_eq!(copy_of(&ours, "tare", "x/plan"), None, "a mark of ours");

    let mark = |digest| Mark {
        digest,
        generation: 1,
        immutable: 0,
    };
    let planned = Planned {
        body: &body,
        mark: mark(DIGEST),
        immutable: &[],
        manager: "tare",
        is_new: false,
    };
    let found = Found {
        value: &value,
        generation: 1,
        mark: Some(mark(DIGEST)),
        copy,
        managed: Some(&managed),
    };
    assert!(!is_as_listed(&planned, &found));
    let correction = correct(&planned, &found, Others::Stay).expect("it is written");
    assert_eq!(
        Value::from(correction.patch),
        json!({"spec": {"image": "web:2", "port": null}})
    );
    assert!(correction.is_patched, "an apply does not take it over");
    let all = entry(
        "tare",
        json!({"f:image": {}, "f:port": {}, "f:replicas": {}}),
    );
    assert_eq!(correction.managed, Some(json!([of_others, all])));
}
