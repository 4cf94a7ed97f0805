//! Golden scripts: each `tests/golden/NAME.sql` is run on an instance of its own in memory, and what it
//! says must be `NAME.out`. `FURROW_BLESS=1` writes the `.out` files anew: read the difference before it is
//! committed.
//!
//! How results are written down: `tests/golden/README.md`.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::{Duration, sleep};
use furrow_io::{SystemVolume, Volume, read_file, write_file};
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Notice, ResultColumn, Server, Sink};
use furrow_tsql::script::{self, Piece};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

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

/// A script under way: its connections, and those that run a batch by themselves.
struct Script {
    server: Arc<Server>,
    /// Those that do nothing, by name.
    idle: BTreeMap<String, Connection>,
    /// Those that run a batch.
    busy: BTreeMap<String, JoinHandle<(Connection, String)>>,
    /// The one that batches go to.
    current: String,
    /// The one that takes the next batch and runs it by itself.
    starting: Option<String>,
    said: String,
}

impl Script {
    fn new(server: Arc<Server>) -> Script {
        let first = server.connect().unwrap();
        Script {
            server,
            idle: BTreeMap::from([("main".to_owned(), first)]),
            busy: BTreeMap::new(),
            current: "main".to_owned(),
            starting: None,
            said: String::new(),
        }
    }

    fn connection(&mut self, name: &str) -> &mut Connection {
        let server = &self.server;
        assert!(!self.busy.contains_key(name), "{name} runs a batch");
        let made = || server.connect().unwrap();
        self.idle.entry(name.to_owned()).or_insert_with(made)
    }

    fn batch(&mut self, text: &str, count: u64) {
        if let Some(name) = self.starting.take() {
            return self.start(&name, text);
        }
        let name = self.current.clone();
        let mut writer = Writer::default();
        let connection = self.connection(&name);
        for _ in 0..count {
            connection.execute(text, &mut writer);
        }
        self.said.push_str(&writer.text);
    }

    /// Runs a batch beside the script; goes on when it waits or has come to its end.
    fn start(&mut self, name: &str, text: &str) {
        self.connection(name);
        let mut connection = self.idle.remove(name).unwrap();
        let id = connection.id();
        let text = text.to_owned();
        let running = spawn_named(name, move || {
            let mut writer = Writer::default();
            connection.execute(&text, &mut writer);
            (connection, writer.text)
        });
        self.busy.insert(name.to_owned(), running.unwrap());
        let waits = |server: &Server| {
            let views = server.connections();
            let view = views.iter().find(|v| v.id == id);
            let tasks = view.map(|v| v.task.instruments().tasks.waiting_tasks());
            tasks.is_some_and(|all| {
                all.iter().any(|w| {
                    let kind = w.wait_type.name();
                    w.session_id == id && (kind.starts_with("LCK_") || kind == "WAITFOR")
                })
            })
        };
        while !self.busy[name].is_finished() && !waits(&self.server) {
            sleep(Duration::from_millis(1));
        }
        match self.busy[name].is_finished() {
            true => self.wait(name),
            false => writeln!(self.said, "== {name} waits").unwrap(),
        }
    }

    /// Waits for the end of a batch that runs beside the script.
    fn wait(&mut self, name: &str) {
        let running = self.busy.remove(name).unwrap();
        let (connection, said) = running.join().unwrap();
        self.idle.insert(name.to_owned(), connection);
        writeln!(self.said, "== {name}").unwrap();
        self.said.push_str(&said);
        if name != self.current {
            writeln!(self.said, "== {}", self.current).unwrap();
        }
    }

    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [":connect", name] => {
                self.connection(name);
                self.current = (*name).to_owned();
                writeln!(self.said, "== {name}").unwrap();
            }
            [":start", name] => self.starting = Some((*name).to_owned()),
            [":wait", name] => self.wait(name),
            [":close", name] => {
                self.idle.remove(*name).unwrap();
            }
            _ => panic!("{line}"),
        }
    }

    fn run(mut self, text: &str) -> String {
        for piece in script::split(text) {
            match piece {
                Piece::Batch(batch) => self.batch(batch.text, batch.count),
                Piece::Command { text, .. } => self.command(text),
                other => panic!("{other:?}"),
            }
        }
        assert!(self.busy.is_empty(), "batches run on");
        self.said
    }
}

/// Whether `text` begins like `pattern`, where `d` stands for a digit.
fn begins(text: &str, pattern: &str) -> bool {
    let alike = |(of, c): (char, char)| match of {
        'd' => c.is_ascii_digit(),
        of => of == c,
    };
    text.len() >= pattern.len() && pattern.chars().zip(text.chars()).all(alike)
}

/// What differs from run to run: a pattern or a word before it, and what is written for it.
const MASKS: &[(&str, &str, &str)] = &[
    ("", "dddd-dd-dd dd:dd:dd", "<time>"),
    ("", "dd/dd dd:dd:dd", "<time>"),
    ("spid", "d", "<spid>"),
    ("m_lsn = (", "d", "m_lsn = (<lsn>"),
    ("m_tornBits = ", "", "m_tornBits = <bits>"),
    ("m_flagBits = 0x", "d", "m_flagBits = <flags>"),
    ("bdbid = ", "d", "bdbid = <id>"),
    ("    LSN           : (", "d", "    LSN           : (<lsn>"),
    ("    Start time    : ", "", "    Start time    : <time>"),
    ("-- Processed ", "d", "-- Processed <n>"),
    ("successfully processed ", "d", "successfully processed <n>"),
    (" pages in ", "d", " pages in <time>"),
    (" seconds (", "d", " seconds (<rate>"),
    (" LSN ", "d", " LSN <lsn>"),
];

/// The text with points in time, session numbers and the like made the same.
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = MASKS.iter().find_map(|(word, pattern, mask)| {
            let behind = rest.strip_prefix(word)?;
            begins(behind, pattern).then(|| (&behind[pattern.len()..], *mask))
        });
        match found {
            Some((behind, mask)) => {
                out.push_str(mask);
                let whole_line = mask.ends_with(": <time>");
                let more = |c: char| match whole_line {
                    true => c != '\n',
                    false => c.is_ascii_digit() || matches!(c, '.' | ':' | '-'),
                };
                rest = behind.trim_start_matches(more);
                if mask.ends_with("<bits>") || mask.ends_with("<id>") {
                    rest = rest.trim_start_matches(' ');
                    out.push(' ');
                }
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
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
        let mut said = Script::new(server).run(&text);
        if name.starts_with("published_") || text.starts_with("-- masked") {
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
