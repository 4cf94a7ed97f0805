//! One table over several volumes, filled in proportion to free space: each file gets its share, and a file
//! that is added later gets more until it is as full as the others.
//!
//! `cargo run --example many_files -- DIR [DIR...]`: a directory on each volume. Without arguments it uses
//! two directories in the system's temporary directory.

use furrow::{ColumnSpec, DataFile, Database, TableSpec, sql};
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let own = std::env::temp_dir().join(format!("furrow-files-{}", std::process::id()));
    let volumes = if named.is_empty() {
        vec![own.join("a"), own.join("b")]
    } else {
        named
    };
    let mut create = Database::create("sown");
    let mut made = Vec::new();
    for (n, dir) in volumes.iter().enumerate() {
        fs::create_dir_all(dir)?;
        let name = if n == 0 {
            "sown1.mdf".to_string()
        } else {
            format!("sown{}.ndf", n + 1)
        };
        made.push(dir.join(&name));
        create = create.file(DataFile::new(dir.join(name)).size_mb(16));
    }
    let db = create.open()?;
    // The targets of proportional fill go to the error log.
    db.set_trace_flag(1165)?;
    db.set_trace_flag(3605)?;
    let mut session = db.session()?;
    let table = session.create_table(
        &TableSpec::new("seeds")
            .column(ColumnSpec::new("id", sql::BIGINT).identity(1, 1))
            .column(
                ColumnSpec::new("filler", sql::char(4000))
                    .not_null()
                    .default_value("."),
            )
            .primary_key(["id"]),
    )?;
    fill(&mut session, &table)?;
    show(&db)?;
    let late = volumes
        .first()
        .map_or_else(PathBuf::new, |dir| dir.join("late.ndf"));
    println!("a file twice as large is added");
    db.add_file(DataFile::new(&late).size_mb(32), None)?;
    made.push(late);
    fill(&mut session, &table)?;
    show(&db)?;
    for line in db
        .error_log(200)
        .iter()
        .filter(|line| line.contains("m_cAllocs"))
    {
        println!("{line}");
    }
    drop((session, table));
    db.close()?;
    clean(&own, &made)
}

fn fill(
    session: &mut furrow::Session,
    table: &std::sync::Arc<furrow::Table>,
) -> Result<(), furrow::Error> {
    let mut transaction = session.transaction()?;
    let mut insert = transaction.inserter(table, &[])?;
    for _ in 0..1000 {
        insert.row(())?;
    }
    drop(insert);
    transaction.commit()
}

fn show(db: &Database) -> Result<(), furrow::Error> {
    for file in db.files()?.iter().filter(|file| file.filegroup > 0) {
        let free_mb = file.free_extents * 64 / 1024;
        println!(
            "  {:<8} {:>4} MB, {free_mb:>3} MB free",
            file.name,
            file.size_pages * 8 / 1024
        );
    }
    Ok(())
}

/// Removes the files that this example created, and its own directories.
fn clean(own: &std::path::Path, made: &[PathBuf]) -> Result<(), Box<dyn std::error::Error>> {
    for path in made {
        let guard = PathBuf::from(format!("{}.dw", path.display()));
        for path in [path.clone(), guard, path.with_file_name("sown1_log.ldf")] {
            if path.try_exists()? {
                fs::remove_file(&path)?;
            }
        }
    }
    if own.try_exists()? {
        fs::remove_dir_all(own)?;
    }
    Ok(())
}
