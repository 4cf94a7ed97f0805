//! Speed of queries, compared with SQLite on the same rows and with the engine's own row API, in one run.
//!
//! `cargo bench -p furrow-sql --bench speed [-- aggregates|statements]`. Variables of the environment:
//! - `FURROW_ROWS` (1,000,000) and `FURROW_WIDTH` (100): rows of the table, and bytes of text in each;
//! - `FURROW_MB`: size of the text in MB, in place of `FURROW_ROWS`. 1000 with a width of 1000 or 100 gives a
//!   table of 1 GB;
//! - `FURROW_RUNS` (5): repetitions of each query;
//! - `FURROW_ONLY`: only the queries with this in their text;
//! - `FURROW_STATEMENTS` (100,000): repetitions of each statement.
//!
//! Everything is in memory on both sides: the results say nothing about disks.
//!
//! Aggregates: the best elapsed time of several alternating runs, and the ratio SQLite / Furrow, by elapsed
//! time and by processor time. Above 1 Furrow is faster. Statements: processor time of the whole process for
//! one statement, background threads included.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures"
)]

use furrow_engine::{Instance, InstanceConfig, Session, Table};
use furrow_io::process::cpu_times;
use furrow_io::time::Moment;
use furrow_sql::{Connection, Notice, Prepared, ResultColumn, Server, Sink};
use furrow_types::Value;
use std::sync::Arc;

fn number(name: &str, otherwise: usize) -> usize {
    let given = std::env::var(name).ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Stores the first value only, and panics on errors.
#[derive(Default)]
struct First {
    value: Option<i64>,
}

impl Sink for First {
    fn columns(&mut self, _: &[ResultColumn]) {}

    fn row(&mut self, row: &[Value]) {
        let value = row.first().and_then(Value::as_i64);
        self.value = self.value.or(value);
    }

    fn done(&mut self, _: Option<u64>) {}

    fn notice(&mut self, notice: &Notice) {
        assert!(!notice.message.is_error(), "{}", notice.message);
    }
}

fn connect(pool_pages: usize) -> Connection {
    let config = InstanceConfig {
        pool_pages,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    let mut connection = server.connect().unwrap();
    run(&mut connection, "CREATE DATABASE speed");
    run(&mut connection, "USE speed");
    connection
}

fn run(connection: &mut Connection, sql: &str) -> Option<i64> {
    let mut first = First::default();
    connection.execute(sql, &mut first);
    first.value
}

fn row(n: usize, width: usize) -> (i32, i32, i64, String) {
    let mixed = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let text = format!("{mixed:x}").repeat(width / 8 + 1);
    let text = text.get(..width).unwrap_or(&text).to_owned();
    (
        (mixed % 1000) as i32,
        (mixed % 20) as i32,
        (mixed % 1_000_000) as i64,
        text,
    )
}

/// Both sides with the same rows.
fn tables(rows: usize, width: usize) -> (Connection, rusqlite::Connection) {
    let pages = rows * (width + 60) / 7000 + 20_000;
    let mut ours = connect(pages);
    run(
        &mut ours,
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, g INT NOT NULL, b BIGINT NULL,
            s VARCHAR(2000) NOT NULL)",
    );
    let theirs = rusqlite::Connection::open_in_memory().unwrap();
    theirs
        .execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT NOT NULL, g INT NOT NULL, b BIGINT,
                s TEXT NOT NULL)",
        )
        .unwrap();
    let db = ours.database();
    let mut session = Session::new(&db).unwrap();
    let table = session.table("t").unwrap();
    session.begin().unwrap();
    theirs.execute_batch("BEGIN").unwrap();
    let mut insert = theirs
        .prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)")
        .unwrap();
    for id in 0..rows {
        let (a, g, b, s) = row(id, width);
        let null = id % 17 == 0;
        insert
            .execute((id as i64, a, g, (!null).then_some(b), &s))
            .unwrap();
        let values = [
            Value::Int(id as i32),
            Value::Int(a),
            Value::Int(g),
            if null { Value::Null } else { Value::BigInt(b) },
            Value::VarChar(s),
        ];
        session.insert(&table, &values).unwrap();
    }
    session.commit().unwrap();
    drop(insert);
    theirs.execute_batch("COMMIT").unwrap();
    (ours, theirs)
}

