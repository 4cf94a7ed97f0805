//! Tables are made, filled, read, scanned, dropped; what is committed survives, what is not does not.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{ColumnSpec, ScanSpec, Session, Table, TableSpec};
use furrow_types::Value;
use std::sync::Arc;
use tables_common::{bigint, house, int, n, s, varchar};

fn orders() -> TableSpec {
    TableSpec::new("orders")
        .column(ColumnSpec::new("id", bigint()).identity(1, 1))
        .column(ColumnSpec::new("customer", int()).not_null())
        .column(ColumnSpec::new("note", varchar(60)))
        .column(
            ColumnSpec::new("state", varchar(8))
                .not_null()
                .default_value("new"),
        )
        .primary_key(["id"])
}

fn rows(session: &mut Session, table: &Arc<Table>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        out.push(row.values()?);
        Ok(())
    })
    .unwrap();
    out
}

#[test]
fn rows_go_in_and_come_out_by_key_and_in_order() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&orders()).unwrap();
    for at in 1..=500 {
        let note = if at % 3 == 0 {
            Value::Null
        } else {
            s(&format!("note {at}"))
        };
        let id = session
            .insert_columns(&table, &[1, 2], &[Value::Int(at * 2), note])
            .unwrap();
        assert_eq!(id, Some(i64::from(at)));
    }
    let row = session.get(&table, &[n(77)]).unwrap().unwrap();
    assert_eq!(
        row.values().unwrap(),
        [n(77), Value::Int(154), s("note 77"), s("new")]
    );
    assert_eq!(row.i64(0), Some(77));
    assert!(session.get(&table, &[n(501)]).unwrap().is_none());
    let all = rows(&mut session, &table);
    assert_eq!(all.len(), 500);
    assert!((1..).zip(&all).all(|(at, row)| row[0] == n(at)));
    assert_eq!(table.row_count(), 500);
}

#[test]
fn committed_rows_and_tables_survive_a_clean_end_and_an_abrupt_one() {
    let mut house = house();
    let mut expected = 0;
    for round in 0..4 {
        let mut session = house.session();
        {
            let table = match round {
                0 => session.create_table(&orders()).unwrap(),
                _ => session.table("ORDERS").unwrap(),
            };
            assert_eq!(rows(&mut session, &table).len(), expected, "round {round}");
            for _ in 0..100 {
                session
                    .insert_columns(&table, &[1], &[Value::Int(round)])
                    .unwrap();
            }
            expected += 100;
            session.begin().unwrap();
            session
                .insert_columns(&table, &[1], &[Value::Int(-1)])
                .unwrap();
            let other = TableSpec {
                name: "lost".into(),
                ..orders()
            };
            session.create_table(&other).unwrap();
            // Makes the uncommitted records durable.
            house
                .session()
                .insert_columns(&table, &[1], &[Value::Int(-2)])
                .unwrap();
            expected += 1;
            if round % 2 == 0 {
                house.db.checkpoint().unwrap();
            }
        }
        house = house.restart(round % 2 == 1, vec![session]);
        let session = house.session();
        assert_eq!(session.table("lost").unwrap_err().number(), 208);
    }
}
