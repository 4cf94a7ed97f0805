//! Scenes for one rule each: what chance meets too seldom to be relied on.
//!
//! A scene makes the one situation that its rule is for, as certainly as threads allow, and says what came
//! of it. Faults that the broad parts of the [`crate::share`] pass by are caught here.
//!
//! # The scenes
//! 1. Two transactions wait for each other: one of them is the victim, the other goes on.
//! 2. Who gets a lock commits behind who had it: the power goes between the two acknowledgements.
//! 3. The pages of a dropped table are nobody's before the commit is durable.
//! 4. Rows of a heap move between the same few pages under many threads, each of which gets through.
//! 5. Pages come from and go to several files at once under many threads, each of which gets through.
//! 6. A block of the log that was in flight behind a lost one is never taken for a part of a later log.

mod drops;
mod latches;
mod locks;
mod log;

use crate::Finding;

/// A scene: its name, and what it does with a seed.
pub type Scene = (&'static str, fn(u64) -> Result<(), String>);

/// All scenes.
pub const SCENES: [Scene; 6] = [
    ("two transactions wait for each other", locks::deadlock),
    ("commits in the order of a lock", locks::order_of_commits),
    ("pages of a dropped table", drops::pages_of_the_dropped),
    ("rows move between the same pages", latches::moving_rows),
    ("pages of several files at once", latches::many_files),
    ("blocks behind a lost one", log::stale_blocks),
];

/// Plays all scenes.
pub fn run(seed: u64) -> Result<(), Box<Finding>> {
    for (name, scene) in SCENES {
        scene(seed).map_err(|what| {
            Box::new(Finding {
                seed,
                place: format!("scene '{name}'"),
                what,
                steps: Vec::new(),
            })
        })?;
    }
    Ok(())
}
