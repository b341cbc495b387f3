//! How long a bench takes, as it says before it starts.
//!
//! Guarantees: pure; a rough figure from the costs of the steps and from the throughput of known
//! subjects. Leaves to others: the steps of a cell (`step`).

use std::time::Duration;

use crate::plan::Plan;
use crate::plan::cell::{Cell, Kind};
use crate::plan::course::Course;
use crate::spec::control_plane::ControlPlane;
use crate::spec::step::{Cost, Rates};

/// Means over fast and slow subjects on two cores: 5,000 objects in 40 to 80 s.
fn rates(control_plane: ControlPlane) -> Rates {
    match control_plane {
        ControlPlane::Kubesim => Rates {
            start_s: 1.0,
            create_s: 0.003,
            delete_s: 0.003,
        },
        ControlPlane::Kube | ControlPlane::Kine | ControlPlane::Existing => Rates {
            start_s: 8.0,
            create_s: 0.012,
            delete_s: 0.012,
        },
    }
}

/// Runs that follow one another, while idle phases of several overlap where none is timed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate {
    timed_s: f64,
    work_s: f64,
    quiet_s: f64,
    /// The longest of those that overlap: no overlap makes it shorter.
    longest_s: f64,
}

impl Estimate {
    pub fn add(&mut self, kind: Kind, cost: Cost, runs: usize) {
        let (work_s, quiet_s) = (cost.work_s * runs as f64, cost.quiet_s * runs as f64);
        if kind.is_timed() {
            self.timed_s += work_s + quiet_s;
        } else {
            self.work_s += work_s;
            self.quiet_s += quiet_s;
            if runs > 0 {
                self.longest_s = self.longest_s.max(cost.work_s + cost.quiet_s);
            }
        }
    }

    /// A timed run is alone. Of the others only one works at a time; idle phases of up to `overlap`
    /// runs overlap.
    pub fn time(&self, overlap: usize) -> Duration {
        let overlapping_s = (self.work_s + self.quiet_s) / overlap.max(1) as f64;
        let together_s = self.work_s.max(overlapping_s).max(self.longest_s);
        Duration::from_secs_f64(self.timed_s + together_s)
    }
}

/// Of one cell.
pub fn of_cell(cell: &Cell, course: &Course, control_plane: ControlPlane) -> Cost {
    let rates = rates(control_plane);
    let mut cost = Cost::default();
    for step in course.steps(cell) {
        let one = step.cost(cell.objects, &rates);
        cost.work_s += one.work_s;
        cost.quiet_s += one.quiet_s;
    }
    cost
}

/// Of the cells of a plan that are not there yet, and of its whole rate sweep.
pub fn of_plan(
    plan: &Plan,
    cells: &[Cell],
    course: &Course,
    control_plane: ControlPlane,
    is_there: impl Fn(&Cell) -> bool,
) -> Estimate {
    let mut estimate = Estimate::default();
    for cell in cells.iter().filter(|cell| !is_there(cell)) {
        estimate.add(cell.kind, of_cell(cell, course, control_plane), 1);
    }
    for per_s in &plan.rates {
        let one = at_rate(*per_s, course, control_plane);
        estimate.add(Kind::Rate, one, plan.to_follow() / plan.rates.len());
    }
    estimate
}

/// Of a cell of the rate sweep.
pub fn at_rate(per_s: u32, course: &Course, control_plane: ControlPlane) -> Cost {
    let objects = course.timing.at_rate.objects(per_s);
    let cell = Cell {
        per_s: Some(per_s),
        ..Cell::first(String::new(), Kind::Rate, objects)
    };
    of_cell(&cell, course, control_plane)
}

/// `6 min`, `1 h 50 min`: to the minute below ten, to five minutes above.
pub fn words(time: Duration) -> String {
    let minutes = (time.as_secs_f64() / 60.0).ceil() as u64;
    let minutes = match minutes {
        0..=10 => minutes.max(1),
        more => more.div_ceil(5) * 5,
    };
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::course::Asked;
    use crate::plan::profile::{Profile, Timing};

    #[test]
    fn times_are_rounded_for_people() {
        for (s, want) in [
            (10, "1 min"),
            (540, "9 min"),
            (660, "15 min"),
            (6_500, "1 h 50 min"),
            (7_200, "2 h"),
        ] {
            assert_eq!(words(Duration::from_secs(s)), want);
        }
    }

    #[test]
    fn a_cell_takes_at_least_its_quiet_times() {
        let cell = |kind, objects, repeat| Cell {
            subject: "a/x".into(),
            objects,
            repeat,
            kind,
            per_s: None,
        };
        let course = Course {
            timing: Timing::of(Profile::Standard),
            largest: 5_000,
            asked: Asked::default(),
        };
        let cost = |cell: Cell| of_cell(&cell, &course, ControlPlane::Kube);
        let quiet = |cell: Cell| cost(cell).quiet_s;
        assert!(quiet(cell(Kind::Memory, 0, 1)) >= 240.0);
        assert!(quiet(cell(Kind::Memory, 5_000, 2)) >= 480.0);
        assert!(quiet(cell(Kind::Memory, 5_000, 1)) > quiet(cell(Kind::MemoryAa, 5_000, 1)));
        assert!(quiet(cell(Kind::RequestCount, 2_000, 1)) >= 62.0);
        assert!(at_rate(5, &course, ControlPlane::Kube).work_s >= 100.0);
        assert!(quiet(cell(Kind::Drain, 5_000, 1)) <= 10.0);
        assert!(cost(cell(Kind::Drain, 5_000, 1)).work_s > cost(cell(Kind::Memory, 0, 1)).work_s);
    }

    #[test]
    fn idle_phases_overlap_and_work_does_not() {
        let mut estimate = Estimate::default();
        let cost = Cost {
            work_s: 100.0,
            quiet_s: 200.0,
        };
        estimate.add(Kind::Memory, cost, 10);
        for (overlap, want) in [(1, 3_000), (2, 1_500), (3, 1_000), (8, 1_000)] {
            assert_eq!(estimate.time(overlap).as_secs(), want, "overlap {overlap}");
        }
        let mut few = Estimate::default();
        few.add(Kind::Memory, cost, 2);
        assert_eq!(few.time(8).as_secs(), 300, "not shorter than one of them");
        estimate.add(Kind::Drain, cost, 10);
        assert_eq!(estimate.time(8).as_secs(), 4_000, "timed runs are alone");
    }
}
