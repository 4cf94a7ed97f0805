//! Repair with loss of data: what is lost is what cannot be read, all else stays.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common::{House, bigint, house_of, int, n, s, varchar};
use furrow_check::{Options, Progress, Repaired};
use furrow_engine::{BackupScope, ColumnSpec, Database, IndexSpec, Session, TableSpec};
use furrow_format::{PAGE_SIZE, PageBuf, PageId, RecoveryModel, UserAccess, stamp_checksum};
use furrow_io::{Access, AlignedBuf, Open, Volume};
use furrow_types::{Guid, Value};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const ROWS: i64 = 2_000;

pub(crate) fn filled() -> House {
    fill(house_of(3))
}

/// Puts the table `t` with its rows in a database.
pub(crate) fn fill(house: House) -> House {
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()))
        .column(ColumnSpec::new("note", varchar(300)).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]));
    let mut session = house.session();
    let table = session.create_table(&spec).unwrap();
    for id in 0..ROWS {
        let row = [n(id), Value::Int(id as i32 % 7), s(&"x".repeat(200))];
        session.insert(&table, &row).unwrap();
    }
    drop((session, table));
    house
}

/// A leaf page of the table, and the file that it lies in.
pub(crate) fn victim(house: &House) -> (PageId, PathBuf) {
    let table = house.session().table("t").unwrap();
    let base = table
        .indexes()
        .iter()
        .find(|index| index.id() == 1)
        .unwrap();
    let pages = house.db.pages_of(base.rowset()).unwrap();
    let victim = *pages.get(pages.len() / 2).unwrap();
    let mut files = house.db.file_list().unwrap().into_iter();
    let file = files.find(|file| file.id == victim.file).unwrap();
    (victim, file.path)
}

pub(crate) fn damage(volume: &dyn Volume, path: &Path, page: PageId) {
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    let mut bytes = vec![0; PAGE_SIZE];
    let offset = u64::from(page.page.0) * PAGE_SIZE as u64;
    file.read_at(offset, &mut bytes).unwrap();
    bytes[4_000] ^= 8;
    file.write_at(offset, &bytes).unwrap();
}

/// A house with a damaged leaf.
fn damaged() -> (House, PageId) {
    let house = filled();
    let (page, path) = victim(&house);
    let volume = Arc::clone(&house.volume);
    (house.restart_after(|| damage(&*volume, &path, page)), page)
}

#[test]
fn a_repair_keeps_every_row_that_is_not_on_the_damaged_page() {
    let (house, page) = damaged();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    drop(house);
    let mut reported = 0;
    let repaired = instance
        .repair_database(&name, &Options::default(), &mut |repaired| {
            reported = repaired.losses.len();
            true
        })
        .unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert_eq!((reported, repaired.losses.len()), (1, 1));
    let lost: Vec<PageId> = repaired.losses[0].pages.iter().copied().collect();
    assert_eq!(lost, [page]);
    let db = instance.database(&name).unwrap();
    let report = db
        .check_consistency(Options::default(), &|_: Progress| true)
        .unwrap()
        .report;
    assert!(report.is_clean(), "{:?}", report.findings);
    let mut session = Session::new(&db).unwrap();
    let table = session.table("t").unwrap();
    let mut kept = 0;
    for id in 0..ROWS {
        kept += i64::from(session.get(&table, &[n(id)]).unwrap().is_some());
    }
    // A page holds some 37 rows of this size.
    assert!((ROWS - 40..ROWS).contains(&kept), "{kept} rows are left");
    // The table takes rows again, those that were lost among them.
    for id in 0..ROWS {
        let row = [n(id), Value::Int(1), s("again")];
        let _there_already = session.insert(&table, &row);
    }
    drop((session, table));
    let report = db
        .check_consistency(Options::default(), &|_: Progress| true)
        .unwrap()
        .report;
    assert!(report.is_clean(), "{:?}", report.findings);
}

/// Marks the last column of a page's first row as a pointer to a large value, under a right checksum.
fn mark_as_pointer(volume: &dyn Volume, path: &Path, page: PageId) {
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    let offset = u64::from(page.page.0) * PAGE_SIZE as u64;
    file.read_at(offset, &mut bytes).unwrap();
    let mut page: Box<PageBuf> = Box::new(*bytes.first_chunk().unwrap());
    let row = usize::from(u16::from_le_bytes([
        page[PAGE_SIZE - 2],
        page[PAGE_SIZE - 1],
    ]));
    // Behind the header, 12 bytes of fixed columns, the counts of columns and the bitmap of nulls.
    page[row + 4 + 12 + 3 + 2 + 1] |= 0x80;
    stamp_checksum(&mut page);
    file.write_at(offset, &AlignedBuf::copy_of(&*page)).unwrap();
}

