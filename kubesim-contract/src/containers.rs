//! What is refused of the containers of a Deployment, and the quantities that they ask for.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, at, blames, equal, field, holds, mentions};
use crate::fixture::{deployment, service};
use crate::{Context, theme};

theme! { "containers":
    a_quantity_that_is_short_is_stored_as_it_is_written,
    what_is_no_quantity_cannot_be_decoded,
    resources_of_other_names_and_amounts_are_refused,
    names_of_containers_and_variables_are_checked,
    an_image_that_is_no_reference_is_not_pulled_each_time,
    labels_that_no_object_can_have_are_refused,
    a_volume_has_one_source,
}

const CONTAINER: &str = "spec.template.spec.containers[0]";

fn with(part: &str, value: Value) -> Value {
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0][part] = value;
    sent
}

async fn a_quantity_that_is_short_is_stored_as_it_is_written(context: Context) -> Check {
    for (given, stored) in [
        (json!("1.500k"), "1.500k"),
        (json!("1.5k"), "1500"),
        (json!("1e3"), "1e3"),
        (json!("1e4"), "10e3"),
        (json!("12E-1"), "1200e-3"),
        (json!("0100m"), "0100m"),
        (json!("0.1n"), "1m"),
        (json!("1.0001"), "1001m"),
        (json!("8Mi"), "8Mi"),
        (json!("1.5Mi"), "1536Ki"),
        (json!("0.3Ki"), "307200m"),
        (json!("0.5Ki"), "512"),
        (json!("+5"), "+5"),
        (json!("."), "0"),
        (json!(1000), "1k"),
    ] {
        let sent = with("resources", json!({ "requests": { "memory": given } }));
        let tried = context.deployments().create_with("dryRun=All", sent).await;
        let tried = tried.succeeds(&given.to_string())?;
        let pointer = "/spec/template/spec/containers/0/resources/requests/memory";
        field(&tried, pointer, stored)?;
    }
    Ok(())
}

async fn what_is_no_quantity_cannot_be_decoded(context: Context) -> Check {
    for given in ["1.2.3", "+-1", "1Xi", "much", "1e"] {
        let sent = with("resources", json!({ "limits": { "memory": given } }));
        let created = context.deployments().create(sent).await;
        let status = created.refused(400, "BadRequest", given)?;
        mentions("the message", &status.message, "quantit")?;
    }
    Ok(())
}

async fn resources_of_other_names_and_amounts_are_refused(context: Context) -> Check {
    for (resources, name) in [
        (json!({ "limits": { "gpu": "1" } }), "limits[gpu]"),
        (json!({ "limits": { "a b/gpu": "1" } }), "limits[a b/gpu]"),
        (json!({ "limits": { "cpu": "-1" } }), "limits[cpu]"),
        (
            json!({ "limits": { "a.dev/gpu": "1.5" } }),
            "limits[a.dev/gpu]",
        ),
        (json!({ "requests": { "a.dev/gpu": "1" } }), "limits"),
        (
            json!({ "limits": { "a.dev/gpu": "2" }, "requests": { "a.dev/gpu": "1" } }),
            "requests",
        ),
        (
            json!({ "limits": { "hugepages-2Mi": "3Mi", "cpu": "1" } }),
            "limits[hugepages-2Mi]",
        ),
    ] {
        let what = resources.to_string();
        let created = context
            .deployments()
            .create(with("resources", resources))
            .await;
        let status = created.refused(422, "Invalid", &what)?;
        blames(&status, &format!("{CONTAINER}.resources.{name}"))?;
    }
    let pages = json!({ "limits": { "hugepages-2Mi": "4Mi" } });
    let created = context.deployments().create(with("resources", pages)).await;
    let status = created.refused(422, "Invalid", "huge pages alone")?;
    blames(&status, &format!("{CONTAINER}.resources"))?;
    let both = json!({ "a.dev/gpu": "2", "hugepages-2Mi": "4Mi", "cpu": "1" });
    let sent = with("resources", json!({ "limits": both, "requests": both }));
    let created = context.deployments().create(sent).await;
    created.succeeds("the same of both").map(|_| ())
}

async fn names_of_containers_and_variables_are_checked(context: Context) -> Check {
    for (part, value, name) in [
        ("name", json!("a.b"), "name"),
        ("name", json!("a".repeat(64)), "name"),
        ("env", json!([{ "name": "" }]), "env[0].name"),
        (
            "env",
            json!([{ "name": "A" }, { "name": "B=" }]),
            "env[1].name",
        ),
        ("env", json!([{ "name": "é" }]), "env[0].name"),
    ] {
        let created = context.deployments().create(with(part, value)).await;
        let status = created.refused(422, "Invalid", name)?;
        blames(&status, &format!("{CONTAINER}.{name}"))?;
    }
    let relaxed = with("env", json!([{ "name": "..a b-1" }]));
    let created = context.deployments().create(relaxed).await;
    created.succeeds("a relaxed name").map(|_| ())
}

async fn an_image_that_is_no_reference_is_not_pulled_each_time(context: Context) -> Check {
    for (image, policy) in [
        ("web", "Always"),
        ("registry.local:5000/web", "Always"),
        ("Web/x", "Always"),
        ("Web", "IfNotPresent"),
        ("</script>", "IfNotPresent"),
        (" ", "IfNotPresent"),
        ("web:", "IfNotPresent"),
    ] {
        let sent = with("image", json!(image));
        let tried = context.deployments().create_with("dryRun=All", sent).await;
        let tried = tried.succeeds(image)?;
        let pointer = "/spec/template/spec/containers/0/imagePullPolicy";
        equal(image, at(&tried, pointer), &json!(policy))?;
    }
    Ok(())
}

async fn labels_that_no_object_can_have_are_refused(context: Context) -> Check {
    let long = "a".repeat(64);
    let mut sent = deployment("web");
    sent["spec"]["template"]["metadata"]["labels"]["more"] = json!(long);
    let created = context.deployments().create(sent).await;
    let status = created.refused(422, "Invalid", "a label of the template")?;
    blames(&status, "spec.template.labels")?;
    let mut sent = deployment("web");
    sent["spec"]["selector"]["matchLabels"] = json!({ "app": long });
    let created = context.deployments().create(sent).await;
    let status = created.refused(422, "Invalid", "a label of the selector")?;
    blames(&status, "spec.selector.matchLabels")?;
    let mut sent = service("web");
    sent["spec"]["selector"] = json!({ "app": long });
    let created = context.services().create(sent).await;
    let status = created.refused(422, "Invalid", "the selector of a Service")?;
    blames(&status, "spec.selector")
}

async fn a_volume_has_one_source(context: Context) -> Check {
    let mut sent = deployment("web");
    let volume = json!({"name": "data", "configMap": {"name": "a"}, "emptyDir": {}});
    sent["spec"]["template"]["spec"]["volumes"] = json!([volume]);
    let created = context.deployments().create(sent).await;
    let status = created.refused(422, "Invalid", "two sources")?;
    let causes = status
        .details
        .map(|details| details.causes)
        .unwrap_or_default();
    let is_it = |field: &str| field.starts_with("spec.template.spec.volumes[0].");
    holds(
        causes.iter().any(|cause| is_it(&cause.field)),
        "a source is blamed",
        &causes,
    )
}
