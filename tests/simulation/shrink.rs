//! A schedule that fails, with as few of its steps as still fail (Zeller's delta debugging).
//!
//! Guarantees: it ends after [`Capacity::shrinks`](crate::capacity::Capacity::shrinks) runs, with the fewest steps that it has found by then.

use crate::schedule::Schedule;

/// The numbers of steps that are enough to fail. All of them, where none can be left out.
pub fn shrink(schedule: &Schedule, fails: impl Fn(&Schedule) -> bool) -> Vec<usize> {
    let mut kept = schedule.numbers();
    let mut left = schedule.capacity.shrinks();
    let mut chunk = kept.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        while start < kept.len() {
            if left == 0 {
                return kept;
            }
            left -= 1;
            let end = (start + chunk).min(kept.len());
            let less: Vec<usize> = [&kept[..start], &kept[end..]].concat();
            match fails(&schedule.only(&less)) {
                true => kept = less,
                false => start = end,
            }
        }
        match chunk {
            1 => return kept,
            _ => chunk = chunk.div_ceil(2),
        }
    }
}
