//! Power losses at every sync of a workload, and between: what can be recovered from the double-write file
//! and the log.
//!
//! The log is a list in memory, durable as far as the pool requested. After each power loss the double-write
//! files are applied, the list is replayed from the redo point on, and every page must have the content that
//! the durable part of the list gives it. A page that cannot be read may only be one that the list formats
//! again.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, FakeLog, Shape, bench_on, change, config, dw_name, format, key, name, value};
use common::{open_on, read_raw, set_value, write_raw};
use furrow_format::{
    FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, PageMut, PageVerify, admit, stamp_checksum,
    verify,
};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PageKey, PoolConfig, double_write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const FILE_PAGES: u32 = 60;
const SHAPE: Shape = Shape {
    frames: 24,
    files: 2,
    file_pages: FILE_PAGES,
    double_write: true,
};

#[derive(Debug, Clone, Copy)]
struct Record {
    lsn: Lsn,
    key: PageKey,
    value: u64,
    formats: bool,
}

#[derive(Debug, Default)]
struct Tally {
    losses: AtomicU64,
    restored: AtomicU64,
    rebuilt: AtomicU64,
    /// Of those, pages that the device could not read.
    unreadable: AtomicU64,
}

type Records = Arc<Mutex<Vec<Record>>>;

/// Recovers a machine that has just come up, and compares it with the list.
fn recover(machine: &SimVolume, log: &FakeLog, records: &Records, tally: &Tally) {
    let durable = log.durable.load(Ordering::SeqCst);
    let redo_point = log.redo.load(Ordering::SeqCst);
    let records: Vec<Record> = records
        .lock()
        .unwrap()
        .iter()
        .copied()
        .filter(|r| r.lsn.0 <= durable)
        .collect();
    tally.losses.fetch_add(1, Ordering::Relaxed);
    for id in 1..=SHAPE.files {
        let open = |name: String| machine.open(Path::new(&name), Open::Existing, Access::Data);
        let (file, area) = (open(name(id)).unwrap(), open(dw_name(id)).unwrap());
        let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(id)).unwrap();
        tally
            .restored
            .fetch_add(stats.restored.len() as u64, Ordering::Relaxed);
        for page_no in 0..FILE_PAGES {
            let mine = records.iter().filter(|r| r.key == key(id, page_no));
            let expected = mine.clone().next_back().map_or(0, |r| r.value);
            let mut page = [0; PAGE_SIZE];
            let offset = u64::from(page_no) * PAGE_SIZE as u64;
            let readable = file.read_at(offset, &mut page).is_ok();
            tally
                .unreadable
                .fetch_add(u64::from(!readable), Ordering::Relaxed);
            let page_id = PageId::new(id, page_no);
            let mut whole = readable && admit(&mut page, page_id).is_ok();
            for record in mine.filter(|r| r.lsn.0 >= redo_point) {
                if record.formats && !whole {
                    // From nothing: the LSN of a torn page means no more than the rest of it.
                    page.fill(0);
                    format(&mut page, page_id);
                    whole = true;
                    tally.rebuilt.fetch_add(1, Ordering::Relaxed);
                }
                // Older changes of a page that is formatted later on do not matter.
                if whole && Page::new(&page).lsn() < record.lsn {
                    set_value(&mut page, record.value);
                    PageMut::new(&mut page).set_lsn(record.lsn);
                }
            }
            assert!(
                whole,
                "page {page_id} is torn, and the log does not rebuild it"
            );
            assert_eq!(
                value(&page),
                expected,
                "page {page_id}, redo from {redo_point}"
            );
        }
    }
}

/// Changes one page, or sometimes creates one over whatever was there.
fn step(bench: &Bench, records: &Records, rng: &mut impl Rng, next: u64) {
    let (file, page_no) = (rng.random_range(1..=2), rng.random_range(0..FILE_PAGES));
    let key = key(file, page_no);
    let formats = rng.random_range(0..4) == 0;
    let mut page = if formats {
        bench.pool.create(key, LatchRank::Data).unwrap()
    } else {
        bench.pool.fetch(key, Ex, LatchRank::Data).unwrap()
    };
    // The list is locked over append and entry, so that nothing durable is missing from it.
    let mut list = records.lock().unwrap();
    let lsn = if formats {
        page.begin_change();
        let lsn = bench.log.append();
        format(&mut page, key.page);
        set_value(&mut page, next);
        page.finish_change(lsn, true);
        lsn
    } else {
        change(&bench.log, &mut page, next)
    };
    list.push(Record {
        lsn,
        key,
        value: next,
        formats,
    });
}

