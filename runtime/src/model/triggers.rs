//! Why an owner is reconciled, as a set in one byte.

/// The reasons for a reconcile. Several may hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Triggers(u8);

impl Triggers {
    /// The status does not speak of the newest spec, or the finalizer is missing.
    pub const SPEC: Self = Self(1);
    /// A child's progress changed; the status may change with it.
    pub const STATUS: Self = Self(2);
    /// The children must be compared with the plan.
    pub const CHECK: Self = Self(4);
    /// The owner is being deleted.
    pub const DELETE: Self = Self(8);
    /// The owner must be read first.
    pub const REFRESH: Self = Self(16);
    /// A child of an idle owner changed.
    pub const CHILD: Self = Self(32);
    /// What is retained of the children may be out of date: each child is read.
    pub const READ: Self = Self(64);

    /// The owner has a finalizer that the operator no longer uses.
    pub const RETIRED: Self = Self(128);
    /// What the owner itself asks for, without its children.
    pub const OWN: Self = Self(Self::SPEC.0 | Self::DELETE.0 | Self::RETIRED.0);
    /// What its children ask for. It holds however old the state of the owner is that it came with.
    pub const CHILDREN: Self = Self(Self::CHECK.0 | Self::READ.0);

    /// Whether one of `other` holds.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// These and `other`.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Those of them that are in `other` too.
    #[must_use]
    pub fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// These without `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether there is nothing to do.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
