//! The result of trying schedules.

/// What trying schedules came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// Schedules tried.
    pub schedules: u64,
    /// How many of them differ.
    pub distinct: u64,
    /// Places where another thread might have gone on, in all of them.
    pub steps: u64,
}

/// A schedule that ended badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The seed that draws it again.
    pub seed: u64,
    /// What happened, and where each thread was.
    pub text: String,
}