fn checkpoint(bench: &Bench) {
    let tail = bench.log.last.load(Ordering::SeqCst) + 1;
    bench
        .pool
        .checkpoint_pages(common::DB, CheckpointOptions::default())
        .unwrap();
    let redo = bench
        .pool
        .oldest_rec_lsn(common::DB)
        .map_or(tail, |lsn| lsn.0.min(tail));
    bench.log.redo.store(redo, Ordering::SeqCst);
}

fn run(seed: u64, tally: &Arc<Tally>, how: PageVerify) {
    let volume = SimVolume::new(SimOptions {
        seed,
        ..SimOptions::default()
    });
    // Each sync is looked at from all sides, which takes its time.
    let patient = PoolConfig {
        buffer_wait: Duration::from_secs(300),
        ..config(SHAPE.frames)
    };
    let bench = bench_on(&volume, SHAPE, patient);
    bench.pool.set_page_verify(common::DB, how).unwrap();
    let records = Records::default();
    let crashes = Arc::new(AtomicU64::new(seed << 20));
    let watcher = {
        let (log, records) = (Arc::clone(&bench.log), Arc::clone(&records));
        let (tally, crashes) = (Arc::clone(tally), Arc::clone(&crashes));
        move |machine: SimVolume| {
            let seed = crashes.fetch_add(1, Ordering::Relaxed);
            for outcome in [
                Crash::Random { seed },
                Crash::Torn { seed },
                Crash::Unreadable { seed },
                Crash::FirstHalves,
                Crash::SecondHalves,
                Crash::DropAll,
            ] {
                recover(&machine.crash(&outcome), &log, &records, &tally);
            }
        }
    };
    volume.on_boundary(watcher);
    let mut rng = seeded(seed);
    for next in 1..=300 {
        step(&bench, &records, &mut rng, next);
        if rng.random_range(0..40) == 0 {
            checkpoint(&bench);
        }
        if rng.random_range(0..10) == 0 {
            let seed = crashes.fetch_add(1, Ordering::Relaxed);
            let after = volume.crash(&Crash::Torn { seed });
            recover(&after, &bench.log, &records, tally);
        }
    }
}

#[test]
fn no_power_loss_costs_a_page() {
    let first = test_seed() % (1 << 32);
    let tally = Arc::new(Tally::default());
    for seed in first..first + 4 {
        println!("FURROW_SEED={seed}");
        run(seed, &tally, PageVerify::Checksum);
    }
    let counts = [
        &tally.losses,
        &tally.restored,
        &tally.rebuilt,
        &tally.unreadable,
    ];
    let counts = counts.map(|n| n.load(Ordering::Relaxed));
    println!("losses, restored from images, rebuilt by the log, unreadable: {counts:?}");
    assert!(
        counts.iter().all(|&n| n > 0),
        "something was never put to the test: {counts:?}"
    );
}

/// PAGE_VERIFY NONE and TORN_PAGE_DETECTION: there is no checksum by which redo could find that a created
/// page is torn, and it needs none.
#[test]
fn no_power_loss_costs_a_page_without_a_checksum() {
    let first = test_seed() % (1 << 32);
    for how in [PageVerify::None, PageVerify::TornPageDetection] {
        let tally = Arc::new(Tally::default());
        for seed in first..first + 2 {
            println!("FURROW_SEED={seed}");
            run(seed, &tally, how);
        }
        let counts = [&tally.losses, &tally.restored].map(|n| n.load(Ordering::Relaxed));
        println!("{how:?}: losses, restored from images: {counts:?}");
        assert!(counts.iter().all(|&n| n > 0), "{how:?}: {counts:?}");
    }
}

/// Two versions of a page whose halves add up to a valid checksum by chance: only the image shows the fault.
#[test]
fn a_torn_page_whose_checksum_holds_is_restored() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let id = PageId::new(1, 7);
    let mut page = bench.pool.fetch(key(1, 7), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 1);
    drop(page);
    checkpoint(&bench);
    let mut new = read_raw(bench.files[0].inner.as_ref(), 7);
    drop(bench);
    let machine = volume.crash(&Crash::DropAll);
    let open = |name: String| {
        machine
            .open(Path::new(&name), Open::Existing, Access::Data)
            .unwrap()
    };
    let (file, area) = (open(name(1)), open(dw_name(1)));
    let image = new;
    // The same bit of the same column twice: the sum of the sector does not change.
    new[5000] ^= 4;
    new[5004] ^= 4;
    assert!(
        verify(&new, id).is_ok() && new != image,
        "the checksum is blind to this"
    );
    write_raw(file.as_ref(), 7, &new);
    let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
    assert_eq!(stats.restored, [id]);
    assert_eq!(read_raw(file.as_ref(), 7), image);
    let again = double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
    assert_eq!(again.images, 0, "images are forgotten once they were used");
}

