//! What happens when pages cannot be read, written or stored: the caller gets the error, and nothing is lost.

mod common;

use common::{DB, Shape, bench, bench_on, change, config, key, name, read_raw, value, write_raw};
use furrow_format::{FileId, Lsn, PageFault, Protection, stamp_torn_bits, verify};
use furrow_io::sim::{Effect, Fault, OpKind, Ops, SimOptions, SyncLoss};
use furrow_io::thread;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{IoErrorKind, MemoryVolume, SimVolume};
use furrow_observe::Instruments;
use furrow_observe::task::{self, Task};
use furrow_observe::waits::WaitType;
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PoolConfig, PoolError, Sh};
use std::sync::atomic::Ordering;

const SHAPE: Shape = Shape {
    frames: 32,
    files: 2,
    file_pages: 80,
    double_write: false,
};

#[test]
fn a_damaged_page_is_reported_and_its_frame_used_again() {
    let bench = bench(SHAPE);
    let good = read_raw(bench.files[0].inner.as_ref(), 9);
    let mut bad = good;
    bad[4000] ^= 1;
    write_raw(bench.files[0].inner.as_ref(), 9, &bad);
    for _ in 0..100 {
        let error = bench
            .pool
            .fetch(key(1, 9), Sh, LatchRank::Data)
            .unwrap_err();
        assert_eq!(error.number(), Some(824));
        let PoolError::BadPage {
            key: of,
            path,
            fault,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((of, path.to_str().unwrap()), (key(1, 9), name(1).as_str()));
        assert!(matches!(fault, PageFault::Checksum { .. }));
        assert!(!bench.pool.resident(key(1, 9)));
    }
    assert_eq!(bench.pool.stats().free, SHAPE.frames);
    // A page in the wrong place is damaged as well.
    write_raw(
        bench.files[0].inner.as_ref(),
        9,
        &read_raw(bench.files[0].inner.as_ref(), 10),
    );
    let error = bench
        .pool
        .fetch(key(1, 9), Ex, LatchRank::Data)
        .unwrap_err();
    assert!(
        matches!(
            error,
            PoolError::BadPage {
                fault: PageFault::PageId { .. },
                ..
            }
        ),
        "{error}"
    );
    write_raw(bench.files[0].inner.as_ref(), 9, &good);
    assert_eq!(
        value(&bench.pool.fetch(key(1, 9), Sh, LatchRank::Data).unwrap()),
        0
    );
}

#[test]
fn torn_bits_are_taken_out_on_the_way_in_and_replaced_by_a_checksum_on_the_way_out() {
    let bench = bench(SHAPE);
    let file = bench.files[0].inner.as_ref();
    let mut page = read_raw(file, 9);
    stamp_torn_bits(&mut page);
    write_raw(file, 9, &page);
    let mut guard = bench.pool.fetch(key(1, 9), Ex, LatchRank::Data).unwrap();
    assert_eq!(value(&guard), 0, "every displaced bit is back");
    change(&bench.log, &mut guard, 1);
    drop(guard);
    bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default())
        .unwrap();
    assert_eq!(
        verify(&read_raw(file, 9), key(1, 9).page),
        Ok(Protection::Checksum)
    );
    page[8191] ^= 1;
    write_raw(file, 10, &page);
    write_raw(file, 9, &page);
    bench.pool.drop_clean_buffers();
    let error = bench
        .pool
        .fetch(key(1, 9), Sh, LatchRank::Data)
        .unwrap_err();
    assert!(
        matches!(
            error,
            PoolError::BadPage {
                fault: PageFault::Torn { .. },
                ..
            }
        ),
        "{error}"
    );
}

/// Many threads need one page whose read takes long and then fails: all get the error, of one read.
#[test]
fn all_who_wait_for_a_page_get_the_error_of_its_read() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let page = read_raw(bench.files[0].inner.as_ref(), 5);
    let mut bad = page;
    bad[500] ^= 1;
    write_raw(bench.files[0].inner.as_ref(), 5, &bad);
    let before = volume.counts().of(OpKind::Read);
    let slow = Effect::Delay(Duration::from_millis(200));
    volume.inject(Fault::new(Ops::Only(OpKind::Read), slow).nth(1));
    let instruments = Instruments::new();
    thread::scope(|scope| {
        let first = scope.spawn(|| bench.pool.fetch(key(1, 5), Sh, LatchRank::Data).map(drop));
        while !bench.pool.resident(key(1, 5)) {
            sleep(Duration::from_millis(1));
        }
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let _task = task::enter(&Task::new(&instruments, 61, "waiter"));
                    bench.pool.fetch(key(1, 5), Ex, LatchRank::Data).map(drop)
                })
            })
            .collect();
        for result in waiters
            .into_iter()
            .chain([first])
            .map(|t| t.join().unwrap())
        {
            assert!(
                matches!(result, Err(PoolError::BadPage { .. })),
                "{result:?}"
            );
        }
    });
    assert_eq!(
        volume.counts().of(OpKind::Read) - before,
        1,
        "no read was retried silently"
    );
    assert_eq!(instruments.waits.row(WaitType::PageIoLatchEx).count, 4);
    assert_eq!(bench.pool.stats().free, SHAPE.frames);
}

