//! Databases that this engine wrote at each version of its formats: they must open for ever, and say the
//! same.
//!
//! `tests/fixtures/format-N.lz4` holds the files of a database as a crash left them, with committed work in
//! the log and a transaction under way. When a format changes so that new files differ (page version, log,
//! double-write file, catalog), raise [`FORMAT`] and write the next one beside the old ones:
//!
//!     cargo test -p furrow-engine --test format_fixture -- --ignored
//!
//! Then commit it. The files of earlier formats stay, and are never written again.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_engine::{
    AttachOptions, ColumnSpec, Database, DatabaseSpec, FileSpec, IndexSpec, Instance,
    InstanceConfig, ScanSpec, Session, Table, TableSpec, TxnMark,
};
use furrow_io::{Access, Fill, MemoryVolume, Open, SystemVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The newest format: files of all formats from 1 to this one are there. 2 has a heap besides, in the format
/// of 1; 3 says in the log where a heap's row was before an update; 4 has the last checkpoint in every
/// file's header; 5 has the time in commit records, and marks; 6 has log records that insert several rows.
const FORMAT: u32 = 6;
/// From this one on there is a heap.
const FORMAT_WITH_HEAP: u32 = 2;
/// Rows of the heap.
const HEAP_ROWS: i64 = 16;
/// Rows committed before the last checkpoint, and after it.
const ROWS: (i64, i64) = (200, 300);

fn fixture(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{format}.lz4"))
}

fn start(volume: &Arc<dyn Volume>) -> Arc<Instance> {
    let config = InstanceConfig {
        directory: None,
        pool_pages: 512,
        double_write_pages: 16,
        background: false,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::clone(volume), config).unwrap()
}

fn memory() -> Arc<dyn Volume> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d")).unwrap();
    Arc::new(volume)
}

fn spec() -> DatabaseSpec {
    let log = FileSpec::new("L", "d/l.ldf").size_kb(512).growth_mb(1);
    DatabaseSpec::new("Kept", FileSpec::new("P", "d/p.mdf").size_mb(2))
        .file(FileSpec::new("S", "d/s.ndf").size_kb(512))
        .log(log)
}

fn table_spec() -> TableSpec {
    TableSpec::new("kept")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("half", DataType::simple(TypeId::Int)))
        .column(ColumnSpec::new(
            "text",
            DataType::sized(TypeId::NVarChar, 400),
        ))
        .column(ColumnSpec::new(
            "bytes",
            DataType::sized(TypeId::VarBinary, 500),
        ))
        .primary_key(["id"])
        .index(IndexSpec::new("by_half", ["half"]))
}

fn heap_spec() -> TableSpec {
    TableSpec::new("heap")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new(
            "bytes",
            DataType::sized(TypeId::VarBinary, 5000),
        ))
        .primary_key_nonclustered(["id"])
}

fn heap_row(id: i64, len: usize) -> Vec<Value> {
    vec![Value::BigInt(id), Value::Binary(vec![id as u8; len])]
}

/// The rows of a heap that had moved before the last checkpoint, or not.
fn heap_rows() -> Vec<Vec<Value>> {
    let len = |id| if id % 5 == 0 { 2500 } else { 700 };
    (0..HEAP_ROWS).map(|id| heap_row(id, len(id))).collect()
}

/// The row with this key, as it was when all was committed.
fn row(id: i64) -> Vec<Value> {
    let text: String = (0..id % 40)
        .map(|i| char::from(b'a' + (i % 26) as u8))
        .collect();
    let bytes = match id % 3 {
        0 => Value::Null,
        _ => Value::Binary(vec![id as u8; (id % 90) as usize]),
    };
    let half = match id % 7 {
        0 => Value::Null,
        _ => Value::Int((id / 2) as i32),
    };
    vec![Value::BigInt(id), half, Value::NVarChar(text), bytes]
}

fn all(session: &mut Session, table: &Arc<Table>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    let take = |row: furrow_engine::Row<'_>| {
        rows.push(row.values()?);
        Ok(())
    };
    scan.for_each(take).unwrap();
    rows
}

