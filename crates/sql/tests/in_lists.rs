//! Long IN lists: one look-up for a row, seeks for the values, and the results of the same list written as
//! comparisons.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/connection.rs"]
mod connection;

use connection::{connect, run};
use furrow_sql::{Connection, Kept};
use furrow_types::Value;

/// A table of so many rows: `id` from 0, `b` NULL in each seventh row, `s` a text of it, `n` a number of it.
fn fill(connection: &mut Connection, rows: usize) {
    run(
        connection,
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, b INT NULL, s VARCHAR(20) NOT NULL,
         n DECIMAL(9, 2) NOT NULL, d DATE NOT NULL, f FLOAT NOT NULL)",
    );
    run(
        connection,
        &format!(
            "INSERT INTO t SELECT value, CASE WHEN value % 7 = 0 THEN NULL ELSE value / 2 END,
             CONCAT('Text', value, CASE value % 3 WHEN 0 THEN '  ' ELSE '' END), value / 4.0,
             DATEADD(day, value, '2000-01-01'), value / 8.0E0
             FROM GENERATE_SERIES(0, {})",
            rows - 1
        ),
    );
}

fn count(connection: &mut Connection, cond: &str) -> i64 {
    let kept = run(connection, &format!("SELECT COUNT(*) FROM t WHERE {cond}"));
    kept.sets[0].rows[0][0].as_i64().unwrap()
}

fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}

/// Logical reads of the table by a statement.
fn reads(connection: &mut Connection, sql: &str) -> u64 {
    let kept = run(connection, sql);
    let texts = kept.notices.iter().map(|n| n.message.text.clone());
    let line = texts
        .into_iter()
        .find(|t| t.starts_with("Table 't'"))
        .unwrap();
    let reads = line.split("logical reads ").nth(1).unwrap();
    reads.split([',', '.']).next().unwrap().parse().unwrap()
}

/// With one comparison for each row and value, these are 10^10 comparisons.
#[test]
fn lists_of_fifty_thousand_values_are_looked_up_by_each_row_once() {
    let mut connection = connect();
    fill(&mut connection, 100_000);
    let values = list((0..50_000).map(|n| (n * 3).to_string()));
    assert_eq!(count(&mut connection, &format!("id IN ({values})")), 33_334);
    assert_eq!(
        count(&mut connection, &format!("id + 0 IN ({values})")),
        33_334
    );
    assert_eq!(
        count(&mut connection, &format!("id NOT IN ({values})")),
        66_666
    );
    let negative = list((0..50_000).map(|n| (-n).to_string()));
    assert_eq!(
        count(&mut connection, &format!("-id IN ({negative})")),
        50_000
    );
}

fn numbers(from: usize, step: usize) -> impl Iterator<Item = String> {
    (0..40).map(move |n| (from + n * step).to_string())
}

/// What is looked up, and in which values.
fn lists() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("id", numbers(3, 5).chain(numbers(3, 5)).collect()),
        ("b", numbers(0, 4).chain(["NULL".to_owned()]).collect()),
        ("b + 1", numbers(1, 3).chain(["NULL".to_owned()]).collect()),
        (
            "id",
            numbers(2, 4)
                .map(|n| format!("{n}.5"))
                .chain(numbers(1, 9))
                .collect(),
        ),
        (
            "id",
            numbers(2, 4)
                .map(|n| format!("'{n}'"))
                .chain(numbers(1, 9))
                .collect(),
        ),
        (
            "n",
            numbers(0, 1)
                .map(|n| format!("{n}.250"))
                .chain(numbers(50, 1))
                .collect(),
        ),
        (
            "f",
            numbers(0, 1)
                .map(|n| format!("{n}.125"))
                .chain(numbers(9, 1))
                .collect(),
        ),
        (
            "d",
            numbers(10, 1)
                .map(|n| format!("'2000-03-{n}'"))
                .take(20)
                .collect(),
        ),
        ("s", numbers(0, 3).map(|n| format!("'tEXT{n}'")).collect()),
        (
            "s",
            numbers(1, 2).map(|n| format!("'Text{n}   '")).collect(),
        ),
        (
            "s",
            numbers(1, 2)
                .map(|n| format!("N'text{n}'"))
                .chain(["'Text0'".to_owned()])
                .collect(),
        ),
        (
            "s COLLATE Latin1_General_BIN2",
            numbers(0, 1).map(|n| format!("'text{n}'")).collect(),
        ),
        (
            "id",
            numbers(0, 6)
                .map(|n| format!("{n} + @one"))
                .chain(["@null".to_owned()])
                .collect(),
        ),
        ("CAST(id AS SQL_VARIANT)", numbers(0, 7).collect()),
        (
            "CAST(id AS VARBINARY(4))",
            numbers(16, 1).map(|n| format!("0x000000{n}")).collect(),
        ),
    ]
}

