//! How long an experiment will take, said before it starts.
//!
//! Guarantees: pure; a rough figure from what phases last at least and from the throughput of known
//! subjects. Leaves to others: keeping the promise.

use std::time::Duration;

use crate::model::cell::{Cell, Kind};
use crate::model::control_plane::ControlPlane;
use crate::model::profile;
use crate::model::profile::Timing;

/// What a control plane adds, in seconds.
struct Pace {
    start_s: f64,
    create_s: f64,
    delete_s: f64,
}

/// Means over fast and slow subjects on two cores: 5,000 objects in 40 to 80 s.
fn pace(control_plane: ControlPlane) -> Pace {
    match control_plane {
        ControlPlane::Kubesim => Pace {
            start_s: 1.0,
            create_s: 0.003,
            delete_s: 0.003,
        },
        ControlPlane::Kube | ControlPlane::Kine | ControlPlane::Existing => Pace {
            start_s: 8.0,
            create_s: 0.012,
            delete_s: 0.012,
        },
    }
}

/// What one run takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Seconds in which it needs the machine for itself.
    pub work_s: f64,
    /// Seconds in which its subject is only left alone.
    pub quiet_s: f64,
}

/// Runs that follow one another, several under way at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Course {
    work_s: f64,
    quiet_s: f64,
}

impl Course {
    pub fn add(&mut self, cost: Cost, runs: usize) {
        self.work_s += cost.work_s * runs as f64;
        self.quiet_s += cost.quiet_s * runs as f64;
    }

    /// Only one run works at a time, and each lane has one run at a time.
    pub fn time(&self, overlap: usize) -> Duration {
        let in_lanes_s = (self.work_s + self.quiet_s) / overlap.max(1) as f64;
        Duration::from_secs_f64(self.work_s.max(in_lanes_s))
    }
}

/// Of one cell.
pub fn of_cell(cell: &Cell, largest: usize, mode: &Timing, control_plane: ControlPlane) -> Cost {
    let pace = pace(control_plane);
    let objects = cell.objects as f64;
    let (start_s, converge_s) = (pace.start_s, objects * pace.create_s);
    let (empty_s, settled_s) = (mode.empty_s as f64, mode.settled_s as f64);
    let restart_s = 2.0 + objects * 0.001;
    let mut cost = Cost {
        work_s: start_s + converge_s,
        quiet_s: empty_s + settled_s,
    };
    let mut also = |work_s: f64, quiet_s: u64| {
        cost.work_s += work_s;
        cost.quiet_s += quiet_s as f64;
    };
    let at_largest = cell.objects == largest && cell.objects > 0;
    match cell.kind {
        Kind::Burst if at_largest => {
            also(restart_s, mode.restart_s);
            if mode.idle.includes(cell.objects, cell.repeat) {
                also(0.0, mode.idle_s.saturating_sub(mode.settled_s));
            }
            if mode.churn.includes(cell.objects, cell.repeat) {
                also(converge_s, 0);
            }
            if mode.deletion.includes(cell.objects, cell.repeat) {
                also(objects * pace.delete_s, mode.deleted_s);
            }
        }
        Kind::AA => also(restart_s, mode.restart_s),
        Kind::RequestCount => also(0.0, 62_u64.saturating_sub(mode.settled_s)),
        Kind::Burst | Kind::DefaultFlags => {}
        Kind::UpdateStorm => {
            cost.work_s += profile::UPDATE_ROUNDS as f64 * profile::UPDATE_EVERY.as_secs_f64();
            cost.quiet_s = empty_s;
        }
        Kind::Rejected | Kind::NeverReady => {
            // Retries are work: nobody else may disturb them.
            cost.work_s += mode.unhealthy_s as f64;
            cost.quiet_s = empty_s;
        }
        Kind::Steady => {
            cost = Cost {
                work_s: start_s + mode.offer_s as f64 + 3.0,
                quiet_s: empty_s,
            };
        }
    }
    cost
}

/// Of a cell that is not known yet.
pub fn of_following(
    kind: Kind,
    largest: usize,
    mode: &Timing,
    control_plane: ControlPlane,
) -> Cost {
    let cell = Cell {
        subject: String::new(),
        objects: largest,
        repeat: 1,
        kind,
    };
    of_cell(&cell, largest, mode, control_plane)
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
    use crate::model::profile::Profile;

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
        };
        let mode = Timing::of(Profile::Standard);
        let cost = |cell: Cell| of_cell(&cell, 5_000, &mode, ControlPlane::Kube);
        let quiet = |cell: Cell| cost(cell).quiet_s;
        assert!(quiet(cell(Kind::Burst, 0, 1)) >= 150.0);
        assert!(quiet(cell(Kind::Burst, 5_000, 2)) >= 210.0);
        assert!(quiet(cell(Kind::Burst, 5_000, 1)) > quiet(cell(Kind::AA, 5_000, 1)));
        assert!(quiet(cell(Kind::RequestCount, 2_000, 1)) >= 62.0);
        assert!(cost(cell(Kind::Steady, 1_000, 1)).work_s >= 30.0);
        assert!(cost(cell(Kind::Burst, 5_000, 1)).work_s > cost(cell(Kind::Burst, 0, 1)).work_s);
    }

    #[test]
    fn quiet_times_overlap_and_work_does_not() {
        let mut course = Course::default();
        let cost = Cost {
            work_s: 100.0,
            quiet_s: 200.0,
        };
        course.add(cost, 10);
        for (overlap, want) in [(1, 3_000), (2, 1_500), (3, 1_000), (8, 1_000)] {
            assert_eq!(course.time(overlap).as_secs(), want, "{overlap} overlap");
        }
    }
}
