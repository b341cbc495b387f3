//! What is measured: subjects, sizes and repeats, as cells in the order they come.
//!
//! Guarantees: pure; the same plan and seed give the same cells. Leaves to others: the cells whose
//! rate or subject follows from what was measured before (steady, check).

use crate::model::cell;
use crate::model::cell::{Cell, Kind, interleaved};
use crate::model::profile;
use crate::model::subject::Subject;

/// Requests are counted with at most this many objects: what one costs does not depend on it.
const COUNTED: usize = 2_000;

#[derive(Debug, Clone)]
pub struct Plan {
    pub subjects: Vec<Subject>,
    pub sizes: Vec<usize>,
    pub repeats: u32,
    /// At the largest size.
    pub repeats_largest: u32,
    /// Whether objects that cannot become healthy are offered too, once at the largest size.
    pub unhealthy: bool,
    /// Whether some objects are also updated again and again.
    pub update_storm: bool,
    /// Whether objects are also offered at a rate that every subject can keep up with.
    pub steady: bool,
    /// How many runs may be under way at once.
    pub overlap: usize,
    /// Whether requests are counted in runs of their own.
    pub request_counts: bool,
    /// Whether the control plane has default flags to check against.
    pub default_flags: bool,
}

impl Plan {
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// Every cell that is known beforehand.
    pub fn cells(&self, seed: u64) -> Vec<Cell> {
        let repeats = |size: &usize| match *size == self.largest() {
            true => (*size, self.repeats_largest),
            false => (*size, self.repeats),
        };
        let sizes: Vec<(usize, u32)> = self.sizes.iter().map(repeats).collect();
        let aa = self.aa_subject();
        // Requests first: an interrupted experiment then lacks repeats, not a whole kind of figures.
        let mut cells = match self.counted().filter(|_| self.request_counts) {
            Some(objects) => interleaved(&self.ids(), &[(objects, 1)], Kind::RequestCount, seed),
            None => Vec::new(),
        };
        cells.extend(cell::bursts(&self.ids(), &sizes, aa.as_deref(), seed));
        if self.unhealthy && self.largest() > 0 {
            for kind in [Kind::Rejected, Kind::NeverReady] {
                cells.extend(interleaved(&self.ids(), &[(self.largest(), 1)], kind, seed));
            }
        }
        if self.update_storm && self.largest() > 0 {
            let objects = self.largest().min(profile::UPDATE_OBJECTS);
            cells.extend(interleaved(
                &self.ids(),
                &[(objects, 1)],
                Kind::UpdateStorm,
                seed,
            ));
        }
        cells
    }

    /// The size of the counted runs: the largest one up to [`COUNTED`], or else the smallest.
    fn counted(&self) -> Option<usize> {
        let some = || self.sizes.iter().copied().filter(|size| *size > 0);
        some()
            .filter(|size| *size <= COUNTED)
            .max()
            .or_else(|| some().min())
    }

    /// The subject that is measured against itself: ours, or the first. One pair has no interval,
    /// and so no floor.
    fn aa_subject(&self) -> Option<String> {
        let worth_it = self.repeats_largest >= 2 && self.largest() > 0;
        self.ours().filter(|_| worth_it)
    }

    /// The subject that others are compared with: the first of the lean operator, or the first.
    pub fn ours(&self) -> Option<String> {
        let ours = self.subjects.iter().find(|s| s.name == "tare");
        ours.or(self.subjects.first()).map(Subject::id)
    }

    pub fn ids(&self) -> Vec<String> {
        self.subjects.iter().map(Subject::id).collect()
    }

    pub fn subject(&self, id: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.id() == id)
    }

    /// How many steady cells will follow, and how many checks at most.
    pub fn to_follow(&self) -> (usize, usize) {
        if self.largest() == 0 {
            return (0, 0);
        }
        let checks = if self.default_flags {
            self.subjects.len().min(2)
        } else {
            0
        };
        let steady = match self.steady {
            true => self.subjects.len() * self.repeats as usize,
            false => 0,
        };
        (steady, checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::subject::built_in;

    fn plan(sizes: &[usize], repeats_largest: u32, request_counts: bool) -> Plan {
        Plan {
            subjects: built_in().expect("valid").into_iter().take(2).collect(),
            sizes: sizes.to_vec(),
            repeats: 3,
            repeats_largest,
            unhealthy: false,
            update_storm: false,
            overlap: 1,
            steady: true,
            request_counts,
            default_flags: request_counts,
        }
    }

    fn count(plan: &Plan, kind: Kind, objects: usize) -> usize {
        let cells = plan.cells(1).into_iter();
        cells
            .filter(|c| c.kind == kind && c.objects == objects)
            .count()
    }

    #[test]
    fn the_largest_size_has_its_own_repeats_and_an_a_a_run() {
        let plan = plan(&[0, 500, 2000, 5000], 5, true);
        assert_eq!(count(&plan, Kind::Burst, 500), 2 * 3);
        assert_eq!(count(&plan, Kind::Burst, 5000), 2 * 5);
        assert_eq!(count(&plan, Kind::AA, 5000), 5);
        assert_eq!(count(&plan, Kind::RequestCount, 2000), 2);
        assert_eq!(plan.to_follow(), (6, 2));
        let bursts = Plan {
            steady: false,
            request_counts: false,
            default_flags: false,
            ..plan
        };
        assert_eq!(bursts.to_follow(), (0, 0));
        assert!(
            bursts
                .cells(1)
                .iter()
                .all(|c| matches!(c.kind, Kind::Burst | Kind::AA))
        );
    }

    #[test]
    fn one_repeat_has_no_a_a_run_and_the_simulated_server_no_request_count() {
        let plan = plan(&[0, 500], 1, false);
        assert_eq!(count(&plan, Kind::AA, 500), 0);
        assert_eq!(count(&plan, Kind::RequestCount, 500), 0);
        assert_eq!(plan.to_follow(), (6, 0));
    }

    #[test]
    fn unhealthy_objects_come_once_at_the_largest_size() {
        let plan = Plan {
            unhealthy: true,
            ..plan(&[0, 500, 5000], 3, false)
        };
        for kind in [Kind::Rejected, Kind::NeverReady] {
            assert_eq!(count(&plan, kind, 5000), 2);
            assert_eq!(count(&plan, kind, 500), 0);
        }
    }

    #[test]
    fn large_sizes_alone_are_audited_at_the_smallest() {
        assert_eq!(
            count(&plan(&[0, 5000, 9000], 1, true), Kind::RequestCount, 5000),
            2
        );
        assert_eq!(plan(&[0], 1, true).counted(), None);
    }
}
