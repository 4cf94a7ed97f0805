//! A counter that survives a crash: kill the process at any moment (`kill -9`) and start it again. It
//! continues at the number that it printed last, or at the next one, never at an earlier one.
//!
//! `cargo run --example crash_counter -- DIR`: the database stays in the directory between runs.

use furrow::{ColumnSpec, Database, TableSpec, sql};
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: crash_counter DIR [COUNTS]");
        return Ok(());
    };
    let most: i64 = std::env::args()
        .nth(2)
        .map_or(Ok(i64::MAX), |text| text.parse())?;
    fs::create_dir_all(&dir)?;
    let primary = dir.join("counter.mdf");
    let db = if primary.try_exists()? {
        Database::open(&primary)?
    } else {
        Database::create("counter").file(&primary).open()?
    };
    let mut session = db.session()?;
    let table = match session.table("counter") {
        Ok(table) => table,
        // 208: it was killed before the table was created.
        Err(error) if error.number() == 208 => session.create_table(
            &TableSpec::new("counter")
                .column(ColumnSpec::new("id", sql::INT).not_null())
                .column(ColumnSpec::new("value", sql::BIGINT).not_null())
                .primary_key(["id"]),
        )?,
        Err(error) => return Err(error.into()),
    };
    let found = session
        .get(&table, 1)?
        .map(|row| row.get::<i64>("value"))
        .transpose()?;
    let mut value = found.unwrap_or(0);
    println!("found {value}");
    if found.is_none() {
        session.insert(&table, (1, 0_i64))?;
    }
    for _ in 0..most {
        value += 1;
        // Outside of a transaction each statement commits by itself, and is durable when it returns.
        session.update(&table, 1, &["value"], value)?;
        println!("{value}");
    }
    Ok(())
}
