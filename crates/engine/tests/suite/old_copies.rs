//! Old copies of data files put beside a newer log: nothing in the log says what they lack, so they are
//! refused, and left as they were.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    AttachOptions, ColumnSpec, Database, DatabaseOptions, EngineError, FileChange, FileSpec,
    Instance, ScanSpec, Session, TableSpec,
};
use furrow_format::PageVerify;
use furrow_io::sim::Crash;
use furrow_io::{Access, Open, SimVolume, Volume, WriteRun};
use furrow_types::{DataType, TypeId, Value};
use simulated::{new_volume, start};
use std::io::IoSlice;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const DATA: [&str; 2] = ["d/p.mdf", "d/s.ndf"];
const LOG: &str = "d/l.ldf";

fn put(database: &Arc<Database>, rows: usize) {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    for _ in 0..rows {
        let row = [Value::VarChar("x".repeat(3000))];
        session.insert(&table, &row).unwrap();
    }
}

fn count(database: &Arc<Database>) -> usize {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    let mut rows = 0;
    scan.for_each(|_| {
        rows += 1;
        Ok(())
    })
    .unwrap();
    rows
}

fn attach(instance: &Instance) -> Result<Arc<Database>, EngineError> {
    instance.attach_database(Path::new(DATA[0]), &AttachOptions::default())
}

/// Puts a file of one machine in the place of another's.
fn put_back(path: &Path, from: &SimVolume, to: &SimVolume) {
    let bytes = from.contents(path).unwrap();
    let file = to.open(path, Open::Existing, Access::Data).unwrap();
    file.resize(bytes.len() as u64, furrow_io::Fill::Zero)
        .unwrap();
    let bufs = &[IoSlice::new(&bytes)];
    file.write_durable(&[WriteRun { offset: 0, bufs }]).unwrap();
}

/// Two machines with a database that ended abruptly: behind an early checkpoint, and behind a later one. In
/// between the headers of its files have got another change, too.
fn machines(page_verify: PageVerify) -> (SimVolume, SimVolume) {
    machines_after(page_verify, |_| ())
}

/// The same, with something done before the later end.
fn machines_after(page_verify: PageVerify, last: fn(&Arc<Database>)) -> (SimVolume, SimVolume) {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_kb(1024);
    let database = instance.create_database(&simulated::spec(log)).unwrap();
    let options = DatabaseOptions {
        page_verify,
        ..database.options()
    };
    database.set_options(options).unwrap();
    let mut session = Session::new(&database).unwrap();
    let text = DataType::sized(TypeId::VarChar, 3000);
    let table = TableSpec::new("t").column(ColumnSpec::new("text", text));
    session.create_table(&table).unwrap();
    drop(session);
    put(&database, 60);
    database.checkpoint().unwrap();
    put(&database, 3);
    let early = volume.fork();
    for name in ["P", "S"] {
        let grown = FileChange {
            growth: Some(furrow_format::FileGrowth::Pages(128)),
            ..FileChange::default()
        };
        database.modify_file(name, &grown).unwrap();
    }
    database.checkpoint().unwrap();
    put(&database, 5);
    last(&database);
    drop(database);
    instance.abandon();
    (early, volume.fork())
}

/// What a data file and the images beside it hold.
fn bytes_of(volume: &SimVolume, path: &str) -> [Vec<u8>; 2] {
    let images = format!("{path}.dw");
    [path, &images].map(|path| volume.contents(Path::new(path)).unwrap())
}

/// What the instance says of the database, which it knew.
fn refusal(instance: &Instance) -> EngineError {
    let attached = || attach(instance);
    match instance.detach_database("Db").and_then(|()| attached()) {
        Err(error) => error,
        Ok(database) => panic!("{} rows", count(&database)),
    }
}

fn is_refused_and_the_right_one_taken(path: &str, page_verify: PageVerify) {
    let (early, late) = machines(page_verify);
    let right = late.fork();
    // The right one has a torn header.
    let file = right.open(Path::new(path), Open::Existing, Access::Data);
    file.unwrap().write_durable_at(4096, &[0x5A; 4096]).unwrap();
    put_back(Path::new(path), &early, &late);
    let before = bytes_of(&late, path);
    let instance = start(&late).unwrap();
    let refused = refusal(&instance);
    let expected = if path == DATA[0] { 9003 } else { 5173 };
    assert!(refused.has(expected), "{path}: {refused}");
    assert!(bytes_of(&late, path) == before, "{path} was written");
    put_back(Path::new(path), &right, &late);
    let database = attach(&instance).unwrap();
    assert_eq!(count(&database), 68, "{path}");
}

