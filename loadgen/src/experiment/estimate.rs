//! How long an experiment will take, said before it starts.
//!
//! Guarantees: pure; a rough figure from what phases last at least and from the throughput of known
//! subjects. Leaves to others: keeping the promise.

use std::time::Duration;

use super::mode::Mode;
use super::order::{Cell, Kind};
use crate::server::Choice;

/// What a control plane adds, in seconds.
struct Pace {
    start_s: f64,
    create_s: f64,
    delete_s: f64,
}

/// Means over fast and slow subjects on two cores: 5,000 objects in 20 to 60 s.
fn pace(control_plane: Choice) -> Pace {
    match control_plane {
        Choice::Embedded => Pace {
            start_s: 1.0,
            create_s: 0.003,
            delete_s: 0.003,
        },
        Choice::Kube | Choice::Kine | Choice::Existing => Pace {
            start_s: 6.0,
            create_s: 0.008,
            delete_s: 0.012,
        },
    }
}

/// Of one cell.
pub fn of_cell(cell: &Cell, largest: usize, mode: &Mode, control_plane: Choice) -> f64 {
    let pace = pace(control_plane);
    let objects = cell.objects as f64;
    let start_s = pace.start_s + mode.empty_s as f64;
    let converge_s = objects * pace.create_s;
    let settled_s = mode.settled_s as f64;
    let at_largest = cell.objects == largest && cell.objects > 0;
    let restart_s = mode.restart_s as f64 + 2.0 + objects * 0.001;
    match cell.kind {
        Kind::Burst if at_largest => {
            let first = cell.repeat == 1;
            let idle_s = mode.idle_s.max(mode.long_s.filter(|_| first).unwrap_or(0));
            let churn = mode.churn.includes(cell.objects, cell.repeat);
            let deletion = mode.deletion.includes(cell.objects, cell.repeat);
            let counted = |holds: bool, s: f64| if holds { s } else { 0.0 };
            start_s
                + converge_s
                + settled_s.max(idle_s as f64)
                + counted(churn, converge_s)
                + restart_s
                + counted(deletion, objects * pace.delete_s + mode.deleted_s as f64)
        }
        Kind::Twin => start_s + converge_s + settled_s + restart_s,
        Kind::Audit => start_s + converge_s + settled_s.max(62.0),
        Kind::Burst | Kind::Check => start_s + converge_s + settled_s,
        Kind::Steady => start_s + mode.offer_s as f64 + 3.0,
    }
}

/// Of cells that are not known yet.
pub fn of_following(
    steady: usize,
    checks: usize,
    largest: usize,
    mode: &Mode,
    control_plane: Choice,
) -> f64 {
    let one = |kind| {
        let cell = Cell {
            subject: String::new(),
            objects: largest,
            repeat: 1,
            kind,
        };
        of_cell(&cell, largest, mode, control_plane)
    };
    steady as f64 * one(Kind::Steady) + checks as f64 * one(Kind::Check)
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
    use crate::record::Settle;

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
        let mode = Mode::of(Settle::Standard);
        let s = |cell: Cell| of_cell(&cell, 5_000, &mode, Choice::Kube);
        assert!(s(cell(Kind::Burst, 0, 1)) >= 35.0);
        assert!(s(cell(Kind::Burst, 5_000, 1)) > s(cell(Kind::Burst, 5_000, 2)) + 60.0);
        assert!(s(cell(Kind::Burst, 5_000, 2)) > s(cell(Kind::Twin, 5_000, 2)));
        assert!(s(cell(Kind::Audit, 2_000, 1)) >= 62.0);
        assert!(s(cell(Kind::Steady, 1_000, 1)) >= 30.0);
    }
}