const AGGREGATES: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT SUM(a) FROM t",
    "SELECT COUNT(*), SUM(a), SUM(b) FROM t",
    "SELECT MIN(b), MAX(b), COUNT(b) FROM t",
    "SELECT COUNT(*), SUM(b) FROM t WHERE a < 300",
    "SELECT SUM(b) FROM t WHERE a >= 100 AND a < 900 AND g <> 3",
    "SELECT COUNT(*) FROM t WHERE s LIKE 'ab%'",
    "SELECT COUNT(*) FROM t WHERE s LIKE '%abcd%'",
    "SELECT SUM(a + g) FROM t",
    "SELECT COUNT(*), SUM(n) FROM (SELECT g, SUM(b) AS n FROM t GROUP BY g) AS x",
    "SELECT COUNT(*) FROM (SELECT a, g, COUNT(*) AS n FROM t GROUP BY a, g) AS x",
    "SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.id = y.id WHERE x.a = 7",
];

fn aggregates() {
    let width = number("FURROW_WIDTH", 100);
    let of_size = number("FURROW_MB", 0) * 1_000_000 / width.max(1);
    let rows = number("FURROW_ROWS", if of_size > 0 { of_size } else { 1_000_000 });
    let runs = number("FURROW_RUNS", 5);
    println!("{rows} rows with a text of {width} bytes, in memory; ms, best of {runs}");
    let (mut ours, theirs) = tables(rows, width);
    println!(
        "{:>9} {:>9} {:>6} {:>6}",
        "SQLite", "Furrow", "ratio", "by CPU"
    );
    let only = std::env::var("FURROW_ONLY").unwrap_or_default();
    for sql in AGGREGATES.iter().filter(|sql| sql.contains(&only)) {
        let (mut best, mut other) = (f64::MAX, f64::MAX);
        let (mut cpu, mut other_cpu) = (f64::MAX, f64::MAX);
        for _ in 0..runs {
            let (start, before) = (Moment::now(), cpu_times().total_ns);
            let expected: i64 = theirs.query_row(sql, [], |r| r.get(0)).unwrap();
            other = other.min(start.elapsed_ns() as f64 / 1e6);
            other_cpu = other_cpu.min((cpu_times().total_ns - before) as f64);
            let (start, before) = (Moment::now(), cpu_times().total_ns);
            let found = run(&mut ours, sql);
            best = best.min(start.elapsed_ns() as f64 / 1e6);
            cpu = cpu.min((cpu_times().total_ns - before) as f64);
            assert_eq!(found, Some(expected), "{sql}");
        }
        let (clock, by_cpu) = (other / best, other_cpu / cpu);
        println!("{other:>9.2} {best:>9.2} {clock:>6.2} {by_cpu:>6.2}  {sql}");
    }
}

/// Processor time of a call, in microseconds.
fn cost(times: usize, mut call: impl FnMut(usize)) -> f64 {
    let before = cpu_times().total_ns;
    for n in 0..times {
        call(n);
    }
    (cpu_times().total_ns - before) as f64 / 1e3 / times as f64
}

fn values(id: usize) -> Vec<Value> {
    let (a, _, b, s) = row(id, 60);
    vec![
        Value::Int(id as i32),
        Value::Int(a),
        Value::BigInt(b),
        Value::VarChar(s),
    ]
}

const COLUMNS: &str =
    "(id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b BIGINT NULL, s VARCHAR(100) NOT NULL)";

struct Sides {
    ours: Connection,
    session: Session,
    table: Arc<Table>,
    times: usize,
}

impl Sides {
    fn measured(&mut self, what: &str, rows: f64, sql: f64, at_most: f64) {
        let over = sql - rows;
        let word = if over <= at_most { "" } else { "  TOO MUCH" };
        println!("{rows:>8.2} {sql:>8.2} {over:>8.2} {at_most:>7.0}  {what}{word}");
    }

