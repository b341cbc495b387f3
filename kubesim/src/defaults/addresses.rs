//! Cluster IPs out of 10.96.0.0/12, in order, freed with their Service.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// 10.96.0.0/12 has room for a million Services.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 2]);
const LAST: u32 = u32::from_be_bytes([10, 111, 255, 254]);

/// Which addresses have been given out and which have come back.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    given: u32,
    free: BTreeSet<u32>,
    asked_for: BTreeSet<u32>,
}

impl Addresses {
    /// The next address, or none when the range is used up.
    pub(crate) fn next(&mut self) -> Option<Ipv4Addr> {
        if let Some(address) = self.free.pop_first() {
            return Some(address.into());
        }
        loop {
            let address = FIRST.checked_add(self.given).filter(|a| *a <= LAST)?;
            self.given += 1;
            if !self.asked_for.contains(&address) {
                return Some(address.into());
            }
        }
    }

    /// A Service brought its own address.
    pub(crate) fn claim(&mut self, address: Ipv4Addr) {
        self.asked_for.insert(address.into());
    }

    pub(crate) fn release(&mut self, address: Ipv4Addr) {
        let number: u32 = address.into();
        if !self.asked_for.remove(&number) && number >= FIRST && number < FIRST + self.given {
            self.free.insert(number);
        }
    }
}
