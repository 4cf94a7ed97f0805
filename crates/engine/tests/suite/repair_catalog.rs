//! Repairs of what a database rests on: allocation maps, rows of the catalog, `sysfiles1`, the boot page.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::repair::{base_page, damage, fill, filled, paths_of, repaired_at_rest, write_back};
use crate::tables_common::{House, bigint, config, int, n, quiet_house, rows_of, s, varchar};
use furrow_check::{Identity, Options, Progress, Repaired};
use furrow_datafile::{DataFiles, Database as MdfDatabase, Pages};
use furrow_engine::{
    ColumnSpec, DatabaseState, ForeignKeySpec, IndexSpec, Instance, ReferentialAction, Session,
    TableSpec,
};
use furrow_format::catalog::{
    BaseRow, BaseTable, SYSALLOCUNITS, SYSCOLPARS, SYSISCOLS, SYSPRUFILES, SYSRSCOLS,
    SYSSINGLEOBJREFS, SingleReference, reference_class,
};
use furrow_format::{
    BOOT_PAGE, Bitmap, Boot, PAGE_SIZE, Page, PageBuf, PageId, PageMut, PageType, Record,
    UserAccess, stamp_checksum,
};
use furrow_io::{Access, AlignedBuf, File, Fill, Open, Volume};
use furrow_types::Value;
use std::path::Path;
use std::sync::Arc;

const PRIMARY: &str = "d/data.mdf";

/// A page as it is in its file.
fn page_in(file: &dyn File, number: u32) -> Box<PageBuf> {
    let mut bytes = AlignedBuf::new(PAGE_SIZE);
    file.read_at(u64::from(number) * PAGE_SIZE as u64, &mut bytes)
        .unwrap();
    Box::new(*bytes.first_chunk().unwrap())
}

fn put_page(file: &dyn File, number: u32, mut page: Box<PageBuf>) {
    stamp_checksum(&mut page);
    let bytes = AlignedBuf::copy_of(&*page);
    file.write_at(u64::from(number) * PAGE_SIZE as u64, &bytes)
        .unwrap();
}

fn open(volume: &dyn Volume, path: &Path) -> Arc<dyn File> {
    volume.open(path, Open::Existing, Access::Data).unwrap()
}

/// Removes the rows of a base table that `gone` holds of, as if they had never been there.
fn lose_rows(volume: &dyn Volume, table: &BaseTable, gone: impl Fn(&[Value]) -> bool) {
    let layout = table.row_layout().unwrap();
    let mut lost = 0;
    for path in paths_of(volume) {
        let file = open(volume, &path);
        for number in 0..(file.len_bytes().unwrap() / PAGE_SIZE as u64) as u32 {
            let mut page = page_in(&*file, number);
            let view = Page::new(&page);
            if view.unit() != table.unit_id() || view.page_type() != PageType::Data {
                continue;
            }
            let row = |(slot, bytes): (u16, &[u8])| {
                let values = table.decode_row(&layout, Record::data(bytes)?)?;
                gone(&values).then_some(slot)
            };
            let slots: Vec<u16> = view.records().filter_map(row).collect();
            for slot in slots.iter().rev() {
                PageMut::new(&mut page).remove(*slot).unwrap();
                lost += 1;
            }
            if !slots.is_empty() {
                put_page(&*file, number, page);
            }
        }
    }
    assert!(lost > 0, "no row of {} was removed", table.name);
}

fn whole(values: &[Value], at: usize) -> i64 {
    values[at].as_i64().unwrap()
}

/// Closes the database of a house.
fn closed(house: House) -> (Arc<Instance>, Arc<dyn Volume>) {
    let (instance, volume) = (Arc::clone(&house.instance), Arc::clone(&house.volume));
    drop(house);
    instance.close_database("test").unwrap();
    (instance, volume)
}

fn numbers(repaired: &Repaired) -> Vec<u32> {
    repaired.found.iter().map(|f| f.message.number).collect()
}

