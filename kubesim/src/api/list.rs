//! Lists: whole or paged, at the present or at the revision of the first page.
//!
//! Guarantees: the pages of one list show one revision, rebuilt from history, while history
//! reaches back that far; after that 410 with a token that continues at the present, as
//! kube-apiserver does. Bodies above 128 KB are written piece by piece.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::api::query::{Query, Shape};
use crate::model::event_view;
use crate::model::kind::{Kind, Rules};
use crate::model::record::Record;
use crate::model::selector::Selector;
use crate::model::status::ApiError;
use crate::model::versions;
use crate::store::{State, Store, Table, TableId};

/// The records of one page and its list metadata.
pub(crate) struct Page {
    pub(crate) records: Vec<Arc<Record>>,
    pub(crate) revision: u64,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

/// What a continue token carries; opaque to clients.
#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    /// -1: continue at the present.
    rv: i64,
    /// The last key that was shown.
    start: String,
    /// Objects left after the page that gave this token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<usize>,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

// Wording of kube-apiserver v0.36.4, `pkg/storage/etcd3/errors.go`.
const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const INCONSISTENT_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

impl Token {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(text: &str) -> Result<Token, ApiError> {
        URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Token>(&bytes).ok())
            .filter(|token| token.v == TOKEN_VERSION)
            .ok_or_else(|| {
                ApiError::bad_request("continue key is not valid: incorrect encoding or version")
            })
    }
}

/// At which revision a list is to be shown.
enum At {
    Present,
    Exactly(u64),
}

/// Selects the records of a list or of its next page.
pub(crate) fn page(
    store: &Store,
    id: TableId,
    plural: &str,
    namespace: Option<&str>,
    query: &Query,
) -> Result<Page, ApiError> {
    let selector = Selector::parse(plural, &query.label_selector, &query.field_selector)?;
    let state = store.lock();
    let table = state.table(id).ok_or_else(ApiError::no_such_path)?;
    let token = match query.continue_token.as_str() {
        "" => None,
        text => Some(Token::decode(text)?),
    };
    if token.is_some() && !matches!(query.resource_version.as_str(), "" | "0") {
        return Err(ApiError::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let at = match &token {
        Some(token) => u64::try_from(token.rv).map_or(At::Present, At::Exactly),
        None => requested(&state, query)?,
    };
    let from_cache = token.is_none() && query.resource_version == "0";
    let limit = match query.limit {
        0 => usize::MAX,
        _ if from_cache => usize::MAX,
        limit => limit,
    };
    let revision = match at {
        At::Present => state.revision,
        At::Exactly(revision) => revision,
    };
    if revision < state.revision && !(table.remembers(revision) && revision >= state.compacted) {
        return Err(match token {
            Some(token) => {
                let mut error = ApiError::expired(INCONSISTENT_CONTINUE);
                error.continue_token = Some(Token { rv: -1, ..token }.encode());
                error
            }
            None => ApiError::expired(EXPIRED),
        });
    }

    let after = token.as_ref().map(|token| token.start.as_str());
    let overlay = overlay(table, revision, namespace);
    let mut records = Vec::new();
    let mut more = false;
    for record in walk(table, &overlay, namespace, after) {
        if !selector.matches(record) {
            continue;
        }
        if records.len() == limit {
            more = true;
            break;
        }
        records.push(record.clone());
    }

    let (mut continue_token, mut remaining) = (None, None);
    if more {
        if selector.is_everything() {
            remaining = match token.as_ref().and_then(|token| token.left) {
                Some(left) => Some(left.saturating_sub(records.len())),
                None => Some(
                    walk(table, &overlay, namespace, after)
                        .count()
                        .saturating_sub(records.len()),
                ),
            };
        }
        continue_token = records.last().map(|last| {
            Token {
                v: TOKEN_VERSION.to_owned(),
                rv: i64::try_from(revision).unwrap_or(-1),
                start: last.key.to_string(),
                left: remaining,
            }
            .encode()
        });
    }
    Ok(Page {
        records,
        revision,
        continue_token,
        remaining,
    })
}

fn requested(state: &State, query: &Query) -> Result<At, ApiError> {
    let matching = query.resource_version_match.as_str();
    if !matching.is_empty() && query.resource_version.is_empty() {
        return Err(ApiError::bad_request(
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ));
    }
    if matches!(query.resource_version.as_str(), "" | "0") {
        return Ok(At::Present);
    }
    let revision = parse_revision(&query.resource_version)?;
    if revision > state.revision {
        let mut error = ApiError::new(
            504,
            "Timeout",
            format!(
                "Timeout: Too large resource version: {revision}, current: {}",
                state.revision
            ),
        );
        error.retry_after_s = Some(1);
        return Err(error);
    }
    // A limit with a revision and without resourceVersionMatch means exactly that revision.
    if matching == "Exact" || (matching.is_empty() && query.limit > 0) {
        Ok(At::Exactly(revision))
    } else {
        Ok(At::Present)
    }
}

pub(crate) fn parse_revision(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
        ))
    })
}

/// What was different at `revision`: key to the record of that time, or none.
type Overlay = BTreeMap<Arc<str>, Option<Arc<Record>>>;

