//! The worlds.

mod mixed;
mod reuse;

use super::steps::{Script, Size, Step, World};
use crate::subject::{FullBackups, Layout};

/// Files that grow extent by extent, a log that wraps, a pool that just does.
const LAYOUT: Layout = Layout {
    files: 2,
    pool_pages: 72,
    log_kb: 512,
    log_grows: true,
    file_kb: 512,
    growth_kb: 64,
    grow_all: false,
    mixed_pages: false,
    double_write_pages: 8,
    waits_for_locks: false,
    full_backups: FullBackups::Never,
    background: false,
};

/// The tables of the four kinds.
const CLUSTERED: u16 = 0;
const DESCENDING: u16 = 1;
const BUCKETS: u16 = 2;
const HEAP: u16 = 3;
/// One that comes and goes.
const PASSING: u16 = 4;

/// All of them.
pub fn all() -> Vec<World> {
    let mut all = vec![
        rows(),
        splits(),
        deletes(),
        savepoints(),
        two_sessions(),
        long_transaction(),
        heap_moves(),
        growth(),
        shrinking(),
        files_come_and_go(),
        tables_come_and_go(),
        indexes(),
        other_homes(),
        log_wraps(),
        amid_checkpoints(),
    ];
    all.extend(mixed::all());
    all.extend(of_reuse());
    all
}

/// Those in which something is used again.
pub fn of_reuse() -> Vec<World> {
    vec![
        reuse::log_wraps_under_a_transaction(),
        reuse::moved_rows_move_again(),
        reuse::loads(),
        reuse::numbers_of_files(),
    ]
}

fn rows() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP).then();
    s.committed(|s| s.put((0, CLUSTERED), 1..=3, Size::Small))
        .committed(|s| s.put((0, HEAP), 1..=3, Size::Small))
        .step(Step::Checkpoint)
        .committed(|s| {
            s.change((0, CLUSTERED), [2], Size::Middle)
                .delete((0, HEAP), [2])
        })
        .committed(|s| {
            s.delete((0, CLUSTERED), [1])
                .put((0, HEAP), [4], Size::Long)
        })
        .step(Step::Checkpoint)
        .committed(|s| s.put((0, CLUSTERED), [1], Size::Small))
        .world("rows come, change and go", LAYOUT)
}

fn splits() -> World {
    let s = Script::new().table(CLUSTERED).table(BUCKETS).then();
    s.committed(|s| s.put((0, CLUSTERED), (0..10).map(|n| n * 10), Size::Middle))
        .step(Step::Checkpoint)
        // In the middle of pages, and the root twice.
        .committed(|s| s.put((0, CLUSTERED), [5, 45, 44, 43, 42, 41], Size::Long))
        .step(Step::Begin(0))
        .put((0, BUCKETS), 1..=8, Size::Long)
        .step(Step::Checkpoint)
        .put((0, BUCKETS), 9..=12, Size::Huge)
        .step(Step::Rollback(0))
        .committed(|s| s.put((0, BUCKETS), [3, 2, 1], Size::Long))
        .world("pages split, and a rollback leaves the splits", LAYOUT)
}

fn deletes() -> World {
    let s = Script::new().table(CLUSTERED).table(DESCENDING);
    let s = s
        .committed(|s| s.put((0, CLUSTERED), 1..=12, Size::Long))
        .committed(|s| s.put((0, DESCENDING), 1..=6, Size::Long));
    s.then()
        .committed(|s| s.delete((0, CLUSTERED), 3..=9))
        .step(Step::Clean)
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .delete((0, CLUSTERED), [1, 2])
        .delete((0, DESCENDING), [2, 3, 4])
        .step(Step::Clean)
        .step(Step::Rollback(0))
        .committed(|s| s.delete((0, DESCENDING), 1..=5))
        .step(Step::Clean)
        .committed(|s| s.put((0, CLUSTERED), 3..=6, Size::Middle))
        .world("ghosts go, and empty leaves after them", LAYOUT)
}

fn savepoints() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s.committed(|s| s.put((0, HEAP), 1..=4, Size::Middle));
    s.then()
        .step(Step::Begin(0))
        .put((0, CLUSTERED), 1..=4, Size::Middle)
        .step(Step::Save(0, 0))
        .change((0, CLUSTERED), [2, 3], Size::Long)
        .change((0, HEAP), [1, 2], Size::Long)
        .step(Step::Save(0, 1))
        .delete((0, HEAP), [3])
        .delete((0, CLUSTERED), [1])
        .step(Step::Return(0, 1))
        .step(Step::Checkpoint)
        .delete((0, HEAP), [4])
        .step(Step::Return(0, 0))
        .put((0, CLUSTERED), [9], Size::Small)
        .step(Step::Commit(0))
        .committed(|s| s.change((0, HEAP), [4], Size::Small))
        .world("a transaction goes back to its savepoints", LAYOUT)
}