fn is_noted(repaired: &Repaired, text: &str) -> bool {
    repaired.notes.iter().any(|note| note.contains(text))
}

fn heap(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("a", int()))
        .column(ColumnSpec::new("b", varchar(500)))
}

/// A heap with some rows; the unit of its pages, and the first of them.
fn fill_heap(house: &House, name: &str, rows: i32) -> (u64, PageId) {
    let mut session = house.session();
    let table = session.create_table(&heap(name)).unwrap();
    for id in 0..rows {
        let row = [Value::Int(id), s(&"b".repeat(300))];
        session.insert(&table, &row).unwrap();
    }
    house.db.checkpoint().unwrap();
    let rowset = table.indexes().first().unwrap().rowset();
    let pages = house.db.pages_of(rowset).unwrap();
    let page = pages.first().copied().unwrap_or_default();
    let file = house
        .volume
        .open(Path::new(PRIMARY), Open::ReadOnly, Access::Data);
    let bytes = page_in(&*file.unwrap(), page.page.0);
    (Page::new(&bytes).unit().0, page)
}

#[test]
fn the_number_of_a_dropped_unit_is_not_given_out_again_after_a_restart() {
    let house = quiet_house();
    let (dropped, _) = fill_heap(&house, "stage", 10);
    house.session().drop_table("stage").unwrap();
    let house = house.restart(false, Vec::new());
    let (unit, _) = fill_heap(&house, "t", 10);
    assert!(unit > dropped, "{unit:x} after {dropped:x}");
}

#[test]
fn the_number_of_a_unit_dropped_since_the_last_checkpoint_is_not_given_out_again_after_a_crash() {
    let house = quiet_house();
    fill_heap(&house, "first", 1);
    let mut session = house.session();
    let table = session.create_table(&heap("stage")).unwrap();
    session.insert(&table, &[Value::Int(1), s("b")]).unwrap();
    let dropped = table.indexes().first().unwrap().rowset().unit_id().0;
    drop(table);
    session.drop_table("stage").unwrap();
    let house = house.restart(true, vec![session]);
    let (unit, _) = fill_heap(&house, "t", 10);
    assert!(unit > dropped, "{unit:x} after {dropped:x}");
}

#[test]
fn pages_of_free_extents_do_not_come_back_with_a_lost_pfs_page() {
    let house = quiet_house();
    let (_, page) = fill_heap(&house, "t", 10);
    let (instance, volume) = closed(house);
    {
        let file = open(&*volume, Path::new(PRIMARY));
        let gam = page_in(&*file, 2);
        let stale = page_in(&*file, page.page.0);
        for number in 960..976 {
            assert!(Bitmap::new(&gam).unwrap().get(number / 8), "it is free");
            let mut copy = stale.clone();
            copy[32..38].copy_from_slice(&PageId::new(1, number).to_bytes());
            put_page(&*file, number, copy);
        }
    }
    damage(&*volume, Path::new(PRIMARY), PageId::new(1, 1));
    let repaired = repaired_at_rest(&*volume);
    assert!(!repaired.found.is_empty());
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    write_back(&*volume, &repaired);
    let db = instance.reopen_database("test").unwrap();
    assert_eq!(rows_of(&mut Session::new(&db).unwrap(), "t"), 10);
}

#[test]
fn tables_that_lost_rowset_and_index_rows_are_not_freed() {
    let (_, volume) = closed(filled());
    let path = Path::new(PRIMARY);
    damage(&*volume, path, base_page(5));
    damage(&*volume, path, base_page(54));
    let repaired = repaired_at_rest(&*volume);
    assert!(repaired.refused, "{:?}", repaired.notes);
    assert!(!repaired.left.is_empty() && repaired.pages.is_empty());
    assert!(is_noted(&repaired, "table t"), "{:?}", repaired.notes);
}

