//! The same queries to SQLite and to us: random tables, rows and queries of the dialect that both share
//! must give the same rows. The seed is printed; `FURROW_SEED` replays it, `FURROW_ROUNDS` asks for more
//! rounds.
//!
//! Left out is what the two mean differently: text that is not of small letters, division by zero, arithmetic
//! that may overflow, comparisons of text with numbers.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/queries.rs"]
mod queries;

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::random::test_seed;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use queries::{Dice, Schema};

fn rounds() -> usize {
    let asked = std::env::var("FURROW_ROUNDS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(12)
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
    match value {
        Value::Null => "NULL".to_owned(),
        value => match (value.as_str(), value.as_i64()) {
            (Some(text), _) => format!("'{text}'"),
            (_, Some(number)) => number.to_string(),
            _ => value.to_string(),
        },
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

fn theirs(db: &rusqlite::Connection, sql: &str) -> Result<Vec<String>, String> {
    let mut statement = db.prepare(sql).map_err(|e| e.to_string())?;
    let columns = statement.column_count();
    let mut rows = statement.query([]).map_err(|e| e.to_string())?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next().map_err(|e| e.to_string())? {
        let mut line = Vec::new();
        for at in 0..columns {
            line.push(match row.get_ref(at).map_err(|e| e.to_string())? {
                rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                rusqlite::types::ValueRef::Integer(n) => n.to_string(),
                rusqlite::types::ValueRef::Text(text) => {
                    format!("'{}'", String::from_utf8_lossy(text))
                }
                other => format!("{other:?}"),
            });
        }
        lines.push(line.join(", "));
    }
    Ok(lines)
}

fn both(
    connection: &mut Connection,
    db: &rusqlite::Connection,
    (sql, yours): (&str, &str),
) -> Result<(), String> {
    let said = ours(connection, sql);
    let done = db.execute_batch(yours).map_err(|e| e.to_string());
    match (said, done) {
        (Ok(_), Ok(())) | (Err(_), Err(_)) => Ok(()),
        (said, done) => Err(format!(
            "{sql}\n{yours}\n  ours: {said:?}\n  SQLite: {done:?}"
        )),
    }
}

/// Compares the answers; rows in any order unless the query has one of its own. What asks for more memory
/// than there is has none.
fn compare(
    connection: &mut Connection,
    db: &rusqlite::Connection,
    query: &queries::Query,
) -> Result<(), String> {
    let said = ours(connection, &query.ours);
    if said.as_ref().is_err_and(|e| e.starts_with("Msg 701:")) {
        return Ok(());
    }
    let mut said = said.map_err(|e| format!("{}\n  ours: {e}", query.ours))?;
    let mut expected =
        theirs(db, &query.theirs).map_err(|e| format!("{}\n  SQLite: {e}", query.theirs))?;
    if !query.ordered {
        said.sort();
        expected.sort();
    }
    match said == expected {
        true => Ok(()),
        false => Err(format!(
            "{}\n  ours:   {}\n  SQLite: {}",
            query.ours,
            said.join(" | "),
            expected.join(" | ")
        )),
    }
}

/// One schema with its rows, changes to them, and queries between.
fn round(dice: &mut Dice) -> Vec<String> {
    let mut connection = connect();
    let db = rusqlite::Connection::open_in_memory().unwrap();
    let schema = Schema::random(dice);
    let mut wrong = Vec::new();
    for sql in schema.tables(dice) {
        wrong.extend(both(&mut connection, &db, (&sql, &sql)).err());
    }
    for sql in schema.indexes(dice) {
        ours(&mut connection, &sql).unwrap();
    }
    for n in 0..120 {
        if n == 60 {
            // Next to nothing finds room in memory from now on: the same answers come through files.
            connection.limit_query_memory(0);
        }
        if n % 4 == 3 {
            let change = schema.change(dice);
            let texts = (change.ours.as_str(), change.theirs.as_str());
            wrong.extend(both(&mut connection, &db, texts).err());
            for query in schema.contents() {
                let after = |e| format!("after {}\n{}\n{e}", change.ours, change.theirs);
                wrong.extend(compare(&mut connection, &db, &query).err().map(after));
            }
        }
        let query = schema.query(dice);
        wrong.extend(compare(&mut connection, &db, &query).err());
    }
    wrong
}

#[test]
fn random_queries_give_what_sqlite_gives() {
    let seed = test_seed();
    println!("random queries: FURROW_SEED={seed}");
    let mut dice = Dice(seed);
    let mut wrong = Vec::new();
    for _ in 0..rounds() {
        wrong.extend(round(&mut dice));
    }
    let shown: Vec<&str> = wrong.iter().take(8).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "FURROW_SEED={seed}: {} differ:\n{}",
        wrong.len(),
        shown.join("\n\n")
    );
}

#[test]
fn a_different_answer_is_noticed() {
    let mut connection = connect();
    let db = rusqlite::Connection::open_in_memory().unwrap();
    let query = queries::Query {
        ours: "SELECT 1".to_owned(),
        theirs: "SELECT 2".to_owned(),
        ordered: true,
    };
    assert!(compare(&mut connection, &db, &query).is_err());
}
