//! Lists from a server that is not to be trusted: any bytes, cut anywhere.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::http::collection::{Collection, ManagedFields};
use crate::http::request::{Api, ApiError};
use crate::metrics::Metrics;
use crate::relist::answer::Answer;
use crate::relist::items::{Item, Items};

const ITEM_BYTES: usize = 400;

/// What was read of a list: its items (`None`: too large), the frame, and the most that was held.
type Read = (Vec<Option<Vec<u8>>>, Vec<u8>, usize);

fn read(pieces: &[&[u8]]) -> Read {
    let mut items = Items::new(ITEM_BYTES, ManagedFields::of("plan"));
    let (mut all, mut most) = (Vec::new(), 0);
    for piece in pieces {
        items.push(piece);
        most = most.max(items.held_bytes());
        while let Some(item) = items.next() {
            all.push(match item {
                Item::Whole(range) => Some(items.bytes()[range].to_vec()),
                Item::TooLarge => None,
            });
        }
    }
    (all, items.frame().to_vec(), most)
}

/// The pieces between the cuts.
fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// A list of three objects, one of them larger than the bound, as it is sent.
fn list() -> Vec<u8> {
    let item = |name: &str| json!({ "metadata": { "name": name, "managedFields": [{ "a": "}]\\\"" }] }, "spec": { "a": [1] } });
    let list = json!({
        "kind": "List", "metadata": { "resourceVersion": "7" },
        "items": [item("a"), item(&"x".repeat(ITEM_BYTES)), item("\"\\")],
    });
    list.to_string().into_bytes()
}

/// Bytes of no meaning, and a list that was damaged: bytes changed, a part repeated or left out, broken off.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let changed = proptest::collection::vec((any::<Index>(), any::<u8>()), 0..4);
    let part = (any::<Index>(), any::<Index>(), 0..4usize);
    let damaged = (changed, part, any::<Index>()).prop_map(|(changed, part, end)| {
        let mut bytes = list();
        for (at, byte) in changed {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (from, to) = (part.0.index(bytes.len()), part.1.index(bytes.len()));
        let part_bytes: Range<usize> = from.min(to)..from.max(to);
        let repeated = bytes[part_bytes.clone()].repeat(part.2);
        bytes.splice(part_bytes, repeated);
        bytes.truncate(end.index(bytes.len() + 1).max(bytes.len() / 2));
        bytes
    });
    let deep = (1..300usize).prop_map(|depth| b"{\"items\":[{\"a\":[".repeat(depth));
    prop_oneof![
        6 => damaged,
        2 => proptest::collection::vec(proptest::sample::select(&b"{}[]\",:\\ a"[..]), 0..200),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => deep,
    ]
}

proptest! {
    #[test]
    fn a_list_reads_the_same_wherever_it_is_cut(
        bytes in hostile(), cuts in proptest::collection::vec(any::<Index>(), 0..6),
    ) {
        let whole = read(&[&bytes]);
        let cut = read(&pieces(&bytes, &cuts));
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        let one_by_one = read(&one_by_one);
        prop_assert_eq!((&cut.0, &cut.1), (&whole.0, &whole.1));
        prop_assert_eq!((&one_by_one.0, &one_by_one.1), (&whole.0, &whole.1));
    }

    #[test]
    fn no_more_is_held_than_was_received_and_no_item_is_larger_than_its_bound(bytes in hostile()) {
        let (items, frame, most) = read(&[&bytes]);
        prop_assert!(most <= bytes.len());
        prop_assert!(frame.len() <= bytes.len());
        let mut sizes = items.iter().flatten().map(Vec::len);
        prop_assert!(sizes.all(|size| size <= ITEM_BYTES));
        // Read as it comes in: the frame, one item and the piece at hand.
        let pieces: Vec<&[u8]> = bytes.chunks(16).collect();
        let (_, frame, most) = read(&pieces);
        prop_assert!(most <= frame.len() + ITEM_BYTES + 16, "{most} bytes");
    }

    /// An answer is a list with all its items, or an error that says what is wrong.
    #[test]
    fn any_answer_is_a_list_or_an_error(bytes in hostile(), size in 1..200usize) {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let wanted = read(&[&bytes[..]]).0.len();
        match answered(&pieces) {
            Ok((items, revision)) => {
                prop_assert_eq!(items, wanted);
                // What is between the items is left out unread.
                let list = serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_or_default();
                if let Some(known) = list["metadata"]["resourceVersion"].as_str() {
                    prop_assert_eq!(known, revision);
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads an answer in these pieces: the number of its items, and its resourceVersion.
fn answered(pieces: &[&[u8]]) -> Result<(usize, String), ApiError> {
    let pieces: Vec<Bytes> = pieces
        .iter()
        .map(|piece| Bytes::copy_from_slice(piece))
        .collect();
    let service = tower::service_fn(move |_: Request<Body>| {
        let frames = pieces
            .clone()
            .into_iter()
            .map(|piece| Ok(Frame::data(piece)));
        let frames = frames.collect::<Vec<Result<_, std::io::Error>>>();
        let body = StreamBody::new(futures::stream::iter(frames));
        async move { Ok::<_, tower::BoxError>(Response::new(body)) }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let client = Client::new(service, "default");
        let api = Api::new(client, Arc::new(Metrics::default()), Duration::from_secs(5));
        let maps = Collection::new("/api/v1", None, "configmaps");
        let mut answer = Answer::open(&api, &maps, maps.path()).await?;
        let mut items = 0;
        while answer.next(&api).await?.is_some() {
            items += 1;
        }
        Ok((items, answer.meta()?.resource_version))
    })
}

/// A frame without an end is not held.
#[test]
fn a_list_that_is_all_frame_is_too_large() {
    let piece = "x".repeat(16 << 10).into_bytes();
    let mut pieces: Vec<&[u8]> = vec![b"{\"kind\":\""];
    pieces.extend(std::iter::repeat_n(&piece[..], 8));
    let error = answered(&pieces).expect_err("128 KiB that are no item");
    assert!(matches!(error, ApiError::TooLarge(_)), "{error}");
}