#[test]
fn tables_of_which_no_row_is_left_are_not_freed() {
    for (also, maps_too) in [(&[34][..], false), (&[34, 7], false), (&[34], true)] {
        let (_, volume) = closed(filled());
        let path = Path::new(PRIMARY);
        for id in [5, 54].iter().chain(also) {
            damage(&*volume, path, base_page(*id));
        }
        let is_map = |file: &dyn File, number: u32| {
            let page = page_in(file, number);
            let (unit, kind) = (Page::new(&page).unit(), Page::new(&page).page_type());
            unit.index_part() >= 256 && kind == PageType::Iam
        };
        let maps: Vec<u32> = {
            let file = open(&*volume, path);
            let pages = (file.len_bytes().unwrap() / PAGE_SIZE as u64) as u32;
            (0..pages).filter(|n| is_map(&*file, *n)).collect()
        };
        assert!(!maps.is_empty());
        for number in maps.into_iter().filter(|_| maps_too) {
            damage(&*volume, path, PageId::new(1, number));
        }
        let repaired = repaired_at_rest(&*volume);
        assert!(
            repaired.refused,
            "{also:?} {maps_too}: {:?}",
            repaired.notes
        );
        assert!(!repaired.left.is_empty() && repaired.pages.is_empty());
        assert!(is_noted(&repaired, "Whose rows"), "{:?}", repaired.notes);
    }
}

/// Empties every page of a unit, as if it had never been written.
fn empty_unit(volume: &dyn Volume, unit: u64) {
    for path in paths_of(volume) {
        let file = open(volume, &path);
        for number in 0..(file.len_bytes().unwrap() / PAGE_SIZE as u64) as u32 {
            if Page::new(&page_in(&*file, number)).unit().0 == unit {
                let offset = u64::from(number) * PAGE_SIZE as u64;
                file.write_at(offset, &AlignedBuf::new(PAGE_SIZE)).unwrap();
            }
        }
    }
}

#[test]
fn a_unit_whose_table_is_lost_is_not_given_to_another_of_as_many_rows() {
    let house = quiet_house();
    let units = [("ta", 30), ("tb", 15), ("tc", 15)];
    let units = units.map(|(name, rows)| fill_heap(&house, name, rows).0);
    let (rowset, id) = {
        let table = house.session().table("tc").unwrap();
        let rowset = table.indexes().first().unwrap().rowset().id();
        (rowset.0 as i64, i64::from(table.id().0))
    };
    let (_, volume) = closed(house);
    use furrow_format::catalog::{SYSIDXSTATS, SYSROWSETS};
    lose_rows(&*volume, &SYSALLOCUNITS, |row| {
        units.contains(&(whole(row, 0) as u64))
    });
    lose_rows(&*volume, &SYSROWSETS, |row| whole(row, 0) == rowset);
    lose_rows(&*volume, &SYSIDXSTATS, |row| whole(row, 0) == id);
    empty_unit(&*volume, units[1]);
    let repaired = repaired_at_rest(&*volume);
    assert!(repaired.refused, "{:?}", repaired.notes);
    assert!(
        is_noted(&repaired, "cannot be decided"),
        "{:?}",
        repaired.notes
    );
}

#[test]
fn a_table_without_a_rowset_contradicts_the_catalog() {
    let house = quiet_house();
    fill_heap(&house, "t", 0);
    let rowset = {
        let table = house.session().table("t").unwrap();
        table.indexes().first().unwrap().rowset().id().0 as i64
    };
    let id = house.session().table("t").unwrap().id().0;
    let (instance, volume) = closed(house);
    use furrow_format::catalog::{SYSIDXSTATS, SYSROWSETS};
    let owner = SYSALLOCUNITS
        .columns
        .iter()
        .position(|c| c.name == "ownerid");
    lose_rows(&*volume, &SYSROWSETS, |row| whole(row, 0) == rowset);
    lose_rows(&*volume, &SYSRSCOLS, |row| whole(row, 0) == rowset);
    lose_rows(&*volume, &SYSIDXSTATS, |row| whole(row, 0) == i64::from(id));
    lose_rows(&*volume, &SYSALLOCUNITS, |row| {
        whole(row, owner.unwrap()) == rowset
    });
    let repaired = repaired_at_rest(&*volume);
    assert!(numbers(&repaired).contains(&8992), "{:?}", repaired.found);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(is_noted(&repaired, "table t"), "{:?}", repaired.notes);
    write_back(&*volume, &repaired);
    let db = instance.reopen_database("test").unwrap();
    assert!(Session::new(&db).unwrap().table("t").is_err());
}

