//! Plans that are kept: a text that is sent again gives what it would give if it were new.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use std::sync::Arc;

#[path = "plans/parallel.rs"]
mod parallel;
#[path = "plans/shared.rs"]
mod shared;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

fn shown(kept: &Kept) -> String {
    let mut lines = Vec::new();
    for set in &kept.sets {
        for row in &set.rows {
            let mut line = String::new();
            for (at, value) in row.iter().enumerate() {
                line.push_str(if at > 0 { " " } else { "" });
                write_value(value, &mut line);
            }
            lines.push(line);
        }
    }
    lines.extend(kept.errors().iter().map(|e| format!("Msg {}", e.number)));
    lines.join(", ")
}

fn run(connection: &mut Connection, sql: &str) -> String {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    shown(&kept)
}

fn ok(connection: &mut Connection, sql: &str) {
    assert_eq!(run(connection, sql), "", "{sql}");
}

#[test]
fn a_text_sent_again_sees_what_became_of_its_table() {
    let mut c = server().connect().unwrap();
    ok(&mut c, "CREATE TABLE t (a INT, b INT)");
    ok(&mut c, "INSERT INTO t VALUES (1, 2)");
    let all = "SELECT * FROM t";
    assert_eq!(run(&mut c, all), "1 2");
    assert_eq!(run(&mut c, all), "1 2");
    ok(
        &mut c,
        "ALTER TABLE t ADD c VARCHAR(5) NOT NULL DEFAULT 'x'",
    );
    assert_eq!(run(&mut c, all), "1 2 x");
    ok(&mut c, "ALTER TABLE t DROP COLUMN b");
    assert_eq!(run(&mut c, all), "1 x");
    ok(&mut c, "CREATE INDEX i ON t (a)");
    assert_eq!(run(&mut c, all), "1 x");
    ok(&mut c, "DROP TABLE t");
    assert_eq!(run(&mut c, all), "Msg 208");
    ok(&mut c, "CREATE TABLE t (z CHAR(2))");
    ok(&mut c, "INSERT INTO t VALUES ('q')");
    assert_eq!(run(&mut c, all), "q ");
}

