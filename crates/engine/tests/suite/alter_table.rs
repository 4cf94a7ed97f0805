//! ALTER TABLE adds and drops columns, keys, checks and clustered indexes on tables with rows. A change that
//! is rolled back leaves the table as it was. After a crash the table is as it was before the change or after
//! it.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    CheckSpec, ColumnSpec, ConstraintSpec, EngineError, IndexOptions, IndexSpec, NewColumn,
    NewValues, ScanSpec, Session, Table, TableSpec,
};
use furrow_types::Value;
use std::sync::Arc;
use tables_common::{bigint, house, i, int, n, s, varchar};

const ROWS: i32 = 700;

fn spec(clustered: bool) -> TableSpec {
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", int()).identity(1, 1))
        .column(ColumnSpec::new("a", int()))
        .column(ColumnSpec::new("text", varchar(40)))
        .index(IndexSpec::new("by_a", ["a"]).include(&["text"]));
    match clustered {
        true => spec.primary_key(["id"]),
        false => spec.primary_key_nonclustered(["id"]),
    }
}

fn filled(session: &mut Session, clustered: bool) -> Arc<Table> {
    let table = session.create_table(&spec(clustered)).unwrap();
    for at in 1..=ROWS {
        let a = if at % 5 == 0 { Value::Null } else { i(at % 50) };
        let row = [a, s(&format!("row {at}"))];
        session.insert(&table, &row).unwrap();
    }
    table
}

/// All rows, sorted by the first number in them. Asserts that every index is sound and has as many rows.
fn rows(session: &mut Session, table: &Arc<Table>) -> Vec<Vec<Value>> {
    let mut out = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        out.push(row.values()?);
        Ok(())
    })
    .unwrap();
    for index in table.indexes() {
        let audit = index.rowset().audit().unwrap();
        assert_eq!(audit.rows as usize, out.len(), "index {}", index.name());
        assert_eq!(index.rowset().row_count() as usize, out.len());
    }
    out.sort_by_key(|row| row.iter().find_map(Value::as_i64));
    out
}

fn key(name: &str, columns: &[&str], clustered: bool) -> ConstraintSpec {
    ConstraintSpec {
        name: Some(name.into()),
        primary: true,
        clustered,
        key: columns.iter().map(|&c| c.into()).collect(),
        filegroup: None,
        options: IndexOptions::default(),
    }
}

fn numbers(error: &EngineError) -> Vec<u32> {
    error.messages().iter().map(|m| m.number).collect()
}

/// `a` and `text` are in an index, `c` has a default, `d` has a check, and `x` does not exist.
fn assert_columns_in_use_are_not_dropped(session: &mut Session) {
    let whys = [
        ("a", 5074),
        ("text", 5074),
        ("c", 5074),
        ("d", 5074),
        ("x", 4924),
    ];
    for (column, why) in whys {
        let refused = session.drop_columns("dbo", "t", &[column.into()]);
        assert_eq!(refused.unwrap_err().number(), why, "{column}");
    }
}

fn added_columns() -> Vec<NewColumn> {
    let new = |column, values| NewColumn { column, values };
    let text = ColumnSpec::new("c", varchar(9))
        .not_null()
        .default_value("new");
    let number = ColumnSpec::new("d", int()).not_null();
    vec![
        new(ColumnSpec::new("b", bigint()), NewValues::Null),
        new(text, NewValues::Default),
        new(number, NewValues::Value(i(7))),
    ]
}

