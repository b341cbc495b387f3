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
