//! Opens a real SQL Server data file, versions 2005 to 2022, without a server: tables, then the first rows of
//! each.
//!
//! `cargo run --example read_mdf -- FILE.mdf [SECONDARY.ndf...]`

use furrow::mdf::{Database, MdfImage};
use std::fs;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let Some((primary, others)) = paths.split_first() else {
        eprintln!("usage: read_mdf FILE.mdf [SECONDARY.ndf...]");
        return Ok(());
    };
    let mut image = MdfImage::open(&fs::read(primary)?)?;
    for path in others {
        image.add_file(&fs::read(path)?)?;
    }
    let database = Database::open(&image)?;
    println!("version {}", database.version());
    for table in database.tables() {
        println!(
            "\n{}.{}: {} rows",
            table.schema, table.name, table.row_count
        );
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        println!("  {}", names.join(" | "));
        for row in database.rows(&table)?.take(3) {
            let words: Vec<String> = row?.iter().map(short).collect();
            println!("  {}", words.join(" | "));
        }
    }
    Ok(())
}

/// A value in at most 24 characters.
fn short(value: &furrow::Value) -> String {
    value
        .to_string()
        .chars()
        .filter(|c| !c.is_control())
        .take(24)
        .collect()
}
