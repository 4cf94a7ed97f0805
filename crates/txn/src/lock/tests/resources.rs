//! How resources print, and what may be locked in which mode.

use std::collections::HashSet;

use furrow_format::{AllocUnitId, DatabaseId, FileId, ObjectId, PageId, RowId, RowsetId};

use super::super::{LockMode, Resource};

#[test]
fn resources_print_as_sql_server_prints_them() {
    let db = DatabaseId(6);
    let rowset = RowsetId(72_057_594_057_457_664);
    let cases = [
        (
            Resource::key(db, rowset, 0x8194_4432_84a0),
            "KEY: 6:72057594057457664 (8194443284a0)",
        ),
        (
            Resource::infinity(db, rowset),
            "KEY: 6:72057594057457664 (ffffffffffff)",
        ),
        (
            Resource::Rid(
                db,
                RowId {
                    page: PageId::new(1, 20789),
                    slot: 0,
                },
            ),
            "RID: 6:1:20789:0",
        ),
        (
            Resource::Page(DatabaseId(7), RowsetId(5), PageId::new(1, 6_229_275)),
            "PAGE: 7:1:6229275",
        ),
        (
            Resource::Object(db, ObjectId(1_977_058_079)),
            "OBJECT: 6:1977058079:0",
        ),
        (Resource::Hobt(db, rowset), "HOBT: 6:72057594057457664"),
        (Resource::Database(db), "DATABASE: 6:0"),
        (Resource::File(db, FileId(3)), "FILE: 6:3"),
        (Resource::Extent(db, PageId::new(1, 88)), "EXTENT: 6:1:88"),
        (
            Resource::AllocationUnit(db, AllocUnitId(65536)),
            "ALLOCATION_UNIT: 6:65536",
        ),
        (
            Resource::Application(db, 0xab),
            "APPLICATION: 6:0:(00000000000000ab)",
        ),
    ];
    for (resource, text) in cases {
        assert_eq!(resource.to_string(), text);
    }
}

#[test]
fn no_key_is_taken_for_infinity() {
    let (db, rowset) = (DatabaseId(1), RowsetId(1));
    assert_ne!(
        Resource::key(db, rowset, u64::MAX),
        Resource::infinity(db, rowset)
    );
}

#[test]
fn range_modes_belong_to_keys_only() {
    let key = Resource::key(DatabaseId(1), RowsetId(1), 1);
    let row = Resource::Rid(DatabaseId(1), RowId::default());
    let table = Resource::Object(DatabaseId(1), ObjectId(1));
    for mode in LockMode::ALL {
        assert!(!mode.is_range_mode() || (!row.accepts(mode) && !table.accepts(mode)));
        assert_eq!(
            key.accepts(mode),
            mode.is_range_mode() || matches!(mode, LockMode::S | LockMode::U | LockMode::X)
        );
    }
    assert!(
        table.accepts(LockMode::SchM) && table.accepts(LockMode::IX) && table.accepts(LockMode::BU)
    );
}

#[test]
fn neighbouring_rows_and_kinds_spread_over_the_table() {
    let db = DatabaseId(1);
    let mut all = HashSet::new();
    let mut top = [0u32; 64];
    for n in 0..4096u32 {
        let page = PageId::new(1, n);
        for resource in [
            Resource::Page(db, RowsetId(5), page),
            Resource::Extent(db, page),
            Resource::Rid(
                db,
                RowId {
                    page: PageId::new(1, 7),
                    slot: n as u16,
                },
            ),
            Resource::key(db, RowsetId(9), u64::from(n)),
            Resource::Object(db, ObjectId(n as i32)),
        ] {
            assert!(
                all.insert(resource.hash()),
                "two resources, one hash: {resource}"
            );
            top[(resource.hash() >> 58) as usize] += 1;
        }
    }
    let fair = all.len() as u32 / 64;
    assert!(top.iter().all(|&n| n > fair / 2 && n < fair * 2), "{top:?}");
}
