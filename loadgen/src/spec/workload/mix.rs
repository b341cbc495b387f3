//! Several kinds in one workload: which of them an object is of.
//!
//! Guarantees: pure; the kinds alternate by their shares, so that a few objects have the mix of many. Leaves to
//! others: what each kind is (`scenario`).

use crate::spec::workload::{Resource, Scenario};

impl Scenario {
    /// This kind, and those that are offered together with it.
    pub fn parts(&self) -> impl Iterator<Item = &Scenario> {
        std::iter::once(self).chain(&self.also)
    }

    /// Where the objects of each kind live.
    pub fn resources(&self) -> Vec<Resource> {
        self.parts().map(|part| part.resource.clone()).collect()
    }

    /// The place among the parts of the kind that object `index` is of.
    pub fn part_index(&self, index: usize) -> usize {
        let all: usize = self.parts().map(|part| part.share).sum();
        let mut rest = self.resource.shard.place(index) % all.max(1);
        for (place, part) in self.parts().enumerate() {
            match rest.checked_sub(part.share) {
                Some(left) => rest = left,
                None => return place,
            }
        }
        0
    }

    /// The kind that object `index` is of.
    pub fn part_of(&self, index: usize) -> &Scenario {
        self.parts().nth(self.part_index(index)).unwrap_or(self)
    }

    /// What the objects are called in a sentence: `Gadgets`, or `Gadgets and Shelves`.
    pub fn kinds(&self) -> String {
        list(self.parts().map(|part| part.resource.kinds()))
    }

    /// The same with a change of each kind.
    pub(super) fn each(mut self, change: impl Fn(&mut Scenario)) -> Self {
        change(&mut self);
        self.also.iter_mut().for_each(change);
        self
    }
}

/// `a, b and c`.
pub fn list(names: impl IntoIterator<Item = impl Into<String>>) -> String {
    let mut all: Vec<String> = names.into_iter().map(Into::into).collect();
    match (all.len(), all.pop()) {
        (0 | 1, last) => last.unwrap_or_default(),
        (_, last) => format!("{} and {}", all.join(", "), last.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::workload;

    #[test]
    fn kinds_alternate_by_their_shares() {
        let mut scenario = workload::find("webapp", None).expect("shipped").scenario;
        assert_eq!(scenario.part_index(7), 0, "one kind");
        let mut other = workload::find("configmaps", None)
            .expect("shipped")
            .scenario;
        other.share = 2;
        scenario.also = vec![other.clone(), other];
        let places: Vec<usize> = (0..7).map(|index| scenario.part_index(index)).collect();
        assert_eq!(places, [0, 1, 1, 2, 2, 0, 1]);
        assert_eq!(scenario.part_of(1).resource.kind, "ConfigMap");
        assert_eq!(scenario.kinds(), "WebApps, ConfigMaps and ConfigMaps");
    }
}
