//! Repair with loss of data: what is lost is what cannot be read, all else stays.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common::{House, bigint, house_of, int, n, s, varchar};
use furrow_check::{Options, Progress};
use furrow_engine::{BackupScope, ColumnSpec, Database, IndexSpec, Session, TableSpec};
use furrow_format::{PAGE_SIZE, PageId, RecoveryModel};
use furrow_io::{Access, Open, Volume};
use furrow_types::{Guid, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: i64 = 2_000;

fn filled() -> House {
    let house = house_of(3);
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
fn victim(house: &House) -> (PageId, PathBuf) {
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

fn damage(volume: &dyn Volume, path: &Path, page: PageId) {
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
    let mut told = 0;
    let repaired = instance
        .repair_database(&name, &Options::default(), &mut |repaired| {
            told = repaired.losses.len();
            true
        })
        .unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert_eq!((told, repaired.losses.len()), (1, 1));
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
