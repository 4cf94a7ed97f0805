//! Damaged pages, missing and wrong files, foreign versions: what is said, and what goes on working.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::ground::{House, bytes, config, memory};
use furrow_datafile::{Database as MdfDatabase, MdfImage};
use furrow_engine::{EngineError, Instance, InstanceConfig, ScanSpec, Session};
use furrow_format::boot::field;
use furrow_format::catalog::{SYSIDXSTATS, SYSOBJVALUES, SYSSCHOBJS, unit_kind};
use furrow_format::{
    Lsn, PAGE_SIZE, Page, PageBuf, PageFlags, PageId, PageMut, PageType, stamp_checksum,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NORTHWIND: &str = "northwnd-655.mdf";

/// Pages of a kind of a table's units, in the order of its IAM pages.
fn pages_of(bytes: &[u8], table: &str, kind: u8) -> Vec<PageId> {
    let image = MdfImage::open(bytes).unwrap();
    let database = MdfDatabase::open(&image).unwrap();
    let object = database.objects().iter().find(|o| o.name == table).unwrap();
    let of_table = |r: &&furrow_format::catalog::Rowset| r.idmajor == object.id && r.idminor <= 1;
    let rowset = database.rowsets().iter().find(of_table).unwrap();
    let units = database.alloc_units().iter();
    let unit = units
        .clone()
        .find(|u| u.ownerid == rowset.rowsetid && u.kind == kind);
    database.owned_pages(unit.unwrap()).unwrap().pages
}

fn page_mut(bytes: &mut [u8], page: PageId) -> &mut PageBuf {
    let start = page.page.0 as usize * PAGE_SIZE;
    bytes[start..].first_chunk_mut().unwrap()
}

/// Changes a page, which is whole afterwards as far as its checksum shows.
fn edit(bytes: &mut [u8], page: PageId, change: impl FnOnce(&mut PageBuf)) {
    let page = page_mut(bytes, page);
    assert!(Page::new(page).flags().has(PageFlags::CHECKSUM));
    change(page);
    stamp_checksum(page);
}

fn attach(bytes: &[u8]) -> Result<House, EngineError> {
    let instance = House::over(&memory(&[("x.mdf", bytes)]));
    let db = instance.attach_read_only(Some("x"), &["d/x.mdf".into()])?;
    Ok(House { instance, db })
}

fn scan(house: &House, table: &str) -> Result<usize, EngineError> {
    let mut session = house.session();
    let table = session.table(table)?;
    let mut rows = 0;
    session
        .scan(&table, &ScanSpec::default())?
        .for_each(|row| {
            rows += 1;
            row.values().map(drop)
        })?;
    Ok(rows)
}

/// What the error log says.
fn log_of(instance: &Instance) -> String {
    let lines = instance.error_log().tail(50);
    let lines: Vec<String> = lines.iter().map(|line| line.text.clone()).collect();
    lines.join("\n")
}

#[test]
fn a_damaged_page_is_824_with_file_and_page_and_other_tables_go_on() {
    for name in [NORTHWIND, "northwnd-611-torn.mdf"] {
        let Some(mut bytes) = bytes(name) else { return };
        let pages = pages_of(&bytes, "Orders", unit_kind::IN_ROW);
        let is_leaf = |id: &&PageId| {
            let start = id.page.0 as usize * PAGE_SIZE;
            bytes[start + 1] == PageType::Data.to_byte()
        };
        let leaf = *pages.iter().filter(is_leaf).nth(5).unwrap();
        // The last byte of a sector: content to a checksum, signature to torn bits.
        page_mut(&mut bytes, leaf)[4 * 512 + 511] ^= 0x03;
        let house = attach(&bytes).unwrap();
        let error = scan(&house, "Orders").unwrap_err();
        assert_eq!(error.number(), 824, "{name}: {error}");
        let text = error.messages()[0].to_string();
        let what = if name == NORTHWIND {
            "incorrect checksum"
        } else {
            "torn page"
        };
        for part in [what, &format!("(1:{})", leaf.page.0), "d/x.mdf"] {
            assert!(text.contains(part), "{name}: {text}");
        }
        assert_eq!(scan(&house, "Customers").unwrap(), 91);
        assert_eq!(scan(&house, "Order Details").unwrap(), 2155);
        assert_eq!(scan(&house, "Orders").unwrap_err().number(), 824);
    }
}

#[test]
fn a_node_of_a_large_value_that_is_gone_or_leads_back_is_7105() {
    let Some(whole) = bytes("pubs-655.mdf") else {
        return;
    };
    let pages = pages_of(&whole, "pub_info", unit_kind::LOB);
    let mut gone = whole.clone();
    for &page in &pages {
        // Its count of slots.
        edit(&mut gone, page, |page| page[22..24].fill(0));
    }
    let house = attach(&gone).unwrap();
    let error = scan(&house, "pub_info").unwrap_err();
    assert_eq!(error.number(), 7105, "{error}");
    assert_eq!(scan(&house, "authors").unwrap(), 23);
    // Each root's first link leads back to the root itself.
    let mut circle = whole.clone();
    let mut roots = 0;
    for &id in &pages {
        edit(&mut circle, id, |page| {
            for slot in 0..Page::new(page).slot_count() {
                let view = Page::new(page);
                let start = usize::from(view.slot_offset(slot).unwrap());
                let record = view.record(slot).unwrap();
                if [4, 5].contains(&u16::from_le_bytes([record[12], record[13]])) {
                    roots += 1;
                    page[start + 28..start + 34].copy_from_slice(&id.to_bytes());
                    page[start + 34..start + 36].copy_from_slice(&slot.to_le_bytes());
                }
            }
        });
    }
    assert!(roots > 0);
    let house = attach(&circle).unwrap();
    let error = scan(&house, "pub_info").unwrap_err();
    assert!(
        error.number() == 7105 && error.to_string().contains("circle"),
        "{error}"
    );
}

#[test]
fn leaves_whose_links_run_in_a_circle_end_a_scan_with_an_error() {
    let Some(mut bytes) = bytes(NORTHWIND) else {
        return;
    };
    let pages = pages_of(&bytes, "Order Details", unit_kind::IN_ROW);
    let leaves = pages.iter().filter(|id| {
        let start = id.page.0 as usize * PAGE_SIZE;
        bytes[start + 1] == PageType::Data.to_byte()
    });
    for &id in &leaves.copied().collect::<Vec<_>>() {
        edit(&mut bytes, id, |page| PageMut::new(page).set_next(id));
    }
    let house = attach(&bytes).unwrap();
    let error = scan(&house, "Order Details").unwrap_err();
    assert!(error.to_string().contains("astray"), "{error}");
}

#[test]
fn damaged_maps_and_texts_of_the_catalog_keep_nobody_from_reading() {
    let Some(whole) = bytes(NORTHWIND) else {
        return;
    };
    let mut maps = whole.clone();
    for map in [1, 2, 3] {
        page_mut(&mut maps, PageId::new(1, map))[4000] ^= 1;
    }
    let house = attach(&maps).unwrap();
    assert_eq!(scan(&house, "Orders").unwrap(), 830);
    assert_eq!(house.db.file_list().unwrap_err().number(), 824);
    let mut texts = whole.clone();
    for page in pages_of(&whole, SYSOBJVALUES.name, unit_kind::IN_ROW) {
        page_mut(&mut texts, page)[4000] ^= 1;
    }
    let house = attach(&texts).unwrap();
    assert_eq!(scan(&house, "Orders").unwrap(), 830);
    let log = log_of(&house.instance);
    assert!(log.contains("sysobjvalues cannot be read"), "{log}");
    // Without its objects there is no database.
    let mut objects = whole.clone();
    let page = pages_of(&whole, SYSSCHOBJS.name, unit_kind::IN_ROW)[0];
    page_mut(&mut objects, page)[4000] ^= 1;
    let error = attach(&objects).err().unwrap();
    assert!(
        error.number() == 824 && error.to_string().contains("d/x.mdf"),
        "{error}"
    );
}

/// A filtered index lacks rows: a query that used it would silently miss them.
#[test]
fn a_filtered_index_is_left_out_and_named_in_the_error_log() {
    let Some(mut whole) = bytes(NORTHWIND) else {
        return;
    };
    let indexes = |house: &House| house.session().table("Orders").unwrap().indexes().len();
    let before = indexes(&attach(&whole).unwrap());
    let image = MdfImage::open(&whole).unwrap();
    let database = MdfDatabase::open(&image).unwrap();
    let orders = database.objects().iter().find(|o| o.name == "Orders");
    let object = orders.unwrap().id;
    // Columns id, indid and status of sysidxstats lie side by side, 4 bytes each.
    let key: Vec<u8> = [object.to_le_bytes(), 2_i32.to_le_bytes()].concat();
    let mut edited = 0;
    for page in pages_of(&whole, SYSIDXSTATS.name, unit_kind::IN_ROW) {
        let at = page_mut(&mut whole, page).windows(8).position(|w| w == key);
        if let Some(at) = at {
            // 0x2_0000, filtered, is in the third byte of the status.
            edit(&mut whole, page, |page| page[at + 10] |= 2);
            edited += 1;
        }
    }
    assert_eq!(edited, 1);
    let house = attach(&whole).unwrap();
    assert_eq!(indexes(&house), before - 1);
    assert_eq!(scan(&house, "Orders").unwrap(), 830);
    let log = log_of(&house.instance);
    assert!(log.contains("is left out: it is filtered"), "{log}");
}

#[test]
fn what_is_no_such_database_is_refused_with_the_number_that_says_why() {
    let Some(whole) = bytes(NORTHWIND) else {
        return;
    };
    let number = |bytes: &[u8]| attach(bytes).err().unwrap().number();
    assert_eq!(number(b"<html>"), 5171);
    assert_eq!(number(&[]), 5171);
    assert_eq!(number(&vec![7; 40 * PAGE_SIZE]), 5171);
    assert_eq!(number(&whole[..100 * PAGE_SIZE]), 5125);
    let version = |version: u16| {
        let mut bytes = whole.clone();
        edit(&mut bytes, PageId::new(1, 9), |page| {
            field::VERSION.set_u16(page, version);
        });
        attach(&bytes).err().unwrap()
    };
    assert_eq!(version(958).number(), 948);
    assert!(
        version(958)
            .to_string()
            .contains("version 958. This server supports version 957")
    );
    assert_eq!(version(539).number(), 946);
    let instance = House::over(&memory(&[("x.mdf", &whole)]));
    let missing = instance.attach_read_only(None, &["d/y.mdf".into()]);
    assert_eq!(missing.err().unwrap().number(), 5120);
    assert!(instance.databases().is_empty());
}

#[test]
fn files_of_another_database_or_named_twice_are_refused() {
    let (Some(one), Some(other)) = (bytes(NORTHWIND), bytes("pubs-655.mdf")) else {
        return;
    };
    let volume = memory(&[
        ("x.mdf", &one),
        ("y.mdf", &other),
        ("z.ldf", b"no page at all"),
    ]);
    let path = |name: &str| Path::new("d").join(name);
    let attach = |name: &str, files: &[PathBuf]| {
        let instance = House::over(&volume);
        instance
            .attach_read_only(Some(name), files)
            .map(|_| instance)
    };
    let error = attach("a", &[path("x.mdf"), path("y.mdf")]).err().unwrap();
    assert_eq!(error.number(), 5173);
    let error = attach("a", &[path("x.mdf"), path("x.mdf")]).err().unwrap();
    assert_eq!(error.number(), 5173);
    // A log is passed over.
    let instance = attach("a", &[path("x.mdf"), path("z.ldf")]).unwrap();
    assert!(log_of(&instance).contains("z.ldf' is a log: it is not read"));
    let again = instance.attach_read_only(Some("b"), &[path("x.mdf")]);
    assert_eq!(again.err().unwrap().number(), 12106);
    let taken = instance.attach_read_only(Some("A"), &[path("y.mdf")]);
    assert_eq!(taken.err().unwrap().number(), 1801);
    let own = instance.attach_database(&path("y.mdf"), &furrow_engine::AttachOptions::default());
    let error = own.err().unwrap();
    assert!(
        error.number() == 948 && error.to_string().contains("READ_ONLY"),
        "{error}"
    );
}

#[test]
fn pages_newer_than_the_last_checkpoint_bring_a_warning() {
    let Some(mut bytes) = bytes(NORTHWIND) else {
        return;
    };
    let clean = attach(&bytes).unwrap();
    let log = log_of(&clean.instance);
    assert!(
        log.contains("attached READ_ONLY") && !log.contains("Warning"),
        "{log}"
    );
    edit(&mut bytes, PageId::new(1, 9), |page| {
        let old = Lsn::new(40, 16, 1).unwrap();
        field::CHECKPOINT_LSN.set(page, old.to_bytes());
    });
    let house = attach(&bytes).unwrap();
    let log = log_of(&house.instance);
    assert!(log.contains("was not shut down cleanly"), "{log}");
    assert_eq!(scan(&house, "Orders").unwrap(), 830);
}

#[test]
fn it_is_attached_again_at_the_next_start_and_dropping_it_leaves_the_file() {
    let Some(whole) = bytes(NORTHWIND) else {
        return;
    };
    let volume = memory(&[("x.mdf", &whole)]);
    let start = || {
        let config = InstanceConfig {
            directory: Some("inst".into()),
            ..config()
        };
        Instance::start(Arc::clone(&volume), config).unwrap()
    };
    let instance = start();
    instance
        .attach_read_only(Some("nw"), &["d/x.mdf".into()])
        .unwrap();
    instance.abandon();
    drop(instance);
    let instance = start();
    let db = instance.database("NW").unwrap();
    assert!(db.is_attached_read_only() && instance.databases()[0].read_only);
    let session = Session::new(&db).unwrap();
    assert_eq!(instance.drop_database("nw").unwrap_err().number(), 3702);
    drop(session);
    drop(db);
    instance.close_database("nw").unwrap();
    let db = instance.reopen_database("nw").unwrap();
    assert!(db.is_attached_read_only());
    drop(db);
    instance.drop_database("nw").unwrap();
    assert!(instance.databases().is_empty());
    assert_eq!(
        volume.list(Path::new("d")).unwrap(),
        [PathBuf::from("d/x.mdf")]
    );
    assert!(crate::ground::read(&*volume, Path::new("d/x.mdf")).unwrap() == whole);
    drop(instance);
    assert!(start().databases().is_empty());
}
