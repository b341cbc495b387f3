//! Known bugs that are chosen at run time, to prove that the simulation finds them. Never in what is shipped.
//!
//! Guarantees: without the feature `mutants` every [`mutant!`] is the constant `false`, and nothing of this is in the
//! program. With it a bug is chosen for one thread. Leaves to others: finding it (`tests/simulation`).

#![cfg_attr(not(feature = "mutants"), allow(unused_macros))]

/// Whether this bug is chosen.
#[cfg(feature = "mutants")]
macro_rules! mutant {
    ($name:ident) => {
        crate::mutants::is_chosen(crate::mutants::Mutant::$name)
    };
}

/// Whether this bug is chosen: never.
#[cfg(not(feature = "mutants"))]
macro_rules! mutant {
    ($name:ident) => {
        false
    };
}

#[cfg(feature = "mutants")]
pub use chosen::{Mutant, choose, is_chosen};

#[cfg(feature = "mutants")]
mod chosen {
    use std::cell::Cell;

    thread_local! {
        static CHOSEN: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// From here on this bug, or none, in this thread.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.set(mutant);
    }

    /// Whether this bug is chosen in this thread.
    pub fn is_chosen(mutant: Mutant) -> bool {
        CHOSEN.get() == Some(mutant)
    }

    /// Declares the bugs, each with what it does.
    macro_rules! mutants {
        ($($(#[$doc:meta])* $name:ident,)*) => {
            /// A bug.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub enum Mutant {
                $($(#[$doc])* $name,)*
            }

            impl Mutant {
                /// All of them.
                pub const ALL: &'static [Mutant] = &[$(Mutant::$name,)*];
            }
        };
    }

    mutants! {
        // Drift of kinds without a generation, and of maps that are ours as a whole.
        /// A change of a child without a generation is no drift while its owner has an entry.
        UnclearIsUnchanged,
        /// A key that somebody adds to an atomic map stays.
        AtomicMapsAreMerged,
        // Findings of relists.
        /// What a page older than the entry says of the children is dropped.
        FindingOfOlderPageDropped,
        /// A kind of child that is listed anew does not doubt the work in flight.
        RelistedInFlightIgnored,
        // resourceVersions that went backwards.
        /// A server that was set back to a backup is not noticed when a watch opens.
        BackwardsIgnored,
        // Admission and eviction.
        /// What finds no room requests no relist.
        RejectedForgotten,
        /// What is evicted requests no relist.
        EvictedForgotten,
        // Deletion.
        /// The finalizer goes without a cleanup.
        CleanupSkipped,
        /// The finalizer goes before the children.
        ChildrenLeftAtTeardown,
        // Children that leave the plan.
        /// They stay unless the plan names them.
        UnplannedStays,
        // Others.
        /// What happens to a child while a worker has its owner is dropped.
        ChildInFlightDropped,
        /// What happens to a child while its owner waits for a worker is dropped.
        ChildQueuedDropped,
        /// What happens to a child while its owner merges events or backs off is dropped.
        ChildDelayedDropped,
        /// What happens to a child while its owner waits for its children is dropped.
        ChildAwaitingDropped,
        /// What is held of a child is not replaced by what a newer event shows.
        OlderContentKept,
        /// A child that was deleted and made again counts as gone.
        GoneOutlivesRecreation,
        /// A child that was shown to be gone counts as gone after its watch was lost.
        GoneOutlivesLostWatch,
        /// What happens to an owner while a worker has it is dropped.
        OwnerInFlightDropped,
        /// After a 410 nothing is listed.
        ExpiredWithoutRelist,
        /// A child that is not ours is written.
        ForeignIsOurs,
        /// What failed is not tried again.
        FailedForgotten,
        /// A failure is written as if nothing had been observed before.
        ObservedGoesBack,
        /// The deletion of a child of an idle owner is no work.
        DeletedChildIgnored,
        /// A child that becomes ready does not change the status.
        ReadinessIgnored,
        /// A watch that is opened again begins where the server is.
        ReopenedAtNewest,
        /// What cannot be decoded is forgotten.
        SkippedForgotten,
        /// A write that meets a newer object counts as done.
        ConflictIsDone,
        /// Entries are never removed after their time.
        EntriesStay,
        /// The bound of the entries does not hold.
        BoundIgnored,
        /// A relist that failed is not tried again.
        FailedRelistForgotten,
        // What no periodic relist repairs.
        /// Where there was no owner, a watch that does not show the first one is relied on.
        FirstOwnerAwaited,
        // Found by the simulation.
        /// A child of an owner that was created again in flight counts as another's.
        RecreatedInFlightIgnored,
        /// A child that another controller takes over is nobody's.
        TakenOverIgnored,
        /// An owner without a status has no children, whatever its spec was before.
        FirstAttemptForgotten,
        /// The deletion of one child hides older changes of another.
        DeletionHidesOthers,
        /// A relist does not tell the cache of the children of an owner with work.
        PageWithoutChildren,
        /// An answer that breaks off counts as a broken object.
        BrokenAnswerIsFinal,
        /// A child that vanished is made again for an owner that may be gone.
        VanishedOwnerIgnored,
        /// A child that loses its controller while a worker has its owner counts as it was.
        DisownedIgnored,
        /// A spec that was read for an event of a child counts as applied.
        ReadSpecIsApplied,
        // Found by the storms on a real server.
        /// A status that has yielded to other work is dropped after a harmless change of a child.
        YieldedForgotten,
    }
}
