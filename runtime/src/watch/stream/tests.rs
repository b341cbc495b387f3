//! When the server is asked where it is before a watch is opened again.

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;

use super::*;
use crate::http::paths::Paths;
use crate::metrics::Metrics;
use crate::model::OwnerState;
use crate::test_operator::Sites;

/// Shows nothing of any object.
struct Nothing;

impl Decode for Nothing {
    type Object = ();

    fn decode(
        &self,
        _: KindId,
        _: &PartialObject<'_>,
        _: bool,
    ) -> Result<Option<()>, serde_json::Error> {
        Ok(None)
    }
}

/// A server that ends every watch after so long, and was restored from a backup meanwhile.
fn client(ends_after: Duration) -> Client {
    let service = tower::service_fn(move |request: Request<Body>| async move {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=1"));
        let list = Bytes::from_static(br#"{"items":[],"metadata":{"resourceVersion":"3"}}"#);
        let end = futures::stream::once(async move {
            tokio::time::sleep(ends_after).await;
            Frame::data(Bytes::new())
        });
        let frames = match is_watch {
            true => end.left_stream(),
            false => futures::stream::iter([Frame::data(list)]).right_stream(),
        };
        let frames = frames.map(Ok::<_, std::io::Error>);
        Ok::<_, tower::BoxError>(Response::new(StreamBody::new(frames)))
    });
    Client::new(service, "default")
}

/// Whether a server that was restored, and is at 3, is noticed after a watch whose end is seen after so long. It had
/// shown everything up to `shown`, and answers had named `answered`.
async fn is_noticed_after(ends_after: Duration, shown: u64, answered: u64) -> bool {
    let metrics = Arc::new(Metrics::default());
    let api = Api::new(client(ends_after), metrics, Duration::from_secs(5));
    let paths = Paths::of::<Sites>(&[], None);
    let collection = Arc::clone(paths.collection(KindId::OWNER));
    let watch = WatchStream::new(api, collection, Nothing, KindId::OWNER, shown);
    let versions = Versions::new(1);
    versions.answer(&{
        let mut state = OwnerState::default();
        state.object.own_version = answered;
        state
    });
    let mut watch = watch.with_versions(versions);
    let first = watch.next().await.event;
    assert!(matches!(first, WatchEvent::Opened), "{first:?}");
    match watch.next().await.event {
        WatchEvent::Opened => false,
        WatchEvent::Expired { backwards } => backwards,
        other => panic!("{other:?}"),
    }
}

/// A process that stands still while the server ends its watches sees that late.
#[tokio::test(start_paused = true)]
async fn a_restored_server_is_noticed_after_a_watch_that_did_not_end_at_its_time() {
    for (seconds, noticed) in [(285, true), (290, false), (295, true)] {
        let found = is_noticed_after(Duration::from_secs(seconds), 10, 0).await;
        assert_eq!(found, noticed, "after {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_behind_its_answers_was_restored() {
    for (answered, noticed) in [(0, false), (3, false), (4, true)] {
        let found = is_noticed_after(Duration::from_secs(1), 3, answered).await;
        assert_eq!(found, noticed, "answered {answered}");
    }
}
