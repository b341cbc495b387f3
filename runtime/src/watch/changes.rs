//! The watch of one collection of which only keys are of interest, which begins where the server is, and begins there again when the server no longer has what
//! was missed.
//!
//! Guarantees: all that happens after the last [`Change::From`] is shown, in the order of the server.
//! Leaves to others: what happened before (`relist::pass`), what an object means.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt, unfold};
use tokio::time::sleep;

use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError};
use crate::model::{KindId, ObjectKey, PartialObject};
use crate::watch::{Decode, WatchEvent, WatchStream, newest};

/// Pauses before the server is asked again where it is: the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// What a watch says.
#[derive(Debug)]
pub(crate) enum Change {
    /// From now on everything is shown. `after`: everything up to that resourceVersion was shown before; 0 where that is
    /// not known.
    From { after: u64 },
    /// The watch is open, again after a failure.
    Opened,
    /// An object as it is now.
    Object { seen: Changed, line: Vec<u8> },
    /// An object that cannot be decoded.
    Skipped(Option<ObjectKey>),
    /// The collection cannot be listed or watched now.
    Failed(&'static str, ApiError),
}

/// An object that a watch shows.
#[derive(Debug)]
pub(crate) struct Changed {
    pub key: ObjectKey,
    pub is_deleted: bool,
}

struct Keys;

impl Decode for Keys {
    type Object = Changed;

    fn decode(
        &self,
        _: KindId,
        object: &PartialObject<'_>,
        is_deleted: bool,
    ) -> Result<Option<Changed>, serde_json::Error> {
        Ok(Some(Changed {
            key: object.metadata.key(),
            is_deleted,
        }))
    }
}

enum State {
    /// Asks the server where it is. `after`: what was shown before.
    Asking {
        after: u64,
        pause: Duration,
    },
    Watching(Box<WatchStream<Keys>>),
}

/// Watches `collection` for as long as it is polled.
pub(crate) fn watched(api: Api, collection: Arc<Collection>) -> BoxStream<'static, Change> {
    let begin = State::Asking {
        after: 0,
        pause: Duration::ZERO,
    };
    let changes = unfold((begin, api, collection), |(state, api, collection)| async {
        let (change, state) = next(state, &api, &collection).await;
        Some((change, (state, api, collection)))
    });
    changes.boxed()
}

async fn next(state: State, api: &Api, collection: &Arc<Collection>) -> (Change, State) {
    let mut stream = match state {
        State::Watching(stream) => stream,
        State::Asking { after, pause } => {
            sleep(pause).await;
            return match newest(api, collection).await {
                Ok(resource_version) => {
                    let (api, collection) = (api.clone(), Arc::clone(collection));
                    let stream =
                        WatchStream::new(api, collection, Keys, KindId::OWNER, resource_version);
                    (Change::From { after }, State::Watching(Box::new(stream)))
                }
                Err(error) => {
                    let pause = (pause * 2).clamp(PAUSE.0, PAUSE.1);
                    (
                        Change::Failed("list", error),
                        State::Asking { after, pause },
                    )
                }
            };
        }
    };
    loop {
        let item = stream.next().await;
        let change = match item.event {
            WatchEvent::Bookmark => continue,
            WatchEvent::Opened => Change::Opened,
            WatchEvent::Object { object, line } => Change::Object { seen: object, line },
            WatchEvent::Skipped { object } => Change::Skipped(object.map(|(key, _)| key)),
            WatchEvent::Closed(error) => Change::Failed("watch", error),
            WatchEvent::Expired { backwards } => {
                let after = match backwards {
                    true => 0,
                    false => item.resource_version,
                };
                let pause = Duration::ZERO;
                return Box::pin(next(State::Asking { after, pause }, api, collection)).await;
            }
        };
        return (change, State::Watching(stream));
    }
}
