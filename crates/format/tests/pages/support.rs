//! Seeded random input for the property tests.

use furrow_format::{RecordBuilder, RecordKind, VarColumn};

/// SplitMix64: enough randomness for tests, and the same on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.next() % end as u64) as usize
        }
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// The seeds to run: the one in `FURROW_SEED`, or `0..count`.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("FURROW_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        Some(seed) => vec![seed],
        None => (0..count).collect(),
    }
}

/// Prints which seed failed when the test unwinds.
pub(crate) struct OnFailure(pub(crate) u64);

impl Drop for OnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with FURROW_SEED={}", self.0);
        }
    }
}

/// A random sound record: an index record whose fixed part is `pminlen` bytes, or a data record.
pub(crate) fn record(rng: &mut Rng, index: bool, pminlen: u16) -> Vec<u8> {
    let longest = if rng.chance(5) {
        3000
    } else if rng.chance(30) {
        400
    } else {
        40
    };
    let header = if index { 1 } else { 4 };
    let fixed = rng.bytes(usize::from(pminlen) - header);
    let first = rng.below(longest);
    let columns = [rng.bytes(first), rng.bytes(7), Vec::new()];
    let complex = rng.chance(10);
    let vars: Vec<_> = columns
        .iter()
        .map(|bytes| VarColumn { bytes, complex })
        .collect();
    let kind = if index {
        RecordKind::Index
    } else {
        RecordKind::Primary
    };
    let mut out = Vec::new();
    let built = RecordBuilder {
        columns: if rng.chance(80) { 9 } else { 0 },
        null_bitmap: &[rng.next() as u8],
        vars: if rng.chance(70) { &vars } else { &[] },
        version_tag: rng.chance(10).then_some([3; 14]),
        ..RecordBuilder::new(kind, &fixed)
    }
    .build(&mut out);
    assert!(built.is_some());
    out
}
