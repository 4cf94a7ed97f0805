//! Tables of long rows for the tests that move pages: a key, a text of 700 bytes and an index on it.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(unreachable_pub, reason = "each test uses its part")]

use super::{i, int, s, varchar};
use furrow_engine::{ColumnSpec, IndexSpec, ScanSpec, Session, Table, TableSpec};
use furrow_types::Value;
use std::sync::Arc;

pub fn spec(name: &str, clustered: bool) -> TableSpec {
    let spec = TableSpec::new(name)
        .column(ColumnSpec::new("id", int()).not_null())
        .column(ColumnSpec::new("text", varchar(900)))
        .index(IndexSpec::new("by_text", ["text"]));
    match clustered {
        true => spec.primary_key(["id"]),
        false => spec.primary_key_nonclustered(["id"]),
    }
}

pub fn fill(session: &mut Session, table: &Arc<Table>, rows: i32) {
    session.begin().unwrap();
    for at in 0..rows {
        let row = [i(at), s(&format!("{at:05}{}", "x".repeat(700)))];
        session.insert(table, &row).unwrap();
    }
    session.commit().unwrap();
}

pub fn rows(session: &mut Session, table: &Arc<Table>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        out.push(row.values()?);
        Ok(())
    })
    .unwrap();
    out.sort_by_key(|row| row[0].as_i64());
    out
}
