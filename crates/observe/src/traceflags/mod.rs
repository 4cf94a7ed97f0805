//! Trace flags: numbers that switch diagnostics and behaviour, for the instance or for a session.
//!
//! Any number from 0 to 17,798 may be turned on, known or not; a number outside is an error and then nothing
//! changes. 0 is accepted and does nothing. Flags that can only be set at start are refused with a notice.
//! The test of a flag is one load of a bit map, two where the session has its own.

mod dbcc;
mod kinds;
mod set;

pub use set::{FlagSet, TraceFlag, TraceFlags};

pub use dbcc::{FlagStatus, Target, log_line};
pub use kinds::{Effect, FlagInfo, KNOWN, Safety, Scope, effect_note, info, render_markdown};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS: usize = TraceFlag::MAX as usize / 64 + 1;

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
