//! Backups of a database that is being written.

use crate::world::{World, ids, insert, request, world, world_on};
use furrow_backup::media::Codec;
use furrow_engine::{BackupScope, BulkOptions, FileSpec, Session, Table};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::{SystemVolume, thread, time};
use std::sync::Arc;

const WRITERS: usize = 16;
/// Ids of a writer begin at so many times its number.
const APART: i64 = 1_000_000;
/// Rows of a transaction.
const ROWS: i64 = 3;

/// Transactions of three rows, every fifth rolled back: a committed one takes the next ids.
fn write(world: &World, table: &Arc<Table>, writer: i64, (acked, stop): (&AtomicU64, &AtomicBool)) {
    let mut session = world.session();
    let mut rng = seeded(test_seed() ^ writer as u64);
    let mut done = 0;
    while !stop.load(Ordering::SeqCst) {
        // The table stays small enough to be read quickly afterwards.
        time::sleep(time::Duration::from_millis(3));
        session.begin().unwrap();
        let from = writer * APART + done * ROWS;
        for row in 0..ROWS {
            let text = "x".repeat(rng.random_range(1..600));
            insert(&mut session, table, from + row, &text);
        }
        if rng.random_bool(0.2) {
            session.rollback().unwrap();
        } else {
            session.commit().unwrap();
            done += 1;
            acked.store(done as u64, Ordering::SeqCst);
        }
    }
}

/// Loads past the log, into a table of its own each time.
fn load(world: &World, stop: &AtomicBool) -> usize {
    let mut session = world.session();
    let mut loads = 0;
    while !stop.load(Ordering::SeqCst) {
        let table = world.table(&format!("load{loads}"));
        let mut inserter = session
            .bulk_inserter(&table, &[0, 1], BulkOptions::default())
            .unwrap();
        for id in 0..2000 {
            let text = "loaded ".repeat(40);
            inserter
                .i64(id)
                .unwrap()
                .str(&text)
                .unwrap()
                .insert()
                .unwrap();
        }
        inserter.finish().unwrap();
        loads += 1;
        time::sleep(time::Duration::from_millis(50));
    }
    loads
}

/// Every writer's rows are those of its first transactions, all of them that were acknowledged when the
/// backup began, and perhaps more.
fn prove(all: &[i64], acked: &[u64]) {
    for (writer, acked) in acked.iter().enumerate() {
        let from = writer as i64 * APART;
        let own: Vec<i64> = all
            .iter()
            .copied()
            .filter(|id| id / APART == writer as i64)
            .collect();
        let count = own.len() as i64;
        assert_eq!(count % ROWS, 0, "writer {writer}: half a transaction");
        assert!(
            count / ROWS >= *acked as i64,
            "writer {writer}: {count} rows of {acked} commits"
        );
        let expected: Vec<i64> = (from..from + count).collect();
        assert_eq!(own, expected, "writer {writer}");
    }
}

fn backed_up_under_load(world: &World, (stripes, codec): (usize, Codec), rounds: u32) {
    println!("FURROW_SEED={}", test_seed());
    let table = world.table("t");
    let acked: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    let mut request = request(stripes);
    request.codec = codec;
    thread::scope(|scope| {
        for (writer, acked) in acked.iter().enumerate() {
            let (table, stop) = (&table, &stop);
            let body = move || write(world, table, writer as i64, (acked, stop));
            thread::spawn_scoped(scope, "writer", body).unwrap();
        }
        let (loading, stop) = (world, &stop);
        thread::spawn_scoped(scope, "loader", move || load(loading, stop)).unwrap();
        time::sleep(time::Duration::from_millis(300));
        for round in 0..rounds {
            let before: Vec<u64> = acked.iter().map(|a| a.load(Ordering::SeqCst)).collect();
            world.backup(&request).unwrap();
            let name = format!("copy{round}");
            let report = world.restore(&request, &name).unwrap();
            let copy = report.database.unwrap();
            prove(&ids(&copy, "t"), &before);
            loads_are_whole(&copy);
            drop(copy);
            world.check(&name);
        }
        stop.store(true, Ordering::SeqCst);
    });
}

