//! The faults in force, and what has been noted so far: what the steps set and the transport carries out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::Call;
use crate::reaction::Reaction;
use crate::records::Counts;
use crate::rng::Rng;
use crate::step::{EventFault, Outage, RequestFault, Resource, When};

/// Requests of a run: a schedule needs a few hundred.
const MOST_REQUESTS: u64 = 20_000;

/// A fault for the next requests of a kind.
#[derive(Clone, Debug)]
pub struct Awaited {
    pub verb: &'static str,
    pub resource: Resource,
    pub fault: RequestFault,
    pub left: u8,
}

/// The operator is killed at a write.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// Writes before that one.
    pub writes: u8,
    pub when: When,
    pub down_ms: u64,
}

/// What all of a run share.
#[derive(Clone)]
pub struct Faults(Arc<Mutex<State>>);

pub struct State {
    pub rng: Rng,
    /// The longest that a request or its answer is on its way without a fault, ms.
    pub latency_ms: u64,
    pub requests: Vec<Awaited>,
    pub events: Vec<(Resource, EventFault)>,
    /// Requests of the operator so far.
    sent: u64,
    pub outage: Option<Outage>,
    /// The resource whose first object is not shown to a watch.
    pub first_unshown: Option<Resource>,
    /// That object, once it is there.
    first_name: Option<String>,
    first_uid: Option<String>,
    /// The next crash, and those that follow: each counts its writes from the one before.
    pub crashes: VecDeque<Crash>,
    /// Of clients that follow the operator.
    pub reactions: Vec<Reaction>,
    /// What the oracles have found.
    pub violations: Vec<String>,
    /// Writes of the operator that were executed.
    pub writes: u64,
    /// Faults that met something, by kind.
    pub met: Counts,
    /// Children that the operator made, and those that it deleted.
    pub made_and_deleted: (u64, u64),
    /// How often the server was set back to a backup.
    pub restores: u64,
    /// Digest of everything that happened, in order.
    digest: u64,
    /// The same as text, where somebody wants to read it.
    pub trace: Option<Vec<String>>,
    began: tokio::time::Instant,
}

impl Faults {
    pub fn new(seed: u64, latency_ms: u64, traced: bool) -> Faults {
        Faults(Arc::new(Mutex::new(State {
            rng: Rng::new(seed),
            latency_ms,
            requests: Vec::new(),
            events: Vec::new(),
            sent: 0,
            outage: None,
            first_unshown: None,
            first_name: None,
            first_uid: None,
            crashes: VecDeque::new(),
            reactions: Vec::new(),
            violations: Vec::new(),
            writes: 0,
            met: Counts::new(),
            made_and_deleted: (0, 0),
            restores: 0,
            digest: 0xcbf2_9ce4_8422_2325,
            trace: traced.then(Vec::new),
            began: tokio::time::Instant::now(),
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what happened.
    pub fn note(&self, what: std::fmt::Arguments<'_>) {
        self.lock().note(what);
    }

    /// Something that must not happen has happened.
    pub fn violation(&self, what: String) {
        let mut state = self.lock();
        state.note(format_args!("VIOLATION {what}"));
        state.violations.push(what);
    }
}

impl State {
    pub fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let at_ms = self.began.elapsed().as_millis();
        let line = format!("{at_ms:>9} {what}");
        for byte in line.bytes() {
            // FNV-1a.
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if let Some(trace) = &mut self.trace {
            trace.push(line);
        }
    }

    /// Adds to the trace what does not count for its digest.
    pub fn explain(&mut self, what: std::fmt::Arguments<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("            {what}"));
        }
    }

    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// A fault met something.
    fn meet(&mut self, kind: impl Into<String>) {
        *self.met.entry(kind.into()).or_default() += 1;
    }

    /// What happens to this request.
    pub fn of_request(&mut self, call: &Call) -> Option<RequestFault> {
        let fault = self.request_fault(call);
        if let Some(fault) = fault {
            self.meet(fault.kind());
        }
        fault
    }

    fn request_fault(&mut self, call: &Call) -> Option<RequestFault> {
        self.sent += 1;
        if self.sent > MOST_REQUESTS {
            if self.sent == MOST_REQUESTS + 1 {
                self.violations
                    .push(format!("more than {MOST_REQUESTS} requests"));
            }
            return Some(RequestFault::Silence);
        }
        match self.outage {
            Some(Outage::Unavailable) => return Some(RequestFault::Refuse(503)),
            Some(Outage::Unreachable) => return Some(RequestFault::Unsent),
            Some(Outage::Silent) => return Some(RequestFault::Silence),
            None => {}
        }
        let index = self
            .requests
            .iter()
            .position(|one| one.verb == call.verb && one.resource == call.resource)?;
        let awaited = &mut self.requests[index];
        let fault = awaited.fault;
        awaited.left -= 1;
        if awaited.left == 0 {
            self.requests.remove(index);
        }
        Some(fault)
    }

    /// What happens to an event of this resource.
    pub fn of_event(&mut self, resource: &str) -> Option<EventFault> {
        let index = self.events.iter().position(|(of, _)| *of == resource)?;
        let (_, fault) = self.events.remove(index);
        self.meet(fault.kind());
        Some(fault)
    }

    /// The user makes an object of this name, or has made it with this uid. The first one of all is not shown.
    pub fn made(&mut self, resource: &str, name: &str, uid: Option<&str>) {
        if self.first_unshown != Some(resource) {
            return;
        }
        if self.first_name.is_none() {
            self.first_name = Some(name.to_owned());
        } else if self.first_uid.is_none() {
            self.first_uid = uid.map(str::to_owned);
        }
    }

    /// Whether no watch shows that this object was made.
    pub fn is_unshown(&mut self, resource: &str, name: &str, uid: &str) -> bool {
        if self.first_unshown != Some(resource) || self.first_name.as_deref() != Some(name) {
            return false;
        }
        let first = self.first_uid.get_or_insert_with(|| uid.to_owned());
        if first != uid {
            return false;
        }
        self.note(format_args!("   the first of {resource} is not shown"));
        self.meet("event: the first object is not shown");
        true
    }

    /// What somebody does once this write is done.
    pub fn reaction_to(&mut self, call: &Call) -> Option<Reaction> {
        let index = self.reactions.iter().position(|one| one.is_to(call))?;
        Some(self.reactions.remove(index))
    }

    /// Whether the operator is killed at this write.
    pub fn of_write(&mut self) -> Option<Crash> {
        let crash = self.crashes.front_mut()?;
        if crash.writes > 0 {
            crash.writes -= 1;
            return None;
        }
        let crash = self.crashes.pop_front()?;
        self.meet(crash.when.kind());
        Some(crash)
    }

    /// No fault from here on.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.events.clear();
        self.crashes.clear();
        self.reactions.clear();
        self.outage = None;
    }
}
