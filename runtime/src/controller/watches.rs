//! The watches of all kinds.
//!
//! Guarantees: each is read in its turn, so that a busy one does not keep the others waiting.
//! Leaves to others: how one recovers (`watch`), what its items mean (`engine`).

use std::task::{Context, Poll};

use futures::StreamExt;
use futures::stream::{BoxStream, unfold};

use crate::model::KindId;
use crate::reconcile::observe::Observed;
use crate::watch::{Decode, WatchItem, WatchStream};

type Watch = BoxStream<'static, WatchItem<Observed>>;

/// The watches of all kinds.
pub(crate) struct Watches {
    /// By index of the kind; `None` while a watch waits for a relist to know where it begins.
    streams: Vec<Option<Watch>>,
    /// Index of the one that is polled first.
    turn: usize,
}

impl Watches {
    /// None of `kinds` watches is open.
    pub fn new(kinds: usize) -> Self {
        Self {
            streams: (0..kinds).map(|_| None).collect(),
            turn: 0,
        }
    }

    /// Whether there is a watch of `kind`.
    pub fn is_open(&self, kind: KindId) -> bool {
        self.streams[kind.index()].is_some()
    }

    /// Whether there is a watch of every kind.
    pub fn are_open(&self) -> bool {
        self.streams.iter().all(Option::is_some)
    }

    /// The watch of `kind` begins.
    pub fn open<D>(&mut self, kind: KindId, stream: WatchStream<D>)
    where
        D: Decode<Object = Observed> + Send + Sync + 'static,
    {
        let items = unfold(stream, |mut stream| async {
            Some((stream.next().await, stream))
        });
        self.streams[kind.index()] = Some(items.boxed());
    }

    /// The watch of `kind` ends.
    pub fn close(&mut self, kind: KindId) {
        self.streams[kind.index()] = None;
    }

    /// All watches end.
    pub fn close_all(&mut self) {
        self.streams.fill_with(|| None);
    }

    /// The next item of any watch; they take turns.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<WatchItem<Observed>> {
        let count = self.streams.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            if let Some(watch) = &mut self.streams[index]
                && let Poll::Ready(Some(item)) = watch.poll_next_unpin(cx)
            {
                self.turn = index + 1;
                return Poll::Ready(item);
            }
        }
        Poll::Pending
    }
}