#[test]
fn a_table_whose_unit_lost_its_row_and_its_iam_page_is_not_dropped() {
    let (_, volume) = closed(fill(quiet_house()));
    let iam = {
        let files = DataFiles::open(&*volume, &paths_of(&*volume)).unwrap();
        let pages = Pages::new(&files);
        let database = MdfDatabase::open(&pages).unwrap();
        let table = database.table(None, "t").unwrap();
        let rowsets = database.rowsets();
        let base = rowsets
            .iter()
            .find(|r| r.idmajor == table.id && r.idminor == 1);
        let id = base.unwrap().rowsetid;
        let mut units = database.alloc_units().iter();
        units.find(|unit| unit.ownerid == id).unwrap().pgfirstiam
    };
    assert_eq!(iam.file.0, 1);
    let path = Path::new(PRIMARY);
    damage(&*volume, path, base_page(7));
    damage(&*volume, path, iam);
    let repaired = repaired_at_rest(&*volume);
    assert!(repaired.refused, "{:?}", repaired.notes);
    assert!(is_noted(&repaired, "table t"), "{:?}", repaired.notes);
}

/// A table, and one with a foreign key to it.
fn related() -> House {
    let house = quiet_house();
    let mut session = house.session();
    let key = || ColumnSpec::new("id", bigint()).not_null();
    let parent = TableSpec::new("p").column(key()).primary_key(["id"]);
    let child = TableSpec::new("c")
        .column(key())
        .column(ColumnSpec::new("p", bigint()))
        .primary_key(["id"]);
    session.create_table(&parent).unwrap();
    session.create_table(&child).unwrap();
    let foreign = ForeignKeySpec {
        name: Some("FK_c_p".to_owned()),
        columns: vec!["p".to_owned()],
        referenced: ("dbo".to_owned(), "p".to_owned()),
        referenced_columns: Vec::new(),
        on_delete: ReferentialAction::NoAction,
        on_update: ReferentialAction::NoAction,
        trusted: true,
    };
    let child = session.add_foreign_key("dbo", "c", &foreign).unwrap();
    let parent = session.table("p").unwrap();
    session.insert(&parent, &[n(1)]).unwrap();
    session.insert(&child, &[n(1), n(1)]).unwrap();
    drop(session);
    house
}

#[test]
fn a_foreign_key_goes_with_the_table_that_it_references() {
    let house = related();
    let (id, rowset) = {
        let table = house.session().table("p").unwrap();
        let rowset = table.indexes().first().unwrap().rowset().id().0 as i64;
        (i64::from(table.id().0), rowset)
    };
    let (instance, volume) = closed(house);
    lose_rows(&*volume, &SYSRSCOLS, |row| whole(row, 0) == rowset);
    lose_rows(&*volume, &SYSCOLPARS, |row| whole(row, 0) == id);
    let repaired = repaired_at_rest(&*volume);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(is_noted(&repaired, "FK_c_p"), "{:?}", repaired.notes);
    write_back(&*volume, &repaired);
    let db = instance.reopen_database("test").unwrap();
    let mut session = Session::new(&db).unwrap();
    let child = session.table("c").unwrap();
    assert!(child.foreign_keys().is_empty());
    assert_eq!(rows_of(&mut session, "c"), 1);
}