    fn prepared(&mut self, prepared: &Prepared, of: impl Fn(usize) -> Vec<Value>) -> f64 {
        let mut first = First::default();
        let ours = &mut self.ours;
        cost(self.times, |n| {
            ours.execute_prepared(prepared, &of(n), &mut first);
        })
    }

    fn key(id: usize) -> Vec<Value> {
        vec![Value::Int(id as i32)]
    }
}

fn statements() {
    let times = number("FURROW_STATEMENTS", 100_000);
    println!(
        "{times} statements, each a transaction of its own, in memory; microseconds of processor time"
    );
    let mut ours = connect(50_000);
    run(&mut ours, &format!("CREATE TABLE r {COLUMNS}"));
    run(&mut ours, &format!("CREATE TABLE t {COLUMNS}"));
    let session = Session::new(&ours.database()).unwrap();
    let table = session.table("r").unwrap();
    let mut sides = Sides {
        ours,
        session,
        table,
        times,
    };
    println!(
        "{:>8} {:>8} {:>8} {:>7}",
        "row API", "SQL", "more", "at most"
    );
    let given = "@id int, @a int, @b bigint, @s varchar(100)";
    let insert = "INSERT INTO t (id, a, b, s) VALUES (@id, @a, @b, @s)";
    let insert = sides.ours.prepare(insert, given).unwrap();
    let (session, table) = (&mut sides.session, &sides.table);
    let rows = cost(times, |n| {
        session.insert(table, &values(n)).unwrap();
    });
    let sql = sides.prepared(&insert, values);
    sides.measured("INSERT of a row, prepared", rows, sql, 15.0);

    let select = "SELECT a, b, s FROM t WHERE id = @id";
    let prepared = sides.ours.prepare(select, "@id int").unwrap();
    let (session, table) = (&mut sides.session, &sides.table);
    let rows = cost(times, |n| {
        let row = session.get(table, &Sides::key(n)).unwrap().unwrap();
        std::hint::black_box((row.value(1), row.value(2), row.value(3)))
            .0
            .unwrap();
    });
    let sql = sides.prepared(&prepared, Sides::key);
    sides.measured("SELECT of a row by key, prepared", rows, sql, 20.0);
    let ours = &mut sides.ours;
    let texts: Vec<String> = (0..100)
        .map(|n| format!("SELECT a, b, s FROM t WHERE id = {n}"))
        .collect();
    let again = cost(times, |n| {
        run(ours, &texts[n % texts.len()]);
    });
    sides.measured("the same, a text that was sent before", rows, again, 20.0);
    changes(sides);
}

fn changes(mut sides: Sides) {
    let times = sides.times;
    let key_of = |n: usize| Some(Value::Int(n as i32));
    let update = sides
        .ours
        .prepare("UPDATE t SET a = @a WHERE id = @id", "@id int, @a int");
    let update = update.unwrap();
    let (session, table) = (&mut sides.session, &sides.table);
    let rows = cost(times, |n| {
        let key = session
            .find_row(table, &[key_of(n).unwrap()])
            .unwrap()
            .unwrap();
        assert!(session.update(table, &key, &[(1, Value::Int(5))]).unwrap());
    });
    let sql = sides.prepared(&update, |n| vec![Value::Int(n as i32), Value::Int(5)]);
    sides.measured("UPDATE of a row by key, prepared", rows, sql, 15.0);

    let delete = sides
        .ours
        .prepare("DELETE FROM t WHERE id = @id", "@id int")
        .unwrap();
    let (session, table) = (&mut sides.session, &sides.table);
    let rows = cost(times, |n| {
        let key = session
            .find_row(table, &[key_of(n).unwrap()])
            .unwrap()
            .unwrap();
        assert!(session.delete(table, &key).unwrap());
    });
    let sql = sides.prepared(&delete, Sides::key);
    sides.measured("DELETE of a row by key, prepared", rows, sql, 15.0);
    assert_eq!(run(&mut sides.ours, "SELECT COUNT(*) FROM t"), Some(0));
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let is = |what: &str| wanted.is_empty() || wanted.iter().any(|w| w == what);
    if is("aggregates") {
        aggregates();
    }
    if is("statements") {
        statements();
    }
}
