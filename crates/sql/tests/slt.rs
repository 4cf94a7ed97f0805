//! sqllogictest files: each `tests/slt/TOPIC.slt` is run on an instance of its own in memory.
//! `FURROW_SLT=name` runs only the files whose name has it; `FURROW_BLESS=1` writes the results anew: read
//! the difference.
//!
//! How values are written: `tests/slt/README.md`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::{SystemVolume, Volume, read_file, write_file};
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use std::path::{Path, PathBuf};

/// Our side of the runner's interface.
struct Furrow {
    connection: Connection,
}

/// What a statement was refused with, as the files name it.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn shown(value: &Value) -> String {
    if value.as_str() == Some("") {
        return "(empty)".to_owned();
    }
    let mut text = String::new();
    write_value(value, &mut text);
    // Blanks at either end would be lost in the file.
    let inner = text.trim_matches(' ');
    let dots = |n: usize| "_".repeat(n);
    let before = text.len() - text.trim_start_matches(' ').len();
    let after = text.len() - before - inner.len();
    format!("{}{}{}", dots(before), inner.replace(' ', "_"), dots(after))
}

impl DB for Furrow {
    type Error = Refused;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Refused> {
        let mut kept = Kept::default();
        self.connection.execute(sql, &mut kept);
        if let Some(error) = kept.errors().first() {
            return Err(Refused(format!("Msg {}: {}", error.number, error.text)));
        }
        match kept.sets.pop() {
            Some(set) => Ok(DBOutput::Rows {
                types: vec![DefaultColumnType::Any; set.columns.len()],
                rows: set
                    .rows
                    .iter()
                    .map(|row| row.iter().map(shown).collect())
                    .collect(),
            }),
            None => Ok(DBOutput::StatementComplete(
                kept.counts.iter().copied().sum(),
            )),
        }
    }

    fn engine_name(&self) -> &str {
        "furrow"
    }
}

fn connect() -> Furrow {
    let instance = Instance::in_memory(InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    })
    .unwrap();
    let server = Server::start(instance).unwrap();
    Furrow {
        connection: server.connect().unwrap(),
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt")
}

fn files() -> Vec<PathBuf> {
    let only = std::env::var("FURROW_SLT").unwrap_or_default();
    let mut found = SystemVolume::new().list(&directory()).unwrap();
    found.retain(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".slt") && name.contains(&only)
    });
    found.sort();
    found
}

fn read(path: &Path) -> String {
    String::from_utf8(read_file(&SystemVolume::new(), path).unwrap()).unwrap()
}

/// The text of a file with what the statements say now. Only results are written anew; where an error was
/// expected and none came, or the other way round, it is left for the run to complain about.
fn blessed(text: &str) -> String {
    let mut furrow = connect();
    let mut out = String::new();
    for block in text.trim_end().split("\n\n") {
        let mut lines = block.lines();
        let head = lines.find(|l| !l.starts_with('#')).unwrap_or_default();
        let sql: Vec<&str> = lines.take_while(|l| *l != "----").collect();
        let ran = furrow.run(&sql.join("\n"));
        match ran {
            Ok(DBOutput::Rows { rows, .. }) if head.starts_with("query") => {
                for line in block.lines().take_while(|l| *l != "----") {
                    out.push_str(line);
                    out.push('\n');
                }
                out.push_str("----\n");
                let mut rows: Vec<String> = rows.iter().map(|r| r.join(" ")).collect();
                if head.contains("rowsort") {
                    rows.sort();
                }
                for row in rows {
                    out.push_str(&row);
                    out.push('\n');
                }
            }
            _ => {
                out.push_str(block);
                out.push('\n');
            }
        }
        out.push('\n');
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
    out
}

fn run(path: &Path, text: &str) -> Result<(), String> {
    let mut runner = Runner::new(|| async { Ok(connect()) });
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let done = runner.run_script_with_name(text, name.into_owned());
    done.map_err(|e| e.to_string())
}

#[test]
fn every_file_gives_what_is_written_in_it() {
    let bless = std::env::var_os("FURROW_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let text = read(&path);
        if bless {
            let volume = SystemVolume::new();
            let anew = blessed(&text);
            volume.remove(&path).unwrap();
            write_file(&volume, &path, anew.as_bytes()).unwrap();
        }
        wrong.extend(run(&path, &read(&path)).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// At least this many queries of our own, over all files.
const QUERIES: usize = 500;

#[test]
fn there_are_as_many_queries_as_were_promised() {
    if std::env::var_os("FURROW_SLT").is_some() {
        return;
    }
    let mut queries = 0;
    for path in files() {
        let records = sqllogictest::parse::<DefaultColumnType>(&read(&path)).unwrap();
        queries += records
            .iter()
            .filter(|r| matches!(r, Record::Query { .. }))
            .count();
    }
    assert!(queries >= QUERIES, "{queries}");
}

#[test]
fn a_wrong_result_is_noticed() {
    let wrong = "query I\nSELECT 1\n----\n2\n";
    assert!(run(Path::new("canary"), wrong).is_err());
    let no_error = "statement error\nSELECT 1\n";
    assert!(run(Path::new("canary"), no_error).is_err());
    let other_error = "statement error Msg 208\nSELECT 1/0\n";
    assert!(run(Path::new("canary"), other_error).is_err());
    let right = "query I\nSELECT 1\n----\n1\n";
    assert_eq!(run(Path::new("canary"), right), Ok(()));
}