#[test]
fn a_value_that_no_reader_finds_by_its_pointer_is_reported_and_repaired() {
    let house = filled();
    let (page, path) = victim(&house);
    let volume = Arc::clone(&house.volume);
    let house = house.restart_after(|| mark_as_pointer(&*volume, &path, page));
    let check = || {
        let all = Options::default();
        house
            .db
            .check_consistency(all, &|_: Progress| true)
            .unwrap()
    };
    let report = check().report;
    assert!(!report.is_clean());
    let named = report.findings.iter().any(|f| f.page == Some(page));
    assert!(named, "{:?}", report.findings);
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    drop(house);
    let repaired = instance
        .repair_database(&name, &Options::default(), &mut |_| true)
        .unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
}

#[test]
fn a_repair_that_is_not_agreed_to_changes_nothing() {
    let (house, page) = damaged();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    drop(house);
    let repaired = instance
        .repair_database(&name, &Options::default(), &mut |_| false)
        .unwrap();
    assert!(!repaired.pages.is_empty());
    let db = instance.database(&name).unwrap();
    let report = db
        .check_consistency(Options::default(), &|_: Progress| true)
        .unwrap()
        .report;
    assert!(report.findings.iter().any(|f| f.page == Some(page)));
}

#[test]
fn a_repair_of_a_database_in_use_is_refused() {
    let (house, _) = damaged();
    let session = house.session();
    let name = house.db.name().to_owned();
    let options = Options::default();
    let refused = house
        .instance
        .repair_database(&name, &options, &mut |_| true);
    assert_eq!(refused.unwrap_err().number(), 3702);
    drop(session);
}

#[test]
fn while_a_repair_computes_nobody_else_has_the_database() {
    let (house, _) = damaged();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    let volume = Arc::clone(&house.volume);
    drop(house);
    let mut refused = Vec::new();
    instance
        .repair_database(&name, &Options::default(), &mut |_| {
            refused.push(instance.reopen_database(&name).err().unwrap().number());
            refused.push(instance.detach_database(&name).unwrap_err().number());
            refused.push(instance.drop_database(&name).unwrap_err().number());
            refused.push(instance.close_database(&name).unwrap_err().number());
            true
        })
        .unwrap();
    assert_eq!(refused, [952; 4]);
    instance.database(&name).unwrap();
    let journal = Path::new("d/data.mdf_MSSQL_REPAIR");
    assert!(!volume.exists(journal).unwrap());
    instance.close_database(&name).unwrap();
    instance.reopen_database(&name).unwrap();
}

#[test]
fn after_a_repair_the_log_chain_begins_anew() {
    let (house, _) = damaged();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    let mut options = house.db.options();
    options.recovery_model = RecoveryModel::Full;
    house.db.set_options(options).unwrap();
    let full = |db: &Arc<Database>| {
        let backup = db.begin_backup(BackupScope::Full).unwrap();
        backup.note_done(Guid([7; 16])).unwrap();
    };
    full(&house.db);
    drop(house.db.begin_log_backup().unwrap());
    drop(house.db.begin_backup(BackupScope::Differential).unwrap());
    drop(house);
    let agreed = instance.repair_database(&name, &Options::default(), &mut |_| true);
    assert!(!agreed.unwrap().pages.is_empty());
    let db = instance.database(&name).unwrap();
    assert_eq!(db.begin_log_backup().err().unwrap().number(), 4214);
    let differential = db.begin_backup(BackupScope::Differential);
    assert_eq!(differential.err().unwrap().number(), 3035);
    full(&db);
    drop(db.begin_log_backup().unwrap());
}

#[test]
fn a_repair_in_emergency_that_finds_nothing_keeps_the_log_chain() {
    let house = filled();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    let mut options = house.db.options();
    options.recovery_model = RecoveryModel::Full;
    house.db.set_options(options).unwrap();
    let backup = house.db.begin_backup(BackupScope::Full).unwrap();
    backup.note_done(Guid([7; 16])).unwrap();
    drop(house.db.begin_log_backup().unwrap());
    drop(house);
    let db = instance.set_emergency(&name).unwrap();
    assert!(db.set_user_access(UserAccess::Single, 0).unwrap());
    drop(db);
    let repaired = instance.repair_database(&name, &Options::default(), &mut |_| true);
    assert!(repaired.unwrap().pages.is_empty());
    let db = instance.database(&name).unwrap();
    assert_eq!(db.options().user_access, UserAccess::Single);
    drop(db.begin_log_backup().unwrap());
    drop(db.begin_backup(BackupScope::Differential).unwrap());
}

#[test]
fn a_repair_beside_a_running_check_is_refused_and_changes_nothing() {
    let (house, page) = damaged();
    let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
    let refused = Mutex::new(Vec::new());
    let listener = |_: Progress| {
        let repaired = instance.repair_database(&name, &Options::default(), &mut |_| true);
        refused.lock().unwrap().push(repaired.unwrap_err().number());
        refused
            .lock()
            .unwrap()
            .push(instance.close_database(&name).unwrap_err().number());
        true
    };
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    let checked = house.db.check_consistency(options, &listener).unwrap();
    let refused = refused.into_inner().unwrap();
    assert!(!refused.is_empty() && refused.iter().all(|number| *number == 3702));
    assert!(checked.report.findings.iter().any(|f| f.page == Some(page)));
    assert_eq!(house.db.users(), 0, "the check is over");
    drop(house);
    let repaired = instance.repair_database(&name, &Options::default(), &mut |_| true);
    assert!(repaired.unwrap().left.is_empty());
    instance.database(&name).unwrap();
}

