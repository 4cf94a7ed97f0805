//! Golden scripts: each `tests/golden/NAME.sql` is run on an instance of its own in memory, and what it
//! says must be `NAME.out`. `FURROW_BLESS=1` writes the `.out` files anew: read the difference before it is
//! committed.
//!
//! How results are written down: `tests/golden/README.md`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_format::types::Value;
use furrow_io::{SystemVolume, Volume, read_file, write_file};
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Notice, ResultColumn, Server, Sink};
use furrow_tsql::script::{self, Piece};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Writes down what a script says.
#[derive(Default)]
struct Writer {
    text: String,
}

impl Sink for Writer {
    fn columns(&mut self, columns: &[ResultColumn]) {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let _ = writeln!(self.text, "[{}]", names.join(" | "));
    }

    fn row(&mut self, row: &[Value]) {
        for (n, value) in row.iter().enumerate() {
            if n > 0 {
                self.text.push_str(" | ");
            }
            write_value(value, &mut self.text);
        }
        self.text.push('\n');
    }

    fn done(&mut self, rows: Option<u64>) {
        if let Some(rows) = rows {
            let _ = writeln!(self.text, "({rows} rows)");
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let message = &notice.message;
        if message.level <= 10 {
            let _ = writeln!(self.text, "-- {}", message.text);
            return;
        }
        let procedure = match &notice.procedure {
            Some(name) => format!(", Procedure {name}"),
            None => String::new(),
        };
        let _ = writeln!(
            self.text,
            "Msg {}, Level {}, State {}{procedure}, Line {}: {}",
            message.number, message.level, message.state, message.line, message.text
        );
    }
}

fn run(connection: &mut Connection, text: &str) -> String {
    let mut writer = Writer::default();
    for piece in script::split(text) {
        match piece {
            Piece::Batch(batch) => {
                for _ in 0..batch.count {
                    connection.execute(batch.text, &mut writer);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    writer.text
}

/// The text with points in time and session numbers made the same: what differs from run to run.
fn masked(text: &str) -> String {
    const TIME: &str = "dddd-dd-dd dd:dd:dd";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digit = |c: char| c.is_ascii_digit();
        let is_time = rest.len() > TIME.len()
            && TIME.chars().zip(rest.chars()).all(|(of, c)| match of {
                'd' => digit(c),
                of => of == c,
            });
        let (mask, length) = match rest.strip_prefix("spid") {
            Some(number) if number.starts_with(digit) => ("<spid>", 4),
            _ if is_time => ("<time>", TIME.len()),
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        out.push_str(mask);
        rest = rest[length..].trim_start_matches(|c| digit(c) || c == '.');
    }
    out
}

fn read(path: &Path) -> String {
    let bytes = read_file(&SystemVolume::new(), path).unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}

fn scripts() -> Vec<PathBuf> {
    let volume = SystemVolume::new();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut found: Vec<PathBuf> = volume
        .list(&directory)
        .unwrap()
        .into_iter()
        .filter(|p| p.extension().is_some_and(|e| e == "sql"))
        .collect();
    found.sort();
    found
}

#[test]
fn every_golden_script_says_what_is_written_down() {
    let bless = std::env::var_os("FURROW_BLESS").is_some();
    let only = std::env::var("FURROW_GOLDEN").ok();
    let mut wrong = Vec::new();
    let all = scripts();
    assert!(!all.is_empty());
    for path in all {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let text = read(&path);
        let instance = Instance::in_memory(InstanceConfig {
            pool_pages: 2048,
            ..InstanceConfig::default()
        })
        .unwrap();
        let server = Server::start(instance).unwrap();
        let mut connection = server.connect().unwrap();
        let mut said = run(&mut connection, &text);
        if name.starts_with("published_") {
            said = masked(&said);
        }
        let expected = path.with_extension("out");
        if bless {
            let volume = SystemVolume::new();
            if volume.exists(&expected).unwrap() {
                volume.remove(&expected).unwrap();
            }
            write_file(&volume, &expected, said.as_bytes()).unwrap();
            continue;
        }
        let written = read(&expected);
        if written != said {
            let differs = written
                .lines()
                .zip(said.lines())
                .position(|(a, b)| a != b)
                .unwrap_or(written.lines().count().min(said.lines().count()));
            let line = |text: &str| text.lines().nth(differs).unwrap_or("(nothing)").to_owned();
            wrong.push(format!(
                "{name}, line {}:\n  written: {}\n  said:    {}",
                differs + 1,
                line(&written),
                line(&said)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