fn read(volume: &dyn Volume, path: &Path) -> Vec<u8> {
    let file = volume.open(path, Open::ReadOnly, Access::Data).unwrap();
    let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn write(volume: &dyn Volume, path: &Path, bytes: &[u8]) {
    let file = volume.open(path, Open::Create, Access::Data).unwrap();
    file.resize(bytes.len() as u64, Fill::Allocate).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
}

/// The files one behind the other, each with its path and length before it; compressed.
fn pack(volume: &dyn Volume) -> Vec<u8> {
    let mut out = Vec::new();
    for path in volume.list(Path::new("d")).unwrap() {
        let (name, bytes) = (path.to_str().unwrap().to_owned(), read(volume, &path));
        out.extend_from_slice(&(name.len() as u64).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
    lz4_flex::compress_prepend_size(&out)
}

fn unpack(packed: &[u8]) -> Arc<dyn Volume> {
    let bytes = lz4_flex::decompress_size_prepended(packed).unwrap();
    let volume = memory();
    let mut rest = &bytes[..];
    let mut take = |len: Option<usize>| {
        let len = len.unwrap_or_else(|| {
            let (word, behind) = rest.split_first_chunk::<8>().unwrap();
            rest = behind;
            u64::from_le_bytes(*word) as usize
        });
        let (part, behind) = rest.split_at(len);
        rest = behind;
        (part, behind.is_empty())
    };
    loop {
        let name = String::from_utf8(take(None).0.to_vec()).unwrap();
        let (part, done) = take(None);
        write(&*volume, Path::new(&name), part);
        if done {
            return volume;
        }
    }
}

/// Inserts rows some at a time.
fn insert_together(session: &mut Session, table: &Arc<Table>, ids: std::ops::Range<i64>) {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut inserter = session.inserter(table, &columns).unwrap();
    for id in ids {
        for value in row(id) {
            inserter.value(&value).unwrap();
        }
        inserter.gather().unwrap();
    }
    inserter.insert_gathered().unwrap();
}

/// What [`FORMAT`]'s database went through.
fn live(database: &Arc<Database>) {
    let mut session = Session::new(database).unwrap();
    let table = session.create_table(&table_spec()).unwrap();
    let insert = |session: &mut Session, id| session.insert(&table, &row(id)).map(|_| ()).unwrap();
    for id in 0..ROWS.0 {
        insert(&mut session, id);
    }
    let heap = session.create_table(&heap_spec()).unwrap();
    for id in 0..HEAP_ROWS {
        session.insert(&heap, &heap_row(id, 700)).unwrap();
    }
    let update = |session: &mut Session, id, len| {
        let key = session.find_row(&heap, &[Value::BigInt(id)]).unwrap();
        let set = [(1, heap_row(id, len).remove(1))];
        assert!(session.update(&heap, &key.unwrap(), &set).unwrap());
    };
    for id in (0..HEAP_ROWS).step_by(5) {
        update(&mut session, id, 2500);
    }
    database.checkpoint().unwrap();
    session.begin().unwrap();
    let mark = TxnMark {
        name: "kept".to_owned(),
        description: "what a marked transaction writes".to_owned(),
    };
    session.set_mark(&mark).unwrap();
    let between = (ROWS.0 + ROWS.1) / 2;
    for id in ROWS.0..between {
        insert(&mut session, id);
    }
    insert_together(&mut session, &table, between..ROWS.1);
    session.commit().unwrap();
    session.begin().unwrap();
    insert_together(&mut session, &table, 2000..2040);
    for id in 0..40 {
        let key = table.row_key(&[Value::BigInt(id * 3)]).unwrap();
        session.delete(&table, &key).unwrap();
        insert(&mut session, 1000 + id);
    }
    // Rows of the heap move, move on, get shorter and longer where they are.
    for len in [3000, 20, 4500] {
        for id in (0..HEAP_ROWS).step_by(4) {
            update(&mut session, id, len + id as usize % 10);
        }
    }
    for id in 0..5 {
        let key = session.find_row(&heap, &[Value::BigInt(id)]).unwrap();
        assert!(session.delete(&heap, &key.unwrap()).unwrap());
        session.insert(&heap, &heap_row(100 + id, 300)).unwrap();
    }
    // Another one's commit makes the log durable up to here; this one never ends.
    let mut other = Session::new(database).unwrap();
    let spec = TableSpec::new("other")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .primary_key(["id"]);
    other.create_table(&spec).unwrap();
    std::mem::forget(session);
}

#[test]
#[ignore = "writes the files of today's format anew: for a new format only"]
fn write_the_files_of_todays_format() {
    let path = fixture(FORMAT);
    let home = SystemVolume::new();
    assert!(!home.exists(&path).unwrap(), "{} is there", path.display());
    let volume = memory();
    let instance = start(&volume);
    let database = instance.create_database(&spec()).unwrap();
    live(&database);
    drop(database);
    instance.abandon();
    let packed = pack(&*volume);
    assert!(packed.len() < 100_000, "{} bytes", packed.len());
    write(&home, &path, &packed);
}

#[test]
fn databases_of_every_format_open_and_say_the_same() {
    let home = SystemVolume::new();
    for format in 1..=FORMAT {
        let volume = unpack(&read(&home, &fixture(format)));
        for round in 0..3 {
            let instance = start(&volume);
            let opened = instance.attach_database(Path::new("d/p.mdf"), &AttachOptions::default());
            let database = opened.unwrap_or_else(|e| panic!("format {format}, {round}: {e}"));
            let table = database.catalog().table("dbo", "kept").unwrap();
            let mut session = Session::new(&database).unwrap();
            let last = ROWS.1 + round;
            let expected: Vec<Vec<Value>> = (0..last).map(row).collect();
            assert_eq!(all(&mut session, &table), expected, "format {format}");
            if format >= FORMAT_WITH_HEAP {
                let heap = database.catalog().table("dbo", "heap").unwrap();
                let mut rows = all(&mut session, &heap);
                rows.sort_by_key(|row| match row[0] {
                    Value::BigInt(id) => id,
                    _ => -1,
                });
                assert_eq!(rows, heap_rows(), "format {format}");
            }
            // And goes on.
            session.insert(&table, &row(last)).unwrap();
            drop((session, table, database));
            match round {
                0 => instance.abandon(),
                _ => instance.shut_down().unwrap(),
            }
        }
    }
}
