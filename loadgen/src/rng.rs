//! SplitMix64 that can be repeated: one 64-bit generator and what is drawn from it.
//!
//! Guarantees: the same seed gives the same draws on every machine. Leaves to others: what the
//! draws decide. Not for secrets.

/// `SplitMix64` (Steele, Lea, Flood 2014): small, and good enough to shuffle and to pick words.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent stream for one purpose, such as one object or one repeat.
    pub fn of(seed: u64, purpose: u64) -> Self {
        let mut mixed = Self(seed ^ purpose.wrapping_mul(0xd134_2543_de82_ef95));
        mixed.draw();
        mixed
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; the bias is below `bound / 2^64`. 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.draw()) * bound as u128) >> 64) as usize
    }

    /// Fisher-Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `digits` lower-case hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.draw()));
        }
        text.truncate(digits);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shuffle_keeps_every_item(seed: u64, mut items: Vec<u16>) {
            let mut shuffled = items.clone();
            SplitMix64::new(seed).shuffle(&mut shuffled);
            items.sort_unstable();
            shuffled.sort_unstable();
            prop_assert_eq!(items, shuffled);
        }

        #[test]
        fn a_draw_stays_below_its_bound(seed: u64, bound in 1usize..10_000) {
            prop_assert!(SplitMix64::new(seed).below(bound) < bound);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_digits() {
        assert_eq!(SplitMix64::of(7, 3).hex(40), SplitMix64::of(7, 3).hex(40));
        assert_ne!(SplitMix64::of(7, 3).hex(40), SplitMix64::of(7, 4).hex(40));
    }
}
