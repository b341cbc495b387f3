//! Cluster IPs out of 10.96.0.0/12, in order, freed with their Service.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// 10.96.0.0/12 has room for a million Services.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 2]);
const LAST: u32 = u32::from_be_bytes([10, 111, 255, 254]);

/// The addresses of a server's Services.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many of the range have been allocated in order.
    allocated: u32,
    /// Allocated once and free again.
    released: BTreeSet<u32>,
    /// Chosen by a Service itself.
    claimed: BTreeSet<u32>,
}

impl Addresses {
    /// The next address, or none when the range is used up.
    pub(crate) fn next(&self) -> Option<Ipv4Addr> {
        let mut state = self.lock();
        if let Some(address) = state.released.pop_first() {
            return Some(address.into());
        }
        loop {
            let address = FIRST.checked_add(state.allocated).filter(|a| *a <= LAST)?;
            state.allocated += 1;
            if !state.claimed.contains(&address) {
                return Some(address.into());
            }
        }
    }

    /// A Service chooses its own address.
    pub(crate) fn claim(&self, address: Ipv4Addr) {
        self.lock().claimed.insert(address.into());
    }

    pub(crate) fn release(&self, address: Ipv4Addr) {
        let mut state = self.lock();
        let number: u32 = address.into();
        let in_order = number >= FIRST && number < FIRST + state.allocated;
        if !state.claimed.remove(&number) && in_order {
            state.released.insert(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
