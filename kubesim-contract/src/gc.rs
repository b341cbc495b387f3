//! Garbage collection by ownerReferences: background, orphan, foreground.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, eventually, field, holds, uid};
use crate::fixture::{config_map, owned_by, owner_reference, widget};
use crate::rest::Patch;
use crate::{Context, theme};

const HOLD: &str = "contract.tare.dev/hold";

theme! { "garbage collection":
    children_follow_their_owner,
    children_of_a_custom_resource_follow_it,
    grandchildren_follow_too,
    orphans_stay_and_lose_their_owner,
    foreground_deletion_waits_for_the_children,
    a_child_of_nobody_is_collected,
    a_child_of_an_earlier_owner_of_that_name_is_collected,
    a_child_with_another_living_owner_stays,
    a_child_is_not_collected_while_its_owner_terminates,
}

async fn children_follow_their_owner(context: Context) -> Check {
    let maps = context.config_maps();
    let owner = owner(&context).await?;
    maps.create(owned_by(&owner, "child"))
        .await
        .succeeds("creating the child")?;
    maps.create(config_map("bystander"))
        .await
        .succeeds("creating a bystander")?;
    maps.delete("owner").await.succeeds("deleting the owner")?;
    gone(&context, "child").await?;
    holds(
        maps.exists("bystander").await?,
        "the bystander stays",
        "it went",
    )
}

/// On a real server this takes up to 30 s, until the garbage collector has discovered the new kind.
async fn children_of_a_custom_resource_follow_it(context: Context) -> Check {
    let widgets = context.widgets();
    let owner = widgets.create(widget("owner")).await.succeeds("creating")?;
    let child = context
        .config_maps()
        .create(owned_by(&owner, "child"))
        .await;
    child.succeeds("creating the child")?;
    let background = json!({ "propagationPolicy": "Background" });
    let deleted = widgets.delete_with("owner", background).await;
    deleted.succeeds("deleting the owner")?;
    gone(&context, "child").await
}

async fn grandchildren_follow_too(context: Context) -> Check {
    let maps = context.config_maps();
    let owner = owner(&context).await?;
    let child = maps.create(owned_by(&owner, "child")).await;
    let child = typed(child.succeeds("creating the child")?);
    let grandchild = maps.create(owned_by(&child, "grandchild")).await;
    grandchild.succeeds("creating the grandchild")?;
    maps.delete("owner").await.succeeds("deleting the owner")?;
    gone(&context, "child").await?;
    gone(&context, "grandchild").await
}

async fn orphans_stay_and_lose_their_owner(context: Context) -> Check {
    let maps = context.config_maps();
    let owner = owner(&context).await?;
    maps.create(owned_by(&owner, "child"))
        .await
        .succeeds("creating the child")?;
    let orphan = json!({ "propagationPolicy": "Orphan" });
    maps.delete_with("owner", orphan)
        .await
        .succeeds("deleting the owner")?;
    gone(&context, "owner").await?;
    let child = maps.get("child").await.succeeds("reading the child")?;
    field(&child, "/metadata/ownerReferences", json!(null))
}

async fn foreground_deletion_waits_for_the_children(context: Context) -> Check {
    let maps = context.config_maps();
    let owner = owner(&context).await?;
    let mut child = owned_by(&owner, "child");
    child["metadata"]["finalizers"] = json!([HOLD]);
    maps.create(child).await.succeeds("creating the child")?;
    let foreground = json!({ "propagationPolicy": "Foreground" });
    let deleted = maps.delete_with("owner", foreground).await;
    let deleted = deleted.succeeds("deleting the owner")?;
    field(
        &deleted,
        "/metadata/finalizers",
        json!(["foregroundDeletion"]),
    )?;
    eventually("the child terminates", || async {
        let child = maps.get("child").await.succeeds("reading the child")?;
        Ok(child["metadata"]["deletionTimestamp"].is_string())
    })
    .await?;
    holds(maps.exists("owner").await?, "the owner waits", "it went")?;
    release(&context, "child").await?;
    gone(&context, "child").await?;
    gone(&context, "owner").await
}

