//! Which run comes when: subjects interleaved, so that the machine's moods hit all alike.
//!
//! Guarantees: every cell once; the subjects of one size and repeat follow one another, in an
//! order drawn from the seed. Leaves to others: the runs.

use serde::{Deserialize, Serialize};

use crate::model::rng::SplitMix64;

/// One run: a subject at a size, measured once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// `name/variant`.
    pub subject: String,
    pub objects: usize,
    pub repeat: u32,
    pub kind: Kind,
}

/// What a cell is measured for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All objects offered as fast as the server takes them.
    Burst,
    /// Objects offered at a rate that every subject keeps up with.
    Steady,
    /// A second burst of a subject: what differs between the two is noise.
    #[serde(rename = "a-a")]
    AA,
    /// A burst with the server's audit log on, to count requests. Its other figures are not used:
    /// the log slows subjects that send many requests.
    RequestCount,
    /// A burst against a kube-apiserver with its own default flags.
    DefaultFlags,
    /// Objects whose children the server rejects.
    Rejected,
    /// Objects whose children never become ready.
    NeverReady,
    /// Objects that change faster than a subject may be able to follow.
    UpdateStorm,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::Burst,
        Kind::Steady,
        Kind::AA,
        Kind::RequestCount,
        Kind::DefaultFlags,
        Kind::Rejected,
        Kind::NeverReady,
        Kind::UpdateStorm,
    ];

    /// Its name in records, file names and limits.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Burst => "burst",
            Kind::Steady => "steady",
            Kind::AA => "a-a",
            Kind::RequestCount => "request-count",
            Kind::DefaultFlags => "default-flags",
            Kind::Rejected => "rejected",
            Kind::NeverReady => "never-ready",
            Kind::UpdateStorm => "update-storm",
        }
    }

    /// Whether cells of this kind are known before the first run.
    pub fn is_planned_first(self) -> bool {
        !matches!(self, Kind::Steady | Kind::DefaultFlags)
    }

    /// Objects of such a cell never become Ready.
    pub fn is_unhealthy(self) -> bool {
        matches!(self, Kind::Rejected | Kind::NeverReady)
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

/// All cells of one kind: per repeat the sizes in random order, within a size the subjects. A
/// size has its own number of repeats.
pub fn interleaved(
    subjects: &[String],
    sizes: &[(usize, u32)],
    kind: Kind,
    seed: u64,
) -> Vec<Cell> {
    let entries: Vec<(String, Kind)> = subjects.iter().map(|s| (s.clone(), kind)).collect();
    let mut rng = SplitMix64::of(seed, kind as u64 + 1);
    let blocks = blocks(sizes, &mut rng);
    let cells = blocks.into_iter().flat_map(|block| {
        let mut entries = entries.clone();
        rng.shuffle(&mut entries);
        block.cells(entries)
    });
    cells.collect()
}

/// The bursts; in every block of the largest size the subject `second` is measured a second time
/// (A/A), at a place drawn like that of the others.
pub fn bursts(
    subjects: &[String],
    sizes: &[(usize, u32)],
    second: Option<&str>,
    seed: u64,
) -> Vec<Cell> {
    let largest = sizes.iter().map(|(objects, _)| *objects).max();
    let mut rng = SplitMix64::of(seed, Kind::Burst as u64 + 1);
    let blocks = blocks(sizes, &mut rng);
    let cells = blocks.into_iter().flat_map(|block| {
        let bursts = subjects.iter().map(|s| (s.clone(), Kind::Burst));
        let second = second.filter(|_| Some(block.objects) == largest);
        let second = second.map(|subject| (subject.to_owned(), Kind::AA));
        let mut entries: Vec<_> = bursts.chain(second).collect();
        rng.shuffle(&mut entries);
        block.cells(entries)
    });
    cells.collect()
}

/// The subjects of one size and repeat.
struct Block {
    objects: usize,
    repeat: u32,
}

impl Block {
    fn cells(&self, entries: Vec<(String, Kind)>) -> Vec<Cell> {
        let cell = |(subject, kind)| Cell {
            subject,
            objects: self.objects,
            repeat: self.repeat,
            kind,
        };
        entries.into_iter().map(cell).collect()
    }
}

fn blocks(sizes: &[(usize, u32)], rng: &mut SplitMix64) -> Vec<Block> {
    let most = sizes.iter().map(|(_, repeats)| *repeats).max().unwrap_or(0);
    let mut blocks = Vec::new();
    for repeat in 1..=most {
        let within = sizes.iter().filter(|(_, repeats)| repeat <= *repeats);
        let mut round: Vec<usize> = within.map(|(objects, _)| *objects).collect();
        rng.shuffle(&mut round);
        blocks.extend(round.into_iter().map(|objects| Block { objects, repeat }));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cell_comes_once(seed: u64, subjects in 1usize..5, repeats in 1u32..5, more in 0u32..3) {
            let subjects: Vec<String> = (0..subjects).map(|i| format!("s/{i}")).collect();
            let sizes = [(0, repeats), (500, repeats), (2000, repeats), (5000, repeats + more)];
            let mut cells = interleaved(&subjects, &sizes, Kind::Burst, seed);
            prop_assert_eq!(&cells, &interleaved(&subjects, &sizes, Kind::Burst, seed));
            for block in cells.chunks(subjects.len()) {
                prop_assert!(block.iter().all(|c| (c.objects, c.repeat) == (block[0].objects, block[0].repeat)));
            }
            let all = cells.len();
            cells.sort();
            cells.dedup();
            prop_assert_eq!(cells.len(), all);
            prop_assert_eq!(all, subjects.len() * (sizes.len() * repeats as usize + more as usize));
        }

        #[test]
        fn the_second_run_is_beside_its_subject_at_the_largest_size_only(seed: u64, repeats in 1u32..5) {
            let subjects = ["a/x".to_owned(), "b/y".to_owned()];
            let cells = bursts(&subjects, &[(0, 3), (500, repeats)], Some("a/x"), seed);
            let seconds: Vec<&Cell> = cells.iter().filter(|c| c.kind == Kind::AA).collect();
            prop_assert_eq!(seconds.len(), repeats as usize);
            prop_assert!(seconds.iter().all(|c| c.objects == 500 && c.subject == "a/x"));
            for second in seconds {
                let beside = Cell { kind: Kind::Burst, ..second.clone() };
                let place = |cell: &Cell| cells.iter().position(|c| c == cell).map(|p| p as i64);
                let distance = (place(second).expect("there") - place(&beside).expect("there")).abs();
                prop_assert!(distance <= 2);
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let subjects = ["a/x".to_owned(), "b/y".to_owned()];
        let sizes = [0, 1, 2, 3, 4].map(|size| (size, 3));
        let order = |seed| interleaved(&subjects, &sizes, Kind::Burst, seed);
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
