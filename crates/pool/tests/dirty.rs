//! The dirty protocol: which LSN a checkpoint may promise redo to start from, and what reaches the disk when.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{DB, Shape, bench, change, format, key, read_raw, set_value, value};
use furrow_format::Lsn;
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PoolError, Sh};
use std::sync::atomic::Ordering;
use std::time::Duration;

const SHAPE: Shape = Shape {
    frames: 64,
    files: 2,
    file_pages: 40,
    double_write: true,
};

fn write(bench: &common::Bench, file: u16, page: u32, value: u64) {
    let mut page = bench
        .pool
        .fetch(key(file, page), Ex, LatchRank::Data)
        .unwrap();
    change(&bench.log, &mut page, value);
}

#[test]
fn a_page_is_dirty_from_before_its_record_is_appended() {
    let bench = bench(SHAPE);
    write(&bench, 1, 1, 1);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(1)));
    let mut page = bench.pool.fetch(key(1, 2), Ex, LatchRank::Data).unwrap();
    page.begin_change();
    assert_eq!(bench.pool.dirty_count(DB), 2, "announced is dirty");
    let lsn = bench.log.append();
    set_value(&mut page, 5);
    page.finish_change(lsn, false);
    drop(page);
    write(&bench, 1, 1, 2);
    assert_eq!(
        bench.pool.oldest_rec_lsn(DB),
        Some(Lsn(1)),
        "the first change counts"
    );
    assert_eq!(bench.pool.dirty_count(DB), 2);
}

#[test]
fn redo_starts_at_the_record_of_a_replayed_change() {
    let bench = bench(SHAPE);
    bench.log.last.store(500, Ordering::SeqCst);
    let mut page = bench.pool.fetch(key(2, 2), Ex, LatchRank::Data).unwrap();
    page.begin_change_at(Lsn(77));
    set_value(&mut page, 3);
    page.finish_change(Lsn(77), false);
    drop(page);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(77)));
}

/// A page that has been written is not safe before its file is synced: redo must still reach back to it.
#[test]
fn a_written_page_holds_redo_back_until_its_file_is_synced() {
    let bench = bench(SHAPE);
    let checkpoint = || {
        bench
            .pool
            .checkpoint_pages(DB, CheckpointOptions::default())
            .unwrap()
    };
    // The first checkpoint syncs every file: the process before may have written to any.
    assert_eq!(checkpoint().synced_files, 2);
    write(&bench, 1, 5, 1);
    assert_eq!(bench.pool.write_oldest(DB, 10).unwrap(), 1);
    assert_eq!(bench.pool.dirty_count(DB), 0);
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 5)), 1);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(1)));
    let stats = checkpoint();
    assert_eq!((stats.pages, stats.synced_files), (0, 1));
    assert_eq!(bench.pool.oldest_rec_lsn(DB), None);
}

#[test]
fn forced_pages_are_durable_whoever_wrote_them_and_others_stay_dirty() {
    let bench = bench(SHAPE);
    let force = |page, count| {
        let first = key(1, page).page;
        bench.pool.force_pages(DB, &[(first, count)]).unwrap()
    };
    for (file, page) in [(1, 5), (1, 6), (2, 1)] {
        write(&bench, file, page, 7);
    }
    // Written by another, and not synced.
    assert_eq!(bench.pool.write_oldest(DB, 1).unwrap(), 1);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(1)));
    assert_eq!(force(5, 1), 0);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(2)));
    // One is dirty, one was never in memory.
    assert_eq!(force(6, 2), 1);
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 6)), 7);
    assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(3)));
    assert_eq!(bench.pool.dirty_count(DB), 1);
    assert_eq!(bench.pool.force_pages(DB, &[]).unwrap(), 0);
}

#[test]
fn the_oldest_changes_are_written_first() {
    let bench = bench(SHAPE);
    for (page, value) in [(9, 1), (3, 2), (6, 3)] {
        write(&bench, 1, page, value);
    }
    write(&bench, 1, 9, 4);
    assert_eq!(bench.pool.write_oldest(DB, 1).unwrap(), 1);
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 9)), 4);
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 3)), 0);
    assert_eq!(bench.pool.dirty_count(DB), 2);
}

#[test]
fn a_checkpoint_writes_neighbours_together_and_syncs_what_it_wrote() {
    let bench = bench(SHAPE);
    // Ten neighbours: batches of 8, runs of 4. And two pages apart in the other file.
    for page in (10..20).rev() {
        write(&bench, 1, page, 1);
    }
    write(&bench, 2, 1, 1);
    write(&bench, 2, 3, 1);
    let stats = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!(
        (stats.pages, stats.runs, stats.synced_files),
        (12, 3 + 2, 2)
    );
    assert_eq!(
        stats.double_written_pages, 12,
        "all of them had an image on the disk"
    );
    assert_eq!(bench.files[0].writes.load(Ordering::SeqCst), 3);
    let again = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!(
        (again.pages, again.synced_files),
        (0, 0),
        "nothing was left to do"
    );
    assert!(
        bench
            .pool
            .checkpoint_pages(furrow_format::DatabaseId(9), CheckpointOptions::default())
            .is_err()
    );
}

