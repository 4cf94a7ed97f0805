//! An embedded database in one file pair: make a table, insert, read, reopen.
//!
//! `cargo run --example quickstart`

use furrow::{ColumnSpec, Database, TableSpec, sql};
use furrow_io::{SystemVolume, Volume};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("furrow-quickstart-{}", furrow_io::process::id()));
    SystemVolume::new().create_dir(&dir)?;
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

    // Another process, another day.
    let db = Database::open(&primary)?;
    let mut session = db.session()?;
    let notes = session.table("notes")?;
    session.rows(&notes)?.for_each(|row| {
        println!("{}: {}", row.get::<i64>("id")?, row.get::<String>("text")?);
        Ok(())
    })?;
    drop((session, notes));
    db.close()?;
    clean(&dir)
}

fn clean(dir: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let volume = SystemVolume::new();
    for path in volume.list(dir)? {
        volume.remove(&path)?;
    }
    Ok(volume.remove(dir)?)
}