#[test]
fn a_foreign_key_that_lost_its_references_is_found_and_dropped() {
    let (instance, volume) = closed(related());
    lose_rows(&*volume, &SYSSINGLEOBJREFS, |row| {
        let reference = SingleReference::from_values(row.to_vec()).unwrap();
        reference.class == reference_class::KEY_TO_TABLE
    });
    let repaired = repaired_at_rest(&*volume);
    assert!(numbers(&repaired).contains(&8992), "{:?}", repaired.found);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(is_noted(&repaired, "FK_c_p"), "{:?}", repaired.notes);
    write_back(&*volume, &repaired);
    let db = instance.reopen_database("test").unwrap();
    let mut session = Session::new(&db).unwrap();
    assert_eq!(rows_of(&mut session, "c"), 1);
    assert_eq!(rows_of(&mut session, "p"), 1);
}

#[test]
fn a_unique_index_that_lost_the_last_column_of_its_key_is_dropped() {
    let house = quiet_house();
    let id = {
        let mut session = house.session();
        let spec = TableSpec::new("u")
            .column(ColumnSpec::new("k1", bigint()).not_null())
            .column(ColumnSpec::new("k2", bigint()).not_null())
            .column(ColumnSpec::new("a", int()))
            .primary_key(["k1", "k2"])
            .index(IndexSpec::new("ux", ["a", "k1"]).unique());
        let table = session.create_table(&spec).unwrap();
        for id in 0..5 {
            session
                .insert(&table, &[n(id), n(0), Value::Int(7)])
                .unwrap();
        }
        i64::from(table.id().0)
    };
    let (_, volume) = closed(house);
    lose_rows(&*volume, &SYSISCOLS, |row| {
        (whole(row, 0), whole(row, 1), whole(row, 2)) == (id, 2, 2)
    });
    let repaired = repaired_at_rest(&*volume);
    assert!(numbers(&repaired).contains(&8992), "{:?}", repaired.found);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(is_noted(&repaired, "index ux"), "{:?}", repaired.notes);
    assert!(repaired.losses.is_empty(), "{:?}", repaired.losses);
}

#[test]
fn an_index_that_lost_its_last_included_column_is_dropped() {
    let house = quiet_house();
    let id = {
        let mut session = house.session();
        let spec = TableSpec::new("u")
            .column(ColumnSpec::new("k1", bigint()).not_null())
            .column(ColumnSpec::new("k2", bigint()).not_null())
            .column(ColumnSpec::new("a", int()))
            .primary_key(["k1", "k2"])
            .index(IndexSpec::new("ix", ["k1"]).include(&["a"]));
        let table = session.create_table(&spec).unwrap();
        session
            .insert(&table, &[n(1), n(0), Value::Int(7)])
            .unwrap();
        i64::from(table.id().0)
    };
    let (_, volume) = closed(house);
    lose_rows(&*volume, &SYSISCOLS, |row| {
        (whole(row, 0), whole(row, 1), whole(row, 2)) == (id, 2, 2)
    });
    let repaired = repaired_at_rest(&*volume);
    assert!(numbers(&repaired).contains(&8992), "{:?}", repaired.found);
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    assert!(is_noted(&repaired, "index ix"), "{:?}", repaired.notes);
}

/// The page of `sysfiles1`.
const FILES1: PageId = PageId::new(1, 32);

fn records_of(page: &PageBuf) -> Vec<Vec<u8>> {
    let records = Page::new(page).records();
    records.map(|(_, bytes)| bytes.to_vec()).collect()
}