fn overlay(table: &Table, revision: u64, namespace: Option<&str>) -> Overlay {
    let mut overlay = Overlay::new();
    // Newest first, so what stays is the state before the earliest change.
    for event in table.since(revision).rev() {
        if in_namespace(&event.record, namespace) {
            overlay.insert(event.record.key.clone(), event.previous.clone());
        }
    }
    overlay
}

pub(crate) fn in_namespace(record: &Record, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| record.namespace() == namespace)
}

/// Records in key order after `after`, with the overlay in force.
fn walk<'a>(
    table: &'a Table,
    overlay: &'a Overlay,
    namespace: Option<&str>,
    after: Option<&str>,
) -> impl Iterator<Item = &'a Arc<Record>> {
    let (first, last) = match namespace {
        // '0' is the byte after '/'.
        Some(namespace) => (format!("{namespace}/"), Some(format!("{namespace}0"))),
        None => (String::new(), None),
    };
    let lower: Bound<&str> = match after {
        Some(after) if after >= first.as_str() => Bound::Excluded(after),
        _ => Bound::Included(first.as_str()),
    };
    let upper: Bound<&str> = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let empty = after
        .zip(last.as_deref())
        .is_some_and(|(after, last)| after >= last);
    let bounds = if empty {
        (Bound::Included(""), Bound::Excluded(""))
    } else {
        (lower, upper)
    };

    let mut present = table.objects.range::<str, _>(bounds).peekable();
    let mut past = overlay.range::<str, _>(bounds).peekable();
    std::iter::from_fn(move || {
        loop {
            let take_past = match (present.peek(), past.peek()) {
                (_, None) => return present.next().map(|(_, record)| record),
                (None, Some(_)) => true,
                (Some((now, _)), Some((then, _))) => {
                    if now < then {
                        return present.next().map(|(_, record)| record);
                    }
                    if now == then {
                        present.next();
                    }
                    true
                }
            };
            if take_past && let Some((_, Some(record))) = past.next() {
                return Some(record);
            }
        }
    })
}

impl Page {
    /// The list as JSON, in pieces of about 64 KB.
    pub(crate) fn encode(
        self,
        kind: &Arc<Kind>,
        shape: Shape,
    ) -> impl Iterator<Item = Bytes> + use<> {
        let mut meta = Map::new();
        meta.insert(
            "resourceVersion".to_owned(),
            json!(self.revision.to_string()),
        );
        if let Some(token) = self.continue_token {
            meta.insert("continue".to_owned(), json!(token));
        }
        if let Some(remaining) = self.remaining {
            meta.insert("remainingItemCount".to_owned(), json!(remaining));
        }
        let (list_kind, api_version) = match shape {
            Shape::Full => (kind.list_kind.clone(), kind.api_version()),
            Shape::MetadataOnly => (
                "PartialObjectMetadataList".to_owned(),
                "meta.k8s.io/v1".to_owned(),
            ),
        };
        // Go's list of metadata without items is `null`.
        let (open, close) = match (shape, self.records.is_empty()) {
            (Shape::MetadataOnly, true) => ("null", "}\n"),
            _ => ("[", "]}\n"),
        };
        let head = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{},\"items\":{open}",
            json!(list_kind),
            json!(api_version),
            json!(meta)
        );
        let kind = Arc::clone(kind);
        let mut records = self.records.into_iter();
        let mut piece = Some(head.into_bytes());
        let mut first = true;
        std::iter::from_fn(move || {
            let mut out = piece.take()?;
            for record in records.by_ref() {
                if !first {
                    out.push(b',');
                }
                first = false;
                item(&mut out, &record, &kind, shape);
                if out.len() >= 64 * 1024 {
                    piece = Some(Vec::with_capacity(68 * 1024));
                    return Some(Bytes::from(out));
                }
            }
            out.extend_from_slice(close.as_bytes());
            Some(Bytes::from(out))
        })
    }

    /// About how long the body will be.
    pub(crate) fn weight(&self) -> usize {
        self.records.iter().map(|record| record.bytes.len()).sum()
    }
}

fn item(out: &mut Vec<u8>, record: &Record, kind: &Kind, shape: Shape) {
    match shape {
        Shape::MetadataOnly => metadata_only(out, record),
        // Items of built-in kinds carry neither apiVersion nor kind.
        Shape::Full if !kind.is_custom() && !matches!(kind.rules, Rules::EventView) => {
            out.push(b'{');
            out.extend_from_slice(record.without_type());
        }
        Shape::Full => out.extend_from_slice(&full(kind, record)),
    }
}

/// The whole object as clients of this kind see it.
pub(crate) fn full(kind: &Kind, record: &Record) -> Bytes {
    match kind.rules {
        Rules::EventView => Bytes::from(event_view::shown(kind, record.object()).to_string()),
        Rules::Custom(_) if record.api_version() != kind.api_version() => {
            Bytes::from(versions::shown(kind, record.object()).to_string())
        }
        _ => record.bytes.clone(),
    }
}

/// The object as `PartialObjectMetadata`.
pub(crate) fn metadata_only(out: &mut Vec<u8>, record: &Record) {
    out.extend_from_slice(
        b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":",
    );
    out.extend_from_slice(record.metadata().as_bytes());
    out.push(b'}');
}
