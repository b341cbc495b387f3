//! A watch of a server that is not to be trusted: any bytes, cut anywhere.

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
use tokio::time::timeout;

use super::*;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::metrics::Metrics;
use crate::test_operator::Sites;

/// Keeps the key of an object.
struct Keys;

impl Decode for Keys {
    type Object = String;

    fn decode(
        &self,
        _: KindId,
        object: &PartialObject<'_>,
        _: bool,
    ) -> Result<Option<String>, serde_json::Error> {
        Ok(Some(object.metadata.key().as_str().to_owned()))
    }
}

/// A client whose first answer is this body in these pieces; all others never come.
fn client(pieces: Vec<Bytes>) -> Client {
    let mut once = Some(pieces);
    let service = tower::service_fn(move |_: Request<Body>| {
        let pieces = once.take();
        async move {
            let Some(pieces) = pieces else {
                std::future::pending::<()>().await;
                return Err(tower::BoxError::from("never"));
            };
            let frames = pieces.into_iter().map(|piece| Ok(Frame::data(piece)));
            let frames = frames.collect::<Vec<Result<_, std::io::Error>>>();
            Ok(Response::new(StreamBody::new(futures::stream::iter(
                frames,
            ))))
        }
    });
    Client::new(service, "default")
}

/// What the watch shows of the body, without what follows its end.
fn events(pieces: Vec<Bytes>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let metrics = std::sync::Arc::new(Metrics::default());
        let api = Api::new(client(pieces), metrics, Duration::from_secs(5));
        let paths = Paths::of::<Sites>(&[], None);
        let collection = std::sync::Arc::clone(paths.collection(KindId::OWNER));
        let mut watch = WatchStream::new(api, collection, Keys, KindId::OWNER, 10);
        let mut shown = Vec::new();
        // The first failure waits 250 ms before the next request.
        while let Ok(item) = timeout(Duration::from_millis(200), watch.next()).await {
            shown.push(match item.event {
                WatchEvent::Object { object, line } => format!("{object} {}", line.len()),
                WatchEvent::Closed(error) => format!("closed: {error}"),
                WatchEvent::Skipped { object } => {
                    format!("skipped {:?}", object.map(|(key, _)| key))
                }
                other => format!("{other:?}"),
            });
        }
        shown
    })
}

fn event(type_: &str, name: &str, revision: &str) -> Vec<u8> {
    let object = json!({ "metadata": {
        "name": name, "namespace": "shop", "resourceVersion": revision,
        "uid": "01234567-89ab-cdef-0123-456789abcdef",
    } });
    format!("{}\n", json!({ "type": type_, "object": object })).into_bytes()
}

/// Events that are right, of another form, or damaged.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let types = prop_oneof![
        Just("ADDED"),
        Just("MODIFIED"),
        Just("DELETED"),
        Just("BOOKMARK"),
        Just("ODD"),
        Just("ERROR")
    ];
    let right = (types, "[a-z]{0,3}", 8..20u64)
        .prop_map(|(type_, name, revision)| event(type_, &name, &revision.to_string()));
    let odd_revision =
        proptest::sample::select(&["", "-1", "x", "18446744073709551616", "1e3"][..]);
    let odd = odd_revision.prop_map(|revision| event("ADDED", "odd", revision));
    let damage = (any::<Index>(), any::<u8>());
    let damaged = proptest::collection::vec(damage, 1..4).prop_map(|changes| {
        let mut line = event("ADDED", "damaged", "12");
        for (at, byte) in changes {
            let at = at.index(line.len());
            line[at] = byte;
        }
        line
    });
    let deep = (1..400usize).prop_map(|depth| {
        let open = "{\"object\":[".repeat(depth);
        format!("{{\"type\":\"ADDED\",\"object\":{open}\n").into_bytes()
    });
    prop_oneof![
        4 => right,
        1 => odd,
        3 => damaged,
        1 => deep,
        1 => proptest::collection::vec(any::<u8>(), 0..60),
    ]
}

/// As a proxy passes it on that has lost the status line.
#[test]
fn a_refusal_that_is_no_event_is_a_refusal() {
    for (code, want) in [
        (410, "Expired { backwards: false }"),
        (403, "closed: no (Expired, 403)"),
    ] {
        let status =
            json!({ "kind": "Status", "message": "no", "reason": "Expired", "code": code });
        let shown = events(vec![Bytes::from(format!("{status}\n"))]);
        assert_eq!(shown, ["Opened", want], "{code}");
    }
}

fn cut(bytes: &[u8], cuts: &[Index]) -> Vec<Bytes> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
    pieces.map(Bytes::copy_from_slice).collect()
}

proptest! {
    #[test]
    fn a_stream_shows_the_same_wherever_it_is_cut(
        lines in proptest::collection::vec(line(), 0..6),
        cuts in proptest::collection::vec(any::<Index>(), 0..8),
    ) {
        let bytes = lines.concat();
        let whole = events(vec![Bytes::copy_from_slice(&bytes)]);
        prop_assert_eq!(&events(cut(&bytes, &cuts)), &whole);
        let one_by_one = bytes.chunks(1).map(Bytes::copy_from_slice).collect();
        prop_assert_eq!(&events(one_by_one), &whole);
    }

    /// What follows a line that cannot be read is shown, unless the line was an error of the server or went
    /// backwards.
    #[test]
    fn what_follows_a_damaged_line_is_shown(line in line()) {
        let mut bytes = line;
        bytes.push(b'\n');
        bytes.extend(event("ADDED", "after", "30"));
        let shown = events(vec![Bytes::from(bytes)]);
        let ends = |event: &String| event.starts_with("closed") || event.starts_with("Expired");
        let is_after = |event: &String| event.starts_with("shop/after");
        prop_assert!(shown.iter().any(ends) || shown.iter().any(is_after), "{shown:?}");
    }
}