/// A page formatted after its image was written is newer than the image: that must not come back.
#[test]
fn an_image_older_than_a_whole_page_is_left_alone() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let mut page = bench.pool.fetch(key(2, 3), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 1);
    drop(page);
    checkpoint(&bench);
    drop(bench);
    let open = |name: String| {
        volume
            .open(Path::new(&name), Open::Existing, Access::Data)
            .unwrap()
    };
    let (file, area) = (open(name(2)), open(dw_name(2)));
    let mut newer = [0; PAGE_SIZE];
    format(&mut newer, PageId::new(2, 3));
    set_value(&mut newer, 99);
    PageMut::new(&mut newer).set_lsn(Lsn(50));
    stamp_checksum(&mut newer);
    write_raw(file.as_ref(), 3, &newer);
    let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(2)).unwrap();
    assert_eq!(
        (stats.images, stats.intact, stats.restored.len()),
        (1, 1, 0)
    );
    assert_eq!(value(&read_raw(file.as_ref(), 3)), 99);
}

/// Only its image shows that the page is torn.
#[test]
fn a_torn_page_without_a_checksum_is_restored_whatever_its_lsn_has_become() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    bench
        .pool
        .set_page_verify(common::DB, PageVerify::None)
        .unwrap();
    let mut page = bench.pool.fetch(key(2, 3), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 1);
    drop(page);
    checkpoint(&bench);
    drop(bench);
    let open = |name: String| {
        volume
            .open(Path::new(&name), Open::Existing, Access::Data)
            .unwrap()
    };
    let (file, area) = (open(name(2)), open(dw_name(2)));
    let mut torn = read_raw(file.as_ref(), 3);
    // The rest of the first sector is garbage, and with it the LSN.
    PageMut::new(&mut torn).set_lsn(Lsn(u64::MAX >> 1));
    torn[96..512].fill(0xA7);
    write_raw(file.as_ref(), 3, &torn);
    let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(2)).unwrap();
    assert_eq!(stats.restored, [PageId::new(2, 3)]);
    assert_eq!(value(&read_raw(file.as_ref(), 3)), 1);
}

/// Creates a page again, over whatever was there.
fn make_anew(bench: &Bench, page: u32, value: u64) {
    let mut guard = bench.pool.create(key(1, page), LatchRank::Data).unwrap();
    guard.begin_change();
    let lsn = bench.log.append();
    format(&mut guard, PageId::new(1, page));
    set_value(&mut guard, value);
    guard.finish_change(lsn, true);
}

/// The power goes, a page rots meanwhile, and the images are put back; the page then, and whether it is
/// whole.
fn after_rot(volume: &SimVolume, page: u32) -> (PageBuf, bool) {
    let machine = volume.crash(&Crash::DropAll);
    let open = |name: String| machine.open(Path::new(&name), Open::Existing, Access::Data);
    let (file, area) = (open(name(1)).unwrap(), open(dw_name(1)).unwrap());
    let mut rotten = read_raw(file.as_ref(), page);
    rotten[6000] ^= 4;
    write_raw(file.as_ref(), page, &rotten);
    double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
    let page_id = PageId::new(1, page);
    let found = read_raw(file.as_ref(), page);
    let whole = verify(&found, page_id).is_ok();
    (found, whole)
}

/// Redo that begins behind the creation of a page cannot detect that an older version lies before it.
#[test]
fn a_page_made_anew_that_rots_is_never_the_page_of_before() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let write = |page, value| {
        let mut page = bench.pool.fetch(key(1, page), Ex, LatchRank::Data).unwrap();
        change(&bench.log, &mut page, value);
    };
    write(7, 1);
    checkpoint(&bench);
    make_anew(&bench, 7, 2);
    checkpoint(&bench);
    let (found, whole) = after_rot(&volume, 7);
    assert!(whole && value(&found) == 2, "the image is the page's last");
    // Enough images follow to overwrite all images of the page.
    for round in 0..12 {
        (20..24).for_each(|page| write(page, round));
        checkpoint(&bench);
    }
    make_anew(&bench, 7, 3);
    checkpoint(&bench);
    let (_, whole) = after_rot(&volume, 7);
    assert!(!whole, "a created page has no image, and is reported");
}

