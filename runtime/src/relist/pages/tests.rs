//! Pages of a server that breaks off, against the list that it has.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::http::paths::Paths;
use crate::metrics::Metrics;
use crate::test_operator::Sites;

/// How the server ends its answers, by number: after so many bytes, with an error or as if all was sent.
type Breaks = Vec<Option<(usize, bool)>>;

/// How long a request may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// What was requested: limit and token.
type Requests = Arc<Mutex<Vec<(usize, usize)>>>;

/// `pause`: before each part of an answer.
fn client(objects: usize, breaks: Breaks, requests: Requests, pause: Duration) -> Client {
    let number = Arc::new(AtomicUsize::new(0));
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name)?.1.parse::<usize>().ok()
        };
        let (limit, from) = (
            value("limit").unwrap_or(objects),
            value("continue").unwrap_or(0),
        );
        requests.lock().expect("a lock").push((limit, from));
        let to = objects.min(from + limit);
        let items: Vec<_> = (from..to)
            .map(|n| json!({"metadata": {"name": format!("o{n:05}"), "managedFields": [1, 2]}}))
            .collect();
        let resume = if to < objects {
            to.to_string()
        } else {
            String::new()
        };
        let list =
            json!({"items": items, "metadata": {"resourceVersion": "7", "continue": resume}});
        let number = number.fetch_add(1, Relaxed);
        let mut text = list.to_string();
        let mut end = None;
        if let Some((bytes, with_error)) = breaks.get(number).copied().flatten() {
            text.truncate(bytes);
            end = with_error.then(|| Err(std::io::Error::other("reset")));
        }
        let frames: Vec<_> = text
            .into_bytes()
            .chunks(1_000)
            .map(|bytes| Ok(Frame::data(Bytes::copy_from_slice(bytes))))
            .chain(end)
            .collect();
        let frames = futures::stream::iter(frames).then(move |frame| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            frame
        });
        let body = StreamBody::new(frames);
        async move { Ok::<_, tower::BoxError>(Response::new(body)) }
    });
    Client::new(service, "default")
}

/// The names of all objects, and what was requested for them.
async fn read_all(
    objects: usize,
    breaks: Breaks,
) -> Result<(Vec<String>, Vec<(usize, usize)>), ListError> {
    read_slowly(objects, breaks, Duration::ZERO).await
}

async fn read_slowly(
    objects: usize,
    breaks: Breaks,
    pause: Duration,
) -> Result<(Vec<String>, Vec<(usize, usize)>), ListError> {
    let requests = Requests::default();
    let client = client(objects, breaks, Arc::clone(&requests), pause);
    let api = Api::new(client, Arc::new(Metrics::default()), DEADLINE);
    let paths = Paths::of::<Sites>(&[], None);
    let mut pages = Pages::new(KindId::OWNER, paths.parts(KindId::OWNER).to_vec());
    let mut names = Vec::new();
    assert_eq!(pages.open(&api).await?, 7);
    pages.fill(&api).await?;
    while let Some(object) = pages.object() {
        names.push(object.expect("an object").metadata.name.into_owned());
        pages.advance(&api).await?;
    }
    assert_eq!(pages.read(), names.len());
    let requests = requests.lock().expect("a lock").clone();
    Ok((names, requests))
}

fn names(objects: usize) -> Vec<String> {
    (0..objects).map(|n| format!("o{n:05}")).collect()
}

#[tokio::test]
async fn the_first_page_is_small_and_the_others_are_large() -> Result<(), ListError> {
    let (read, requests) = read_all(1_234, Vec::new()).await?;
    assert_eq!(read, names(1_234));
    assert_eq!(requests, [(100, 0), (500, 100), (500, 600), (500, 1_100)]);
    Ok(())
}

#[tokio::test]
async fn the_rest_of_a_page_that_broke_off_is_requested_with_the_same_token()
-> Result<(), ListError> {
    let breaks = vec![None, Some((20_000, true)), Some((16_000, false))];
    let (read, requests) = read_all(1_000, breaks).await?;
    assert_eq!(read, names(1_000));
    let tokens: Vec<usize> = requests.iter().map(|(_, from)| *from).collect();
    assert_eq!(tokens[..3], [0, 100, 100], "{requests:?}");
    assert!(requests[2].0 < requests[1].0, "{requests:?}");
    Ok(())
}

/// The deadline is of each wait for bytes.
#[tokio::test(start_paused = true)]
async fn a_page_that_takes_minutes_is_read_to_its_end() -> Result<(), ListError> {
    let started = tokio::time::Instant::now();
    let (read, requests) = read_slowly(600, Vec::new(), DEADLINE / 2).await?;
    assert_eq!(read, names(600));
    assert_eq!(requests, [(100, 0), (500, 100)], "it is requested once");
    assert!(started.elapsed() > Duration::from_secs(60));
    Ok(())
}

#[tokio::test]
async fn a_page_that_never_begins_is_an_error() {
    let nothing = Some((0, true));
    let read = read_all(1_000, vec![None, nothing, nothing, nothing]).await;
    assert!(read.is_err(), "{read:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_object_is_read_once_in_order(
        objects in 0..900usize,
        breaks in proptest::collection::vec(proptest::option::of((1..40_000usize, any::<bool>())), 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        // The first page is requested again as a whole by whoever asks.
        let breaks: Breaks = std::iter::once(None).chain(breaks).collect();
        if let Ok((read, _)) = runtime.block_on(read_all(objects, breaks)) {
            prop_assert_eq!(read, names(objects));
        }
    }
}