#[test]
fn a_refused_read_is_reported_with_its_file() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    volume.inject(Fault::new(Ops::Only(OpKind::Read), Effect::Fail).nth(1));
    let error = bench
        .pool
        .fetch(key(2, 5), Sh, LatchRank::Data)
        .unwrap_err();
    assert_eq!(error.number(), Some(823));
    assert!(
        matches!(
            &error,
            PoolError::Io {
                db: DB,
                file: FileId(2),
                ..
            }
        ),
        "{error}"
    );
    drop(bench.pool.fetch(key(2, 5), Sh, LatchRank::Data).unwrap());
    let past = bench
        .pool
        .fetch(key(2, 80), Sh, LatchRank::Data)
        .unwrap_err();
    let PoolError::Io { source, .. } = past else {
        panic!("{past}")
    };
    assert_eq!(source.kind, IoErrorKind::PastEnd);
}

#[test]
fn a_failed_write_keeps_the_page_and_is_reported_to_every_checkpoint() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    for file in 1..=2 {
        let mut page = bench.pool.fetch(key(file, 5), Ex, LatchRank::Data).unwrap();
        change(&bench.log, &mut page, 8);
    }
    let only = Fault::new(Ops::Writes, Effect::Fail).under(name(1)).nth(1);
    volume.inject(only);
    for _ in 0..2 {
        let error = bench
            .pool
            .checkpoint_pages(DB, CheckpointOptions::default())
            .unwrap_err();
        assert!(
            matches!(
                &error,
                PoolError::Io {
                    file: FileId(1),
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(bench.pool.dirty_count(DB), 1, "the other file was written");
        assert_eq!(bench.pool.oldest_rec_lsn(DB), Some(Lsn(1)));
    }
    assert_eq!(
        bench.files[0].writes.load(Ordering::SeqCst),
        1,
        "no write after a failed one"
    );
    assert_eq!(
        value(&bench.pool.fetch(key(1, 5), Sh, LatchRank::Data).unwrap()),
        8
    );
}

#[test]
fn a_failed_sync_holds_redo_back_for_good() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let mut page = bench.pool.fetch(key(1, 5), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 8);
    drop(page);
    let lost = Effect::FailSync(SyncLoss::Everything);
    volume.inject(
        Fault::new(Ops::Only(OpKind::Sync), lost)
            .under(name(1))
            .nth(1),
    );
    for _ in 0..2 {
        assert!(
            bench
                .pool
                .checkpoint_pages(DB, CheckpointOptions::default())
                .is_err()
        );
        assert_eq!(
            bench.pool.oldest_rec_lsn(DB),
            Some(Lsn(1)),
            "the page may not be on the disk"
        );
    }
    assert_eq!(
        bench.files[0].syncs.load(Ordering::SeqCst),
        1,
        "a failed sync is not tried again"
    );
}

#[test]
fn a_pool_full_of_pages_that_cannot_be_written_says_why() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    volume.inject(Fault::new(Ops::Writes, Effect::Fail).sticky());
    let mut failed = None;
    for page in 0..SHAPE.file_pages {
        match bench.pool.fetch(key(1, page), Ex, LatchRank::Data) {
            Ok(mut guard) => drop(change(&bench.log, &mut guard, 1)),
            Err(error) => {
                failed = Some((page, error));
                break;
            }
        }
    }
    let (page, error) = failed.expect("more changed pages than frames");
    assert!(
        page as usize >= SHAPE.frames - 8,
        "only {page} pages fitted"
    );
    assert!(matches!(error, PoolError::Io { .. }), "{error}");
    assert_eq!(
        bench.pool.dirty_count(DB),
        u64::from(page),
        "not one change was lost"
    );
}

