//! A database in which tables come and go does not grow: what their rows in the base tables left goes too.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{ColumnSpec, IndexSpec, TableSpec};
use furrow_format::catalog::{BASE_TABLES, SYSCOLPARS};
use tables_common::{House, bigint, int, quiet_house};

fn spec(number: u32) -> TableSpec {
    let mut spec = TableSpec::new(&format!("t{number}"))
        .column(ColumnSpec::new("id", bigint()).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_c0", ["c0"]));
    for at in 0..12 {
        spec = spec.column(ColumnSpec::new(&format!("c{at}"), int()));
    }
    spec
}

/// Pages, rows and ghosts of all base tables together.
fn sizes(house: &House) -> (usize, u64, u64) {
    let trees = BASE_TABLES.iter().filter(|table| !table.is_heap());
    let audits = trees.map(|table| house.db.catalog().base(table).unwrap().audit().unwrap());
    audits.fold((0, 0, 0), |(pages, rows, ghosts), audit| {
        let more = audit.pages().count();
        (pages + more, rows + audit.rows, ghosts + audit.ghosts)
    })
}

fn purge_all(house: &House) {
    while house.db.purge_ghosts().unwrap() > 0 {}
}

/// Creates some tables and drops them again.
fn come_and_go(house: &House, round: u32) {
    let mut session = house.session();
    for number in 0..20 {
        session.create_table(&spec(round * 100 + number)).unwrap();
    }
    for number in 0..20 {
        let name = format!("t{}", round * 100 + number);
        session.drop_table(&name).unwrap();
    }
}

#[test]
fn tables_that_come_and_go_leave_nothing_in_the_base_tables() {
    let house = quiet_house();
    let (pages, rows, _) = sizes(&house);
    for round in 0..6 {
        come_and_go(&house, round);
        assert!(
            sizes(&house).2 > 20 * 13,
            "dropped rows are ghosts at first"
        );
        purge_all(&house);
        // A page that is half empty stays.
        let after = sizes(&house);
        assert_eq!((after.1, after.2), (rows, 0), "round {round}");
        assert!(after.0 <= pages + 12, "{} pages, {pages} before", after.0);
    }
    // What an earlier life left is found.
    come_and_go(&house, 6);
    let house = house.restart(true, Vec::new());
    assert!(sizes(&house).2 > 0);
    purge_all(&house);
    assert_eq!(sizes(&house).2, 0);
}

#[test]
fn a_dropped_table_whose_transaction_goes_on_can_come_back() {
    let house = quiet_house();
    let mut session = house.session();
    session.create_table(&spec(1)).unwrap();
    purge_all(&house);
    session.begin().unwrap();
    session.drop_table("t1").unwrap();
    let ghosts = sizes(&house).2;
    assert!(ghosts > 13);
    purge_all(&house);
    assert_eq!(
        sizes(&house).2,
        ghosts,
        "the transaction may want them back"
    );
    session.rollback().unwrap();
    assert_eq!(sizes(&house).2, 0);
    assert_eq!(session.table("t1").unwrap().columns().len(), 13);
    let columns = house.db.catalog().base(&SYSCOLPARS).unwrap();
    let rows = columns.audit().unwrap().rows;
    session.drop_table("t1").unwrap();
    purge_all(&house);
    assert_eq!(columns.audit().unwrap().rows, rows - 13);
    assert_eq!(sizes(&house).2, 0);
}