async fn a_child_of_nobody_is_collected(context: Context) -> Check {
    let maps = context.config_maps();
    let mut nobody = config_map("nobody");
    nobody["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111".into();
    maps.create(owned_by(&nobody, "child"))
        .await
        .succeeds("creating the child")?;
    gone(&context, "child").await
}

async fn a_child_of_an_earlier_owner_of_that_name_is_collected(context: Context) -> Check {
    let maps = context.config_maps();
    let earlier = owner(&context).await?;
    maps.delete("owner").await.succeeds("deleting the owner")?;
    let later = owner(&context).await?;
    holds(
        uid(&later) != uid(&earlier),
        "the owners differ",
        uid(&later),
    )?;
    maps.create(owned_by(&earlier, "child"))
        .await
        .succeeds("creating the child")?;
    gone(&context, "child").await?;
    holds(
        maps.exists("owner").await?,
        "the later owner stays",
        "it went",
    )
}

async fn a_child_with_another_living_owner_stays(context: Context) -> Check {
    let maps = context.config_maps();
    let owner = owner(&context).await?;
    let other = maps.create(config_map("other")).await;
    let other = typed(other.succeeds("creating the other owner")?);
    let mut child = config_map("child");
    let mut second = owner_reference(&other);
    second["controller"] = false.into();
    child["metadata"]["ownerReferences"] = json!([owner_reference(&owner), second]);
    maps.create(child).await.succeeds("creating the child")?;
    maps.delete("owner").await.succeeds("deleting one owner")?;
    eventually(
        "the reference to the owner that went is removed",
        || async {
            let child = maps.get("child").await.succeeds("reading the child")?;
            Ok(child["metadata"]["ownerReferences"]
                .as_array()
                .map(Vec::len)
                == Some(1))
        },
    )
    .await?;
    let child = maps.get("child").await.succeeds("reading the child")?;
    field(&child, "/metadata/ownerReferences/0/name", "other")?;
    maps.delete("other")
        .await
        .succeeds("deleting the other owner")?;
    gone(&context, "child").await
}

async fn a_child_is_not_collected_while_its_owner_terminates(context: Context) -> Check {
    let maps = context.config_maps();
    let mut sent = config_map("owner");
    sent["metadata"]["finalizers"] = json!([HOLD]);
    let owner = maps.create(sent).await.succeeds("creating the owner")?;
    let owner = typed(owner);
    maps.create(owned_by(&owner, "child"))
        .await
        .succeeds("creating the child")?;
    maps.delete("owner").await.succeeds("deleting the owner")?;
    // The collector processes this object after the owner; once it is gone, the owner was processed.
    let mut nobody = config_map("nobody");
    nobody["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111".into();
    maps.create(owned_by(&nobody, "marker"))
        .await
        .succeeds("creating a marker")?;
    gone(&context, "marker").await?;
    holds(maps.exists("child").await?, "the child stays", "it went")?;
    release(&context, "owner").await?;
    gone(&context, "child").await
}

async fn owner(context: &Context) -> Result<Value, Failure> {
    let created = context.config_maps().create(config_map("owner")).await;
    Ok(typed(created.succeeds("creating the owner")?))
}

/// Sets apiVersion and kind, which an answer about a built-in kind may leave out.
fn typed(mut object: Value) -> Value {
    object["apiVersion"] = "v1".into();
    object["kind"] = "ConfigMap".into();
    object
}

async fn gone(context: &Context, name: &str) -> Check {
    let maps = context.config_maps();
    let what = format!("{name} is gone");
    eventually(&what, || async { Ok(!maps.exists(name).await?) }).await
}

async fn release(context: &Context, name: &str) -> Check {
    let patch = json!({ "metadata": { "finalizers": null } });
    let patched = context.config_maps().patch(name, Patch::Merge, patch).await;
    patched.succeeds("releasing it").map(|_| ())
}
