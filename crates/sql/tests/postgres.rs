//! The same statements to PostgreSQL and to us: random tables, rows, transactions and queries of what both
//! understand must give the same rows. The seed is printed; `FURROW_SEED` replays it, `FURROW_ROUNDS` asks
//! for more rounds. Where PostgreSQL is not installed, or cannot be started, there is nothing to compare, and
//! the test says so.
//!
//! Left out is what the two mean differently: where NULL is sorted (PostgreSQL gets an option), full joins on
//! other conditions than equality, and what is left out for SQLite too.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/queries.rs"]
mod queries;

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::random::test_seed;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use queries::{Dice, Query, Schema};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where distributions put it, by major version.
const PLACES: std::ops::Range<u32> = 10..30;
/// Who a server runs as where this test runs as root, which a server does not.
const SERVER_USER: &str = "postgres";
/// Before what psql says of the statement that it was given last.
const END: &str = "--end ";
/// What PostgreSQL does not do.
const NOT_DONE: &str = "FULL JOIN is only supported";
const STATEMENTS: usize = 80;

/// A server of its own in a directory of its own, and a client.
struct Theirs {
    bin: PathBuf,
    home: String,
    psql: Child,
    /// Gone in the drop.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

fn bin() -> Option<PathBuf> {
    let places = PLACES.map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    let mut found: Vec<PathBuf> = places.map(PathBuf::from).collect();
    found.retain(|bin| bin.join("initdb").exists() && bin.join("psql").exists());
    found.pop()
}

/// A program, run as a user that a server may run as.
fn as_user(program: &Path) -> Command {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    let mut command = match is_root {
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", SERVER_USER, "--"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

impl Theirs {
    /// `None` when there is no PostgreSQL, or it does not start.
    fn start() -> Option<Theirs> {
        let bin = bin()?;
        let made = as_user(Path::new("mktemp"))
            .args(["-d", "/tmp/furrow-pg.XXXXXX"])
            .output();
        let home = String::from_utf8(made.ok()?.stdout).ok()?.trim().to_owned();
        let data = format!("{home}/data");
        let mut initdb = as_user(&bin.join("initdb"));
        initdb.args(["-D", &data, "-A", "trust", "-U", SERVER_USER, "-N"]);
        if !succeeds(initdb.args(["--locale=C", "-E", "UTF8"])) {
            remove(&home);
            return None;
        }
        let options = format!("-k {home} -c listen_addresses='' -c fsync=off");
        let log = format!("{home}/log");
        let mut start = as_user(&bin.join("pg_ctl"));
        start.args(["-D", &data, "-l", &log, "-w", "-o", &options, "start"]);
        if !succeeds(&mut start) {
            remove(&home);
            return None;
        }
        let psql = Command::new(bin.join("psql"))
            .args(["-X", "-A", "-t", "-q", "-h", &home, "-U", SERVER_USER])
            .args(["-d", "postgres", "-P", "null=NULL", "-F", ", "])
            // As in T-SQL, a statement that fails leaves its transaction as it was.
            .args(["-v", "ON_ERROR_ROLLBACK=on"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut psql = psql.unwrap();
        Some(Theirs {
            bin,
            home,
            input: psql.stdin.take(),
            output: BufReader::new(psql.stdout.take().unwrap()),
            psql,
        })
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<String>, String> {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{sql};\n\\echo {END}:ERROR :LAST_ERROR_MESSAGE").unwrap();
        input.flush().unwrap();
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "psql ended");
            let line = line.trim_end_matches('\n');
            let Some(said) = line.strip_prefix(END) else {
                lines.push(line.to_owned());
                continue;
            };
            return match said.strip_prefix("true") {
                Some(message) => Err(message.trim().to_owned()),
                None => Ok(lines),
            };
        }
    }
}

fn remove(home: &str) {
    assert!(home.starts_with("/tmp/furrow-pg."));
    succeeds(as_user(Path::new("rm")).args(["-rf", home]));
}

impl Drop for Theirs {
    fn drop(&mut self) {
        drop(self.input.take());
        let _status = self.psql.wait();
        let data = format!("{}/data", self.home);
        let mut stop = as_user(&self.bin.join("pg_ctl"));
        succeeds(stop.args(["-D", &data, "-m", "immediate", "-w", "stop"]));
        remove(&self.home);
    }
}

fn connect() -> Connection {
    let instance = Instance::in_memory(InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    })
    .unwrap();
    Server::start(instance).unwrap().connect().unwrap()
}

fn shown(value: &Value) -> String {
    match (value, value.as_str(), value.as_i64()) {
        (Value::Null, _, _) => "NULL".to_owned(),
        (_, Some(text), _) => text.to_owned(),
        (_, _, Some(number)) => number.to_string(),
        _ => value.to_string(),
    }
}

fn ours(connection: &mut Connection, sql: &str) -> Result<Vec<String>, String> {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    if let Some(error) = kept.errors().first() {
        return Err(format!("Msg {}: {}", error.number, error.text));
    }
    let rows = kept.sets.pop().unwrap_or_default().rows;
    let line = |row: &Vec<Value>| row.iter().map(shown).collect::<Vec<_>>().join(", ");
    Ok(rows.iter().map(line).collect())
}

/// As T-SQL sorts: NULL is less than anything.
fn with_nulls_in_place(sql: &str) -> String {
    let down = sql.replace("ORDER BY x DESC", "ORDER BY\u{1}x DESC NULLS LAST");
    let up = down.replace("ORDER BY x", "ORDER BY x NULLS FIRST");
    up.replace('\u{1}', " ")
}

/// What was compared, and what of it differs.
#[derive(Default)]
struct Tally {
    compared: usize,
    left_out: usize,
    differ: Vec<String>,
}

impl Tally {
    fn statement(&mut self, (mine, yours): (&mut Connection, &mut Theirs), sql: (&str, &str)) {
        let (said, expected) = (ours(mine, sql.0), yours.ask(sql.1));
        self.compared += 1;
        if said.is_ok() != expected.is_ok() {
            let text = format!("{}\n  ours: {said:?}\n  PostgreSQL: {expected:?}", sql.0);
            self.differ.push(text);
        }
    }

    fn query(&mut self, (mine, yours): (&mut Connection, &mut Theirs), query: &Query) {
        let theirs = with_nulls_in_place(&query.theirs);
        let expected = match yours.ask(&theirs) {
            Err(error) if error.starts_with(NOT_DONE) => {
                self.left_out += 1;
                return;
            }
            other => other,
        };
        self.compared += 1;
        let sorted = |mut rows: Vec<String>| {
            if !query.ordered {
                rows.sort();
            }
            rows
        };
        let (said, expected) = (ours(mine, &query.ours).map(sorted), expected.map(sorted));
        if said.is_err() || said != expected {
            let (sql, theirs) = (&query.ours, theirs);
            let text = format!("{sql}\n{theirs}\n  ours: {said:?}\n  PostgreSQL: {expected:?}");
            self.differ.push(text);
        }
    }
}

/// One schema: changes, by themselves and in transactions that are kept or not, and queries between.
fn round(dice: &mut Dice, theirs: &mut Theirs, tally: &mut Tally) {
    let mut connection = connect();
    let both = &mut connection;
    for sql in ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"] {
        theirs.ask(sql).unwrap();
    }
    let schema = Schema::random(dice);
    for sql in schema.tables(dice) {
        tally.statement((both, theirs), (&sql, &sql));
    }
    for sql in schema.indexes(dice) {
        ours(both, &sql).unwrap();
    }
    let mut open = false;
    for _ in 0..STATEMENTS {
        match (dice.below(12), open) {
            (0, false) => {
                tally.statement((both, theirs), ("BEGIN TRANSACTION", "BEGIN"));
                open = true;
            }
            (0, true) => {
                let end = ["COMMIT", "ROLLBACK"][dice.below(2)];
                tally.statement((both, theirs), (end, end));
                open = false;
            }
            (1..5, _) => {
                let change = schema.change(dice);
                tally.statement((both, theirs), (&change.ours, &change.theirs));
                let before = tally.differ.len();
                for query in schema.contents() {
                    tally.query((both, theirs), &query);
                }
                if tally.differ.len() > before {
                    tally
                        .differ
                        .push(format!("after {}\n{}", change.ours, change.theirs));
                }
            }
            _ => tally.query((both, theirs), &schema.query(dice)),
        }
    }
    if open {
        tally.statement((both, theirs), ("ROLLBACK", "ROLLBACK"));
    }
}

#[test]
fn random_statements_give_what_postgresql_gives() {
    let Some(mut theirs) = Theirs::start() else {
        println!("PostgreSQL is not installed here, or does not start: nothing is compared");
        return;
    };
    let seed = test_seed();
    println!("random statements: FURROW_SEED={seed}");
    let rounds = std::env::var("FURROW_ROUNDS").ok();
    let rounds = rounds.and_then(|n| n.parse().ok()).unwrap_or(6);
    let (mut dice, mut tally) = (Dice(seed), Tally::default());
    for _ in 0..rounds {
        round(&mut dice, &mut theirs, &mut tally);
    }
    let (compared, left_out) = (tally.compared, tally.left_out);
    println!("{compared} compared, {left_out} left out");
    let shown: Vec<&str> = tally.differ.iter().take(8).map(String::as_str).collect();
    assert!(
        shown.is_empty(),
        "FURROW_SEED={seed}: {} differ:\n{}",
        tally.differ.len(),
        shown.join("\n\n")
    );
    // A different answer is noticed.
    let query = |ours: &str, theirs: &str| Query {
        ours: ours.to_owned(),
        theirs: theirs.to_owned(),
        ordered: true,
    };
    let mut connection = connect();
    for (ours, yours) in [
        ("SELECT 1", "SELECT 2"),
        ("SELECT 1", "SELECT 1 WHERE 1 = 2"),
    ] {
        tally.query((&mut connection, &mut theirs), &query(ours, yours));
    }
    tally.statement((&mut connection, &mut theirs), ("SELECT 1", "SELECT"));
    tally.statement(
        (&mut connection, &mut theirs),
        ("SELECT 1", "SELECT nothing"),
    );
    assert_eq!(tally.differ.len(), 3);
}