#[test]
fn columns_are_added_to_rows_that_are_there_and_dropped_from_them() {
    for clustered in [true, false] {
        let house = house();
        let mut session = house.session();
        let table = filled(&mut session, clustered);
        let before = rows(&mut session, &table);
        let new = |column, values| NewColumn { column, values };
        let checks = [CheckSpec::new("([d]>(0))")];
        let added = session.add_columns("dbo", "t", &added_columns(), &checks);
        let added = added.unwrap();
        assert!(table.is_superseded());
        let wide: Vec<Vec<Value>> = before
            .iter()
            .map(|row| [&row[..], &[Value::Null, s("new"), i(7)]].concat())
            .collect();
        assert_eq!(rows(&mut session, &added), wide);
        let missing = new(ColumnSpec::new("e", int()).not_null(), NewValues::Null);
        let refused = session.add_columns("dbo", "t", &[missing], &[]);
        assert_eq!(refused.unwrap_err().number(), 4901);
        let twice = new(ColumnSpec::new("A", int()), NewValues::Null);
        let refused = session.add_columns("dbo", "t", &[twice], &[]);
        assert_eq!(refused.unwrap_err().number(), 2705);
        assert_columns_in_use_are_not_dropped(&mut session);
        let check = added.checks()[0].name.clone();
        session.drop_constraint("dbo", "t", &check).unwrap();
        let default = added.columns()[4].default_name.clone().unwrap();
        session.drop_constraint("dbo", "t", &default).unwrap();
        session.drop_index("t", "by_a").unwrap();
        let gone = ["a".to_owned(), "c".to_owned()];
        let narrow = session.drop_columns("dbo", "t", &gone).unwrap();
        let expected: Vec<Vec<Value>> = before
            .iter()
            .map(|row| vec![row[0].clone(), row[2].clone(), Value::Null, i(7)])
            .collect();
        assert_eq!(rows(&mut session, &narrow), expected);
        // The numbers of columns are not used again, and the identity goes on.
        let last = new(ColumnSpec::new("z", int()), NewValues::Null);
        let last = session.add_columns("dbo", "t", &[last], &[]).unwrap();
        let ids: Vec<i32> = last.columns().iter().map(|c| c.id).collect();
        assert_eq!(ids, [1, 3, 4, 6, 7]);
        let row = [s("last"), n(1), i(8), i(9)];
        assert_eq!(session.insert(&last, &row).unwrap(), Some(701));
        drop((table, added, narrow, last));
        let house = house.restart(clustered, vec![session]);
        let mut session = house.session();
        let table = session.table("t").unwrap();
        assert_eq!(rows(&mut session, &table).len(), 701);
        let created = session.create_index("t", &IndexSpec::new("by_z", ["z", "text"]));
        rows(&mut session, &created.unwrap());
    }
}

