//! Trace flags: numbers that switch diagnostics and behaviour, for the instance or for a session.
//!
//! Any number from 0 to 17,798 may be turned on, known or not; a number outside is an error and then
//! nothing changes. 0 is accepted and does nothing. Flags that can only be set at start are refused with
//! a notice. Asking whether a flag is on is one load of a bit map, two where the session has its own.

mod dbcc;
mod kinds;

pub use dbcc::{FlagStatus, Target, log_line};
pub use kinds::{Effect, FlagInfo, KNOWN, Safety, Scope, effect_note, info, render_markdown};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A trace flag's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceFlag(u16);

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

const WORDS: usize = TraceFlag::MAX as usize / 64 + 1;

/// A set of trace flags that many threads may ask while one changes it.
pub struct FlagSet {
    words: Box<[AtomicU64]>,
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

impl FlagSet {
    /// No flag.
    pub fn new() -> FlagSet {
        FlagSet {
            words: (0..WORDS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn word(&self, flag: TraceFlag) -> (&AtomicU64, u64) {
        (&self.words[usize::from(flag.0) / 64], 1 << (flag.0 % 64))
    }

    /// Whether the flag is in the set.
    pub fn contains(&self, flag: TraceFlag) -> bool {
        let (word, bit) = self.word(flag);
        word.load(Relaxed) & bit != 0
    }

    /// Puts the flag in or takes it out.
    pub fn set(&self, flag: TraceFlag, on: bool) {
        let (word, bit) = self.word(flag);
        if on {
            word.fetch_or(bit, Relaxed);
        } else {
            word.fetch_and(!bit, Relaxed);
        }
    }

    /// The flags of the set, by number.
    pub fn iter(&self) -> impl Iterator<Item = TraceFlag> {
        (0..=TraceFlag::MAX)
            .map(TraceFlag)
            .filter(|flag| self.contains(*flag))
    }
}

/// The trace flags of an instance.
#[derive(Debug, Default)]
pub struct TraceFlags {
    global: FlagSet,
}

impl TraceFlags {
    /// Whether the flag is on globally: one load.
    pub fn is_on_globally(&self, flag: TraceFlag) -> bool {
        self.global.contains(flag)
    }

    /// Whether the flag is on, globally or for the session. A flag known to be global-only has no
    /// effect when set for a session.
    pub fn is_on(&self, flag: TraceFlag, session: Option<&FlagSet>) -> bool {
        self.global.contains(flag)
            || session.is_some_and(|set| set.contains(flag) && !is_global_only(flag))
    }

    /// Turns a flag on at start, as the startup parameter `-T` does: startup-only ones too.
    pub fn set_at_start(&self, flag: TraceFlag) {
        if flag.number() != 0 {
            self.global.set(flag, true);
        }
    }
}

fn is_global_only(flag: TraceFlag) -> bool {
    info(flag).is_some_and(|info| info.scope == Scope::Global)
}
