//! The watches of all kinds, one for each part of a kind.
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
    kinds: usize,
    /// Those of a kind wait for a relist to know where they begin.
    streams: Vec<(KindId, Watch)>,
    /// Index of the one that is polled first.
    turn: usize,
}

impl Watches {
    /// None of `kinds` watches is open.
    pub fn new(kinds: usize) -> Self {
        Self {
            kinds,
            streams: Vec::new(),
            turn: 0,
        }
    }

    /// Whether there is a watch of `kind`.
    pub fn is_open(&self, kind: KindId) -> bool {
        self.streams.iter().any(|(of, _)| *of == kind)
    }

    /// Whether there is a watch of every kind.
    pub fn are_open(&self) -> bool {
        KindId::all(self.kinds - 1).all(|kind| self.is_open(kind))
    }

    /// A watch of `kind` begins.
    pub fn open<D>(&mut self, kind: KindId, stream: WatchStream<D>)
    where
        D: Decode<Object = Observed> + Send + Sync + 'static,
    {
        let items = unfold(stream, |mut stream| async {
            Some((stream.next().await, stream))
        });
        let at = self.streams.partition_point(|(of, _)| *of <= kind);
        self.streams.insert(at, (kind, items.boxed()));
    }

    /// The watches of `kind` end.
    pub fn close(&mut self, kind: KindId) {
        self.streams.retain(|(of, _)| *of != kind);
    }

    /// All watches end.
    pub fn close_all(&mut self) {
        self.streams.clear();
    }

    /// The next item of any watch; they take turns.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<WatchItem<Observed>> {
        let count = self.streams.len();
        for step in 0..count {
            let index = (self.turn + step) % count;
            if let Poll::Ready(Some(item)) = self.streams[index].1.poll_next_unpin(cx) {
                self.turn = index + 1;
                return Poll::Ready(item);
            }
        }
        Poll::Pending
    }
}
