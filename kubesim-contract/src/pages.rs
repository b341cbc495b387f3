//! Paged lists: limits, continue tokens, and consistency while others write.

use serde_json::{Value, json};

use crate::expect::{
    Check, Expect, Failure, at, equal, field, holds, mentions, names, resource_version, text,
};
use crate::fixture::{labelled, widget};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "pages":
    a_limit_cuts_the_list_into_pages,
    the_remaining_items_are_counted,
    a_selector_hides_the_count_of_the_remaining,
    the_last_page_has_no_token,
    pages_show_one_moment,
    a_token_works_in_the_whole_cluster,
    a_broken_token_is_a_bad_request,
    a_token_and_a_resource_version_exclude_each_other,
    an_expired_token_gives_another_to_go_on_with [compacts],
}

async fn a_limit_cuts_the_list_into_pages(context: Context) -> Check {
    create(&context, 7).await?;
    let pages = pages(&context, "limit=3").await?;
    let sizes: Vec<usize> = pages.iter().map(|page| names(page).len()).collect();
    equal("the sizes", &sizes, &vec![3, 3, 1])?;
    let all: Vec<String> = pages.iter().flat_map(names).collect();
    let whole = context.widgets().list("").await.succeeds("listing")?;
    equal("the pages together", &all, &names(&whole))
}

async fn the_remaining_items_are_counted(context: Context) -> Check {
    create(&context, 7).await?;
    let pages = pages(&context, "limit=3").await?;
    for (page, want) in pages.iter().zip([json!(4), json!(1), json!(null)]) {
        field(page, "/metadata/remainingItemCount", want)?;
    }
    Ok(())
}

async fn a_selector_hides_the_count_of_the_remaining(context: Context) -> Check {
    create(&context, 4).await?;
    let pages = pages(&context, "limit=2&labelSelector=set%3Da").await?;
    equal("the number of pages", &pages.len(), &2)?;
    field(&pages[0], "/metadata/remainingItemCount", json!(null))
}

async fn the_last_page_has_no_token(context: Context) -> Check {
    create(&context, 4).await?;
    // The last page is full, and still the last.
    let pages = pages(&context, "limit=2").await?;
    equal("the number of pages", &pages.len(), &2)?;
    let list = context
        .widgets()
        .list("limit=4")
        .await
        .succeeds("listing")?;
    equal(
        "continue",
        &text(&list, "/metadata/continue"),
        &String::new(),
    )
}

async fn pages_show_one_moment(context: Context) -> Check {
    create(&context, 6).await?;
    let widgets = context.widgets();
    let first = widgets.list("limit=2").await.succeeds("the first page")?;
    // Between the pages one object is created, one changed and one deleted.
    widgets.create(widget("w25")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "size": 2 } });
    widgets
        .patch("w3", Patch::Merge, patch)
        .await
        .succeeds("changing")?;
    widgets.delete("w4").await.succeeds("deleting")?;
    let rest = pages(&context, &format!("limit=2&continue={}", token(&first))).await?;
    let items: Vec<Value> = rest
        .iter()
        .flat_map(|page| at(page, "/items").as_array().into_iter().flatten().cloned())
        .collect();
    let listed: Vec<String> = items
        .iter()
        .map(|item| text(item, "/metadata/name"))
        .collect();
    equal(
        "the other pages",
        &listed,
        &["w2", "w3", "w4", "w5"].map(str::to_owned).to_vec(),
    )?;
    field(&items[1], "/spec/size", 1)?;
    for page in &rest {
        equal(
            "the resourceVersion",
            &resource_version(page),
            &resource_version(&first),
        )?;
    }
    Ok(())
}

