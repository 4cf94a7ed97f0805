//! Random numbers: seeded and replayable ones, and fresh ones from the system.

use rand::{SeedableRng, TryRngCore};
use rand_chacha::ChaCha8Rng;

pub use rand::seq::{IndexedRandom, SliceRandom};
pub use rand::{Rng, RngCore};

/// The generator of every seeded choice: the same stream on every platform and in every release.
pub type SeededRng = ChaCha8Rng;

/// Name of the environment variable that replays a random test.
pub(crate) const SEED_VARIABLE: &str = "FURROW_SEED";

/// A generator that gives the same numbers for the same seed.
pub fn seeded(seed: u64) -> SeededRng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A fresh seed from the system.
pub fn random_seed() -> u64 {
    rand::random()
}

/// The seed of a random test: [`SEED_VARIABLE`] where it is set and a number, else a fresh one.
pub fn test_seed() -> u64 {
    std::env::var(SEED_VARIABLE)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(random_seed)
}

/// 32 bytes from the system's source of secrets, for keys; `None` where it has none to give.
pub fn secret() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    rand::rngs::OsRng.try_fill_bytes(&mut bytes).ok()?;
    Some(bytes)
}

/// The 16 bytes of a version 4 GUID, in the order in which SQL Server stores them: the first three
/// groups of the text form are little-endian.
pub fn guid_v4() -> [u8; 16] {
    let mut bytes: [u8; 16] = rand::random();
    bytes[7] = (bytes[7] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    bytes
}

/// The text of a GUID's stored bytes, upper case: `6F9619FF-8B86-D011-B42D-00C04FC964FF`.
#[cfg(test)]
pub(crate) fn guid_text(stored: &[u8; 16]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::with_capacity(36);
    for (place, index) in ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = stored[index];
        for nibble in [byte >> 4, byte & 0x0F] {
            text.push(
                char::from_digit(u32::from(nibble), 16)
                    .unwrap_or('0')
                    .to_ascii_uppercase(),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_its_stream_and_is_pinned_to_it() {
        let mut one = seeded(7);
        let mut two = seeded(7);
        let first: Vec<u64> = (0..4).map(|_| one.random()).collect();
        assert_eq!(first, (0..4).map(|_| two.random()).collect::<Vec<u64>>());
        assert_ne!(first[0], seeded(8).random::<u64>());
    }

    #[test]
    fn a_guid_carries_version_and_variant_where_its_text_shows_them() {
        for _ in 0..64 {
            let text = guid_text(&guid_v4());
            assert_eq!(text.len(), 36);
            assert_eq!(&text[14..15], "4");
            assert!(matches!(&text[19..20], "8" | "9" | "A" | "B"), "{text}");
        }
        let stored = [
            0xFF, 0x19, 0x96, 0x6F, 0x86, 0x8B, 0x11, 0xD0, 0xB4, 0x2D, 0, 0xC0, 0x4F, 0xC9, 0x64,
            0xFF,
        ];
        assert_eq!(guid_text(&stored), "6F9619FF-8B86-D011-B42D-00C04FC964FF");
    }
}
