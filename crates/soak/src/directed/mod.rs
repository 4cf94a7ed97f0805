//! Scenes for one rule each: situations that random tests meet too seldom.
//!
//! A scene creates the one situation that its rule is for, as certainly as threads allow, and returns what
//! happened. It catches faults that the broad parts of the [`crate::share`] miss.
//!
//! # The scenes
//! 1. Two transactions wait for each other: one of them is the victim, the other goes on.
//! 2. A transaction that gets a lock commits after the one that had it: the power goes between the two
//!    acknowledgements.
//! 3. The pages of a dropped table have no owner before the commit is durable.
//! 4. Rows of a heap move between the same few pages under many threads, each of which gets through.
//! 5. Pages come from and go to several files at once under many threads, each of which gets through.
//! 6. A block of the log that was in flight behind a lost one is never taken for a part of a later log.
//! 7. A page that rotted is restored to what was written there last, not to its content before it was created
//!    again.
//! 8. A file that was cut off is opened after a power loss, though the log has changes of what lay behind.
//! 9. A page that is marked dirty late, with an old LSN, does not move the redo point back.
//! 10. The log of a transaction that ended is not overwritten before its end is durable.
//! 11. An old copy of a data file is not taken for the one that belongs to the log.
//! 12. No key comes between those that a SERIALIZABLE transaction has read.
//! 13. No transaction locks a whole table while others change rows of it.
//! 14. After a power loss every page that differs from a saved copy has its bit in the changed-extent map.
//! 15. A backup reads a page whole that is being written.
//! 16. A backup has the pages that a load filled past the log when all files were copied.
//! 17. A backup has the pages that its log changes and that were freed before it read the maps.
//! 18. A backup has the log of the changes on its pages, committed or not.
//! 19. What a transaction learns of a commit that waits for the log it learns when that is durable: the power
//!     goes with its answer.

mod backups;
mod changed;
mod drops;
mod ends;
mod fence;
mod files;
mod following;
mod latches;
mod locks;
mod log;
mod redo_point;

use crate::Finding;
use crate::subject::{FullBackups, Layout};
use furrow_observe::Instruments;
use furrow_pool::{Pool, PoolConfig};
use std::sync::Arc;

/// A small store whose sessions wait for each other's locks.
const WAITING: Layout = Layout {
    files: 1,
    pool_pages: 160,
    log_kb: 512,
    log_grows: true,
    file_kb: 512,
    growth_kb: 512,
    grow_all: false,
    mixed_pages: false,
    double_write_pages: 16,
    waits_for_locks: true,
    full_backups: FullBackups::Never,
    background: false,
};

/// A scene: its name, and what it does with a seed.
pub type Scene = (&'static str, fn(u64) -> Result<(), String>);

/// All scenes.
pub const SCENES: [Scene; 19] = [
    ("two transactions wait for each other", locks::deadlock),
    ("commits in the order of a lock", locks::order_of_commits),
    (
        "what is learned of a commit",
        following::learned_of_a_commit,
    ),
    ("keys between those that were read", locks::guarded_gaps),
    ("a whole table and parts of it", locks::whole_table),
    ("pages of a dropped table", drops::pages_of_the_dropped),
    ("rows move between the same pages", latches::moving_rows),
    ("pages of several files at once", latches::many_files),
    ("blocks behind a lost one", log::stale_blocks),
    ("the image of a former life", files::image_of_a_former_life),
    ("a file that was cut off", files::file_cut_off),
    ("a page that is dirty too late", redo_point::dirty_too_late),
    ("an end that is not durable", ends::end_not_durable),
    ("an old copy of a file", files::old_copy),
    ("changed extents", changed::changed_extents),
    (
        "a page read between its halves",
        fence::read_between_the_halves,
    ),
    ("a load behind the copy", backups::loaded_behind_the_copy),
    (
        "freed before the maps are read",
        backups::freed_before_the_maps,
    ),
    (
        "copied and not committed",
        backups::copied_and_not_committed,
    ),
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

/// What went wrong in a scene for other reasons than the one that is looked for.
fn as_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A pool for a scene below the engine, without background threads.
fn small_pool() -> Result<Arc<Pool>, String> {
    let config = PoolConfig {
        pages: 64,
        background: false,
        readers: 0,
        instruments: Instruments::new(),
        ..PoolConfig::default()
    };
    Pool::new(config).map_err(as_text)
}