#[test]
fn a_pool_of_held_pages_refuses_after_a_bounded_wait() {
    let config = PoolConfig {
        buffer_wait: Duration::from_millis(300),
        ..config(SHAPE.frames)
    };
    let bench = bench_on(&MemoryVolume::new(), SHAPE, config);
    let held: Vec<_> = (0..SHAPE.frames as u32)
        .map(|page| bench.pool.fetch(key(1, page), Sh, LatchRank::Data).unwrap())
        .collect();
    let start = Moment::now();
    let error = bench
        .pool
        .fetch(key(2, 1), Sh, LatchRank::Data)
        .unwrap_err();
    assert!(
        matches!(error, PoolError::NoBuffer { frames: 32, .. }),
        "{error}"
    );
    assert_eq!(error.number(), Some(802));
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(bench.pool.stats().free_list_stalls > 0);
    drop(held);
    drop(bench.pool.fetch(key(2, 1), Sh, LatchRank::Data).unwrap());
}

/// All frames but two are held, and the two hold changed pages: every fetch needs a write first.
#[test]
fn two_frames_are_enough_to_get_on() {
    let bench = bench(SHAPE);
    let held: Vec<_> = (0..SHAPE.frames as u32 - 2)
        .map(|page| bench.pool.fetch(key(1, page), Sh, LatchRank::Data).unwrap())
        .collect();
    for page in 0..SHAPE.file_pages {
        let mut guard = bench.pool.fetch(key(2, page), Ex, LatchRank::Data).unwrap();
        change(&bench.log, &mut guard, u64::from(page));
    }
    drop(held);
    for page in 0..SHAPE.file_pages {
        let guard = bench.pool.fetch(key(2, page), Sh, LatchRank::Data).unwrap();
        assert_eq!(value(&guard), u64::from(page));
    }
    assert!(bench.pool.stats().lazy_writes >= u64::from(SHAPE.file_pages) - 2);
}

#[test]
fn read_ahead_brings_pages_in_runs_and_leaves_errors_to_the_fetch() {
    let volume = SimVolume::new(SimOptions::default());
    let shape = Shape {
        frames: 256,
        ..SHAPE
    };
    let bench = bench_on(&volume, shape, config(shape.frames));
    let mut bad = read_raw(bench.files[0].inner.as_ref(), 20);
    bad[100] ^= 1;
    write_raw(bench.files[0].inner.as_ref(), 20, &bad);
    let before = volume.counts().of(OpKind::Read);
    let wanted: Vec<_> = (0..70).map(|page| key(1, page)).collect();
    bench.pool.prefetch(&wanted).unwrap();
    let start = Moment::now();
    while !bench.pool.resident(key(1, 69)) || !bench.pool.resident(key(1, 63)) {
        assert!(start.elapsed() < Duration::from_secs(10));
        sleep(Duration::from_millis(1));
    }
    for page in (0..70).filter(|&page| page != 20) {
        drop(bench.pool.fetch(key(1, page), Sh, LatchRank::Data).unwrap());
    }
    assert_eq!(
        volume.counts().of(OpKind::Read) - before,
        2,
        "64 pages and 6"
    );
    let error = bench
        .pool
        .fetch(key(1, 20), Sh, LatchRank::Data)
        .unwrap_err();
    assert_eq!(error.number(), Some(824));
}

#[test]
fn impossible_configurations_are_refused() {
    for (pages, batch_pages, double_write_pages) in
        [(8, 8, 24), (64, 0, 24), (64, 24, 24), (64, 1017, 4096)]
    {
        let config = PoolConfig {
            pages,
            batch_pages,
            double_write_pages,
            ..config(64)
        };
        assert!(matches!(
            furrow_pool::Pool::new(config),
            Err(PoolError::BadConfig(_))
        ));
    }
}

/// A bug that panics in the middle of a write must not leave pages that look clean. (Here the file's own
/// watch panics, because the log lied: so this also shows that the watch of all these tests sees.)
#[test]
fn a_panic_while_writing_fails_the_file_and_keeps_the_page() {
    let bench = bench(Shape { files: 1, ..SHAPE });
    let mut page = bench.pool.fetch(key(1, 5), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 8);
    drop(page);
    bench.log.lies.store(true, Ordering::SeqCst);
    let checkpoint = || {
        bench
            .pool
            .checkpoint_pages(DB, CheckpointOptions::default())
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(checkpoint)).is_err());
    bench.log.lies.store(false, Ordering::SeqCst);
    assert_eq!(
        (bench.pool.dirty_count(DB), bench.pool.oldest_rec_lsn(DB)),
        (1, Some(Lsn(1)))
    );
    let error = checkpoint().unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert_eq!(
        value(&bench.pool.fetch(key(1, 5), Sh, LatchRank::Data).unwrap()),
        8
    );
}
