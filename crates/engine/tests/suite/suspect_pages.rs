//! Pages that restart finds unreadable: suspect only if the log does not rebuild them.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::repair::{damage, victim};
use crate::tables_common::{House, bigint, config, n, quiet_house, rows_of, s, varchar};
use furrow_engine::{ColumnSpec, Instance, Session, TableSpec};
use furrow_types::Value;
use std::sync::Arc;

const ROWS: i64 = 300;

/// A table of a few hundred pages, of which a crash leaves none on the disk.
fn filled(house: &House) -> Session {
    let mut session = house.session();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("text", varchar(5000)))
        .primary_key(["id"]);
    let table = session.create_table(&spec).unwrap();
    for id in 0..ROWS {
        let text = Value::VarChar("x".repeat(5000));
        session.insert(&table, &[n(id), text]).unwrap();
    }
    session
}

#[test]
fn pages_that_a_crash_kept_from_the_disk_are_not_suspect_once_the_log_has_rebuilt_them() {
    let house = quiet_house();
    let session = filled(&house);
    let house = house.restart(true, vec![session]);
    assert!(!house.instance.instruments().suspects.is_due());
    assert_eq!(rows_of(&mut house.session(), "t"), ROWS as usize);
}

#[test]
fn a_page_that_the_log_does_not_rebuild_is_suspect_after_the_restart() {
    let house = quiet_house();
    let mut session = filled(&house);
    house.db.checkpoint().unwrap();
    let (page, path) = victim(&house);
    let table = session.table("t").unwrap();
    for id in 0..ROWS {
        let key = table.row_key(&[n(id)]).unwrap();
        session.update(&table, &key, &[(1, s("y"))]).unwrap();
    }
    let (volume, instance) = (Arc::clone(&house.volume), Arc::clone(&house.instance));
    drop((table, house));
    instance.abandon();
    drop((session, instance));
    damage(&*volume, &path, page);
    let instance = Instance::start(volume, config()).unwrap();
    assert!(instance.database("test").is_err());
    assert!(instance.instruments().suspects.is_due());
}
