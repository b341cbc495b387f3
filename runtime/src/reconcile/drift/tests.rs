use super::*;
use crate::reconcile::merge_patch::without_nulls;
use serde_json::json;

struct Case {
    name: &'static str,
    plan: Value,
    actual: Value,
    want: Option<&'static str>,
}

fn case(name: &'static str, plan: Value, actual: Value, want: Option<&'static str>) -> Case {
    Case {
        name,
        plan,
        actual,
        want,
    }
}

fn assert_all(cases: impl IntoIterator<Item = Case>) {
    for Case {
        name,
        plan,
        actual,
        want,
    } in cases
    {
        let found = differs(&plan, &actual, None, &NormalizedFields::default());
        assert_eq!(found.as_deref(), want, "{name}");
    }
}

#[test]
fn values_by_table() {
    assert_all([
        case(
            "defaults of the server are not ours",
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            None,
        ),
        case(
            "a changed value",
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 2}}),
            Some("/a/b"),
        ),
        case(
            "a missing value",
            json!({"a": {"b": 1}}),
            json!({}),
            Some("/a/b"),
        ),
        case(
            "a whole number with a fraction",
            json!({"a": 1.0}),
            json!({"a": 1}),
            None,
        ),
        case(
            "null must be absent",
            json!({"a": null}),
            json!({"a": {"x": 1}}),
            Some("/a"),
        ),
        case(
            "null may be empty",
            json!({"a": null, "b": null}),
            json!({"a": {}, "b": []}),
            None,
        ),
        case(
            "resources planned empty",
            json!({"resources": {"limits": null, "requests": null}}),
            json!({"resources": {}}),
            None,
        ),
        case(
            "quantities by value",
            json!({"limits": {"cpu": "500m", "memory": "1Ki", "x": 1}}),
            json!({"limits": {"cpu": "0.5", "memory": "1024", "x": "1"}}),
            None,
        ),
        case(
            "quantities differ",
            json!({"limits": {"cpu": "500m"}}),
            json!({"limits": {"cpu": "1"}}),
            Some("/limits/cpu"),
        ),
        case(
            "the size of a volume is a quantity",
            json!({"emptyDir": {"sizeLimit": "1024Mi"}}),
            json!({"emptyDir": {"sizeLimit": "1Gi"}}),
            None,
        ),
        case(
            "text that looks like a quantity elsewhere",
            json!({"v": "1000m"}),
            json!({"v": "1"}),
            Some("/v"),
        ),
    ]);
}

#[test]
fn zero_values_by_table() {
    assert_all([
        case(
            "the server drops zero values",
            json!({"a": "", "b": false, "c": 0, "d": [], "e": {}, "f": {"g": ""}}),
            json!({}),
            None,
        ),
        case(
            "a variable without a value",
            json!({"env": [{"name": "MODE", "value": ""}]}),
            json!({"env": [{"name": "MODE"}]}),
            None,
        ),
        case(
            "a zero value that somebody set is a difference",
            json!({"hostNetwork": false}),
            json!({"hostNetwork": true}),
            Some("/hostNetwork"),
        ),
        case(
            "and so is a list",
            json!({"args": []}),
            json!({"args": ["--debug"]}),
            Some("/args"),
        ),
        case(
            "a truth value that is true where it is absent",
            json!({"securityContext": {"allowPrivilegeEscalation": false}}),
            json!({"securityContext": {}}),
            Some("/securityContext/allowPrivilegeEscalation"),
        ),
        case(
            "null is not false either, there",
            json!({"automountServiceAccountToken": null}),
            json!({"automountServiceAccountToken": false}),
            Some("/automountServiceAccountToken"),
        ),
        case(
            "a label without a value is kept by the server",
            json!({"labels": {"role/worker": ""}}),
            json!({"labels": {}}),
            Some("/labels/role~1worker"),
        ),
        case(
            "all namespaces are not none",
            json!({"namespaceSelector": {}}),
            json!({}),
            Some("/namespaceSelector"),
        ),
    ]);
}