/// The double-write file of a former run, of another size, does not come back in the next one.
#[test]
fn a_double_write_file_lives_through_a_change_of_its_size() {
    let volume = SimVolume::new(SimOptions::default());
    let first = bench_on(&volume, SHAPE, config(SHAPE.frames));
    for page_no in 0..20 {
        let mut page = first
            .pool
            .fetch(key(1, page_no), Ex, LatchRank::Data)
            .unwrap();
        change(&first.log, &mut page, 1);
    }
    checkpoint(&first);
    let log = Arc::clone(&first.log);
    drop(first);
    for (double_write_pages, next) in [(40, 2), (12, 3), (12, 4)] {
        let config = PoolConfig {
            double_write_pages,
            ..config(SHAPE.frames)
        };
        let bench = open_on(&volume, SHAPE, config, Arc::clone(&log));
        for page_no in 10..20 {
            let mut page = bench
                .pool
                .fetch(key(1, page_no), Ex, LatchRank::Data)
                .unwrap();
            change(&bench.log, &mut page, next);
        }
        checkpoint(&bench);
        drop(bench);
        let machine = volume.crash(&Crash::DropAll);
        let open = |name: String| machine.open(Path::new(&name), Open::Existing, Access::Data);
        let (file, area) = (open(name(1)).unwrap(), open(dw_name(1)).unwrap());
        for page_no in 10..20 {
            let mut torn = read_raw(file.as_ref(), page_no);
            torn[6000..].fill(0xEE);
            write_raw(file.as_ref(), page_no, &torn);
        }
        let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
        assert_eq!(stats.restored.len(), 10, "run {next}: {stats:?}");
        for page_no in 0..20 {
            let expected = if page_no < 10 { 1 } else { next };
            assert_eq!(value(&read_raw(file.as_ref(), page_no)), expected);
        }
    }
}

/// A page that the device cannot read any more is put back from its image; a device that reads nothing ends
/// the repair, and loses none.
#[test]
fn an_unreadable_page_is_put_back_and_a_dead_device_is_reported() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let mut page = bench.pool.fetch(key(1, 7), Ex, LatchRank::Data).unwrap();
    change(&bench.log, &mut page, 1);
    drop(page);
    checkpoint(&bench);
    let sound = read_raw(bench.files[0].inner.as_ref(), 7);
    drop(bench);
    let machine = volume.crash(&Crash::KeepAll);
    let open = |machine: &SimVolume, name: String| {
        machine
            .open(Path::new(&name), Open::Existing, Access::Data)
            .unwrap()
    };
    let file = open(&machine, name(1));
    write_raw(file.as_ref(), 7, &sound);
    drop(file);
    // Torn until a sector of it cannot be read.
    let spoilt = (0..1000)
        .map(|seed| machine.crash(&Crash::Unreadable { seed }))
        .find(|machine| {
            let file = open(machine, name(1));
            file.read_at(7 * PAGE_SIZE as u64, &mut [0; PAGE_SIZE])
                .is_err()
        })
        .unwrap();
    let dead = spoilt.fork();
    let (file, area) = (open(&dead, name(1)), open(&dead, dw_name(1)));
    dead.inject(
        Fault::new(Ops::Only(OpKind::Read), Effect::Fail)
            .under(name(1))
            .sticky(),
    );
    assert!(double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).is_err());
    dead.heal();
    let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
    assert_eq!(stats.restored, [PageId::new(1, 7)]);
    assert_eq!(read_raw(file.as_ref(), 7), sound);
}

/// Changes the pages `pages` of file 1 and takes a checkpoint.
fn change_all(bench: &Bench, pages: std::ops::Range<u32>, next: u64) {
    for page_no in pages {
        let mut page = bench
            .pool
            .fetch(key(1, page_no), Ex, LatchRank::Data)
            .unwrap();
        change(&bench.log, &mut page, next);
    }
    checkpoint(bench);
}

