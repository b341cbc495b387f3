//! Who may hold the Lease: what was observed, and what follows from it.
//!
//! Guarantees: pure; time comes in as a value. The rules are those of client-go: the Lease of another holder is
//! taken when nobody has renewed it for its duration *since it was first observed here*; the times that are
//! written in it are never compared with a clock. A holder stops before that, at the deadline after the last
//! renewal that succeeded, counted from the moment at which that was sent.
//! Leaves to others: requests (`leader`), the bodies of Leases (`record`).
//! Source: client-go 0.36, tools/leaderelection/leaderelection.go:tryAcquireOrRenew. It differs in two points. A
//! Lease that is deleted is not created again before the holder that was observed must have stopped. A standby
//! reads it again at the moment at which it expires.

use std::time::Duration;

use tokio::time::Instant;

use crate::leader::record::{Record, Write};

/// The times of an election. Those of client-go's components: 15 s, 10 s, 2 s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// How long others wait after a renewal that they observed.
    pub duration: Duration,
    /// How long the holder goes on after its last renewal; shorter than `duration`.
    pub deadline: Duration,
    /// From one request to the next.
    pub retry: Duration,
}

/// The times of an election.
pub(crate) const TIMING: Timing = Timing {
    duration: Duration::from_secs(15),
    deadline: Duration::from_secs(10),
    retry: Duration::from_secs(2),
};

/// The next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read the Lease.
    Read,
    /// Create it: it does not exist.
    Create,
    /// Write over the record that was observed.
    Write(Write),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// It is read at this time.
    Standby { at: Instant },
    /// It was read a moment ago, and nobody holds it.
    Free,
    /// It is ours.
    Held(Held),
    /// It was ours.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Held {
    /// When it has to be renewed at the latest.
    deadline: Instant,
    /// When the next request is due.
    at: Instant,
    /// Somebody else has written: it is read first.
    doubted: bool,
    /// Work has ended.
    released: bool,
}

/// What a candidate knows of the Lease.
#[derive(Debug)]
pub(crate) struct Lease {
    identity: Box<str>,
    timing: Timing,
    state: State,
    /// The last record, ours or another's, and when it was first observed.
    observed: Option<(Record, Instant)>,
    /// When the last holder that was observed must have stopped.
    held_until: Instant,
}

impl Lease {
    /// Nothing is known at `now`.
    pub fn new(identity: &str, timing: Timing, now: Instant) -> Self {
        Self {
            identity: identity.into(),
            timing,
            state: State::Standby { at: now },
            observed: None,
            held_until: now,
        }
    }

    /// The next request and when it is due; `None` where there is none.
    pub fn next(&self, now: Instant) -> Option<(Instant, Action)> {
        match self.state {
            State::Standby { at } => Some((at, Action::Read)),
            State::Free if self.observed.is_none() => Some((now, Action::Create)),
            State::Free => Some((now, Action::Write(Write::Take))),
            State::Held(held) if held.doubted => Some((held.at, Action::Read)),
            State::Held(held) if held.released => Some((held.at, Action::Write(Write::Release))),
            State::Held(held) => Some((held.at, Action::Write(Write::Renew))),
            State::Ended => None,
        }
    }

    /// When work has to end unless the Lease is renewed; `None` where it is not ours.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Held(held) => Some(held.deadline),
            _ => None,
        }
    }

    /// The last record that was observed.
    pub fn record(&self) -> Option<&Record> {
        self.observed.as_ref().map(|(record, _)| record)
    }

    /// The Lease was read; `None` where it does not exist.
    pub fn on_read(&mut self, found: Option<Record>, now: Instant) {
        if let State::Held(held) = &mut self.state {
            match found {
                // The answer to a write was lost, or somebody has changed a label.
                Some(record) if record.holder == self.identity => {
                    held.doubted = false;
                    held.at = now;
                    self.observed = Some((record, now));
                }
                _ => self.state = State::Ended,
            }
            return;
        }
        self.observe(found, now);
        self.state = match self.held_until <= now {
            true => State::Free,
            false => State::Standby {
                at: self.held_until.min(now + self.timing.retry),
            },
        };
    }

    fn observe(&mut self, found: Option<Record>, now: Instant) {
        let known = self.observed.take();
        let Some(record) = found else {
            return;
        };
        let since = match known {
            Some((known, since)) if known.is_same_renewal(&record) => since,
            _ => now,
        };
        self.held_until = match record.holder.is_empty() || record.holder == self.identity {
            true => now,
            false => since + record.duration.unwrap_or(self.timing.duration),
        };
        self.observed = Some((record, since));
    }

    /// Our record was written, by a request that was sent at `sent`.
    pub fn on_written(&mut self, record: Record, sent: Instant) {
        self.observed = Some((record, sent));
        self.state = match self.state {
            State::Held(Held { released: true, .. }) => State::Ended,
            _ => State::Held(Held {
                deadline: sent + self.timing.deadline,
                at: sent + self.timing.retry,
                doubted: false,
                released: false,
            }),
        };
    }

    /// Work has ended: others may begin at once. Where they cannot be told in time, they wait until it expires.
    pub fn release(&mut self, now: Instant) {
        if let State::Held(held) = &mut self.state {
            held.released = true;
            held.at = now;
            held.deadline = held.deadline.min(now + self.timing.retry);
        }
    }

    /// The server has refused a write because the Lease is another one: changed, deleted or created.
    pub fn on_conflict(&mut self, sent: Instant, now: Instant) {
        match &mut self.state {
            State::Held(held) => {
                held.doubted = true;
                held.at = now;
            }
            _ => self.on_failed(sent, now),
        }
    }

    /// A request failed; whether a write was done is not known.
    pub fn on_failed(&mut self, sent: Instant, now: Instant) {
        let again = now.max(sent + self.timing.retry);
        match &mut self.state {
            State::Held(held) => held.at = again,
            State::Standby { .. } | State::Free => self.state = State::Standby { at: again },
            State::Ended => {}
        }
    }
}

#[cfg(test)]
mod tests;
