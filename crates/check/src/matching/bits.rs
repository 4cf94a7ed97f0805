//! A set of small numbers.

/// One bit for each number below a bound.
#[derive(Debug, Default)]
pub(super) struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty one, for numbers below `bound`.
    pub(super) fn new(bound: usize) -> BitSet {
        BitSet(vec![0; bound.div_ceil(64)])
    }

    /// Adds a number; whether it was in it before.
    pub(super) fn set(&mut self, number: usize) -> bool {
        let Some(word) = self.0.get_mut(number / 64) else {
            return false;
        };
        let bit = 1 << (number % 64);
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    /// Whether a number is in it.
    pub(super) fn has(&self, number: usize) -> bool {
        let word = self.0.get(number / 64).copied().unwrap_or(0);
        word >> (number % 64) & 1 != 0
    }
}
