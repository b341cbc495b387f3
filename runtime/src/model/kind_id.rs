//! The index of a kind among the collections of one operator.

/// A collection of one operator: its owners, or one of its kinds of children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(u8);

impl KindId {
    /// The owners.
    pub const OWNER: Self = Self(0);

    /// The kind of child at `place` of [`Operator::KINDS`](crate::api::Operator::KINDS); `None` beyond
    /// the 255 kinds that one operator can have.
    pub fn child(place: usize) -> Option<Self> {
        u8::try_from(place).ok()?.checked_add(1).map(Self)
    }

    /// All collections of an operator with `children` kinds of children, the owners first.
    pub fn all(children: usize) -> impl Iterator<Item = Self> {
        (0..=u8::MAX).take(children + 1).map(Self)
    }

    /// The kinds of children of an operator that has `children` of them.
    pub fn children(children: usize) -> impl Iterator<Item = Self> {
        Self::all(children).skip(1)
    }

    /// Whether this is the collection of the owners.
    pub fn is_owner(self) -> bool {
        self == Self::OWNER
    }

    /// The index among all collections, the owners first.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The entry for this kind of child in `kinds`, which has one for each kind of child.
    pub fn of<T>(self, kinds: &[T]) -> Option<&T> {
        kinds.get(self.index().checked_sub(1)?)
    }
}