#[test]
fn changing_statements_sent_again_see_what_became_of_their_table() {
    let mut c = server().connect().unwrap();
    ok(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    let insert = "INSERT INTO t (id, a) VALUES (1, 10)";
    let update = "UPDATE t SET a = a + 1 WHERE id = 1";
    let delete = "DELETE FROM t WHERE id = 1";
    let all = "SELECT * FROM t";
    for _ in 0..2 {
        ok(&mut c, insert);
        ok(&mut c, update);
        assert_eq!(run(&mut c, all), "1 11");
        ok(&mut c, delete);
    }
    ok(&mut c, "ALTER TABLE t ADD CONSTRAINT ck CHECK (a < 11)");
    ok(&mut c, "ALTER TABLE t ADD n INT NOT NULL DEFAULT 7");
    ok(&mut c, insert);
    assert_eq!(run(&mut c, update), "Msg 547");
    assert_eq!(run(&mut c, all), "1 10 7");
    ok(&mut c, delete);
    assert_eq!(run(&mut c, all), "");
}

#[test]
fn a_view_that_was_changed_is_bound_anew() {
    let mut c = server().connect().unwrap();
    ok(&mut c, "CREATE TABLE t (a INT, b INT)");
    ok(&mut c, "INSERT INTO t VALUES (1, 2)");
    ok(&mut c, "CREATE VIEW v AS SELECT a FROM t");
    let all = "SELECT * FROM v";
    assert_eq!(run(&mut c, all), "1");
    assert_eq!(run(&mut c, all), "1");
    ok(&mut c, "ALTER VIEW v AS SELECT b, a FROM t");
    assert_eq!(run(&mut c, all), "2 1");
    ok(&mut c, "DROP VIEW v");
    assert_eq!(run(&mut c, all), "Msg 208");
}

#[test]
fn definitions_of_an_open_transaction_are_seen_by_it_alone() {
    let server = server();
    let (mut c, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    ok(&mut c, "CREATE TABLE t (a INT)");
    ok(&mut c, "INSERT INTO t VALUES (1)");
    let all = "SELECT * FROM t";
    assert_eq!(run(&mut c, all), "1");
    assert_eq!(run(&mut other, all), "1");
    ok(&mut c, "BEGIN TRANSACTION");
    ok(&mut c, "ALTER TABLE t ADD b INT");
    assert_eq!(run(&mut c, all), "1 NULL");
    assert_eq!(run(&mut c, all), "1 NULL");
    ok(&mut c, "ROLLBACK");
    assert_eq!(run(&mut c, all), "1");
    assert_eq!(run(&mut other, all), "1");
}

#[test]
fn temporary_tables_of_the_same_name_are_distinguished() {
    let mut c = server().connect().unwrap();
    let text = "SELECT * FROM #t";
    ok(&mut c, "CREATE TABLE #t (a INT)");
    ok(&mut c, "INSERT INTO #t VALUES (1)");
    assert_eq!(run(&mut c, text), "1");
    assert_eq!(run(&mut c, text), "1");
    ok(&mut c, "DROP TABLE #t");
    ok(&mut c, "CREATE TABLE #t (a VARCHAR(3), b INT)");
    ok(&mut c, "INSERT INTO #t VALUES ('x', 2)");
    assert_eq!(run(&mut c, text), "x 2");
    let variable = "DECLARE @t TABLE (a INT); INSERT INTO @t VALUES (5); SELECT * FROM @t";
    assert_eq!(run(&mut c, variable), "5");
    assert_eq!(run(&mut c, variable), "5");
}

#[test]
fn a_procedure_called_again_sees_its_own_table_variable() {
    let mut c = server().connect().unwrap();
    ok(
        &mut c,
        "CREATE PROCEDURE p @n INT AS
            DECLARE @t TABLE (a INT);
            INSERT INTO @t VALUES (@n);
            IF @n > 1 BEGIN SET @n = @n - 1; EXEC p @n END
            SELECT a FROM @t",
    );
    assert_eq!(run(&mut c, "EXEC p 3"), "1, 2, 3");
    assert_eq!(run(&mut c, "EXEC p 2"), "1, 2");
}

#[test]
fn settings_and_databases_are_part_of_what_a_plan_rests_on() {
    let mut c = server().connect().unwrap();
    let date = "SELECT MONTH('01/02/2020')";
    assert_eq!(run(&mut c, date), "1");
    ok(&mut c, "SET DATEFORMAT dmy");
    assert_eq!(run(&mut c, date), "2");
    ok(&mut c, "SET DATEFORMAT mdy");
    for (name, value) in [("one", 1), ("two", 2)] {
        ok(&mut c, &format!("CREATE DATABASE {name}"));
        let mut kept = Kept::default();
        c.execute(&format!("USE {name}"), &mut kept);
        ok(&mut c, "CREATE TABLE t (a INT)");
        ok(
            &mut c,
            &format!("INSERT INTO t VALUES ({value}), ({value})"),
        );
    }
    let all = "SELECT * FROM t";
    assert_eq!(run(&mut c, all), "2, 2");
    run(&mut c, "USE one");
    assert_eq!(run(&mut c, all), "1, 1");
    ok(&mut c, "SET ROWCOUNT 1");
    assert_eq!(run(&mut c, all), "1");
    ok(&mut c, "SET ROWCOUNT 0");
    assert_eq!(run(&mut c, all), "1, 1");
    let named = "SELECT * FROM two.dbo.t";
    assert_eq!(run(&mut c, named), "2, 2");
    ok(&mut c, "DROP DATABASE two");
    assert_eq!(run(&mut c, named), "Msg 208");
}

#[test]
fn variables_of_another_type_give_another_plan() {
    let mut c = server().connect().unwrap();
    let text = "SELECT @x + 1";
    for (of, value, expected) in [
        ("int", Value::Int(4), "5"),
        ("decimal(5,2)", Value::Int(4), "5.00"),
    ] {
        let prepared = c.prepare(text, &format!("@x {of}")).unwrap();
        for _ in 0..2 {
            let mut kept = Kept::default();
            c.execute_prepared(&prepared, std::slice::from_ref(&value), &mut kept);
            assert_eq!(shown(&kept), expected);
        }
    }
    let loops = "DECLARE @n INT = 0, @s INT = 0;
        WHILE @n < 3 BEGIN SET @n += 1; DECLARE @m INT = (SELECT COUNT(*) FROM t); SET @s += @m;
            INSERT INTO t VALUES (@n) END
        SELECT @s";
    ok(&mut c, "CREATE TABLE t (a INT)");
    assert_eq!(run(&mut c, loops), "3");
    assert_eq!(run(&mut c, loops), "12");
}

#[test]
fn prepared_texts_take_values_as_assignments_do() {
    let mut c = server().connect().unwrap();
    ok(
        &mut c,
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(3), d DATE)",
    );
    let insert = "INSERT INTO t VALUES (@id, @s, @d)";
    let insert = c
        .prepare(insert, "@id int, @s varchar(10), @d date")
        .unwrap();
    assert_eq!(insert.parameters().len(), 3);
    let mut put = |id: Value, s: &str, d: &str| {
        let mut kept = Kept::default();
        let values = [id, Value::VarChar(s.into()), Value::VarChar(d.into())];
        c.execute_prepared(&insert, &values, &mut kept);
        shown(&kept)
    };
    assert_eq!(put(Value::Int(1), "a", "2020-01-02"), "");
    assert_eq!(put(Value::BigInt(2), "b", "20200103"), "");
    assert_eq!(put(Value::Int(1), "a", "2020-01-02"), "Msg 2627");
    assert_eq!(put(Value::Int(3), "abcd", "2020-01-02"), "Msg 2628");
    assert_eq!(put(Value::Int(3), "a", "no date"), "Msg 241");
    assert_eq!(
        put(Value::VarChar("x".into()), "a", "2020-01-02"),
        "Msg 245"
    );
    let mut kept = Kept::default();
    c.execute_prepared(&insert, &[Value::Int(9)], &mut kept);
    assert_eq!(shown(&kept), "Msg 8178");
    let mut kept = Kept::default();
    let none = c.prepare("SELECT 1", "").unwrap();
    c.execute_prepared(&none, &[Value::Int(9)], &mut kept);
    assert_eq!(shown(&kept), "Msg 8144");
    assert_eq!(c.prepare("SELECT FROM", "").unwrap_err().number(), 156);
    assert_eq!(
        run(&mut c, "SELECT * FROM t"),
        "1 a 2020-01-02, 2 b 2020-01-03"
    );
}

#[test]
fn a_prepared_text_outlives_what_it_was_bound_to() {
    let mut c = server().connect().unwrap();
    ok(&mut c, "CREATE DATABASE gone");
    run(&mut c, "USE gone");
    ok(&mut c, "CREATE TABLE t (a INT)");
    let count = c.prepare("SELECT COUNT(*) FROM t", "").unwrap();
    let times = |c: &mut Connection| {
        let mut kept = Kept::default();
        c.execute_prepared(&count, &[], &mut kept);
        shown(&kept)
    };
    assert_eq!(times(&mut c), "0");
    run(&mut c, "USE master");
    ok(&mut c, "DROP DATABASE gone");
    assert_eq!(times(&mut c), "Msg 208");
    ok(&mut c, "CREATE TABLE t (a INT)");
    ok(&mut c, "INSERT INTO t VALUES (1), (2)");
    assert_eq!(times(&mut c), "2");
}

#[test]
fn a_plan_for_few_rows_is_not_kept_for_many() {
    let mut c = server().connect().unwrap();
    ok(&mut c, "CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    ok(&mut c, "CREATE TABLE u (id INT PRIMARY KEY, a INT)");
    let join = "SELECT COUNT(*) FROM t JOIN u ON t.a = u.id";
    assert_eq!(run(&mut c, join), "0");
    let mut fill = |name: &str| {
        let mut n = 0;
        while n < 3000 {
            let values: Vec<String> = (n..n + 500)
                .map(|k| format!("({k}, {})", k % 3000))
                .collect();
            ok(
                &mut c,
                &format!("INSERT INTO {name} VALUES {}", values.join(",")),
            );
            n += 500;
        }
    };
    fill("t");
    fill("u");
    assert_eq!(run(&mut c, join), "3000");
}
