//! Trace flags that are set.

use std::sync::atomic::AtomicU64;

/// A trace flag's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceFlag(pub(super) u16);

impl TraceFlag {
    /// The highest number that is accepted.
    pub const MAX: u16 = 17_798;

    /// The flag of that number; `None` where there cannot be one.
    pub fn new(number: i64) -> Option<TraceFlag> {
        u16::try_from(number)
            .ok()
            .filter(|number| *number <= TraceFlag::MAX)
            .map(TraceFlag)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }
}

impl std::fmt::Display for TraceFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of trace flags that many threads may test while one changes it.
pub struct FlagSet {
    pub(super) words: Box<[AtomicU64]>,
}

impl Default for FlagSet {
    fn default() -> FlagSet {
        FlagSet::new()
    }
}

impl std::fmt::Debug for FlagSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The trace flags of an instance.
#[derive(Debug, Default)]
pub struct TraceFlags {
    pub(super) global: FlagSet,
}