fn two_sessions() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=6, Size::Middle));
    s.then()
        .step(Step::Begin(0))
        .step(Step::Begin(1))
        .change((0, CLUSTERED), [1, 2], Size::Middle)
        .change((1, CLUSTERED), [5], Size::Long)
        .put((0, HEAP), [1, 2], Size::Middle)
        .put((1, HEAP), [11], Size::Small)
        .step(Step::Checkpoint)
        .delete((1, CLUSTERED), [6])
        .step(Step::Commit(0))
        .put((1, CLUSTERED), [7, 8], Size::Long)
        .step(Step::Begin(0))
        .delete((0, CLUSTERED), [2])
        .step(Step::Rollback(1))
        .step(Step::Checkpoint)
        .step(Step::Commit(0))
        .world("two transactions side by side", LAYOUT)
}

fn long_transaction() -> World {
    let s = Script::new().table(CLUSTERED).table(BUCKETS).then();
    s.step(Step::Begin(1))
        .put((1, BUCKETS), [1, 2], Size::Middle)
        .step(Step::Checkpoint)
        .committed(|s| s.put((0, CLUSTERED), 1..=3, Size::Middle))
        .step(Step::Checkpoint)
        .change((1, BUCKETS), [1], Size::Small)
        .step(Step::Checkpoint)
        .committed(|s| s.delete((0, CLUSTERED), [2]))
        .step(Step::Checkpoint)
        .step(Step::Rollback(1))
        .step(Step::Checkpoint)
        .world("a transaction older than several checkpoints", LAYOUT)
}

fn amid_checkpoints() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=6, Size::Middle));
    s.then()
        .committed(|s| s.change((0, CLUSTERED), [2], Size::Small))
        .checkpoint_amid(CLUSTERED, 3_000, Size::Long)
        .checkpoint_amid(HEAP, 1, Size::Middle)
        .step(Step::Begin(0))
        .delete((0, CLUSTERED), [3])
        .checkpoint_amid(CLUSTERED, 3_001, Size::Long)
        .checkpoint_amid(HEAP, 2, Size::Huge)
        .step(Step::Commit(0))
        .step(Step::Checkpoint)
        .world("others commit while a checkpoint is taken", LAYOUT)
}

fn heap_moves() -> World {
    let s = Script::new().table(HEAP);
    let s = s.committed(|s| s.put((0, HEAP), 1..=12, Size::Middle));
    s.then()
        .committed(|s| s.change((0, HEAP), [1, 2, 3], Size::Huge))
        .committed(|s| s.change((0, HEAP), [2], Size::Huge))
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .change((0, HEAP), [1], Size::Small)
        .change((0, HEAP), [3, 4], Size::Huge)
        .delete((0, HEAP), [2])
        .step(Step::Rollback(0))
        .committed(|s| {
            s.change((0, HEAP), [1, 2], Size::Small)
                .delete((0, HEAP), [3])
        })
        .step(Step::Clean)
        .committed(|s| s.put((0, HEAP), 20..=23, Size::Long))
        .world("rows of a heap move and come home", LAYOUT)
}

fn growth() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP).then();
    let mut s = s;
    for n in 0..6 {
        s = s.committed(|s| s.put((0, CLUSTERED), n * 10..n * 10 + 9, Size::Huge));
    }
    s.step(Step::Checkpoint)
        .step(Step::Enlarge(128))
        .committed(|s| s.put((0, HEAP), 1..=9, Size::Huge))
        .step(Step::Begin(0))
        .put((0, HEAP), 10..=26, Size::Huge)
        .step(Step::Rollback(0))
        .world("files grow by themselves and by hand", LAYOUT)
}

fn shrinking() -> World {
    let s = Script::new().table(PASSING).table(CLUSTERED).table(HEAP);
    let s = s
        .committed(|s| s.put((0, PASSING), 0..90, Size::Huge))
        .committed(|s| s.put((0, CLUSTERED), 0..10, Size::Huge))
        .committed(|s| s.put((0, HEAP), 0..6, Size::Huge))
        .step(Step::Begin(0))
        .step(Step::DropTable(0, PASSING))
        .step(Step::Commit(0));
    s.then()
        .step(Step::Begin(1))
        .put((1, HEAP), [20], Size::Huge)
        .step(Step::Commit(1))
        .step(Step::Shrink(512))
        .committed(|s| s.put((0, CLUSTERED), 20..26, Size::Huge))
        .step(Step::Enlarge(256))
        .committed(|s| s.put((0, CLUSTERED), 30..40, Size::Huge))
        .committed(|s| s.delete((0, CLUSTERED), (0..10).chain(20..26)))
        .step(Step::Clean)
        .step(Step::Shrink(640))
        .step(Step::ShrinkLog(256))
        .committed(|s| s.put((0, HEAP), 30..33, Size::Huge))
        .step(Step::ShrinkLog(256))
        .committed(|s| s.change((0, HEAP), [30, 31], Size::Small))
        .world("files and log become smaller, and grow again", LAYOUT)
}