#[test]
fn base_tables_lie_where_every_database_has_them() {
    let house = house_of(3);
    house.db.checkpoint().unwrap();
    let units: Vec<furrow_format::catalog::AllocUnit> = {
        let paths = house.db.file_list().unwrap().into_iter();
        let paths: Vec<PathBuf> = paths.filter(|f| f.filegroup != 0).map(|f| f.path).collect();
        drop(house.instance.shut_down());
        let files = furrow_datafile::DataFiles::open(&*house.volume, &paths).unwrap();
        let pages = furrow_datafile::Pages::new(&files);
        let database = furrow_datafile::Database::open(&pages).unwrap();
        database.alloc_units().to_vec()
    };
    for (table, root, iam) in furrow_check::BASE_PLACES {
        let tables = furrow_format::catalog::BASE_TABLES.into_iter();
        let id = tables
            .filter(|t| t.id == table)
            .map(|t| t.unit_id().0)
            .next();
        let unit = units
            .iter()
            .find(|unit| Some(unit.auid as u64) == id)
            .unwrap();
        let place = (PageId::new(1, root), PageId::new(1, iam));
        assert_eq!((unit.pgroot, unit.pgfirstiam), place, "table {table}");
    }
    assert_eq!(
        furrow_check::BASE_PLACES.len(),
        furrow_format::catalog::BASE_TABLES.len()
    );
}

/// The first page of a base table, in file 1.
pub(crate) fn base_page(table: i32) -> PageId {
    let place = furrow_check::BASE_PLACES
        .into_iter()
        .find(|place| place.0 == table);
    PageId::new(1, place.unwrap().1)
}

#[test]
fn a_database_whose_catalog_lost_a_page_is_repaired_and_keeps_the_rows_of_its_tables() {
    // sysschobjs: the names of all objects. sysiscols: the columns of all indexes.
    for table in [34, 55] {
        let house = filled();
        let (instance, name) = (Arc::clone(&house.instance), house.db.name().to_owned());
        let volume = Arc::clone(&house.volume);
        let path = house.db.file_list().unwrap().remove(0).path;
        let object = house.session().table("t").unwrap().id().0;
        drop(house);
        instance.close_database(&name).unwrap();
        damage(&*volume, &path, base_page(table));
        let repaired = repaired_at_rest(&*volume);
        assert!(repaired.left.is_empty(), "{table}: {:?}", repaired.left);
        assert!(!repaired.notes.is_empty(), "{table}: what was lost is said");
        write_back(&*volume, &repaired);
        let db = instance.reopen_database(&name).unwrap();
        let mut session = Session::new(&db).unwrap();
        let called = match table {
            34 => format!("lost_table_{object}"),
            _ => "t".to_owned(),
        };
        let table = session.table(&called).unwrap();
        for id in 0..ROWS {
            assert!(session.get(&table, &[n(id)]).unwrap().is_some(), "row {id}");
        }
        session
            .insert(&table, &[n(ROWS), Value::Int(1), s("new")])
            .unwrap();
    }
}

/// Computes the repair of files that are closed.
pub(crate) fn repaired_at_rest(volume: &dyn Volume) -> Repaired {
    let files = furrow_datafile::DataFiles::open(volume, &paths_of(volume)).unwrap();
    furrow_check::repair(&files, &Options::default(), (None, None)).unwrap()
}

/// Writes the pages of a repair to the files.
pub(crate) fn write_back(volume: &dyn Volume, repaired: &Repaired) {
    let mut paths = paths_of(volume).into_iter();
    let paths: std::collections::BTreeMap<_, _> = paths
        .by_ref()
        .map(|path| (number_of(volume, &path), path))
        .collect();
    for (id, page) in &repaired.pages {
        let file = volume
            .open(&paths[&id.file], Open::Existing, Access::Data)
            .unwrap();
        let at = u64::from(id.page.0) * PAGE_SIZE as u64;
        file.write_at(at, &AlignedBuf::copy_of(&**page)).unwrap();
    }
}

pub(crate) fn paths_of(volume: &dyn Volume) -> Vec<PathBuf> {
    let mut paths = volume.list(Path::new("d")).unwrap();
    paths.retain(|path| path.extension().is_some_and(|e| e == "mdf" || e == "ndf"));
    paths
}

fn number_of(volume: &dyn Volume, path: &Path) -> furrow_format::FileId {
    let mut files = furrow_datafile::DataFiles::new();
    let file = volume.open(path, Open::ReadOnly, Access::Data).unwrap();
    files.add(file).unwrap()
}
