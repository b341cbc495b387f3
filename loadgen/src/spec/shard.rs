//! A part of a run that is spread over several loadgens.
//!
//! Guarantees: pure; the shards of a run have each of its objects once, and their sizes differ by one at most.
//! Leaves to others: what the shards found (`cli::merge`).

use serde::{Deserialize, Serialize};

/// More loadgens than any cluster has nodes.
const MOST: usize = 10_000;

/// Shard `index` of `of`, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    pub index: usize,
    pub of: usize,
}

impl Default for Shard {
    /// All of it.
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

impl Shard {
    /// `I/N`, or `N` where an Indexed Job gives the index.
    ///
    /// # Errors
    /// What to write.
    pub fn parse(text: &str, job_index: Option<&str>) -> Result<Self, String> {
        let (index, of) = match (text.split_once('/'), job_index) {
            (Some((index, of)), _) => (index, of),
            (None, Some(index)) => (index, text),
            (None, None) => {
                return Err(
                    "write I/N, such as 0/50; N alone needs JOB_COMPLETION_INDEX, which an Indexed Job sets"
                        .into(),
                );
            }
        };
        let number = |text: &str| text.parse::<usize>().ok();
        match (number(index), number(of)) {
            (Some(index), Some(of)) if index < of && of <= MOST => Ok(Self { index, of }),
            _ => Err(format!(
                "{index}/{of}: write I/N, I from 0 to N-1 and N up to {MOST}"
            )),
        }
    }

    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// How many of so many objects are in it.
    pub fn share_of(self, objects: usize) -> usize {
        let more = usize::from(self.index < objects % self.of);
        objects / self.of + more
    }

    /// The place among all objects of the one that is at `index` in this shard.
    pub fn place(self, index: usize) -> usize {
        index * self.of + self.index
    }

    /// The inverse of [`Shard::place`]; `None` for an object of another shard.
    pub fn index_of(self, place: usize) -> Option<usize> {
        (place % self.of == self.index).then_some(place / self.of)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shard_is_named_by_its_place_or_by_the_job() {
        for (text, job, want) in [
            ("3/50", None, Some("3/50")),
            ("50", Some("7"), Some("7/50")),
            ("3/50", Some("7"), Some("3/50")),
            ("50", None, None),
            ("50/50", None, None),
            ("50", Some("50"), None),
            ("0/0", None, None),
            ("a/b", None, None),
        ] {
            let got = Shard::parse(text, job).ok().map(|it| it.to_string());
            assert_eq!(got.as_deref(), want, "{text} {job:?}");
        }
    }

    proptest! {
        #[test]
        fn each_object_is_in_one_shard(objects in 0usize..500, of in 1usize..20) {
            let shards = (0..of).map(|index| Shard { index, of });
            let mut places: Vec<usize> = shards
                .flat_map(|shard| (0..shard.share_of(objects)).map(move |index| shard.place(index)))
                .collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..objects).collect::<Vec<_>>());
            for place in 0..objects {
                let shard = Shard { index: place % of, of };
                prop_assert_eq!(shard.index_of(place).map(|index| shard.place(index)), Some(place));
            }
        }
    }
}
