//! What a cache mode retains of idle owners.

/// What a cache mode retains, which is also how much of an event it has to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retention {
    /// Nothing.
    Nothing,
    /// Which owners exist and which generation each status speaks of: watches show metadata only.
    Identities,
    /// Specs, statuses and records of children: a reconcile needs no reads.
    Specs,
}
