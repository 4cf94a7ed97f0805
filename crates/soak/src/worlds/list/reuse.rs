//! Worlds of reuse: the log under a transaction that still needs it, places of moved rows, pages that loads
//! filled past the log, numbers of files.

use super::super::steps::{Script, Size, Step, World};
use super::{CLUSTERED, HEAP, LAYOUT};
use crate::rows::TABLES;

/// A table that is quick to load.
const LOADED: u16 = TABLES;

/// The log is written once round while the oldest transaction keeps its first part: it must grow.
pub(super) fn log_wraps_under_a_transaction() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=50, Size::Long));
    let mut s = s
        .then()
        .step(Step::Begin(1))
        .put((1, HEAP), 1..=3, Size::Middle);
    for _ in 0..4 {
        s = s
            .committed(|s| s.change((0, CLUSTERED), 1..=50, Size::Long))
            .step(Step::Checkpoint);
    }
    s.step(Step::Rollback(1))
        .step(Step::Checkpoint)
        .committed(|s| s.put((0, HEAP), [9], Size::Small))
        .world("the log wraps under an open transaction", LAYOUT)
}

/// Rows that were moved outgrow the page that they were moved to, as others do, and move again.
pub(super) fn moved_rows_move_again() -> World {
    let s = Script::new().table(HEAP);
    let s = s
        .committed(|s| s.put((0, HEAP), 1..=12, Size::Middle))
        .committed(|s| s.change((0, HEAP), 1..=4, Size::Long));
    s.then()
        .committed(|s| s.change((0, HEAP), [1, 2], Size::Huge))
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .change((0, HEAP), [3, 5], Size::Huge)
        .step(Step::Save(0, 0))
        .change((0, HEAP), [4, 6], Size::Huge)
        .step(Step::Return(0, 0))
        .step(Step::Rollback(0))
        .committed(|s| s.change((0, HEAP), [3, 4], Size::Huge))
        .committed(|s| s.delete((0, HEAP), [1]))
        .step(Step::Clean)
        .committed(|s| s.put((0, HEAP), [20, 21], Size::Long))
        .world("moved rows move again", LAYOUT)
}

/// Pages filled past the log: committed, rolled back, loaded behind each other. Loads of less than some pages
/// are logged as other rows are.
pub(super) fn loads() -> World {
    let s = Script::new().table(LOADED).table(CLUSTERED).then();
    s.committed(|s| s.load((0, LOADED), 1..=170))
        .committed(|s| s.put((0, CLUSTERED), 1..=3, Size::Small))
        .step(Step::Begin(0))
        .load((0, LOADED), 201..=370)
        .step(Step::Rollback(0))
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .load((0, LOADED), 401..=570)
        .step(Step::Save(0, 0))
        .load((0, LOADED), 601..=770)
        .step(Step::Return(0, 0))
        .put((0, CLUSTERED), 4..=5, Size::Small)
        .step(Step::Commit(0))
        .committed(|s| s.delete((0, LOADED), 1..=20))
        .step(Step::Clean)
        .world("loads go past the log", LAYOUT)
}

/// A file comes under the number of one that has just been removed, with no checkpoint requested in between.
pub(super) fn numbers_of_files() -> World {
    let s = Script::new().table(CLUSTERED);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=4, Size::Huge));
    s.then()
        .step(Step::AddFile(1))
        .committed(|s| s.put((0, CLUSTERED), 10..=30, Size::Huge))
        .step(Step::Checkpoint)
        .committed(|s| s.change((0, CLUSTERED), 10..=29, Size::Long))
        .committed(|s| s.delete((0, CLUSTERED), 10..=30))
        .step(Step::Clean)
        .step(Step::RemoveFile(1))
        .step(Step::AddFile(2))
        .committed(|s| s.put((0, CLUSTERED), 40..=60, Size::Huge))
        .committed(|s| s.change((0, CLUSTERED), [40, 60], Size::Small))
        .world("a file takes the number of one that went", LAYOUT)
}
