//! An embedded database in one data file and one log: create a table, insert, read, reopen.
//!
//! `cargo run --example quickstart`

use furrow::{ColumnSpec, Database, TableSpec, sql};
use std::fs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("furrow-quickstart-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let primary = dir.join("notes.mdf");

    let db = Database::create("notes").file(&primary).open()?;
    let mut session = db.session()?;
    let notes = session.create_table(
        &TableSpec::new("notes")
            .column(ColumnSpec::new("id", sql::BIGINT).identity(1, 1))
            .column(ColumnSpec::new("text", sql::nvarchar(200)).not_null())
            .primary_key(["id"]),
    )?;
    for text in [
        "files are sown evenly",
        "commits are durable",
        "waits are counted",
    ] {
        let id = session.insert(&notes, text)?;
        println!("inserted {id:?}: {text}");
    }
    drop((session, notes));
    db.close()?;

    // Open the database again, as another process would.
    let db = Database::open(&primary)?;
    let mut session = db.session()?;
    let notes = session.table("notes")?;
    session.rows(&notes)?.for_each(|row| {
        println!("{}: {}", row.get::<i64>("id")?, row.get::<String>("text")?);
        Ok(())
    })?;
    drop((session, notes));
    db.close()?;
    Ok(fs::remove_dir_all(&dir)?)
}