fn loads_are_whole(copy: &Arc<furrow_engine::Database>) {
    let session = Session::new(copy).unwrap();
    for load in 0.. {
        let name = format!("load{load}");
        if session.table(&name).is_err() {
            break;
        }
        let rows = ids(copy, &name).len();
        assert!(rows == 0 || rows == 2000, "{name}: {rows} rows");
    }
}

#[test]
fn a_backup_under_writers_and_loads_restores_whole_transactions_and_checks_clean() {
    backed_up_under_load(&world(), (3, Codec::None), 3);
}

#[test]
fn a_compressed_backup_under_writers_and_loads_restores_too() {
    backed_up_under_load(&world(), (2, Codec::Lz4), 3);
}

#[test]
#[ignore = "takes a minute, and changes the directory of the process: it must run alone"]
fn fifty_backups_under_sixteen_writers_on_real_files_restore_whole_transactions() {
    for run in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        std::env::set_current_dir(dir.path()).unwrap();
        let log = FileSpec::new("log", "d/log.ldf").size_mb(2);
        let world = world_on(Arc::new(SystemVolume::new()), log);
        let codec = [Codec::None, Codec::Lz4, Codec::Zstd(1)][run % 3];
        backed_up_under_load(&world, (1 + run % 4, codec), 5);
    }
}

#[test]
fn a_transaction_that_is_open_all_the_time_is_rolled_back_in_the_copy() {
    let world = world();
    let table = world.table("t");
    let mut open = world.session();
    open.begin().unwrap();
    (0..500).for_each(|id| insert(&mut open, &table, id, "never committed"));
    world.db.checkpoint().unwrap();
    let mut other = world.session();
    (1000..1100).for_each(|id| insert(&mut other, &table, id, "committed"));
    let request = request(1);
    world.backup(&request).unwrap();
    (1100..1200).for_each(|id| insert(&mut other, &table, id, "too late"));
    let copy = world.restore(&request, "copy").unwrap().database.unwrap();
    assert_eq!(ids(&copy, "t"), (1000..1100).collect::<Vec<i64>>());
    drop(copy);
    world.check("copy");
    open.commit().unwrap();
}

#[test]
fn a_restored_database_lives_on_and_is_backed_up_and_restored_again() {
    let world = world();
    let table = world.table("t");
    let mut session = world.session();
    (0..300).for_each(|id| insert(&mut session, &table, id, "first"));
    let request = request(2);
    world.backup(&request).unwrap();
    let copy = world.restore(&request, "copy").unwrap().database.unwrap();
    let mut session = Session::new(&copy).unwrap();
    let table = session.table("t").unwrap();
    (300..600).for_each(|id| insert(&mut session, &table, id, "second"));
    drop((session, table));
    drop(copy);
    world.instance.close_database("copy").unwrap();
    let copy = world.instance.reopen_database("copy").unwrap();
    assert_eq!(ids(&copy, "t").len(), 600);
    let second = World {
        db: copy,
        volume: Arc::clone(&world.volume),
        instance: Arc::clone(&world.instance),
    };
    second.backup(&request).unwrap();
    let third = second.restore(&request, "third").unwrap().database.unwrap();
    assert_eq!(ids(&third, "t").len(), 600);
    assert_ne!(third.binding(), second.db.binding());
    drop(third);
    second.check("third");
}

#[test]
fn files_stay_as_they_are_while_a_backup_is_under_way() {
    let world = world();
    let source = world.db.begin_backup(BackupScope::Full).unwrap();
    let second = world.db.begin_backup(BackupScope::Full).unwrap_err();
    assert_eq!(second.number(), 3023);
    let spec = FileSpec::new("new", "d/new.ndf").size_mb(1);
    let added = world.db.add_file(&spec, None).unwrap_err();
    assert!(added.has(3023), "{added}");
    let removed = world.db.remove_file("more").unwrap_err();
    assert!(removed.has(3023), "{removed}");
    drop(source);
    world.db.add_file(&spec, None).unwrap();
    world.db.begin_backup(BackupScope::Full).unwrap();
}