async fn a_token_works_in_the_whole_cluster(context: Context) -> Check {
    create(&context, 3).await?;
    let set = &context.namespace;
    let widgets = context.widgets();
    for name in ["w0", "w1", "w2"] {
        let patch = json!({ "metadata": { "labels": { "set": set } } });
        widgets
            .patch(name, Patch::Merge, patch)
            .await
            .succeeds("labelling")?;
    }
    let all = context.all_widgets();
    let query = format!("limit=2&labelSelector=set%3D{set}");
    let first = all.list(&query).await.succeeds("the first page")?;
    equal(
        "the first page",
        &names(&first),
        &["w0", "w1"].map(str::to_owned).to_vec(),
    )?;
    let next = all
        .list(&format!("{query}&continue={}", token(&first)))
        .await;
    let next = next.succeeds("the second page")?;
    equal("the second page", &names(&next), &vec!["w2".to_owned()])
}

async fn a_broken_token_is_a_bad_request(context: Context) -> Check {
    let list = context.widgets().list("limit=1&continue=broken").await;
    let status = list.refused(400, "BadRequest", "continuing with a broken token")?;
    mentions("the message", &status.message, "continue key is not valid")
}

async fn a_token_and_a_resource_version_exclude_each_other(context: Context) -> Check {
    create(&context, 2).await?;
    let widgets = context.widgets();
    let first = widgets.list("limit=1").await.succeeds("the first page")?;
    let query = format!(
        "limit=1&continue={}&resourceVersion={}",
        token(&first),
        resource_version(&first)
    );
    let list = widgets.list(&query).await;
    let status = list.refused(400, "BadRequest", "continuing at a resourceVersion")?;
    mentions(
        "the message",
        &status.message,
        "specifying resource version is not allowed when using continue",
    )
}

async fn an_expired_token_gives_another_to_go_on_with(context: Context) -> Check {
    create(&context, 5).await?;
    let widgets = context.widgets();
    let first = widgets.list("limit=2").await.succeeds("the first page")?;
    widgets.create(widget("w25")).await.succeeds("creating")?;
    widgets.delete("w3").await.succeeds("deleting")?;
    context.compact().await?;
    let query = format!("limit=2&continue={}", token(&first));
    let status = widgets.list(&query).await;
    let status = status.refused(410, "Expired", "continuing after compaction")?;
    mentions(
        "the message",
        &status.message,
        "The provided continue parameter is too old",
    )?;
    let fresh = status.metadata.and_then(|metadata| metadata.continue_);
    let Some(fresh) = fresh.filter(|token| !token.is_empty()) else {
        return Err(Failure::new(
            "the refusal",
            "another continue token",
            "none",
        ));
    };
    // The new token continues after the first page, at the current resourceVersion.
    let rest = pages(&context, &format!("limit=2&continue={}", encoded(&fresh))).await?;
    let listed: Vec<String> = rest.iter().flat_map(names).collect();
    equal(
        "the rest",
        &listed,
        &["w2", "w25", "w4"].map(str::to_owned).to_vec(),
    )?;
    let (old, new) = (resource_version(&first), resource_version(&rest[0]));
    holds(old != new, "the resourceVersion is another", new)
}

/// Creates `w0`, `w1`, … with a label.
async fn create(context: &Context, count: usize) -> Check {
    for index in 0..count {
        let created = context
            .widgets()
            .create(labelled(&format!("w{index}"), "a"))
            .await;
        created.succeeds("creating")?;
    }
    Ok(())
}

/// All pages of a list that begins with this query.
async fn pages(context: &Context, query: &str) -> Result<Vec<Value>, Failure> {
    let widgets = context.widgets();
    let base: Vec<&str> = query
        .split('&')
        .filter(|part| !part.starts_with("continue="))
        .collect();
    let base = base.join("&");
    let mut pages = vec![widgets.list(query).await.succeeds("a page")?];
    while let Some(token) = pages.last().map(token).filter(|token| !token.is_empty()) {
        let page = widgets.list(&format!("{base}&continue={token}")).await;
        pages.push(page.succeeds("another page")?);
        holds(pages.len() < 100, "the pages end", pages.len())?;
    }
    Ok(pages)
}

fn token(page: &Value) -> String {
    encoded(&text(page, "/metadata/continue"))
}

/// Percent-encodes the characters of base64 that a query cannot contain.
fn encoded(token: &str) -> String {
    token
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D")
}