#[test]
fn a_database_with_a_damaged_sysfiles1_opens_with_its_log_and_is_repaired() {
    let house = filled();
    let volume = Arc::clone(&house.volume);
    let before = page_in(&*open_read(&*volume), FILES1.page.0);
    {
        let mut session = house.session();
        let table = session.table("t").unwrap();
        let row = [n(1_000_000), Value::Int(1), s("in the log alone")];
        session.insert(&table, &row).unwrap();
    }
    let House { instance, db, .. } = house;
    drop(db);
    instance.abandon();
    drop(instance);
    damage(&*volume, Path::new(PRIMARY), FILES1);
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    let rows = || {
        let db = instance.database("test").unwrap();
        rows_of(&mut Session::new(&db).unwrap(), "t")
    };
    assert_eq!(rows(), 2_001);
    let repaired = instance.repair_database("test", &Options::default(), &mut |_| true);
    let repaired = repaired.unwrap();
    assert!(!repaired.found.is_empty() && repaired.left.is_empty());
    assert!(repaired.losses.is_empty(), "{:?}", repaired.losses);
    assert_eq!(rows(), 2_001);
    instance.shut_down().unwrap();
    drop(instance);
    let after = page_in(&*open_read(&*volume), FILES1.page.0);
    assert_eq!(records_of(&after), records_of(&before));
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    instance.database("test").unwrap();
}

#[test]
fn a_sound_page_in_the_place_of_a_tables_map_keeps_no_database_from_opening_after_a_crash() {
    let house = quiet_house();
    let (_, data) = fill_heap(&house, "t", 10);
    fill_heap(&house, "other", 10);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    session.insert(&table, &[Value::Int(11), s("b")]).unwrap();
    drop((table, session));
    let volume = Arc::clone(&house.volume);
    let House { instance, db, .. } = house;
    drop(db);
    instance.abandon();
    drop(instance);
    let file = open(&*volume, Path::new(PRIMARY));
    let unit = Page::new(&page_in(&*file, data.page.0)).unit();
    let is_map = |number: &u32| {
        let page = page_in(&*file, *number);
        Page::new(&page).unit() == unit && Page::new(&page).page_type() == PageType::Iam
    };
    let pages = 0..(file.len_bytes().unwrap() / PAGE_SIZE as u64) as u32;
    let map = pages.into_iter().find(is_map).unwrap();
    // A page of rows of the same unit, by its header the page that is asked for.
    let mut stale = page_in(&*file, data.page.0);
    stale[32..38].copy_from_slice(&PageId::new(1, map).to_bytes());
    put_page(&*file, map, stale);
    drop(file);
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    let db = instance.database("test").unwrap();
    assert_eq!(rows_of(&mut Session::new(&db).unwrap(), "other"), 10);
    db.checkpoint().unwrap();
}

fn open_read(volume: &dyn Volume) -> Arc<dyn File> {
    let file = volume.open(Path::new(PRIMARY), Open::ReadOnly, Access::Data);
    file.unwrap()
}

#[test]
fn a_damaged_sysfiles1_and_a_lost_log_are_repaired_in_emergency() {
    let house = filled();
    let volume = Arc::clone(&house.volume);
    let House { instance, db, .. } = house;
    drop(db);
    instance.shut_down().unwrap();
    drop(instance);
    damage(&*volume, Path::new(PRIMARY), FILES1);
    // No row names the log any more.
    lose_rows(&*volume, &SYSPRUFILES, |row| whole(row, 1) == 2);
    volume.remove(Path::new("d/log.ldf")).unwrap();
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    let database = instance.set_emergency("test").unwrap();
    assert!(database.set_user_access(UserAccess::Single, 0).unwrap());
    drop(database);
    let repaired = instance.repair_database("test", &Options::default(), &mut |_| true);
    let repaired = repaired.unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    let db = instance.database("test").unwrap();
    assert_eq!(db.state(), DatabaseState::Online);
    assert_eq!(rows_of(&mut Session::new(&db).unwrap(), "t"), 2_000);
    drop(db);
    instance.shut_down().unwrap();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    let db = instance.database("test").unwrap();
    assert_eq!(rows_of(&mut Session::new(&db).unwrap(), "t"), 2_000);
}