#[test]
fn lists_by_table() {
    assert_all([
        case(
            "order of a list does not count",
            json!([{"name": "a"}, {"name": "b"}]),
            json!([{"name": "b", "x": 1}, {"name": "a"}]),
            None,
        ),
        case(
            "order of texts does",
            json!(["a", "b"]),
            json!(["b", "a"]),
            Some("/0"),
        ),
        case(
            "an extra item is drift: a list is ours as a whole",
            json!([{"name": "a"}]),
            json!([{"name": "a"}, {"name": "b"}]),
            Some(""),
        ),
        case(
            "an item's field",
            json!([{"name": "a", "value": "1"}]),
            json!([{"name": "a", "value": "2"}]),
            Some("/0/value"),
        ),
        case(
            "two ports with one number",
            json!({"ports": [{"port": 53, "protocol": "UDP", "name": "udp"}, {"port": 53, "name": "tcp"}]}),
            json!({"ports": [{"port": 53, "protocol": "TCP", "name": "tcp"},
                {"port": 53, "protocol": "UDP", "name": "udp"}]}),
            None,
        ),
        case(
            "two ports of a container with one number",
            json!({"ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]}),
            json!({"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]}),
            None,
        ),
        case(
            "the protocol of a port",
            json!({"ports": [{"port": 53}]}),
            json!({"ports": [{"port": 53, "protocol": "UDP"}]}),
            Some("/ports/0/port"),
        ),
        case(
            "two tolerations that share a key",
            json!({"tolerations": [{"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}]}),
            json!({"tolerations": [{"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}]}),
            None,
        ),
        case(
            "one of them was changed",
            json!({"tolerations": [{"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}]}),
            json!({"tolerations": [{"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoSchedule"}]}),
            Some("/tolerations/1/effect"),
        ),
    ]);
}

#[test]
fn atomic_maps_by_table() {
    assert_all([
        case(
            "a key that somebody adds to a selector",
            json!({"selector": {"app": "web"}}),
            json!({"selector": {"app": "web", "track": "canary"}}),
            Some("/selector/track"),
        ),
        case(
            "even one without a value",
            json!({"nodeSelector": {"disk": "ssd"}}),
            json!({"nodeSelector": {"disk": "ssd", "gone": ""}}),
            Some("/nodeSelector/gone"),
        ),
        case(
            "a selector planned empty",
            json!({"selector": {}}),
            json!({"selector": {"app": "web"}}),
            Some("/selector/app"),
        ),
        case(
            "deeper",
            json!({"labelSelector": {"matchLabels": {"app": "web"}}}),
            json!({"labelSelector": {"matchLabels": {"app": "web", "a": "b"}}}),
            Some("/labelSelector/matchLabels/a"),
        ),
        case(
            "labels of others are theirs",
            json!({"labels": {"app": "web"}}),
            json!({"labels": {"app": "web", "theirs": "x"}}),
            None,
        ),
    ]);
}

#[test]
fn what_the_server_is_known_to_normalise_is_no_difference() {
    let normalized = NormalizedFields::default();
    let (plan, actual) = (json!({"a": "B", "c": 1}), json!({"a": "b", "c": 1}));
    let differs = |actual: &Value| differs(&plan, actual, None, &normalized);
    assert_eq!(differs(&actual).as_deref(), Some("/a"));
    confirm(&plan, &actual, None, &normalized);
    assert_eq!(differs(&actual), None);
    assert_eq!(differs(&json!({"a": "x", "c": 1})).as_deref(), Some("/a"));
    assert_eq!(differs(&json!({"a": "b", "c": 2})).as_deref(), Some("/c"));
}

#[test]
fn what_was_written_never_differs_from_its_plan() {
    let plan = json!({"a": null, "b": {"c": null, "d": 1}, "l": [{"name": "x", "env": null}]});
    let written = without_nulls(&plan);
    assert_eq!(
        differs(&plan, &written, None, &NormalizedFields::default()),
        None
    );
}
