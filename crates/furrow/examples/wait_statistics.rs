//! Wait statistics: sixteen sessions insert, and the engine reports their waits.
//!
//! `cargo run --release --example wait_statistics`

use furrow::{ColumnSpec, Database, TableSpec, sql};
use std::{fs, thread};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("furrow-waits-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let db = Database::create("waits")
        .file(dir.join("waits.mdf"))
        .open()?;
    let table = db.session()?.create_table(
        &TableSpec::new("t")
            .column(ColumnSpec::new("id", sql::BIGINT).identity(1, 1))
            .column(ColumnSpec::new("v", sql::varchar(100)).not_null())
            .primary_key(["id"]),
    )?;
    thread::scope(|s| -> Result<(), Box<dyn std::error::Error>> {
        let mut workers = Vec::new();
        for _ in 0..16 {
            let (db, table) = (&db, &table);
            workers.push(s.spawn(move || -> Result<(), furrow::Error> {
                let mut session = db.session()?;
                let mut insert = session.inserter(table, &["v"])?;
                for _ in 0..500 {
                    insert.row("each row is a durable commit of its own")?;
                }
                Ok(())
            }));
        }
        for worker in workers {
            worker.join().map_err(|_| "a worker panicked")??;
        }
        Ok(())
    })?;
    println!(
        "{:<24} {:>8} {:>12} {:>10} {:>10}",
        "wait type", "waits", "total us", "max us", "signal us"
    );
    for wait in db.waits().iter().take(10) {
        let name = wait.wait_type.name();
        println!(
            "{name:<24} {:>8} {:>12} {:>10} {:>10}",
            wait.count, wait.total_us, wait.max_us, wait.signal_us
        );
    }
    println!(
        "\n{:<60} {:>8} {:>12} {:>10}",
        "file", "writes", "bytes", "mean us"
    );
    for file in db.file_stats() {
        let (count, bytes, mean) = (file.writes.count, file.writes.bytes, file.writes.mean_us());
        println!("{:<60} {count:>8} {bytes:>12} {mean:>10.0}", file.path);
    }
    drop(table);
    db.close()?;
    Ok(fs::remove_dir_all(&dir)?)
}
