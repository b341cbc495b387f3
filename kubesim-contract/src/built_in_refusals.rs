//! What is refused of the kinds that an operator creates beside Deployments and Services.

use serde_json::{Value, json};

use crate::built_in_rules::{BATCH, CORE, RBAC_V1, SCALING};
use crate::built_ins::{
    APPS, binding, claim, container, daemon_set, job, named, selector, stateful_set, template,
};
use crate::expect::{Check, Expect, blames, mentions, text};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "built-in refusals":
    fixed_fields_of_built_in_kinds_are_refused,
    incomplete_objects_of_built_in_kinds_are_refused,
    keys_of_config_maps_and_secrets_are_names_of_files,
}

async fn fixed_fields_of_built_in_kinds_are_refused(context: Context) -> Check {
    let labels = json!({ "app": "b" });
    let other = json!({
        "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels } },
    });
    let image = json!([{ "name": "main", "image": "registry.local/web:2" }]);
    let template = json!({ "template": { "spec": { "containers": image } } });
    // Before 1.37 one error for all fields of a StatefulSet, and words of its own for a role.
    let is_older = context.minor_version().await? < 37;
    let of_a_role = match is_older {
        true => "cannot change roleRef",
        false => "field is immutable",
    };
    let of_a_set = match is_older {
        false => ("spec.serviceName", "field is immutable"),
        true => (
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
    };
    for (group, plural, sent, change, at, says) in [
        (
            APPS,
            "statefulsets",
            stateful_set(),
            json!({ "spec": { "serviceName": "b" } }),
            of_a_set.0,
            of_a_set.1,
        ),
        (
            APPS,
            "daemonsets",
            daemon_set(),
            json!({ "spec": other }),
            "spec.selector",
            "field is immutable",
        ),
        (
            BATCH,
            "jobs",
            job(),
            json!({ "spec": template }),
            "spec.template",
            "field is immutable",
        ),
        (
            BATCH,
            "jobs",
            named("b", job()),
            json!({ "spec": { "completions": 5 } }),
            "spec.completions",
            "field is immutable",
        ),
        (
            RBAC_V1,
            "rolebindings",
            binding("Role"),
            json!({ "roleRef": { "name": "b" } }),
            "roleRef",
            of_a_role,
        ),
        (
            CORE,
            "persistentvolumeclaims",
            claim(),
            json!({ "spec": { "accessModes": ["ReadOnlyMany"] } }),
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ),
    ] {
        let collection = context.kind(group, plural);
        let name = text(&sent, "/metadata/name");
        collection.create(sent).await.succeeds(plural)?;
        let refused = collection.patch(&name, Patch::Merge, change).await;
        let status = refused.refused(422, "Invalid", plural)?;
        blames(&status, at)?;
        mentions(plural, &status.message, says)?;
    }
    // What a StatefulSet may change.
    let sets = context.kind(APPS, "statefulsets");
    let change = json!({ "spec": template });
    let changed = sets.patch("a", Patch::Merge, change).await;
    changed
        .succeeds("changing the template of a StatefulSet")
        .map(|_| ())
}

async fn incomplete_objects_of_built_in_kinds_are_refused(context: Context) -> Check {
    let always = json!({ "template": { "spec": { "containers": [container()] } } });
    let of = |spec: Value| json!({ "metadata": { "name": "a" }, "spec": spec });
    let other = json!({ "matchLabels": { "app": "z" } });
    let no_verbs = json!({ "metadata": { "name": "a" }, "rules": [{ "apiGroups": [""], "resources": ["pods"] }] });
    for (group, plural, sent, at) in [
        (
            APPS,
            "statefulsets",
            of(json!({ "template": template() })),
            "spec.selector",
        ),
        (
            APPS,
            "statefulsets",
            of(json!({ "selector": {}, "template": template() })),
            "spec.selector",
        ),
        (
            APPS,
            "statefulsets",
            of(json!({ "selector": other, "template": template() })),
            "spec.template.metadata.labels",
        ),
        (
            APPS,
            "statefulsets",
            of(json!({ "selector": selector(), "template": template(), "replicas": -1 })),
            "spec.replicas",
        ),
        (
            APPS,
            "daemonsets",
            of(json!({ "selector": {}, "template": template() })),
            "spec.selector",
        ),
        (
            BATCH,
            "jobs",
            of(json!({})),
            "spec.template.spec.containers",
        ),
        (
            BATCH,
            "jobs",
            of(always),
            "spec.template.spec.restartPolicy",
        ),
        (
            SCALING,
            "horizontalpodautoscalers",
            of(json!({})),
            "spec.maxReplicas",
        ),
        (
            SCALING,
            "horizontalpodautoscalers",
            of(json!({})),
            "spec.scaleTargetRef.name",
        ),
        (
            RBAC_V1,
            "rolebindings",
            json!({ "metadata": { "name": "a" }, "roleRef": { "kind": "Role" } }),
            "roleRef.name",
        ),
        (RBAC_V1, "roles", no_verbs, "rules[0].verbs"),
        (
            CORE,
            "persistentvolumeclaims",
            of(json!({})),
            "spec.accessModes",
        ),
        (
            CORE,
            "persistentvolumeclaims",
            of(json!({})),
            "spec.resources[storage]",
        ),
    ] {
        let created = context.kind(group, plural).create(sent).await;
        blames(&created.refused(422, "Invalid", at)?, at)?;
    }
    Ok(())
}

async fn keys_of_config_maps_and_secrets_are_names_of_files(context: Context) -> Check {
    let long = "k".repeat(254);
    for plural in ["configmaps", "secrets"] {
        for (key, says) in [
            (
                "bad key!",
                "a valid config key must consist of alphanumeric characters",
            ),
            ("..", "must not be '..'"),
            ("..a", "must not start with '..'"),
            (&*long, "must be no more than 253 characters"),
        ] {
            let sent = json!({ "metadata": { "name": "a" }, "data": { key: "" } });
            let refused = context.kind(CORE, plural).create(sent).await;
            let status = refused.refused(422, "Invalid", key)?;
            blames(&status, &format!("data[{key}]"))?;
            mentions(key, &status.message, says)?;
        }
    }
    let sent = json!({ "metadata": { "name": "a" }, "data": { ".a_B-1": "" } });
    let made = context.kind(CORE, "configmaps").create(sent).await;
    made.succeeds("a key that is a name of a file").map(|_| ())
}
