//! What is measured: subjects, sizes and repeats, as cells in the order they come.
//!
//! Guarantees: pure; the same plan and seed give the same cells. Leaves to others: the cells that
//! follow from what was measured before (those of the rate sweep).

pub mod cell;
pub mod course;
pub mod estimate;
pub mod profile;

use crate::plan::cell::{Cell, Kind, Pairs, interleaved};
use crate::spec::subject::Subject;

/// Requests are counted with at most this many objects: what one costs does not depend on it.
const COUNTED: usize = 2_000;

#[derive(Debug, Clone)]
pub struct Plan {
    pub subjects: Vec<Subject>,
    pub sizes: Vec<usize>,
    pub repeats: u32,
    /// At the largest size.
    pub repeats_largest: u32,
    /// Memory varies less than times: of its runs only as many repeats, where that is fewer.
    pub memory_repeats: Option<u32>,
    /// Whether objects that cannot become healthy are offered too, once at the largest size.
    pub unhealthy: bool,
    /// Whether some objects are also updated again and again.
    pub update_storm: bool,
    /// Rates at which objects are also offered, per second, ascending; none without a sweep.
    pub rates: Vec<u32>,
    /// How often one subject is measured a second time in drains at the largest size (A/A).
    pub aa_pairs: u32,
    /// How many memory runs may be under way at once.
    pub overlap: usize,
    /// Whether requests are counted in runs of their own.
    pub request_counts: bool,
    /// Whether the control plane has default flags to measure against.
    pub default_flags: bool,
    /// Whether nothing is timed.
    pub memory_only: bool,
}

