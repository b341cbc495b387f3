//! Which run comes when: subjects interleaved, so that the machine's moods hit all alike.
//!
//! Guarantees: every cell once; the subjects of one size and repeat follow one another, in an
//! order drawn from the seed. Leaves to others: the runs.

use serde::{Deserialize, Serialize};

use crate::seed::Chance;

/// One run: a subject at a size, measured once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// `name/variant`.
    pub subject: String,
    pub objects: usize,
    pub repeat: u32,
    pub kind: Kind,
}

/// How objects are offered in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Burst,
    Steady,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Burst => "burst",
            Kind::Steady => "steady",
        }
    }
}

impl Cell {
    /// Name of its files.
    pub fn file_stem(&self) -> String {
        let Self {
            subject,
            objects,
            repeat,
            kind,
        } = self;
        format!(
            "{}-{}-{objects}-r{repeat}",
            subject.replace('/', "-"),
            kind.name()
        )
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            subject,
            objects,
            repeat,
            kind,
        } = self;
        write!(f, "{subject} {} {objects}", kind.name())?;
        if *repeat > 1 {
            write!(f, " (repeat {repeat})")
        } else {
            Ok(())
        }
    }
}

/// All cells of one kind: per repeat the sizes in random order, within a size the subjects.
pub fn interleaved(
    subjects: &[String],
    sizes: &[usize],
    repeats: u32,
    kind: Kind,
    seed: u64,
) -> Vec<Cell> {
    let mut chance = Chance::of(seed, kind as u64 + 1);
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        let mut sizes = sizes.to_vec();
        chance.shuffle(&mut sizes);
        for objects in sizes {
            let mut subjects = subjects.to_vec();
            chance.shuffle(&mut subjects);
            cells.extend(subjects.into_iter().map(|subject| Cell {
                subject,
                objects,
                repeat,
                kind,
            }));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cell_comes_once(seed: u64, subjects in 1usize..5, repeats in 1u32..5) {
            let subjects: Vec<String> = (0..subjects).map(|i| format!("s/{i}")).collect();
            let sizes = [0, 500, 2000, 5000];
            let mut cells = interleaved(&subjects, &sizes, repeats, Kind::Burst, seed);
            prop_assert_eq!(&cells, &interleaved(&subjects, &sizes, repeats, Kind::Burst, seed));
            for block in cells.chunks(subjects.len()) {
                prop_assert!(block.iter().all(|c| (c.objects, c.repeat) == (block[0].objects, block[0].repeat)));
            }
            let all = cells.len();
            cells.sort();
            cells.dedup();
            prop_assert_eq!(cells.len(), all);
            prop_assert_eq!(all, subjects.len() * sizes.len() * repeats as usize);
        }
    }

    #[test]
    fn seeds_differ() {
        let subjects = ["a/x".to_owned(), "b/y".to_owned()];
        let order = |seed| interleaved(&subjects, &[0, 1, 2, 3, 4], 3, Kind::Burst, seed);
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_file_name_has_no_slash() {
        let cell = Cell {
            subject: "tare/none".into(),
            objects: 500,
            repeat: 2,
            kind: Kind::Steady,
        };
        assert_eq!(cell.file_stem(), "tare-none-steady-500-r2");
        assert_eq!(cell.to_string(), "tare/none steady 500 (repeat 2)");
    }
}
