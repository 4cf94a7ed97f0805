//! The rows: keys, and payloads that depend on the key.
//!
//! A payload is a slice of 64 MB of text that resembles business records: words of a skewed vocabulary of
//! 2,000, numbers, hexadecimal ids. The constants of the generator are those of the peers' harness, so that
//! every engine stores the same bytes.

use std::sync::OnceLock;

const POOL_BYTES: usize = 64 << 20;
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A one-to-one mapping that scatters numbers over all 64-bit numbers.
pub(crate) fn mix(number: u64) -> u64 {
    finish(number.wrapping_add(GOLDEN))
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        finish(self.0)
    }

    /// A number from 0 to `end`, exclusive.
    #[inline]
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

fn make_pool() -> Vec<u8> {
    let mut random = Random(42);
    let words: Vec<Vec<u8>> = (0..2000)
        .map(|_| {
            let length = 3 + random.below(8);
            (0..length).map(|_| b'a' + random.below(26) as u8).collect()
        })
        .collect();
    let mut pool = Vec::with_capacity(POOL_BYTES + 4096);
    while pool.len() < POOL_BYTES + 4096 {
        match random.below(10) {
            0 | 1 => pool.extend_from_slice(random.below(1_000_000).to_string().as_bytes()),
            2 => pool.extend_from_slice(format!("{:08x}", random.next() as u32).as_bytes()),
            _ => {
                let (a, b, c) = (random.below(2000), random.below(2000), random.below(2000));
                let place = (a * b / 2000 * c / 2000) as usize;
                pool.extend_from_slice(words.get(place).map_or(b"".as_slice(), Vec::as_slice));
            }
        }
        pool.push(b' ');
    }
    pool
}

/// The text, created at the first call.
pub(crate) fn pool() -> &'static [u8] {
    static POOL: OnceLock<Vec<u8>> = OnceLock::new();
    POOL.get_or_init(make_pool)
}

/// A longer payload could reach beyond the text.
pub(crate) const MAX_PAYLOAD: u64 = 4096;

/// The payload of a key.
#[inline]
pub(crate) fn payload(key: u64, len: usize) -> &'static [u8] {
    let from = (mix(key ^ 0x5BD1_E995) as usize) % POOL_BYTES;
    pool().get(from..from + len).unwrap_or(b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_text_of_the_length_asked_for_and_depend_on_the_key_alone() {
        let text = payload(7, 100);
        assert_eq!((text.len(), text), (100, payload(7, 100)));
        assert_ne!(text, payload(8, 100));
        assert!(
            text.iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b' ')
        );
        assert_eq!(payload(u64::MAX, MAX_PAYLOAD as usize).len(), 4096);
    }

    #[test]
    fn random_numbers_stay_below_their_end_and_reach_it() {
        let mut random = Random(1);
        let seen: Vec<u64> = (0..2000).map(|_| random.below(10)).collect();
        assert!(seen.iter().all(|&n| n < 10) && (0..10).all(|n| seen.contains(&n)));
        // The first number of SplitMix64 with the seed 0.
        assert_eq!(Random(0).next(), 0xE220_A839_7B1D_CDAF);
    }
}