#[test]
fn an_old_copy_of_a_data_file_beside_a_newer_log_is_refused_unchanged_and_the_right_one_taken() {
    for path in DATA {
        is_refused_and_the_right_one_taken(path, PageVerify::Checksum);
    }
}

#[test]
fn an_old_copy_is_refused_whatever_protects_the_pages_of_its_database() {
    for path in DATA {
        for how in [PageVerify::None, PageVerify::TornPageDetection] {
            is_refused_and_the_right_one_taken(path, how);
        }
    }
}

#[test]
fn files_of_one_moment_are_taken_whichever_it_is() {
    let (early, late) = machines(PageVerify::Checksum);
    for (volume, rows) in [(early, 63), (late, 68)] {
        let instance = start(&volume).unwrap();
        assert_eq!(count(&instance.database("Db").unwrap()), rows);
    }
}

#[test]
fn older_files_and_log_in_the_place_of_a_database_that_ended_abruptly_are_taken_as_they_are() {
    for how in [PageVerify::Checksum, PageVerify::None] {
        let (early, late) = machines(how);
        for path in [DATA[0], DATA[1], LOG] {
            put_back(Path::new(path), &early, &late);
        }
        let instance = start(&late).unwrap();
        assert_eq!(count(&instance.database("Db").unwrap()), 63, "{how:?}");
    }
}

#[test]
fn an_old_copy_of_the_log_beside_newer_data_files_is_refused_and_the_right_one_taken() {
    let (early, late) = machines(PageVerify::Checksum);
    let right = late.fork();
    put_back(Path::new(LOG), &early, &late);
    let before = DATA.map(|path| bytes_of(&late, path));
    let instance = start(&late).unwrap();
    let refused = refusal(&instance);
    assert!(refused.has(5108) && refused.has(5173), "{refused}");
    assert!(DATA.map(|path| bytes_of(&late, path)) == before);
    put_back(Path::new(LOG), &right, &late);
    assert_eq!(count(&attach(&instance).unwrap()), 68);
}

#[test]
fn older_files_in_the_place_of_a_read_only_database_are_taken_as_they_are() {
    let (early, late) = machines_after(PageVerify::Checksum, |database| {
        database.set_read_only(true).unwrap();
    });
    for path in [DATA[0], DATA[1], LOG] {
        put_back(Path::new(path), &early, &late);
    }
    let instance = start(&late).unwrap();
    assert_eq!(count(&instance.database("Db").unwrap()), 63);
}

#[test]
fn a_file_that_comes_while_checkpoints_are_taken_is_no_old_copy_after_a_crash() {
    let new = Path::new("d/n.ndf");
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", "d/l.ldf").size_kb(1024);
    let database = instance.create_database(&simulated::spec(log)).unwrap();
    let (made, crashed) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Mutex::new(vec![])),
    );
    let (known, forks, of) = (
        Arc::clone(&made),
        Arc::clone(&crashed),
        Arc::downgrade(&database),
    );
    volume.on_boundary_of(move |path, now| {
        // A checkpoint of somebody else ends after the file was made, and before the catalog names it.
        if path == new && !known.swap(true, Ordering::Relaxed) {
            of.upgrade().unwrap().checkpoint().unwrap();
        }
        forks.lock().unwrap().push(now);
    });
    let spec = FileSpec::new("N", "d/n.ndf").size_kb(512);
    database.add_file(&spec, None).unwrap();
    drop(database);
    instance.abandon();
    assert!(made.load(Ordering::Relaxed));
    let crashed = std::mem::take(&mut *crashed.lock().unwrap());
    assert!(crashed.len() > 5);
    for (at, now) in crashed.iter().enumerate() {
        for outcome in [Crash::KeepAll, Crash::DropAll] {
            let instance = start(&now.crash(&outcome)).unwrap();
            let database = instance.database("Db").unwrap();
            if let Err(error) = database.checkpoint() {
                panic!("boundary {at}, {outcome:?}: {error}");
            }
        }
    }
}