#[test]
fn a_page_formatted_since_the_redo_point_is_written_once_only_the_first_time() {
    let bench = bench(SHAPE);
    let mut page = bench.pool.create(key(1, 8), LatchRank::Data).unwrap();
    page.begin_change();
    let lsn = bench.log.append();
    format(&mut page, key(1, 8).page);
    set_value(&mut page, 1);
    page.finish_change(lsn, true);
    drop(page);
    let stats = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!((stats.pages, stats.double_written_pages), (1, 0));
    // Redo may pass the record that formatted it: from now on the image on the disk is needed.
    write(&bench, 1, 8, 2);
    let stats = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!((stats.pages, stats.double_written_pages), (1, 1));
    // Formatted before the redo point is as good as not formatted.
    let mut page = bench.pool.fetch(key(1, 8), Ex, LatchRank::Data).unwrap();
    page.begin_change();
    let lsn = bench.log.append();
    page.finish_change(lsn, true);
    drop(page);
    bench.log.redo.store(lsn.0 + 1, Ordering::SeqCst);
    let stats = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!(stats.double_written_pages, 1);
}

#[test]
fn no_page_is_written_when_the_log_cannot_be_made_durable() {
    let bench = bench(SHAPE);
    write(&bench, 1, 4, 1);
    bench.log.broken.store(true, Ordering::SeqCst);
    let error = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap_err();
    assert!(
        matches!(error, PoolError::Log { lsn: Lsn(1), .. }),
        "{error}"
    );
    assert_eq!(bench.files[0].pages_written.load(Ordering::SeqCst), 0);
    assert_eq!(
        (bench.pool.dirty_count(DB), bench.pool.oldest_rec_lsn(DB)),
        (1, Some(Lsn(1)))
    );
    bench.log.broken.store(false, Ordering::SeqCst);
    bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 4)), 1);
}

#[test]
fn a_page_made_and_never_changed_is_forgotten() {
    let bench = bench(SHAPE);
    let page = bench.pool.create(key(1, 30), LatchRank::Data).unwrap();
    assert!(page.iter().all(|&byte| byte == 0));
    drop(page);
    assert!(!bench.pool.resident(key(1, 30)));
    assert_eq!(
        value(&bench.pool.fetch(key(1, 30), Sh, LatchRank::Data).unwrap()),
        0
    );
    assert_eq!(bench.pool.dirty_count(DB), 0);
}

#[test]
fn a_dropped_database_takes_its_dirty_pages_with_it() {
    let bench = bench(SHAPE);
    write(&bench, 1, 4, 9);
    write(&bench, 2, 4, 9);
    bench
        .pool
        .remove_file(DB, furrow_format::FileId(2))
        .unwrap();
    assert_eq!(bench.pool.dirty_count(DB), 1);
    assert!(matches!(
        bench.pool.fetch(key(2, 4), Sh, LatchRank::Data),
        Err(PoolError::UnknownFile { .. })
    ));
    bench.pool.drop_database(DB).unwrap();
    assert_eq!(
        bench.pool.stats().free,
        SHAPE.frames,
        "every frame is free again"
    );
    assert_eq!(bench.files[0].pages_written.load(Ordering::SeqCst), 0);
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 4)), 0);
    assert!(bench.pool.fetch(key(1, 4), Sh, LatchRank::Data).is_err());
    assert!(bench.pool.drop_database(DB).is_err());
}

#[test]
fn a_throttled_checkpoint_takes_its_time() {
    let bench = bench(SHAPE);
    for page in 0..20 {
        write(&bench, 1, page, 1);
    }
    let options = CheckpointOptions {
        pages_per_second: Some(200),
    };
    let stats = bench.pool.checkpoint_pages(DB, options).unwrap();
    assert!(
        Duration::from_micros(stats.elapsed_us) >= Duration::from_millis(95),
        "{stats:?}"
    );
}

#[test]
fn descriptors_show_what_is_in_memory() {
    let bench = bench(SHAPE);
    write(&bench, 1, 4, 9);
    drop(bench.pool.fetch(key(2, 5), Sh, LatchRank::Data).unwrap());
    let held = bench.pool.fetch(key(2, 6), Ex, LatchRank::Data).unwrap();
    let mut shown = bench.pool.descriptors();
    shown.sort_by_key(|d| d.key);
    let keys: Vec<_> = shown
        .iter()
        .map(|d| (d.key, d.is_modified, d.header.is_some()))
        .collect();
    assert_eq!(
        keys,
        [
            (key(1, 4), true, true),
            (key(2, 5), false, true),
            (key(2, 6), false, false)
        ]
    );
    assert_eq!(
        shown[0].header.unwrap().page_type,
        furrow_format::PageType::Data
    );
    drop(held);
    assert_eq!(bench.pool.drop_clean_buffers(), 2);
    assert_eq!(bench.pool.descriptors().len(), 1);
}

#[test]
fn a_database_dropped_in_the_middle_of_read_ahead_leaves_no_page_behind() {
    let wanted: Vec<_> = (1..=2)
        .flat_map(|file| (0..40).map(move |page| key(file, page)))
        .collect();
    for _ in 0..30 {
        let bench = bench(SHAPE);
        bench.pool.prefetch(&wanted).unwrap();
        bench.pool.drop_database(DB).unwrap();
        assert_eq!(bench.pool.descriptors(), []);
        assert_eq!(bench.pool.stats().free, SHAPE.frames);
    }
}
