//! Creating: names, defaults, validation, and what a refusal says.

use serde_json::json;

use crate::expect::{
    Check, Expect, blames, different, equal, field, holds, mentions, text, uid, version_number,
};
use crate::fixture::{config_map, widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "create":
    creating_twice_is_already_exists,
    creating_in_a_missing_namespace_is_not_found,
    the_server_fills_in_identity,
    a_generated_name_starts_as_asked_and_is_unique,
    an_invalid_name_is_refused,
    a_name_and_a_namespace_must_match_the_address,
    a_resource_version_on_creation_is_refused,
    unknown_fields_are_pruned,
    strict_validation_refuses_unknown_fields,
    defaults_are_filled_in,
    defaults_are_filled_in_inside_lists,
    a_refusal_names_the_field,
    several_mistakes_are_reported_together,
    a_number_that_its_type_cannot_hold_is_named_in_the_text,
    one_mistake_of_a_text_is_told,
    a_cel_rule_refuses_with_its_message,
    a_null_of_a_nullable_property_is_absent_to_a_cel_rule,
    rules_are_checked_beside_bounds_but_not_on_another_shape,
    a_whole_number_is_stored_as_an_integer,
    status_is_dropped_on_creation,
    a_dry_run_creates_nothing,
    a_body_that_is_no_json_is_a_bad_request,
    a_body_that_is_too_large_is_refused,
}

async fn creating_twice_is_already_exists(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let again = widgets.create(widget("one")).await;
    let status = again.refused(409, "AlreadyExists", "creating it again")?;
    equal(
        "the message",
        status.message.as_str(),
        r#"widgets.contract.tare.dev "one" already exists"#,
    )
}

async fn creating_in_a_missing_namespace_is_not_found(context: Context) -> Check {
    let nowhere = context.widgets_in("contract-nowhere");
    let created = nowhere.create(widget("one")).await;
    let status = created.refused(404, "NotFound", "creating in a missing namespace")?;
    mentions(
        "the message",
        &status.message,
        "namespaces \"contract-nowhere\" not found",
    )
}