#[test]
fn an_identity_column_that_is_added_numbers_the_rows() {
    let house = house();
    let mut session = house.session();
    let plain = TableSpec::new("t").column(ColumnSpec::new("a", int()));
    let table = session.create_table(&plain).unwrap();
    for at in 0..100 {
        session.insert(&table, &[i(at)]).unwrap();
    }
    let column = ColumnSpec::new("id", int()).identity(10, 5);
    let values = NewValues::Null;
    let table = session
        .add_columns("dbo", "t", &[NewColumn { column, values }], &[])
        .unwrap();
    let mut ids: Vec<i64> = rows(&mut session, &table)
        .iter()
        .map(|row| row[1].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    assert!(ids.iter().zip((10..).step_by(5)).all(|(a, b)| *a == b));
    assert_eq!(session.insert(&table, &[i(5)]).unwrap(), Some(510));
}

#[test]
fn a_column_takes_another_type_where_all_values_fit() {
    let house = house();
    let mut session = house.session();
    filled(&mut session, true);
    let mut to_text = |value: Value| match value.as_i64() {
        Some(13) => Err(EngineError::refused(
            8115,
            &["int".into(), "varchar".into()],
        )),
        Some(n) => Ok(Value::VarChar(n.to_string())),
        None => Ok(Value::Null),
    };
    let name = ("dbo", "t");
    let keyed = session.alter_column(name, "a", (varchar(4), true), &mut to_text);
    assert_eq!(numbers(&keyed.unwrap_err()), [5074, 4922]);
    session.drop_index("t", "by_a").unwrap();
    let before = session.table("t").unwrap();
    let expected = rows(&mut session, &before);
    let overflow = session.alter_column(name, "a", (varchar(4), true), &mut to_text);
    assert_eq!(overflow.unwrap_err().number(), 8115);
    let null = session.alter_column(name, "a", (int(), false), &mut Ok);
    assert_eq!(null.unwrap_err().number(), 515);
    let same = session.table("t").unwrap();
    assert!(Arc::ptr_eq(&same, &before) && !same.is_superseded());
    assert_eq!(rows(&mut session, &same), expected);
    let wide = session.alter_column(name, "a", (bigint(), true), &mut Ok);
    let wide = rows(&mut session, &wide.unwrap());
    assert_eq!(wide[0][1], n(1));
    assert_eq!(wide.len(), expected.len());
    let short = session.alter_column(name, "text", (varchar(3), true), &mut Ok);
    assert_eq!(short.unwrap_err().number(), 2628);
}

#[test]
fn keys_are_added_and_dropped_on_tables_with_rows() {
    let house = house();
    let mut session = house.session();
    let table = filled(&mut session, false);
    let expected = rows(&mut session, &table);
    let second = session.add_key("dbo", "t", &key("PK2", &["id"], true));
    assert_eq!(numbers(&second.unwrap_err()), [1779, 1750]);
    let pk = table.indexes()[table.lookup_index().unwrap()]
        .name()
        .to_owned();
    let heap = session.drop_constraint("dbo", "t", &pk).unwrap();
    assert!(heap.is_heap() && heap.lookup_index().is_none());
    let double = ConstraintSpec {
        primary: false,
        ..key("UQ", &["a"], false)
    };
    let double = session.add_key("dbo", "t", &double);
    assert_eq!(numbers(&double.unwrap_err()), [1505, 1750]);
    let null = session.add_key("dbo", "t", &key("PK", &["a"], false));
    assert_eq!(numbers(&null.unwrap_err()), [8111, 1750]);
    let table = session
        .add_key("dbo", "t", &key("PK", &["id"], true))
        .unwrap();
    assert!(!table.is_heap());
    assert_eq!(rows(&mut session, &table), expected);
    let row = session.get(&table, &[i(77)]).unwrap().unwrap();
    assert_eq!(row.values().unwrap(), expected[76]);
    let explicit = session.drop_index("t", "PK");
    assert_eq!(explicit.unwrap_err().number(), 3723);
    let heap = session.drop_constraint("dbo", "t", "PK").unwrap();
    assert!(heap.is_heap());
    assert_eq!(rows(&mut session, &heap), expected);
    let none = session.drop_constraint("dbo", "t", "PK");
    assert_eq!(numbers(&none.unwrap_err()), [3728, 3727]);
}

#[test]
fn a_clustered_index_takes_the_place_of_a_heap_and_gives_it_back() {
    let house = house();
    let mut session = house.session();
    let heap = filled(&mut session, false);
    let expected = rows(&mut session, &heap);
    // Ten rows with each key, and a hundred and forty with none.
    let clustered = IndexSpec::new("cl", ["a"]).clustered();
    let table = session.create_index("t", &clustered).unwrap();
    assert!(!table.is_heap());
    assert_eq!(rows(&mut session, &table), expected);
    let mut session_two = house.session();
    for at in 0..30 {
        let id = session_two.insert(&table, &[i(3), s("more")]).unwrap();
        assert_eq!(id, Some(i64::from(ROWS + at + 1)));
    }
    drop(session_two);
    let again = IndexSpec::new("cl2", ["id"]).clustered();
    let refused = session.create_index("t", &again);
    assert_eq!(refused.unwrap_err().number(), 1902);
    let heap = session.drop_index("t", "cl").unwrap();
    assert!(heap.is_heap());
    assert_eq!(rows(&mut session, &heap).len(), expected.len() + 30);
    let rebuilt = session.rebuild("dbo", "t", None).unwrap();
    assert_eq!(rows(&mut session, &rebuilt).len(), expected.len() + 30);
    let one = session.rebuild("dbo", "t", Some("by_a")).unwrap();
    assert_eq!(rows(&mut session, &one).len(), expected.len() + 30);
    assert_eq!(one.index_named("by_a").unwrap().included(), [2]);
}

#[test]
fn what_is_altered_in_a_transaction_is_undone_with_it() {
    let house = house();
    let mut session = house.session();
    let table = filled(&mut session, true);
    let expected = rows(&mut session, &table);
    let mut free = Vec::new();
    for _ in 0..3 {
        session.begin().unwrap();
        let column = ColumnSpec::new("b", int()).not_null();
        let values = NewValues::Value(i(1));
        let wide = session
            .add_columns("dbo", "t", &[NewColumn { column, values }], &[])
            .unwrap();
        session.insert(&wide, &[i(1), s("x"), i(2)]).unwrap();
        let place = session.savepoint().unwrap();
        let pk = wide.indexes()[0].name().to_owned();
        session.drop_constraint("dbo", "t", &pk).unwrap();
        session.rollback_to(place).unwrap();
        let seen = session.table("t").unwrap();
        assert_eq!(rows(&mut session, &seen).len(), expected.len() + 1);
        session.rollback().unwrap();
        assert!(!table.is_superseded());
        assert_eq!(rows(&mut session, &table), expected);
        let files = house.db.file_list().unwrap();
        free.push(files.iter().map(|f| f.free_extents).sum::<u64>());
    }
    // In the first round the catalog may have taken an extent for its own ghosts. What the later rounds
    // allocated is free again.
    assert_eq!(free[1], free[2]);
    session.begin().unwrap();
    session.rebuild("dbo", "t", None).unwrap();
    house
        .session()
        .create_table(&TableSpec {
            name: "other".into(),
            ..spec(true)
        })
        .unwrap();
    drop(table);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    assert_eq!(rows(&mut session, &table), expected);
}

#[test]
fn tables_columns_indexes_and_keys_take_other_names() {
    let house = house();
    let mut session = house.session();
    filled(&mut session, true);
    session
        .rename_column(("dbo", "t"), "text", "words")
        .unwrap();
    let taken = session.rename_column(("dbo", "t"), "words", "A");
    assert_eq!(taken.unwrap_err().number(), 2705);
    session
        .rename_part(("dbo", "t"), "by_a", "a_index")
        .unwrap();
    let pk = session.table("t").unwrap().indexes()[0].name().to_owned();
    session.rename_part(("dbo", "t"), &pk, "PK_t").unwrap();
    session.begin().unwrap();
    session.rename_table("dbo", "t", "lost").unwrap();
    assert_eq!(session.table("t").unwrap_err().number(), 208);
    session.rollback().unwrap();
    session.rename_table("dbo", "t", "T2").unwrap();
    let same = session.create_table(&TableSpec {
        name: "t2".into(),
        ..spec(true)
    });
    assert_eq!(same.unwrap_err().number(), 2714);
    assert_eq!(session.table("t").unwrap_err().number(), 208);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    let table = session.table("t2").unwrap();
    assert_eq!(table.name(), "T2");
    assert_eq!(table.column("words"), Some(2));
    let names: Vec<&str> = table
        .indexes()
        .iter()
        .map(furrow_engine::Index::name)
        .collect();
    assert_eq!(names, ["PK_t", "a_index"]);
    assert_eq!(rows(&mut session, &table).len(), ROWS as usize);
    session.drop_constraint("dbo", "T2", "PK_t").unwrap();
}

#[test]
fn identity_values_are_given_by_hand_and_reseeded() {
    let house = house();
    let mut session = house.session();
    let table = filled(&mut session, true);
    let columns = [0, 1, 2];
    let row = |id| [i(id), i(0), s("by hand")];
    let off = session.insert_columns(&table, &columns, &row(5000));
    assert_eq!(off.unwrap_err().number(), 544);
    session.set_identity_insert(&table, true).unwrap();
    let missing = session.insert_columns(&table, &[1], &[i(0)]);
    assert_eq!(missing.unwrap_err().number(), 545);
    let given = session.insert_columns(&table, &columns, &row(5000));
    assert_eq!(given.unwrap(), Some(5000));
    let given = session.insert_columns(&table, &columns, &row(900));
    assert_eq!(given.unwrap(), Some(900));
    let other = TableSpec::new("o").column(ColumnSpec::new("id", int()).identity(1, 1));
    let other = session.create_table(&other).unwrap();
    let both = session.set_identity_insert(&other, true);
    assert_eq!(both.unwrap_err().number(), 8107);
    session.set_identity_insert(&table, false).unwrap();
    assert_eq!(
        session.insert(&table, &[i(0), s("next")]).unwrap(),
        Some(5001)
    );
    session.reseed(&table, 6000).unwrap();
    assert_eq!(
        session.insert(&table, &[i(0), s("next")]).unwrap(),
        Some(6001)
    );
    session.reseed(&other, 40).unwrap();
    assert_eq!(session.insert(&other, &[]).unwrap(), Some(40));
    drop((table, other));
    let house = house.restart(false, vec![session]);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    assert_eq!(
        session.insert(&table, &[i(0), s("next")]).unwrap(),
        Some(6002)
    );
}