#[test]
fn a_long_list_gives_what_its_comparisons_give() {
    let mut connection = connect();
    fill(&mut connection, 400);
    run(
        &mut connection,
        "CREATE INDEX ib ON t (b); CREATE INDEX i_s ON t (s DESC)",
    );
    for (of, values) in lists() {
        let long = format!("{of} IN ({})", values.join(", "));
        let each: Vec<String> = values
            .iter()
            .map(|value| format!("{of} = {value}"))
            .collect();
        let each = format!("({})", each.join(" OR "));
        for not in ["", "NOT "] {
            let ids = |cond: &str| {
                format!(
                    "DECLARE @one INT = 1, @null INT; SELECT id FROM t WHERE {not}{cond} ORDER BY id"
                )
            };
            let found = run(&mut connection, &ids(&long)).sets[0].rows.clone();
            let expected = run(&mut connection, &ids(&each)).sets[0].rows.clone();
            assert_eq!(found, expected, "{not}{long}");
        }
    }
}

#[test]
fn values_of_a_long_list_are_sought_where_that_reads_less() {
    let mut connection = connect();
    fill(&mut connection, 20_000);
    run(&mut connection, "SET STATISTICS IO ON");
    let whole = reads(&mut connection, "SELECT SUM(f) FROM t");
    let few = list((0..20).map(|n| (n * 900).to_string()));
    let sought = reads(
        &mut connection,
        &format!("SELECT SUM(f) FROM t WHERE id IN ({few}, {few})"),
    );
    assert!(sought <= 20 * 3, "{sought} of {whole}");
    let near = list((0..5000).map(|n| (n % 400).to_string()));
    let sought = reads(
        &mut connection,
        &format!("SELECT SUM(f) FROM t WHERE id IN ({near})"),
    );
    assert!(
        sought * 4 < whole,
        "{sought} of {whole}: values of one range"
    );
    let most = list((0..9000).map(|n| (n * 2).to_string()));
    let read = reads(
        &mut connection,
        &format!("SELECT SUM(f) FROM t WHERE id IN ({most})"),
    );
    assert!(read <= whole + 3, "{read} of {whole}: one range");
    run(&mut connection, "CREATE INDEX ib ON t (b)");
    let read = reads(
        &mut connection,
        &format!("SELECT SUM(f) FROM t WHERE b IN ({most})"),
    );
    assert!(read <= whole + 3, "{read} of {whole}: no look-ups");
}

#[test]
fn a_value_that_cannot_be_converted_is_an_error_of_the_rows_that_come_to_it() {
    let mut connection = connect();
    fill(&mut connection, 100);
    let values = list((0..100).map(|n| n.to_string()));
    let with_error = format!("id + 0 IN ({values}, 'x')");
    assert_eq!(count(&mut connection, &with_error), 100);
    let mut kept = Kept::default();
    connection.execute(
        &format!("SELECT COUNT(*) FROM t WHERE id + 1 IN ({values}, 'x')"),
        &mut kept,
    );
    assert_eq!(kept.errors()[0].number, 245);
    let null = Value::Null;
    let kept = run(
        &mut connection,
        &format!("SELECT MAX(id) FROM t WHERE NULL IN ({values}) OR NULL NOT IN ({values})"),
    );
    assert_eq!(kept.sets[0].rows[0][0], null);
}