fn files_come_and_go() -> World {
    let s = Script::new().table(CLUSTERED);
    let s = s.committed(|s| s.put((0, CLUSTERED), 1..=8, Size::Huge));
    s.then()
        .step(Step::AddFile(1))
        .committed(|s| s.put((0, CLUSTERED), 10..=20, Size::Huge))
        .step(Step::AddFile(2))
        .committed(|s| s.delete((0, CLUSTERED), 1..=4))
        .step(Step::Clean)
        .step(Step::RemoveFile(1))
        .committed(|s| s.put((0, CLUSTERED), 30..=33, Size::Huge))
        .step(Step::Reopen)
        .step(Step::RemoveFile(2))
        .step(Step::AddFile(3))
        .committed(|s| s.put((0, CLUSTERED), 40..=43, Size::Huge))
        .world("data files come and go", LAYOUT)
}

fn tables_come_and_go() -> World {
    let s = Script::new().table(CLUSTERED).then();
    s.step(Step::Begin(0))
        .make(0, PASSING)
        .put((0, PASSING), 1..=4, Size::Long)
        .step(Step::Commit(0))
        .step(Step::Checkpoint)
        .step(Step::Begin(0))
        .step(Step::DropTable(0, PASSING))
        .put((0, CLUSTERED), [1], Size::Small)
        .step(Step::Rollback(0))
        .committed(|s| s.put((0, PASSING), [5], Size::Small))
        .step(Step::Begin(0))
        .step(Step::DropTable(0, PASSING))
        .step(Step::Commit(0))
        .step(Step::Begin(0))
        .make(0, PASSING + 3)
        .put((0, PASSING + 3), 1..=5, Size::Long)
        .step(Step::Rollback(0))
        .committed(|s| s.put((0, CLUSTERED), 2..=6, Size::Long))
        .world("tables come and go", LAYOUT)
}

fn indexes() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let s = s
        .committed(|s| s.put((0, CLUSTERED), 1..=14, Size::Middle))
        .committed(|s| s.put((0, HEAP), 1..=10, Size::Middle));
    s.then()
        .step(Step::BuildIndex(CLUSTERED))
        .committed(|s| s.change((0, CLUSTERED), [3, 4], Size::Small))
        .step(Step::BuildIndex(HEAP))
        .step(Step::Checkpoint)
        .step(Step::DropIndex(CLUSTERED))
        .committed(|s| s.delete((0, HEAP), [2, 5]))
        .step(Step::Rebuild(HEAP))
        .step(Step::Rebuild(CLUSTERED))
        .committed(|s| s.put((0, HEAP), 20..=22, Size::Middle))
        .world("indexes are built on rows", LAYOUT)
}

fn other_homes() -> World {
    let s = Script::new().table(CLUSTERED).table(HEAP).then();
    s.committed(|s| s.put((0, CLUSTERED), 1..=5, Size::Middle))
        .step(Step::Reopen)
        .committed(|s| s.put((0, HEAP), 1..=3, Size::Long))
        .step(Step::MoveHouse)
        .committed(|s| {
            s.change((0, CLUSTERED), [1], Size::Long)
                .delete((0, HEAP), [2])
        })
        .step(Step::MoveHouse)
        .step(Step::Reopen)
        .committed(|s| s.put((0, HEAP), [2], Size::Small))
        .world("the database is closed, detached, attached", LAYOUT)
}

fn log_wraps() -> World {
    let layout = Layout {
        log_grows: false,
        double_write_pages: 64,
        ..LAYOUT
    };
    let s = Script::new().table(CLUSTERED).table(HEAP);
    let mut s = s.committed(|s| s.put((0, CLUSTERED), 1..=30, Size::Long));
    // Each transaction fits beside what the one before has left in the log, and so does its undoing.
    for _ in 0..5 {
        s = s
            .committed(|s| s.change((0, CLUSTERED), 1..=10, Size::Long))
            .step(Step::Checkpoint);
    }
    let mut s = s.then();
    for n in 0..4 {
        s = s
            .committed(|s| s.change((0, CLUSTERED), n * 6 + 1..=n * 6 + 10, Size::Long))
            .step(Step::Checkpoint);
    }
    s.step(Step::Begin(0))
        .change((0, CLUSTERED), 1..=6, Size::Small)
        .step(Step::Rollback(0))
        // Several blocks in one write.
        .step(Step::Checkpoint)
        .committed(|s| s.change((0, CLUSTERED), 1..=10, Size::Long))
        .step(Step::Checkpoint)
        .committed(|s| s.change((0, CLUSTERED), 15..=23, Size::Long))
        .world("the log begins again from the front", layout)
}