/// A machine with a database that was shut down cleanly twice, and what it held the first time.
fn rested_machines() -> (SimVolume, SimVolume) {
    let (_, volume) = machines(PageVerify::Checksum);
    let stop = || {
        let instance = start(&volume).unwrap();
        put(&instance.database("Db").unwrap(), 1);
        instance.shut_down().unwrap();
    };
    stop();
    let early = volume.fork();
    stop();
    (early, volume)
}

#[test]
fn without_their_log_files_of_different_shutdowns_are_refused_and_those_of_one_taken() {
    for path in DATA {
        let (early, late) = rested_machines();
        let right = late.fork();
        put_back(Path::new(path), &early, &late);
        late.remove(Path::new("d/l.ldf")).unwrap();
        let instance = start(&late).unwrap();
        let resting = AttachOptions {
            read_only: true,
            ..AttachOptions::default()
        };
        let refused = refusal(&instance);
        assert!(refused.has(5173), "{path}: {refused}");
        let refused = instance.attach_database(Path::new(DATA[0]), &resting);
        assert!(refused.is_err_and(|e| e.has(5173)), "{path}, READ_ONLY");
        put_back(Path::new(path), &right, &late);
        let database = instance
            .attach_database(Path::new(DATA[0]), &resting)
            .unwrap();
        assert_eq!(count(&database), 70, "{path}");
        drop(database);
        instance.detach_database("Db").unwrap();
        assert_eq!(count(&attach(&instance).unwrap()), 70, "{path}");
    }
}

/// Copies files of one machine into a directory of another's.
fn copy_beside(from: &SimVolume, to: &SimVolume, paths: &[&str]) {
    to.create_dir(Path::new("c")).unwrap();
    for path in paths {
        let copy = Path::new("c").join(Path::new(path).file_name().unwrap());
        drop(to.open(&copy, Open::Create, Access::Data).unwrap());
        let bytes = from.contents(Path::new(path)).unwrap();
        let file = to.open(&copy, Open::Existing, Access::Data).unwrap();
        file.resize(bytes.len() as u64, furrow_io::Fill::Zero)
            .unwrap();
        let bufs = &[IoSlice::new(&bytes)];
        file.write_durable(&[WriteRun { offset: 0, bufs }]).unwrap();
    }
}

#[test]
fn a_copy_whose_original_has_moved_on_is_attached_with_the_file_beside_it() {
    let (early, late) = machines(PageVerify::Checksum);
    copy_beside(&early, &late, &[DATA[0], DATA[1], LOG]);
    let instance = start(&late).unwrap();
    instance.detach_database("Db").unwrap();
    let options = AttachOptions {
        name: Some("Copy".into()),
        files: vec!["c/l.ldf".into()],
        ..AttachOptions::default()
    };
    let copy = instance
        .attach_database(Path::new("c/p.mdf"), &options)
        .unwrap();
    assert_eq!(count(&copy), 63);
    // A later start looks for the files of the copy where they were attached, not where they came from.
    for outcome in [Crash::KeepAll, Crash::DropAll] {
        let again = start(&late.crash(&outcome)).unwrap();
        assert_eq!(count(&again.database("Copy").unwrap()), 63, "{outcome:?}");
    }
    drop(copy);
    instance.detach_database("Copy").unwrap();
    assert_eq!(count(&attach(&instance).unwrap()), 68);
}

#[test]
fn a_copy_at_rest_takes_the_file_that_was_let_go_with_it_and_the_one_beside_it_where_asked() {
    let (early, late) = rested_machines();
    // Whether the copy is an old one, whether what lies beside goes first, rows, and where from.
    let cases = [
        (true, false, 69, "c/s.ndf"),
        (true, true, 69, "c/s.ndf"),
        (false, false, 70, "d/s.ndf"),
        (false, true, 70, "c/s.ndf"),
    ];
    for (old, beside_first, rows, place) in cases {
        let machine = late.fork();
        let instance = start(&machine).unwrap();
        instance.detach_database("Db").unwrap();
        copy_beside(if old { &early } else { &machine }, &machine, &DATA);
        let options = AttachOptions {
            read_only: true,
            beside_first,
            ..AttachOptions::default()
        };
        let copy = instance
            .attach_database(Path::new("c/p.mdf"), &options)
            .unwrap();
        assert_eq!(count(&copy), rows, "{place} {beside_first}");
        let files = copy.file_list().unwrap();
        assert!(
            files.iter().any(|file| file.path == Path::new(place)),
            "{place} {beside_first}: {files:?}"
        );
    }
}
