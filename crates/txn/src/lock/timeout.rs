//! How long a lock request may wait.

use std::time::Duration;

/// How long a request may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timeout {
    /// Until granted, chosen as a victim, or cancelled.
    #[default]
    Forever,
    /// Not at all: a conflict is error 1222 at once.
    NoWait,
    /// At most so many milliseconds.
    Millis(u32),
}

impl Timeout {
    /// What is left of it after some waiting.
    pub fn left(self, waited: Duration) -> Timeout {
        match self {
            Timeout::Millis(millis) => {
                let waited = u32::try_from(waited.as_millis()).unwrap_or(u32::MAX);
                match millis.saturating_sub(waited) {
                    0 => Timeout::NoWait,
                    left => Timeout::Millis(left),
                }
            }
            other => other,
        }
    }

    /// From SET LOCK_TIMEOUT: -1 is for ever.
    #[cfg(test)]
    pub(crate) fn from_setting(millis: i32) -> Timeout {
        match u32::try_from(millis) {
            Err(_) => Timeout::Forever,
            Ok(0) => Timeout::NoWait,
            Ok(millis) => Timeout::Millis(millis),
        }
    }
}
