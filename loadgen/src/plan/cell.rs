//! Which run comes when: subjects interleaved, so that the machine's moods hit all alike.
//!
//! Guarantees: every cell once; the subjects of one size and repeat follow one another, in an
//! order drawn from the seed. Leaves to others: the runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::SplitMix64;

/// One run: a subject at a size, measured once.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Cell {
    /// `name/variant`.
    pub subject: String,
    pub objects: usize,
    pub repeat: u32,
    pub kind: Kind,
    /// Objects offered per second; only in cells of [`Kind::Rate`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<u32>,
}

/// What a cell is measured for.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All objects at once, with nothing else at work on the machine: for times and CPU.
    #[default]
    Drain,
    /// A second drain of a subject: what differs between the two is noise.
    DrainAa,
    /// Objects at a rate, with nothing else at work on the machine: one point of the rate sweep.
    Rate,
    /// All objects at once, then left idle until memory has settled: for memory. Other runs may
    /// work meanwhile.
    Memory,
    /// A second memory run of a subject.
    MemoryAa,
    /// All objects at once with the server's audit log on, to count requests. Its other figures are
    /// not used: the log slows subjects that send many requests.
    RequestCount,
    /// A drain against a kube-apiserver with its own default flags.
    DefaultFlags,
    /// Objects whose children the server rejects.
    Rejected,
    /// Objects whose children never become ready.
    NeverReady,
    /// Objects that change faster than a subject may be able to follow.
    UpdateStorm,
}

impl Kind {
    pub const ALL: [Kind; 10] = [
        Kind::Drain,
        Kind::DrainAa,
        Kind::Rate,
        Kind::Memory,
        Kind::MemoryAa,
        Kind::RequestCount,
        Kind::DefaultFlags,
        Kind::Rejected,
        Kind::NeverReady,
        Kind::UpdateStorm,
    ];

    /// Its name in records, file names and limits.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Drain => "drain",
            Kind::DrainAa => "drain-aa",
            Kind::Rate => "rate",
            Kind::Memory => "memory",
            Kind::MemoryAa => "memory-aa",
            Kind::RequestCount => "request-count",
            Kind::DefaultFlags => "default-flags",
            Kind::Rejected => "rejected",
            Kind::NeverReady => "never-ready",
            Kind::UpdateStorm => "update-storm",
        }
    }

    /// Whether its times and CPU are published: it runs with nothing else at work on the machine.
    pub fn is_timed(self) -> bool {
        matches!(
            self,
            Kind::Drain | Kind::DrainAa | Kind::Rate | Kind::DefaultFlags
        )
    }

    /// The kind in which the same is measured a second time (A/A).
    pub fn second(self) -> Option<Kind> {
        match self {
            Kind::Drain => Some(Kind::DrainAa),
            Kind::Memory => Some(Kind::MemoryAa),
            _ => None,
        }
    }

    /// Whether cells of this kind are known before the first run.
    pub fn is_planned_first(self) -> bool {
        self != Kind::Rate
    }

    /// Objects of such a cell never become Ready.
    pub fn is_unhealthy(self) -> bool {
        matches!(self, Kind::Rejected | Kind::NeverReady)
    }
}

/// Objects up to which a run that is not timed keeps its samples, too: what they say is not published.
const MOST_SAMPLES_UNTIMED: usize = 2_000;

impl Cell {
    /// The first run of a subject, not at a rate.
    pub fn first(subject: String, kind: Kind, objects: usize) -> Self {
        Self {
            subject,
            objects,
            repeat: 1,
            kind,
            per_s: None,
        }
    }

    /// Whether its folder keeps what happened to each object.
    pub fn has_samples(&self) -> bool {
        self.objects > 0 && (self.kind.is_timed() || self.objects <= MOST_SAMPLES_UNTIMED)
    }

