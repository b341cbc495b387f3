//! What happens next to the controller: a watch item, a reconcile that ended, a finding of a relist, or a time.
//!
//! Guarantees: each of them is polled first in its turn, so that none keeps the others waiting, and the order
//! follows from the events alone: a simulation repeats exactly. (`tokio::select!` begins at a random branch.)
//! Leaves to others: what it means (`engine`).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};

use futures::StreamExt;
use futures::stream::{BoxStream, FuturesUnordered};
use tokio::time::sleep_until;

use crate::api::Operator;
use crate::controller::Worker;
use crate::controller::engine::Controller;
use crate::controller::finished::Finished;
use crate::controller::references::Referrer;
use crate::controller::running::RunningRelist;
use crate::reconcile::observe::Observed;
use crate::relist::Found;
use crate::watch::WatchItem;

/// What happened.
pub(super) enum Next {
    /// A watch has shown something.
    Item(WatchItem<Observed>),
    /// A worker is done.
    Finished(Finished),
    /// The relist has found something.
    Found(Found),
    /// Something has changed that owners name.
    Referrer(Referrer),
    /// Something is due.
    Due,
}

/// How many kinds of events there are.
const KINDS: usize = 5;

/// Waits for the next event. `turn`: which kind is polled first; it moves on.
pub(super) async fn next<O: Operator, C: crate::cache::Cache>(
    controller: &mut Controller<O, C>,
    workers: &mut FuturesUnordered<Worker<'_>>,
    references: &mut BoxStream<'static, Referrer>,
    turn: &mut usize,
) -> Next {
    let relist_may_go_on = controller.relist_may_go_on();
    let mut due = pin!(sleep_until(controller.due()));
    let next = poll_fn(|cx| {
        for step in 0..KINDS {
            let polled = match (*turn + step) % KINDS {
                0 => controller.watches.poll_next(cx).map(Next::Item),
                1 => some(workers.poll_next_unpin(cx)).map(Next::Finished),
                2 if relist_may_go_on => poll_relist(&mut controller.relist, cx).map(Next::Found),
                2 => Poll::Pending,
                3 => some(references.poll_next_unpin(cx)).map(Next::Referrer),
                _ => due.as_mut().poll(cx).map(|()| Next::Due),
            };
            if polled.is_ready() {
                return polled;
            }
        }
        Poll::Pending
    });
    let next = next.await;
    *turn = (*turn + 1) % KINDS;
    next
}

fn poll_relist(relist: &mut Option<RunningRelist>, cx: &mut Context<'_>) -> Poll<Found> {
    match relist {
        Some(running) => some(running.found.poll_next_unpin(cx)),
        None => Poll::Pending,
    }
}

/// A stream that has ended shows nothing until something is added to it.
fn some<T>(polled: Poll<Option<T>>) -> Poll<T> {
    match polled {
        Poll::Ready(Some(item)) => Poll::Ready(item),
        Poll::Ready(None) | Poll::Pending => Poll::Pending,
    }
}
