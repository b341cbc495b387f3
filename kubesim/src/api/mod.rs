//! The verbs of the API, on objects and collections.
//!
//! Guarantees: a write is computed outside the store's lock and committed only if nobody wrote in
//! between; otherwise it is computed again. A write that changes nothing commits nothing.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod commit;
mod create;
pub(crate) mod definition;
pub(crate) mod delete;
pub(crate) mod discovery;
pub(crate) mod list;
mod patch;
pub(crate) mod pod_log;
mod prepare;
pub(crate) mod query;
mod scale;
mod scale_rules;
pub(crate) mod seed;
pub(crate) mod update;
pub(crate) mod watch;

use bytes::Bytes;
use http::HeaderMap;

use crate::api::answer::Answer;
use crate::api::call::Call;
use crate::api::query::Query;
use crate::model::kind::Rules;
use crate::model::status::ApiError;

pub(crate) fn run(
    verb: &str,
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    check_dry_run(call.query)?;
    match (verb, call.subresource) {
        ("get" | "update" | "patch", Some("scale")) if call.served.kind.scale.is_some() => {
            scale::run(verb, call, headers, body)
        }
        ("get", Some("log")) if matches!(call.served.kind.rules, Rules::Pod) => pod_log::run(call),
        (_, Some("status"))
            if call.served.kind.has_status && verb != "create" && verb != "delete" =>
        {
            main(verb, call, headers, body)
        }
        (_, None) => main(verb, call, headers, body),
        (_, Some(other)) => Err(unknown_subresource(call, other)),
    }
}

fn main(
    verb: &str,
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    match verb {
        "get" => get(call),
        "create" if !call.name.is_empty() => {
            Err(ApiError::method_not_allowed(&call.served.kind, "create"))
        }
        "create" => create::run(call, headers, body),
        "update" => update::run(call, headers, body),
        "patch" => patch::run(call, headers, body),
        "delete" => delete::run(call, body),
        "deletecollection" => delete::run_collection(call, body),
        other => Err(ApiError::method_not_allowed(&call.served.kind, other)),
    }
}

fn unknown_subresource(call: &Call<'_>, subresource: &str) -> ApiError {
    const REAL: [&str; 10] = [
        "log",
        "exec",
        "attach",
        "portforward",
        "proxy",
        "eviction",
        "binding",
        "ephemeralcontainers",
        "resize",
        "finalize",
    ];
    let kind = &call.served.kind;
    if !kind.is_custom() && REAL.contains(&subresource) {
        ApiError::not_implemented(&format!("{}/{subresource}", kind.plural))
    } else {
        ApiError::no_such_path()
    }
}

fn check_dry_run(query: &Query) -> Result<(), ApiError> {
    match query.dry_run.as_deref() {
        None | Some("All") => Ok(()),
        Some(other) => Err(ApiError::new(
            422,
            "Invalid",
            format!(
                "Options.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"{other}\"]: supported values: \"All\""
            ),
        )),
    }
}

fn get(call: &Call<'_>) -> Result<Answer, ApiError> {
    let record = call.stored()?;
    Ok(call.show(200, &record))
}