    /// Name of its files.
    pub fn file_stem(&self) -> String {
        let Self {
            subject,
            objects,
            repeat,
            kind,
            per_s,
        } = self;
        let rate = per_s.map_or_else(String::new, |per_s| format!("-at-{per_s}"));
        format!(
            "{}-{}-{objects}{rate}-r{repeat}",
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
            per_s,
        } = self;
        write!(f, "{subject} {} {objects}", kind.name())?;
        if let Some(per_s) = per_s {
            write!(f, " at {per_s}/s")?;
        }
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
    with_second(subjects, sizes, kind, None, seed)
}

/// Which subject is measured a second time (A/A), and in how many repeats of the largest size.
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a> {
    pub subject: &'a str,
    pub pairs: u32,
}

/// The same; in the repeats of the largest size one subject is measured a second time, at a place
/// drawn like that of the others. Where more pairs are asked for than the size has repeats, the
/// repeats after those have that subject alone.
pub fn with_second(
    subjects: &[String],
    sizes: &[(usize, u32)],
    kind: Kind,
    second: Option<Pairs>,
    seed: u64,
) -> Vec<Cell> {
    let largest = sizes.iter().max_by_key(|(objects, _)| *objects).copied();
    let mut rng = SplitMix64::of(seed, kind as u64 + 1);
    let mut cells = Vec::new();
    for block in blocks(sizes, &mut rng) {
        let mut entries: Vec<_> = subjects.iter().map(|s| (s.clone(), kind)).collect();
        let is_largest = largest.is_some_and(|(objects, _)| objects == block.objects);
        let paired = second.filter(|second| is_largest && block.repeat <= second.pairs);
        let paired = paired.and_then(|second| Some((second.subject.to_owned(), kind.second()?)));
        entries.extend(paired);
        rng.shuffle(&mut entries);
        cells.extend(block.cells(entries));
    }
    if let (Some(second), Some((objects, repeats)), Some(other)) = (second, largest, kind.second())
    {
        for repeat in repeats + 1..=second.pairs {
            let mut entries = [kind, other].map(|kind| (second.subject.to_owned(), kind));
            rng.shuffle(&mut entries);
            cells.extend(Block { objects, repeat }.cells(entries.to_vec()));
        }
    }
    cells
}

/// The cells of one rate: per repeat the subjects in random order.
pub fn at_rate(
    subjects: &[String],
    objects: usize,
    repeats: u32,
    per_s: u32,
    seed: u64,
) -> Vec<Cell> {
    let mut rng = SplitMix64::of(seed, (1 << 32) + u64::from(per_s));
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        let mut entries: Vec<_> = subjects.iter().map(|s| (s.clone(), Kind::Rate)).collect();
        rng.shuffle(&mut entries);
        let block = Block { objects, repeat }.cells(entries);
        cells.extend(block.into_iter().map(|cell| Cell {
            per_s: Some(per_s),
            ..cell
        }));
    }
    cells
}

/// The subjects of one size and repeat.
struct Block {
    objects: usize,
    repeat: u32,
}

impl Block {
    fn cells(&self, entries: Vec<(String, Kind)>) -> Vec<Cell> {
        let cell = |(subject, kind)| Cell {
            repeat: self.repeat,
            ..Cell::first(subject, kind, self.objects)
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
            let mut cells = interleaved(&subjects, &sizes, Kind::Memory, seed);
            prop_assert_eq!(&cells, &interleaved(&subjects, &sizes, Kind::Memory, seed));
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
        fn the_second_run_is_beside_its_subject_at_the_largest_size_only(
            seed: u64, repeats in 1u32..5, pairs in 1u32..12,
        ) {
            let subjects = ["a/x".to_owned(), "b/y".to_owned()];
            let second = Some(Pairs { subject: "a/x", pairs });
            let cells = with_second(&subjects, &[(0, 3), (500, repeats)], Kind::Drain, second, seed);
            let seconds: Vec<&Cell> = cells.iter().filter(|c| c.kind == Kind::DrainAa).collect();
            prop_assert_eq!(seconds.len(), pairs as usize);
            prop_assert!(seconds.iter().all(|c| c.objects == 500 && c.subject == "a/x"));
            for second in seconds {
                let beside = Cell { kind: Kind::Drain, ..second.clone() };
                let place = |cell: &Cell| cells.iter().position(|c| c == cell).map(|p| p as i64);
                let distance = (place(second).expect("there") - place(&beside).expect("there")).abs();
                prop_assert!(distance <= 2);
            }
            let others = cells.iter().filter(|c| c.subject == "b/y" && c.objects == 500);
            prop_assert_eq!(others.count(), repeats as usize);
        }

        #[test]
        fn a_rate_has_every_subject_once_per_repeat(seed: u64, repeats in 1u32..5) {
            let subjects = ["a/x".to_owned(), "b/y".to_owned(), "c/z".to_owned()];
            let cells = at_rate(&subjects, 500, repeats, 20, seed);
            prop_assert_eq!(cells.len(), 3 * repeats as usize);
            for block in cells.chunks(3) {
                let mut ids: Vec<&str> = block.iter().map(|c| c.subject.as_str()).collect();
                ids.sort_unstable();
                prop_assert_eq!(ids, ["a/x", "b/y", "c/z"]);
                prop_assert!(block.iter().all(|c| c.repeat == block[0].repeat && c.per_s == Some(20)));
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let subjects = ["a/x".to_owned(), "b/y".to_owned()];
        let sizes = [0, 1, 2, 3, 4].map(|size| (size, 3));
        let order = |seed| interleaved(&subjects, &sizes, Kind::Memory, seed);
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_file_name_has_no_slash() {
        let cell = Cell {
            subject: "tare/none".into(),
            objects: 500,
            repeat: 2,
            kind: Kind::Drain,
            per_s: None,
        };
        assert_eq!(cell.file_stem(), "tare-none-drain-500-r2");
        assert_eq!(cell.to_string(), "tare/none drain 500 (repeat 2)");
        let at_rate = Cell {
            kind: Kind::Rate,
            per_s: Some(20),
            ..cell
        };
        assert_eq!(at_rate.file_stem(), "tare-none-rate-500-at-20-r2");
        assert_eq!(at_rate.to_string(), "tare/none rate 500 at 20/s (repeat 2)");
    }
}