/// Halves of 1,024 pages from the start, as earlier versions made them.
#[test]
fn images_of_a_double_write_file_of_sixteen_megabytes_are_put_back() {
    const HALF: usize = 1024;
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    change_all(&bench, 3..9, 1);
    drop(bench);
    let machine = volume.crash(&Crash::DropAll);
    let open = |name: String| machine.open(Path::new(&name), Open::Existing, Access::Data);
    let (file, area) = (open(name(1)).unwrap(), open(dw_name(1)).unwrap());
    let mut batch = vec![0; 7 * PAGE_SIZE];
    area.read_at(0, &mut batch).unwrap();
    assert_eq!(batch[28], 6, "images of the first batch");
    batch[32..36].copy_from_slice(&(HALF as u32).to_le_bytes());
    let crc = crc32c::crc32c(&batch[12..PAGE_SIZE]);
    batch[8..12].copy_from_slice(&crc.to_le_bytes());
    for half in [0, 1] {
        let bytes = 2 * HALF as u64 * PAGE_SIZE as u64;
        area.resize(0, furrow_io::Fill::Allocate).unwrap();
        area.resize(bytes, furrow_io::Fill::Allocate).unwrap();
        area.write_at((half * HALF * PAGE_SIZE) as u64, &batch)
            .unwrap();
        for page_no in 3..9 {
            let mut torn = read_raw(file.as_ref(), page_no);
            torn[6000..].fill(0xEE);
            write_raw(file.as_ref(), page_no, &torn);
        }
        let stats = double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
        assert_eq!(stats.restored.len(), 6, "half {half}: {stats:?}");
        assert_eq!(value(&read_raw(file.as_ref(), 5)), 1);
    }
}

/// A disk that is full leaves a double-write file small: batches are smaller, and nothing fails.
#[test]
fn a_double_write_file_that_cannot_grow_still_guards_every_page() {
    let volume = SimVolume::new(SimOptions::default());
    let config = PoolConfig {
        double_write_pages: 64,
        batch_pages: 48,
        ..config(64)
    };
    let shape = Shape {
        frames: 64,
        ..SHAPE
    };
    let bench = bench_on(&volume, shape, config);
    volume.inject(
        Fault::new(Ops::Only(OpKind::Resize), Effect::NoSpace)
            .under(dw_name(1))
            .times(1),
    );
    change_all(&bench, 0..40, 1);
    change_all(&bench, 0..40, 2);
    drop(bench);
    for seed in 0..20 {
        let machine = volume.crash(&Crash::Torn { seed });
        let open = |name: String| machine.open(Path::new(&name), Open::Existing, Access::Data);
        let (file, area) = (open(name(1)).unwrap(), open(dw_name(1)).unwrap());
        double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
        for page_no in 0..40 {
            assert_eq!(
                value(&read_raw(file.as_ref(), page_no)),
                2,
                "page {page_no}"
            );
        }
    }
}

/// Images end in the order of their age: while a file's images are forgotten, or its double-write file grows,
/// no power loss brings back an image that is older than what is in place.
#[test]
fn a_power_loss_while_images_are_forgotten_brings_no_older_image_back() {
    let volume = SimVolume::new(SimOptions::default());
    let config = PoolConfig {
        double_write_pages: 64,
        batch_pages: 48,
        ..config(64)
    };
    let shape = Shape {
        frames: 64,
        ..SHAPE
    };
    let bench = bench_on(&volume, shape, config);
    // Only its image shows what a page without a checksum should be.
    bench
        .pool
        .set_page_verify(common::DB, PageVerify::None)
        .unwrap();
    let in_place = Arc::new(AtomicU64::new(0));
    let losses: Arc<Mutex<Vec<(SimVolume, u64)>>> = Arc::default();
    let (least, to) = (Arc::clone(&in_place), Arc::clone(&losses));
    volume.on_boundary(move |machine| {
        let least = least.load(Ordering::SeqCst);
        to.lock().unwrap().push((machine, least));
    });
    // Three rounds of 10 pages: the third finds both halves of 16 pages full. Then one that needs more.
    for round in 1..=3 {
        change_all(&bench, 3..13, round);
        in_place.store(round, Ordering::SeqCst);
    }
    change_all(&bench, 3..43, 4);
    in_place.store(4, Ordering::SeqCst);
    change_all(&bench, 3..13, 5);
    in_place.store(5, Ordering::SeqCst);
    bench.pool.forget_images(common::DB).unwrap();
    let losses = std::mem::take(&mut *losses.lock().unwrap());
    assert!(losses.iter().any(|(_, least)| *least == 5));
    for (number, (machine, least)) in losses.iter().enumerate() {
        for outcome in machine.outcomes() {
            let after = machine.crash(&outcome);
            let open = |name: String| after.open(Path::new(&name), Open::Existing, Access::Data);
            let (file, area) = (open(name(1)).unwrap(), open(dw_name(1)).unwrap());
            double_write::repair(file.as_ref(), area.as_ref(), FileId(1)).unwrap();
            for page_no in 3..13 {
                let found = value(&read_raw(file.as_ref(), page_no));
                assert!(
                    found >= *least,
                    "moment {number}, {outcome:?}: page {page_no} has {found}, {least} was in place"
                );
            }
        }
    }
}