impl Plan {
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// Every cell that is known beforehand. Those that are timed follow one another.
    pub fn cells(&self, seed: u64) -> Vec<Cell> {
        let ids = self.ids();
        let repeats = |size: &usize| match *size == self.largest() {
            true => (*size, self.repeats_largest),
            false => (*size, self.repeats),
        };
        let sizes: Vec<(usize, u32)> = self.sizes.iter().map(repeats).collect();
        let with_objects: Vec<_> = sizes.iter().filter(|(n, _)| *n > 0).copied().collect();
        let largest = [(self.largest(), 1)];
        // Requests first: an interrupted experiment then lacks repeats, not a whole kind of figures.
        let mut cells = match self.counted().filter(|_| self.request_counts) {
            Some(objects) => interleaved(&ids, &[(objects, 1)], Kind::RequestCount, seed),
            None => Vec::new(),
        };
        let second = self.aa_subject();
        let pairs = |pairs| {
            let subject = second.as_deref()?;
            Some(Pairs { subject, pairs })
        };
        if !self.memory_only {
            let drains = pairs(self.aa_pairs);
            let drains = cell::with_second(&ids, &with_objects, Kind::Drain, drains, seed);
            cells.extend(drains);
        }
        if self.default_flags && self.largest() > 0 {
            cells.extend(interleaved(&ids, &largest, Kind::DefaultFlags, seed));
        }
        let memory = pairs(self.repeats_largest);
        let memory = cell::with_second(&ids, &sizes, Kind::Memory, memory, seed);
        let at_most = self.memory_repeats.unwrap_or(u32::MAX);
        cells.extend(memory.into_iter().filter(|cell| cell.repeat <= at_most));
        if self.unhealthy && self.largest() > 0 {
            for kind in [Kind::Rejected, Kind::NeverReady] {
                cells.extend(interleaved(&ids, &largest, kind, seed));
            }
        }
        if self.update_storm && self.largest() > 0 {
            let objects = self.largest().min(profile::UPDATE_OBJECTS);
            cells.extend(interleaved(&ids, &[(objects, 1)], Kind::UpdateStorm, seed));
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
        let worth_it = self.repeats_largest.max(self.aa_pairs) >= 2 && self.largest() > 0;
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

    /// How many cells of the rate sweep will follow, at most.
    pub fn to_follow(&self) -> usize {
        match self.largest() {
            0 => 0,
            _ => self.rates.len() * self.subjects.len() * self.repeats as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::subject::built_in;

    fn plan(sizes: &[usize], repeats_largest: u32, request_counts: bool) -> Plan {
        Plan {
            subjects: built_in().expect("valid").into_iter().take(2).collect(),
            sizes: sizes.to_vec(),
            repeats: 3,
            repeats_largest,
            memory_repeats: None,
            unhealthy: false,
            update_storm: false,
            overlap: 1,
            rates: vec![5, 10],
            aa_pairs: repeats_largest,
            request_counts,
            default_flags: request_counts,
            memory_only: false,
        }
    }

    #[test]
    fn a_bench_of_memory_only_times_nothing() {
        let memory_only = Plan {
            memory_only: true,
            rates: vec![],
            ..plan(&[0, 10, 500], 2, false)
        };
        let kinds: Vec<Kind> = memory_only.cells(1).iter().map(|cell| cell.kind).collect();
        assert!(kinds.contains(&Kind::Memory) && kinds.contains(&Kind::MemoryAa));
        assert!(!kinds.iter().any(|kind| kind.is_timed()), "{kinds:?}");
    }

    fn count(plan: &Plan, kind: Kind, objects: usize) -> usize {
        let cells = plan.cells(1).into_iter();
        cells
            .filter(|c| c.kind == kind && c.objects == objects)
            .count()
    }

    #[test]
    fn the_largest_size_has_its_own_repeats_and_a_a_runs() {
        let all = plan(&[0, 500, 2000, 5000], 5, true);
        for (kind, objects, want) in [
            (Kind::Drain, 0, 0),
            (Kind::Drain, 500, 2 * 3),
            (Kind::Drain, 5000, 2 * 5),
            (Kind::DrainAa, 5000, 5),
            (Kind::Memory, 0, 2 * 3),
            (Kind::Memory, 500, 2 * 3),
            (Kind::Memory, 5000, 2 * 5),
            (Kind::MemoryAa, 5000, 5),
            (Kind::RequestCount, 2000, 2),
            (Kind::DefaultFlags, 5000, 2),
        ] {
            assert_eq!(count(&all, kind, objects), want, "{kind:?} {objects}");
        }
        assert_eq!(all.to_follow(), 2 * 2 * 3);
        let bursts = Plan {
            rates: vec![],
            request_counts: false,
            default_flags: false,
            ..all
        };
        assert_eq!(bursts.to_follow(), 0);
        let cells = bursts.cells(1);
        let of_bursts = |c: &Cell| {
            let kinds = [Kind::Drain, Kind::DrainAa, Kind::Memory, Kind::MemoryAa];
            kinds.contains(&c.kind)
        };
        assert!(cells.iter().all(of_bursts));
    }

    #[test]
    fn more_pairs_of_drains_than_repeats_can_be_asked_for() {
        let plan = Plan {
            aa_pairs: 10,
            ..plan(&[500], 1, false)
        };
        assert_eq!(count(&plan, Kind::DrainAa, 500), 10);
        assert_eq!(
            count(&plan, Kind::Drain, 500),
            10 + 1,
            "tare has ten, the other one"
        );
        assert_eq!(count(&plan, Kind::MemoryAa, 500), 1);
    }

    #[test]
    fn memory_can_have_fewer_repeats() {
        let plan = Plan {
            memory_repeats: Some(2),
            ..plan(&[0, 500], 5, false)
        };
        assert_eq!(count(&plan, Kind::Memory, 500), 2 * 2);
        assert_eq!(count(&plan, Kind::MemoryAa, 500), 2);
        assert_eq!(count(&plan, Kind::Drain, 500), 2 * 5);
    }

    #[test]
    fn timed_cells_follow_one_another() {
        let cells = plan(&[0, 500], 3, true).cells(1);
        let timed: Vec<bool> = cells.iter().map(|cell| cell.kind.is_timed()).collect();
        let changes = timed.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(changes, 2, "counts, then timed, then memory");
    }

    #[test]
    fn one_repeat_has_no_a_a_run_and_the_simulated_server_no_request_count() {
        let plan = plan(&[0, 500], 1, false);
        assert_eq!(count(&plan, Kind::DrainAa, 500), 0);
        assert_eq!(count(&plan, Kind::MemoryAa, 500), 0);
        assert_eq!(count(&plan, Kind::RequestCount, 500), 0);
        assert_eq!(count(&plan, Kind::DefaultFlags, 500), 0);
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