async fn the_server_fills_in_identity(context: Context) -> Check {
    let mut sent = widget("one");
    sent["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
    sent["metadata"]["generation"] = 7.into();
    let created = context.widgets().create(sent).await.succeeds("creating")?;
    field(&created, "/metadata/namespace", context.namespace.as_str())?;
    field(&created, "/metadata/generation", 1)?;
    equal("the length of the uid", &uid(&created).len(), &36)?;
    different(
        "the uid",
        &uid(&created),
        &"00000000-0000-0000-0000-000000000000".to_owned(),
    )?;
    holds(
        version_number(&created)? > 0,
        "resourceVersion > 0",
        &created,
    )?;
    let stamp = text(&created, "/metadata/creationTimestamp");
    // RFC 3339 in UTC with whole seconds.
    holds(
        stamp.len() == 20 && stamp.ends_with('Z'),
        "creationTimestamp in seconds",
        stamp,
    )?;
    let read = context.widgets().get("one").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn a_generated_name_starts_as_asked_and_is_unique(context: Context) -> Check {
    let mut sent = widget("");
    sent["metadata"] = json!({ "generateName": "part-" });
    let mut made = Vec::new();
    for _ in 0..2 {
        let created = context.widgets().create(sent.clone()).await;
        let created = created.succeeds("creating")?;
        field(&created, "/metadata/generateName", "part-")?;
        let name = text(&created, "/metadata/name");
        holds(
            name.starts_with("part-") && name.len() == 10,
            "part- and 5 characters",
            &name,
        )?;
        made.push(name);
    }
    different("the second name", &made[1], &made[0])
}

async fn an_invalid_name_is_refused(context: Context) -> Check {
    for name in ["Upper", "under_score", "-dash", &"a".repeat(254)] {
        let created = context.widgets().create(widget(name)).await;
        blames(&created.refused(422, "Invalid", name)?, "metadata.name")?;
    }
    let mut nameless = widget("");
    nameless["metadata"] = json!({});
    let created = context.widgets().create(nameless).await;
    // kube-apiserver's message is "name or generateName is required".
    let status = created.refused(422, "Invalid", "creating without a name")?;
    mentions(
        "the message",
        &status.message,
        "name or generateName is required",
    )
}

async fn a_name_and_a_namespace_must_match_the_address(context: Context) -> Check {
    let mut elsewhere = widget("one");
    elsewhere["metadata"]["namespace"] = "default".into();
    let created = context.widgets().create(elsewhere).await;
    created.refused(400, "BadRequest", "creating for another namespace")?;
    let created = context.widgets().create(widget("one")).await;
    let mut renamed = created.succeeds("creating")?;
    renamed["metadata"]["name"] = "two".into();
    let updated = context.widgets().update("one", &renamed).await;
    updated
        .refused(400, "BadRequest", "updating under another name")
        .map(|_| ())
}

async fn a_resource_version_on_creation_is_refused(context: Context) -> Check {
    let mut sent = widget("one");
    sent["metadata"]["resourceVersion"] = "1".into();
    let created = context.widgets().create(sent).await;
    // The error comes unmapped from the storage layer (ErrResourceVersionSetOnCreate): 500 without a reason.
    let status = created.refused(500, "", "creating with a resourceVersion")?;
    mentions(
        "the message",
        &status.message,
        "resourceVersion should not be set on objects to be created",
    )
}

async fn unknown_fields_are_pruned(context: Context) -> Check {
    let mut sent = widget_with("one", json!({ "size": 1, "unknown": { "deep": true } }));
    sent["extra"] = "top".into();
    let created = context.widgets().create(sent).await.succeeds("creating")?;
    field(&created, "/spec/unknown", json!(null))?;
    field(&created, "/extra", json!(null))?;
    field(&created, "/spec/size", 1)
}

async fn strict_validation_refuses_unknown_fields(context: Context) -> Check {
    let sent = widget_with("one", json!({ "size": 1, "unknown": true }));
    let created = context
        .widgets()
        .create_with("fieldValidation=Strict", sent)
        .await;
    let status = created.refused(400, "BadRequest", "creating strictly")?;
    mentions(
        "the message",
        &status.message,
        "unknown field \"spec.unknown\"",
    )
}

async fn defaults_are_filled_in(context: Context) -> Check {
    let created = context.widgets().create(widget("one")).await;
    let created = created.succeeds("creating")?;
    field(
        &created,
        "/spec",
        json!({ "size": 1, "mode": "fast", "replicas": 1 }),
    )
}

async fn defaults_are_filled_in_inside_lists(context: Context) -> Check {
    let sent = widget_with("one", json!({ "size": 1, "ports": [{ "name": "http" }] }));
    let created = context.widgets().create(sent).await.succeeds("creating")?;
    field(
        &created,
        "/spec/ports",
        json!([{ "name": "http", "number": 80 }]),
    )
}

async fn a_refusal_names_the_field(context: Context) -> Check {
    for (mistake, spec, name) in [
        ("required", json!({}), "spec.size"),
        ("minimum", json!({ "size": -1 }), "spec.size"),
        ("maximum", json!({ "size": 101 }), "spec.size"),
        ("enum", json!({ "size": 1, "mode": "loud" }), "spec.mode"),
        ("pattern", json!({ "size": 1, "code": "ABC" }), "spec.code"),
        ("type", json!({ "size": "1" }), "spec.size"),
        (
            "type of an item",
            json!({ "size": 1, "tags": ["a", 2] }),
            "spec.tags[1]",
        ),
        (
            "required in an item",
            json!({ "size": 1, "ports": [{}] }),
            "spec.ports[0].name",
        ),
        (
            "a key twice",
            json!({ "size": 1, "ports": [{ "name": "a" }, { "name": "a" }] }),
            "spec.ports[1]",
        ),
    ] {
        let created = context.widgets().create(widget_with("one", spec)).await;
        let status = created.refused(422, "Invalid", mistake)?;
        blames(&status, name)?;
        mentions(
            "the message",
            &status.message,
            r#"Widget.contract.tare.dev "one" is invalid"#,
        )?;
    }
    // Violated length limits are reported with their field, too.
    for (mistake, spec, name) in [
        (
            "maxLength",
            json!({ "size": 1, "code": "abcdefghi" }),
            "spec.code",
        ),
        (
            "maxItems",
            json!({ "size": 1, "tags": ["a", "b", "c", "d", "e"] }),
            "spec.tags",
        ),
    ] {
        let created = context.widgets().create(widget_with("one", spec)).await;
        blames(&created.refused(422, "Invalid", mistake)?, name)?;
    }
    Ok(())
}

async fn several_mistakes_are_reported_together(context: Context) -> Check {
    let spec = json!({ "size": 101, "code": "ABC" });
    let created = context.widgets().create(widget_with("one", spec)).await;
    let status = created.refused(422, "Invalid", "two mistakes")?;
    blames(&status, "spec.size")?;
    blames(&status, "spec.code")
}

async fn a_number_that_its_type_cannot_hold_is_named_in_the_text(context: Context) -> Check {
    // Before 1.36 `format: int32` bounds no number: what refuses the first one is the scale subresource.
    let is_older = context.minor_version().await? < 36;
    for (spec, text, older_text) in [
        (
            json!({ "size": 1, "replicas": 1_u64 << 31 }),
            "Checked value must be of type integer with format int32 in spec.replicas",
            ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
        ),
        (
            json!({ "size": 1.5 }),
            "Checked value must be of type integer (default format) in spec.size",
            "spec.size in body must be of type integer: \"number\"",
        ),
        (
            json!({ "size": 1, "replicas": 1.5 }),
            "spec.replicas in body must be of type int32: \"float64\"",
            "spec.replicas in body must be of type integer: \"number\"",
        ),
        (
            json!({ "size": 1, "replicas": true }),
            "spec.replicas in body must be of type int32: \"\"",
            "spec.replicas in body must be of type integer: \"boolean\"",
        ),
    ] {
        let want = if is_older { older_text } else { text };
        let created = context.widgets().create(widget_with("one", spec)).await;
        let status = created.refused(422, "Invalid", want)?;
        mentions("the message", &status.message, want)?;
    }
    Ok(())
}

async fn one_mistake_of_a_text_is_told(context: Context) -> Check {
    let spec = json!({ "size": 1, "code": "ABCDEFGHI" });
    let created = context.widgets().create(widget_with("one", spec)).await;
    let status = created.refused(422, "Invalid", "too long, and of another pattern")?;
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let blamed = causes.filter(|cause| cause.field == "spec.code");
    equal("causes", &blamed.count(), &1)
}

async fn a_cel_rule_refuses_with_its_message(context: Context) -> Check {
    let spec = json!({ "size": 5, "limit": 4 });
    let created = context.widgets().create(widget_with("one", spec)).await;
    let status = created.refused(422, "Invalid", "breaking the rule")?;
    blames(&status, "spec")?;
    mentions("the message", &status.message, "size must not exceed limit")?;
    let spec = json!({ "size": 4, "limit": 4 });
    let created = context.widgets().create(widget_with("one", spec)).await;
    created.succeeds("keeping to the rule").map(|_| ())
}

async fn a_null_of_a_nullable_property_is_absent_to_a_cel_rule(context: Context) -> Check {
    let widgets = context.widgets();
    let null = widget_with("null", json!({ "size": 5, "note": null }));
    widgets
        .create(null)
        .await
        .succeeds("creating with a null")?;
    let empty = widget_with("empty", json!({ "size": 5, "note": "" }));
    let created = widgets.create(empty).await;
    let status = created.refused(422, "Invalid", "breaking the rule")?;
    mentions("the message", &status.message, "a note must not be empty")
}

async fn rules_are_checked_beside_bounds_but_not_on_another_shape(context: Context) -> Check {
    for (mistake, spec, fields) in [
        (
            "a bound",
            json!({ "size": 101, "limit": 4 }),
            ["spec.size", "spec"],
        ),
        (
            "a type",
            json!({ "size": 5, "limit": 4, "code": 1 }),
            ["spec.code", "<nil>"],
        ),
        (
            "a length",
            json!({ "size": 5, "limit": 4, "code": "abcdefghi" }),
            ["spec.code", "<nil>"],
        ),
        (
            "an enum",
            json!({ "size": 5, "limit": 4, "mode": "loud" }),
            ["spec.mode", "<nil>"],
        ),
    ] {
        let created = context.widgets().create(widget_with("one", spec)).await;
        let status = created.refused(422, "Invalid", mistake)?;
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let blamed: Vec<&str> = causes.map(|cause| cause.field.as_str()).collect();
        equal(mistake, &blamed[..], &fields[..])?;
    }
    Ok(())
}

async fn a_whole_number_is_stored_as_an_integer(context: Context) -> Check {
    let ports = json!([{ "name": "http", "number": 3e1 }]);
    let sent = widget_with("one", json!({ "size": 3.0, "ports": ports }));
    let created = context.widgets().create(sent).await.succeeds("creating")?;
    field(&created, "/spec/size", 3)?;
    field(&created, "/spec/ports/0/number", 30)?;
    let patch = json!({ "spec": { "size": 4.0 } });
    let patched = context.widgets().patch("one", Patch::Merge, patch).await;
    field(&patched.succeeds("patching")?, "/spec/size", 4)?;
    let read = context.widgets().get("one").await.succeeds("reading")?;
    field(&read, "/spec/size", 4)
}

async fn status_is_dropped_on_creation(context: Context) -> Check {
    let mut sent = widget("one");
    sent["status"] = json!({ "phase": "Running" });
    let created = context.widgets().create(sent).await.succeeds("creating")?;
    field(&created, "/status", json!(null))
}

async fn a_dry_run_creates_nothing(context: Context) -> Check {
    let widgets = context.widgets();
    let tried = widgets.create_with("dryRun=All", widget("one")).await;
    let tried = tried.succeeds("trying")?;
    field(&tried, "/spec/mode", "fast")?;
    equal("the length of the uid", &uid(&tried).len(), &36)?;
    widgets
        .get("one")
        .await
        .refused(404, "NotFound", "reading it")
        .map(|_| ())
}

async fn a_body_that_is_no_json_is_a_bad_request(context: Context) -> Check {
    let created = context.widgets().create_raw(b"{\"spec\": ".to_vec()).await;
    created
        .refused(400, "BadRequest", "sending half a body")
        .map(|_| ())
}

async fn a_body_that_is_too_large_is_refused(context: Context) -> Check {
    const LIMIT_BYTES: usize = 3 * 1024 * 1024;
    let mut sent = config_map("one");
    sent["data"]["key"] = "x".repeat(LIMIT_BYTES).into();
    let created = context.config_maps().create(sent).await;
    created
        .refused(413, "RequestEntityTooLarge", "more than 3 MiB")
        .map(|_| ())
}
