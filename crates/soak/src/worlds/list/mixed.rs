//! Worlds in which the first pages of tables and indexes come from mixed extents.

use super::super::steps::{Script, Size, Step, World};
use super::{CLUSTERED, HEAP, LAYOUT, PASSING};
use crate::subject::Layout;

const MIXED: Layout = Layout {
    mixed_pages: true,
    ..LAYOUT
};

pub(super) fn all() -> Vec<World> {
    vec![first_pages(), tables(), shrinking()]
}

/// From the first page to the first extent, and back.
fn first_pages() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=2, Size::Huge));
    s.then()
        .committed(|s| s.put((0, HEAP), 1..=4, Size::Huge))
        .committed(|s| s.put((0, CLUSTERED), 3..=5, Size::Huge))
        .step(Step::Checkpoint)
        .committed(|s| s.delete((0, CLUSTERED), 2..=4))
        .step(Step::Clean)
        .committed(|s| s.put((0, HEAP), 5..=9, Size::Huge))
        .committed(|s| s.put((0, CLUSTERED), 10..=16, Size::Huge))
        .step(Step::Reopen)
        .committed(|s| s.put((0, CLUSTERED), [3], Size::Huge))
        .world("the first pages come from mixed extents", MIXED)
}

fn tables() -> World {
    let s = Script::new().table(CLUSTERED);
    s.then()
        .step(Step::Begin(0))
        .make(0, PASSING)
        .put((0, PASSING), 1..=3, Size::Huge)
        .step(Step::Commit(0))
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .step(Step::DropTable(0, PASSING))
        .step(Step::Commit(0))
        .step(Step::Begin(0))
        .make(0, PASSING + 3)
        .put((0, PASSING + 3), 1..=2, Size::Huge)
        .step(Step::Rollback(0))
        .committed(|s| s.put((0, CLUSTERED), 1..=4, Size::Long))
        .step(Step::BuildIndex(CLUSTERED))
        .step(Step::Rebuild(CLUSTERED))
        .world("tables in mixed extents come and go", MIXED)
}

fn shrinking() -> World {
    let s = Script::new().table(PASSING).table(CLUSTERED).table(HEAP);
    let s = s
        .committed(|s| s.put((0, PASSING), 0..60, Size::Huge))
        .committed(|s| s.put((0, CLUSTERED), 0..3, Size::Huge))
        .committed(|s| s.put((0, HEAP), 0..2, Size::Huge))
        .step(Step::Begin(0))
        .step(Step::DropTable(0, PASSING))
        .step(Step::Commit(0));
    s.then()
        .step(Step::Shrink(512))
        .committed(|s| s.put((0, CLUSTERED), 20..24, Size::Huge))
        .step(Step::AddFile(1))
        .committed(|s| s.put((0, HEAP), 30..33, Size::Huge))
        .step(Step::RemoveFile(1))
        .world("files with mixed extents become smaller", MIXED)
}