#[test]
fn a_database_with_a_damaged_boot_page_or_header_is_read_in_emergency() {
    let header = |file: u16| PageId::new(file, 0);
    let hurt = [
        (PRIMARY, BOOT_PAGE),
        (PRIMARY, header(1)),
        ("d/f1.ndf", header(4)),
    ];
    for (path, page) in hurt {
        let house = filled();
        let volume = Arc::clone(&house.volume);
        let House { instance, db, .. } = house;
        drop(db);
        instance.shut_down().unwrap();
        drop(instance);
        damage(&*volume, Path::new(path), page);
        let bytes = || {
            page_in(
                &*volume
                    .open(Path::new(path), Open::ReadOnly, Access::Data)
                    .unwrap(),
                page.page.0,
            )
        };
        let before = bytes();
        let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
        assert!(instance.database("test").is_err(), "{page}");
        let database = instance.set_emergency("test").unwrap();
        let reported = database.take_messages();
        let text: String = reported.iter().map(|m| m.text.clone()).collect();
        assert!(text.contains("computed page"), "{page}: {text}");
        assert!(database.set_user_access(UserAccess::Single, 0).unwrap());
        let mut session = Session::new(&database).unwrap();
        assert_eq!(rows_of(&mut session, "t"), 2_000, "{page}");
        let table = session.table("t").unwrap();
        let refused = session.insert(&table, &[n(-1), Value::Int(1), s("no")]);
        assert_eq!(refused.unwrap_err().number(), 3908, "{page}");
        let checked = database.check_consistency(Options::default(), &|_: Progress| true);
        assert!(
            !checked.unwrap().report.is_clean(),
            "{page}: the disk's page"
        );
        drop((session, table, database));
        assert_eq!(bytes(), before, "{page}: nothing is written");
        // Without its log it is not repaired.
        let (log, away) = (Path::new("d/log.ldf"), Path::new("d/away.ldf"));
        furrow_io::copy_file(&*volume, log, away, &|| false).unwrap();
        volume.remove(log).unwrap();
        let repaired = instance.repair_database("test", &Options::default(), &mut |_| true);
        assert_eq!(repaired.map(drop).unwrap_err().number(), 40514, "{page}");
        let database = instance.database("test").unwrap();
        assert_eq!(database.state(), DatabaseState::Emergency, "{page}");
        assert_eq!(bytes(), before, "{page}: nothing is written");
        drop(database);
        furrow_io::copy_file(&*volume, away, log, &|| false).unwrap();
        let repaired = instance.repair_database("test", &Options::default(), &mut |_| true);
        assert_eq!(repaired.unwrap().left.len(), 0, "{page}");
        let database = instance.database("test").unwrap();
        assert_eq!(database.state(), DatabaseState::Online, "{page}");
        let mut session = Session::new(&database).unwrap();
        assert_eq!(rows_of(&mut session, "t"), 2_000, "{page}");
    }
}

#[test]
fn emergency_takes_no_file_of_another_database() {
    let (_, volume) = closed(filled());
    let (_, other) = closed(filled());
    let path = Path::new("d/f1.ndf");
    let open = |volume: &dyn Volume| volume.open(path, Open::Existing, Access::Data).unwrap();
    let (own, foreign) = (open(&*volume), open(&*other));
    let mut bytes = AlignedBuf::new(foreign.len_bytes().unwrap() as usize);
    foreign.read_at(0, &mut bytes).unwrap();
    own.resize(bytes.len() as u64, Fill::Zero).unwrap();
    own.write_at(0, &bytes).unwrap();
    drop((own, foreign));
    let instance = Instance::start(volume, config()).unwrap();
    assert!(instance.database("test").is_err());
    let refused = instance.set_emergency("test").map(drop).unwrap_err();
    assert_eq!(refused.number(), 5120, "{refused}");
}

