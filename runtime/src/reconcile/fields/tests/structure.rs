//! Lists and maps: what tells items apart, and whose they are.

use serde_json::{Map, Value, json};

use super::{Case, Marked, assert_all};
use crate::reconcile::fields::Others;

#[test]
fn maps_that_are_atomic() {
    let case = |name, mark, plan, actual, owned, want: Option<(&'static str, Value)>| Case {
        name,
        mark,
        plan: json!({ "selector": plan }),
        actual: json!({ "selector": actual }),
        owned,
        want: want.map(|(path, value)| (path, json!({ "selector": value }))),
    };
    let (ours, theirs) = (
        || [json!({"f:selector": {}}), Value::Null],
        || [Value::Null, json!({"f:selector": {}})],
    );
    assert_all(
        Others::Stay,
        [
            case(
                "a key that somebody adds",
                Marked::This,
                json!({"app": "web"}),
                json!({"app": "web", "track": "canary"}),
                theirs(),
                Some(("/selector", json!({"app": "web"}))),
            ),
            case(
                "a key that admission adds",
                Marked::This,
                json!({"app": "web"}),
                json!({"app": "web", "mesh": "1"}),
                ours(),
                None,
            ),
            case(
                "another plan has one key less",
                Marked::Another,
                json!({"app": "web"}),
                json!({"app": "web", "track": "stable"}),
                ours(),
                Some(("/selector", json!({"app": "web"}))),
            ),
            case(
                "planned empty",
                Marked::This,
                json!({}),
                json!({"app": "web"}),
                theirs(),
                Some(("/selector", json!({}))),
            ),
            case(
                "not atomic: keys of others stay",
                Marked::Touched,
                json!({"app": "web"}),
                json!({"app": "web", "theirs": "x"}),
                [
                    json!({"f:selector": {".": {}, "f:app": {}}}),
                    json!({"f:selector": {"f:theirs": {}}}),
                ],
                None,
            ),
            case(
                "not atomic: all of ours were removed",
                Marked::Touched,
                json!({"app": "web"}),
                json!({"theirs": "x"}),
                [
                    json!({"f:selector": {}}),
                    json!({"f:selector": {"f:theirs": {}}}),
                ],
                Some(("/selector/app", json!({"app": "web", "theirs": "x"}))),
            ),
        ],
    );
}

