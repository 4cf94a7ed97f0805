//! Joins read what they must and no more, whatever the order in which their tables are written: counted in
//! pages, as SET STATISTICS IO has them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/connection.rs"]
mod connection;

use connection::{connect, run};
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Kept};
use furrow_types::Value;

fn fill(connection: &mut Connection, table: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    for some in rows.chunks(1000) {
        let insert = format!("INSERT INTO {table} VALUES {}", some.join(","));
        run(connection, &insert);
    }
}

fn shown(kept: &Kept) -> Vec<String> {
    let mut lines = Vec::new();
    for row in kept.sets.iter().flat_map(|set| &set.rows) {
        let mut line = String::new();
        for (at, value) in row.iter().enumerate() {
            line.push_str(if at > 0 { " " } else { "" });
            write_value(value, &mut line);
        }
        lines.push(line);
    }
    lines
}

/// The number before which a text stands in a line of SET STATISTICS IO.
fn number(line: &str, before: &str) -> u64 {
    let text = line.split(before).nth(1).unwrap();
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The only value of a query, and how many pages it read.
fn reads(connection: &mut Connection, sql: &str) -> (Value, u64) {
    run(connection, "SET STATISTICS IO ON");
    let kept = run(connection, sql);
    run(connection, "SET STATISTICS IO OFF");
    let lines = kept.notices.iter().map(|notice| &notice.message.text);
    let lines = lines.filter(|text| text.contains("logical reads "));
    let all = lines.map(|line| number(line, "logical reads ")).sum();
    (kept.sets[0].rows[0][0].clone(), all)
}

#[test]
fn a_join_on_both_columns_of_a_key_seeks_on_both() {
    let mut c = connect();
    run(
        &mut c,
        "CREATE TABLE p (a INT, b INT, v INT, PRIMARY KEY (a, b))",
    );
    run(&mut c, "CREATE TABLE q (a INT NOT NULL, b INT NOT NULL)");
    fill(
        &mut c,
        "p",
        (0..20_000).map(|n| format!("({}, {}, {n})", n % 2, n / 2)),
    );
    fill(
        &mut c,
        "q",
        (0..10).map(|n| format!("({}, {})", n % 2, n * 7)),
    );
    let (whole, _) = reads(&mut c, "SELECT COUNT(*) FROM p");
    assert_eq!(whole, Value::Int(20_000));
    let values = "DECLARE @a INT = 1";
    for (join, expected) in [
        (
            "SELECT COUNT(p.v) FROM q JOIN p ON p.a = q.a AND p.b = q.b",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM p JOIN q ON q.b = p.b AND q.a = p.a",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM q LEFT JOIN p ON p.a = q.a AND p.b = q.b",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM p RIGHT JOIN q ON p.a = q.a AND p.b = q.b",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM p, q WHERE p.a = 1 AND p.b = q.b",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM p, q WHERE p.a = @a AND p.b = q.b",
            10,
        ),
        (
            "SELECT COUNT(*) FROM q WHERE EXISTS (SELECT 1 FROM p WHERE p.a = 1 AND p.b = q.b)",
            10,
        ),
        (
            "SELECT COUNT(p.v) FROM q JOIN p ON p.a = q.a AND p.b >= q.b AND p.b < q.b + 2",
            20,
        ),
        (
            "SELECT COUNT(x.v) FROM q CROSS APPLY (SELECT v FROM p WHERE p.a = q.a AND p.b = q.b) x",
            10,
        ),
    ] {
        let (count, pages) = reads(&mut c, &format!("{values} {join}"));
        assert_eq!(count, Value::Int(expected), "{join}");
        assert!(pages <= 40, "{join}: {pages} pages");
    }
}

#[test]
fn tables_are_joined_in_the_order_that_costs_least() {
    let mut c = connect();
    run(
        &mut c,
        "CREATE TABLE a (id INT PRIMARY KEY, x INT NOT NULL)",
    );
    run(
        &mut c,
        "CREATE TABLE b (id INT PRIMARY KEY, a_id INT NOT NULL, c_id INT NOT NULL)",
    );
    run(
        &mut c,
        "CREATE TABLE c (id INT PRIMARY KEY, y INT NOT NULL)",
    );
    for table in ["a", "c"] {
        fill(&mut c, table, (0..2000).map(|n| format!("({n}, {n})")));
    }
    fill(&mut c, "b", (0..2000).map(|n| format!("({n}, {n}, {n})")));
    let on = "WHERE b.a_id = a.id AND c.id = b.c_id";
    let mut least = None;
    for from in ["a, b, c", "a, c, b", "b, a, c", "c, a, b", "c, b, a"] {
        let (count, pages) = reads(&mut c, &format!("SELECT COUNT(*) FROM {from} {on}"));
        assert_eq!(count, Value::Int(2000), "{from}");
        let least = *least.get_or_insert(pages);
        assert!(pages <= least * 2, "{from}: {pages} pages, {least} at best");
    }
    let sought = format!("SELECT COUNT(*) FROM a, c, b {on} AND b.id = 77");
    let (count, pages) = reads(&mut c, &sought);
    assert_eq!(count, Value::Int(1));
    assert!(pages <= 12, "{pages} pages");
}

#[test]
fn a_chain_of_twenty_tables_written_in_a_bad_order_is_joined_along_its_links() {
    let mut c = connect();
    for n in 0..20 {
        let make = format!("CREATE TABLE t{n} (id INT PRIMARY KEY, next_id INT NOT NULL)");
        run(&mut c, &make);
        let rows = (0..50).map(|row| format!("({row}, {})", (row + 1) % 50));
        fill(&mut c, &format!("t{n}"), rows);
    }
    // First those with even numbers, of which no two are linked.
    let order = (0..20).step_by(2).chain((1..20).step_by(2));
    let from: Vec<String> = order.map(|n| format!("t{n}")).collect();
    let on: Vec<String> = (1..20)
        .map(|n| format!("t{}.next_id = t{n}.id", n - 1))
        .collect();
    let sql = format!(
        "SELECT COUNT(*) FROM {} WHERE {}",
        from.join(", "),
        on.join(" AND ")
    );
    let (count, pages) = reads(&mut c, &sql);
    assert_eq!(count, Value::Int(50));
    assert!(pages <= 20 * 50 * 3, "{pages} pages");
}

#[test]
fn force_order_and_hints_of_joins_keep_the_order_of_the_text() {
    let mut c = connect();
    run(
        &mut c,
        "CREATE TABLE big (id INT PRIMARY KEY, v INT NOT NULL)",
    );
    run(&mut c, "CREATE TABLE few (id INT NOT NULL)");
    fill(&mut c, "big", (0..10_000).map(|n| format!("({n}, {n})")));
    fill(&mut c, "few", (0..3).map(|n| format!("({n})")));
    let sql = "SELECT COUNT(*) FROM big JOIN few ON few.id = big.id";
    let (_, free) = reads(&mut c, sql);
    let (_, forced) = reads(&mut c, &format!("{sql} OPTION (FORCE ORDER)"));
    let (_, hinted) = reads(&mut c, &sql.replace("JOIN", "INNER HASH JOIN"));
    assert!(free < 12, "{free} pages");
    assert!(forced > 2 * free, "{forced} pages against {free}");
    assert_eq!(forced, hinted);
}

#[test]
fn every_order_of_a_join_gives_the_same_rows() {
    let mut c = connect();
    run(&mut c, "CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(9))");
    run(
        &mut c,
        "CREATE TABLE b (a_id INT NOT NULL, k INT NOT NULL, w INT, PRIMARY KEY (a_id, k))",
    );
    run(&mut c, "CREATE TABLE d (k INT, note VARCHAR(9))");
    fill(&mut c, "a", (0..40).map(|n| format!("({n}, 'v{n}')")));
    fill(
        &mut c,
        "b",
        (0..400).map(|n| format!("({}, {}, NULLIF({}, 3))", n % 40, n / 40, n % 7)),
    );
    fill(
        &mut c,
        "d",
        (0..12).map(|n| format!("(NULLIF({}, 5), 'd{n}')", n % 8)),
    );
    let list = "SELECT a.v, b.w, d.note, e.v, (SELECT MAX(w) FROM b x WHERE x.a_id = a.id)";
    let on = "WHERE a.id = b.a_id AND b.k = d.k AND b.w > 1 AND ISNULL(e.v, '') <> a.v";
    let mut expected = None;
    for from in [
        "a CROSS JOIN (b LEFT JOIN a e ON e.id = b.w) CROSS JOIN d",
        "d CROSS JOIN a CROSS JOIN (b LEFT JOIN a e ON e.id = b.w)",
        "(a e RIGHT JOIN b ON e.id = b.w), d, a",
        "d, a, b OUTER APPLY (SELECT v FROM a WHERE a.id = b.w) e",
    ] {
        for option in ["", "OPTION (FORCE ORDER)"] {
            let sql = format!("{list} FROM {from} {on} {option}");
            let mut rows = shown(&run(&mut c, &sql));
            rows.sort();
            assert!(rows.len() > 100, "{sql}");
            assert_eq!(&rows, expected.get_or_insert_with(|| rows.clone()), "{sql}");
        }
    }
}

#[test]
fn the_stock_level_procedure_reads_the_rows_it_counts() {
    let mut c = connect();
    run(
        &mut c,
        "CREATE TABLE district (d_w_id INT, d_id INT, d_next_o_id INT, PRIMARY KEY (d_w_id, d_id));
         CREATE TABLE stock (s_w_id INT, s_i_id INT, s_quantity INT, s_data CHAR(200),
             PRIMARY KEY (s_w_id, s_i_id));
         CREATE TABLE order_line (ol_w_id INT, ol_d_id INT, ol_o_id INT, ol_number INT, ol_i_id INT,
             ol_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    );
    fill(
        &mut c,
        "district",
        (1..=10).map(|d| format!("(1, {d}, 301)")),
    );
    fill(
        &mut c,
        "stock",
        (1..=5000).map(|i| format!("(1, {i}, {}, '')", 10 + i % 91)),
    );
    let lines = (0..10 * 300 * 5).map(|n| {
        let (d, o, l) = (1 + n / 1500, 1 + n / 5 % 300, 1 + n % 5);
        format!("(1, {d}, {o}, {l}, {}, '')", 1 + n * 37 % 5000)
    });
    fill(&mut c, "order_line", lines);
    run(
        &mut c,
        "CREATE PROCEDURE stock_level @w INT, @d INT, @threshold INT AS
         DECLARE @o INT
         SELECT @o = d_next_o_id FROM district WHERE d_w_id = @w AND d_id = @d
         SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock
         WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id < @o AND ol_o_id >= @o - 20
             AND s_w_id = @w AND s_i_id = ol_i_id AND s_quantity < @threshold",
    );
    let (low, pages) = reads(&mut c, "EXEC stock_level 1, 4, 20");
    assert!(matches!(low, Value::Int(5..=20)), "{low:?}");
    // A hundred lines, a descent of `stock` for each, and two descents besides.
    assert!(pages <= 100 * 3 + 20, "{pages} pages");
    let joined = "SELECT COUNT(DISTINCT s_i_id) FROM district
         JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id
             AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
         JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
         WHERE d_w_id = 1 AND d_id = 4 AND s_quantity < 20";
    let (same, pages) = reads(&mut c, joined);
    assert_eq!(same, low);
    assert!(pages <= 100 * 3 + 20, "{pages} pages");
}

#[test]
fn an_insert_that_reads_its_own_table_sees_it_as_it_was() {
    let mut c = connect();
    run(
        &mut c,
        "CREATE TABLE t (id INT, v INT); CREATE TABLE other (id INT)",
    );
    run(&mut c, "INSERT INTO other VALUES (1), (2)");
    for source in [
        "SELECT id, v FROM t",
        "SELECT TOP (100) id, v FROM t",
        "SELECT DISTINCT t.id, t.v FROM t",
        "SELECT id, v FROM t UNION ALL SELECT id, id FROM other",
        "SELECT t.id, t.v FROM other JOIN t ON t.id = other.id",
        "SELECT o.id, (SELECT COUNT(*) FROM t) FROM other o",
        "SELECT id, id FROM other WHERE EXISTS (SELECT 1 FROM t WHERE t.id = other.id)",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM t",
        "SELECT COUNT(*), 1 FROM t GROUP BY id",
        "SELECT o.id, x.v FROM other o CROSS APPLY (SELECT v FROM t WHERE t.id = o.id) x",
        "SELECT id, v FROM (VALUES (1, (SELECT COUNT(*) FROM t))) x (id, v)",
    ] {
        run(&mut c, "DELETE FROM t; INSERT INTO t VALUES (1, 1), (2, 2)");
        let expected = shown(&run(&mut c, source)).len();
        run(&mut c, &format!("INSERT INTO t {source}"));
        let (rows, _) = reads(&mut c, "SELECT COUNT(*) FROM t");
        assert_eq!(rows, Value::Int(2 + expected as i32), "{source}");
    }
}