/// A database whose `sysallocunits` has several leaves, closed.
fn with_many_units() -> (Arc<Instance>, Arc<dyn Volume>) {
    let house = quiet_house();
    let mut session = house.session();
    for number in 0..150 {
        let table = session.create_table(&heap(&format!("t{number}"))).unwrap();
        session
            .insert(&table, &[Value::Int(number), s("b")])
            .unwrap();
    }
    drop(session);
    closed(house)
}

/// The leaves of `sysallocunits`: the first one, then the others.
fn leaves_of_units(volume: &dyn Volume) -> Vec<PageId> {
    let file = open(volume, Path::new(PRIMARY));
    let count = (file.len_bytes().unwrap() / PAGE_SIZE as u64) as u32;
    let mut leaves: Vec<(bool, PageId)> = (0..count)
        .filter_map(|number| {
            let page = page_in(&*file, number);
            let view = Page::new(&page);
            let is_leaf = view.unit() == SYSALLOCUNITS.unit_id()
                && view.page_type() == PageType::Data
                && view.level() == 0;
            is_leaf.then_some((!view.prev().is_none(), PageId::new(1, number)))
        })
        .collect();
    leaves.sort_unstable();
    leaves.into_iter().map(|leaf| leaf.1).collect()
}

#[test]
fn a_catalog_with_several_leaves_of_units_is_repaired_from_its_root() {
    for page in [base_page(7), BOOT_PAGE] {
        let (instance, volume) = with_many_units();
        let leaves = leaves_of_units(&*volume);
        assert!(leaves.len() > 1 && !leaves.contains(&base_page(7)));
        damage(&*volume, Path::new(PRIMARY), page);
        let repaired = repaired_at_rest(&*volume);
        assert!(repaired.left.is_empty(), "{page}: {:?}", repaired.left);
        write_back(&*volume, &repaired);
        let leaves = leaves_of_units(&*volume);
        let boot = page_in(&*open(&*volume, Path::new(PRIMARY)), BOOT_PAGE.page.0);
        let way_in = Boot::decode(&boot).unwrap().catalog_page;
        assert_eq!(Some(&way_in), leaves.first(), "{page}");
        let db = instance.reopen_database("test").unwrap();
        let mut session = Session::new(&db).unwrap();
        for number in 0..150 {
            let name = format!("t{number}");
            assert_eq!(rows_of(&mut session, &name), 1, "{page}: {name}");
        }
    }
}

#[test]
fn a_header_without_a_row_is_not_made_up() {
    let (_, volume) = closed(filled());
    // File 4 is in a filegroup of its own.
    damage(&*volume, Path::new("d/f1.ndf"), PageId::new(4, 0));
    lose_rows(&*volume, &SYSPRUFILES, |row| whole(row, 1) == 4);
    let repaired = repaired_at_rest(&*volume);
    assert!(repaired.refused, "{:?}", repaired.notes);
    assert!(!repaired.left.is_empty() && repaired.pages.is_empty());
    assert!(is_noted(&repaired, "f1.ndf"), "{:?}", repaired.notes);
}

#[test]
fn a_boot_page_that_is_computed_again_does_not_claim_a_clean_shutdown() {
    let (_, volume) = closed(filled());
    damage(&*volume, Path::new(PRIMARY), BOOT_PAGE);
    let identity = Identity {
        has_log: true,
        ..Identity::default()
    };
    let options = Options {
        at_rest: true,
        ..Options::default()
    };
    let files = DataFiles::open(&*volume, &paths_of(&*volume)).unwrap();
    let repaired = furrow_check::repair_known(&files, &options, (None, None), &identity);
    let repaired = repaired.unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    let boot = Boot::decode(&repaired.pages[&BOOT_PAGE]).unwrap();
    assert!(!boot.own.clean_shutdown);
    assert!(boot.next_unit > 1 << 40, "{:x}", boot.next_unit);
}
