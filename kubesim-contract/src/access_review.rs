//! SelfSubjectAccessReviews: what a user may do.

use serde_json::json;

use crate::expect::{Check, Expect, equal, field, mentions, text};
use crate::{Context, theme};

theme! { "access review":
    a_review_says_what_the_user_may_do_and_is_not_stored,
    a_review_of_nothing_is_invalid,
}

const PATH: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// The suite runs as somebody who may do everything.
async fn a_review_says_what_the_user_may_do_and_is_not_stored(context: Context) -> Check {
    let reviews = context.at(PATH);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": "create", "group": "contract.tare.dev", "resource": "widgets",
            "namespace": context.namespace}}});
    let answer = reviews.create(review).await.succeeds("reviewing")?;
    field(&answer, "/kind", "SelfSubjectAccessReview")?;
    field(&answer, "/status/allowed", true)?;
    field(&answer, "/spec/resourceAttributes/resource", "widgets")?;
    equal("its name", &text(&answer, "/metadata/name"), &String::new())
}

async fn a_review_of_nothing_is_invalid(context: Context) -> Check {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}});
    let answer = context.at(PATH).create(review).await;
    let status = answer.refused(422, "Invalid", "a review of nothing")?;
    let wanted = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    mentions("the message", &status.message, wanted)
}