#[test]
fn lists_by_their_keys() {
    let node = |name: &str, fields: Value| {
        let mut node = fields;
        node["."] = json!({});
        node["f:name"] = json!({});
        (format!("k:{{\"name\":\"{name}\"}}"), node)
    };
    let list = |nodes: Vec<(String, Value)>| {
        let mut all: Map<String, Value> = nodes.into_iter().collect();
        all.insert(".".to_owned(), json!({}));
        json!({ "f:env": all })
    };
    let value = || json!({"f:value": {}});
    let case = |name, mark, plan, actual, owned, want: Option<(&'static str, Value)>| Case {
        name,
        mark,
        plan: json!({ "env": plan }),
        actual: json!({ "env": actual }),
        owned,
        want: want.map(|(path, value)| (path, json!({ "env": value }))),
    };
    let ours = || list(vec![node("A", value()), node("B", value())]);
    let both = || json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
    assert_all(
        Others::Stay,
        [
            case(
                "items and fields of others stay",
                Marked::Touched,
                both(),
                json!([{"name": "X"}, {"name": "A", "value": "1", "theirs": 1}, {"name": "B", "value": "2"}]),
                [
                    ours(),
                    list(vec![
                        node("X", json!({})),
                        ("k:{\"name\":\"A\"}".to_owned(), json!({"f:theirs": {}})),
                    ]),
                ],
                None,
            ),
            case(
                "order counts, also where somebody else has changed it",
                Marked::Touched,
                both(),
                json!([{"name": "B", "value": "2"}, {"name": "X"}, {"name": "A", "value": "1"}]),
                [ours(), list(vec![node("X", json!({}))])],
                Some((
                    "/env",
                    json!([{"name": "A", "value": "1"}, {"name": "X"}, {"name": "B", "value": "2"}]),
                )),
            ),
            case(
                "another plan: new, changed and gone, beside those of others",
                Marked::Another,
                json!([{"name": "N"}, {"name": "B", "value": "3"}, {"name": "C"}]),
                json!([{"name": "A", "value": "1"}, {"name": "X"}, {"name": "B", "value": "2", "probe": 1, "theirs": 1}]),
                [
                    list(vec![
                        node("A", value()),
                        node("B", json!({"f:value": {}, "f:probe": {}})),
                    ]),
                    list(vec![
                        node("X", json!({})),
                        ("k:{\"name\":\"B\"}".to_owned(), json!({"f:theirs": {}})),
                    ]),
                ],
                Some((
                    "/env/0",
                    json!([{"name": "X"}, {"name": "N"}, {"name": "B", "value": "3", "theirs": 1}, {"name": "C"}]),
                )),
            ),
            case(
                "an item that somebody has removed",
                Marked::Touched,
                both(),
                json!([{"name": "B", "value": "2"}]),
                [list(vec![node("B", value())]), Value::Null],
                Some(("/env/0", both())),
            ),
            case(
                "an item that admission has removed from our own request, and one that it has added",
                Marked::Touched,
                both(),
                json!([{"name": "B", "value": "2"}, {"name": "INJECTED"}]),
                [ours(), Value::Null],
                None,
            ),
            case(
                "all of ours were removed; those of others say what tells items apart",
                Marked::Touched,
                both(),
                json!([{"name": "X"}]),
                [json!({"f:env": {}}), list(vec![node("X", json!({}))])],
                Some((
                    "/env/0",
                    json!([{"name": "X"}, {"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
                )),
            ),
            case(
                "all of ours were removed and nothing is left",
                Marked::Touched,
                both(),
                json!([]),
                [json!({"f:env": {}}), Value::Null],
                Some(("/env", both())),
            ),
            case(
                "planned empty: what is ours goes, what others have stays",
                Marked::Another,
                json!([]),
                json!([{"name": "A", "value": "1"}, {"name": "X"}]),
                [
                    list(vec![node("A", value())]),
                    list(vec![node("X", json!({}))]),
                ],
                Some(("/env", json!([{"name": "X"}]))),
            ),
            case(
                "two planned items with the same key: the list is ours as a whole",
                Marked::Another,
                json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
                json!([{"name": "A", "value": "1"}, {"name": "X"}]),
                [
                    list(vec![node("A", value())]),
                    list(vec![node("X", json!({}))]),
                ],
                Some((
                    "/env",
                    json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
                )),
            ),
        ],
    );
}

#[test]
fn ports_lack_a_key_that_the_server_fills_in() {
    let port = |protocol: &str| format!("k:{{\"port\":53,\"protocol\":\"{protocol}\"}}");
    let node = || json!({".": {}, "f:port": {}, "f:protocol": {}});
    let case = |name, mark, plan, actual, owned, want: Option<(&'static str, Value)>| Case {
        name,
        mark,
        plan: json!({ "ports": plan }),
        actual: json!({ "ports": actual }),
        owned,
        want: want.map(|(path, value)| (path, json!({ "ports": value }))),
    };
    assert_all(
        Others::Stay,
        [
            case(
                "two with one number, and a node port that the server has allocated",
                Marked::Another,
                json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "name": "tcp"}]),
                json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "nodePort": 30053}]),
                [
                    json!({"f:ports": {port("UDP"): node(), port("TCP"): node()}}),
                    Value::Null,
                ],
                Some((
                    "/ports/1/name",
                    json!([{"port": 53, "protocol": "UDP"}, {"port": 53, "name": "tcp", "nodePort": 30053}]),
                )),
            ),
            case(
                "somebody has changed the protocol: that is another port",
                Marked::Touched,
                json!([{"port": 53}]),
                json!([{"port": 53, "protocol": "UDP"}]),
                [
                    json!({"f:ports": {}}),
                    json!({"f:ports": {port("UDP"): node()}}),
                ],
                Some((
                    "/ports/0",
                    json!([{"port": 53, "protocol": "UDP"}, {"port": 53}]),
                )),
            ),
        ],
    );
    assert_all(
        Others::Yield,
        [case(
            "and goes where the server refuses both",
            Marked::Touched,
            json!([{"port": 53}]),
            json!([{"port": 53, "protocol": "UDP"}]),
            [
                json!({"f:ports": {}}),
                json!({"f:ports": {port("UDP"): node()}}),
            ],
            Some(("/ports/0", json!([{"port": 53}]))),
        )],
    );
}

#[test]
fn sets_and_atomic_lists() {
    let case =
        |name, mark, plan, actual, owned: [Value; 2], want: Option<(&'static str, Value)>| Case {
            name,
            mark,
            plan: json!({ "l": plan }),
            actual: json!({ "l": actual }),
            owned: owned.map(|fields| {
                if fields.is_null() {
                    fields
                } else {
                    json!({ "f:l": fields })
                }
            }),
            want: want.map(|(path, value)| (path, json!({ "l": value }))),
        };
    assert_all(
        Others::Stay,
        [
            case(
                "a set: ours goes, theirs stays",
                Marked::Another,
                json!(["b", "c"]),
                json!(["a", "x", "b"]),
                [
                    json!({"v:\"a\"": {}, "v:\"b\"": {}}),
                    json!({"v:\"x\"": {}}),
                ],
                Some(("/l/1", json!(["x", "b", "c"]))),
            ),
            case(
                "an atomic list that somebody else has written",
                Marked::Touched,
                json!(["a"]),
                json!(["a", "b"]),
                [Value::Null, json!({})],
                Some(("/l", json!(["a"]))),
            ),
            case(
                "one in which the server has set defaults",
                Marked::Touched,
                json!([{"port": 1}]),
                json!([{"port": 1, "protocol": "TCP"}]),
                [json!({}), Value::Null],
                None,
            ),
            case(
                "one of another plan",
                Marked::Another,
                json!([{}]),
                json!([{"from": 1}]),
                [json!({}), Value::Null],
                Some(("/l", json!([{}]))),
            ),
            case(
                "one that somebody has emptied",
                Marked::Touched,
                json!([]),
                json!(["--debug"]),
                [Value::Null, json!({})],
                Some(("/l", json!([]))),
            ),
        ],
    );
}
