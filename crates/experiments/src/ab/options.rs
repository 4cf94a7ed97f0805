//! What may be chosen for a comparison.

use crate::drives::{Place, Places};
use crate::plugin::Start;
use crate::settings::Settings;
use crate::workloads::pace::Pace;
use clap::Args;
use furrow_io::{SystemVolume, read_file};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// Letters of a side's settings up to which they are its name.
const LONGEST_LABEL: usize = 60;
const QUICK_BYTES: u64 = 128 * MIB;
const USUAL_BYTES: u64 = 512 * MIB;
const QUICK_SECONDS: f64 = 3.0;
const USUAL_SECONDS: f64 = 10.0;

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// The first side: settings separated by `;` (default, trace flag N, -TN, -E, sp_configure NAME = VALUE,
    /// database OPTION, sql STATEMENT)
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "default",
        allow_hyphen_values = true
    )]
    a: String,
    /// The second side, compared with the first
    #[arg(long, value_name = "SETTINGS", allow_hyphen_values = true)]
    b: String,
    /// Script that makes the tables, run before each run [default: the table of the built-in load]
    #[arg(long, value_name = "FILE", requires = "load")]
    setup: Option<PathBuf>,
    /// Script that each session repeats; $(SESSION) is its number [default: inserts, as in datafiles]
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Sessions that work at the same time [default: 16]
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    #[command(flatten)]
    pace: Pace,
    /// Times that each session runs the script, whatever time that takes [default: as often as it can in
    /// --seconds, 10 or with --quick 3]
    #[arg(long, value_name = "N", requires = "load", conflicts_with = "seconds")]
    repeat: Option<u64>,
    /// Data that the built-in load inserts [default: 512MB, with --quick 128MB]
    #[arg(long, value_parser = size, value_name = "SIZE", conflicts_with = "load")]
    total: Option<u64>,
    /// Rows of a transaction of the built-in load [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "load")]
    rows_per_commit: Option<u64>,
    /// Data files [default: 1]
    #[arg(long, value_name = "N")]
    files: Option<u64>,
    /// All data files together [default: a quarter more than the load inserts]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    data: Option<u64>,
    /// Buffer pool [default: 128MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Transaction log [default: 64MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    log: Option<u64>,
    #[command(flatten)]
    place: Place,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first side.
    pub a: Settings,
    /// The second side.
    pub b: Settings,
    /// Text of the set-up script.
    pub setup: Option<String>,
    /// Text of the load script; `None` for the built-in load.
    pub load: Option<String>,
    /// Sessions.
    pub sessions: u32,
    /// How long the load lasts, and how much of it is due.
    pub pace: Pace,
    /// How often each session runs the script, where that is fixed.
    pub repeat: Option<u64>,
    /// Bytes that the built-in load inserts.
    pub total_bytes: u64,
    /// Rows of a transaction of the built-in load.
    pub rows_per_commit: u64,
    /// Data files.
    pub files: u64,
    /// All data files together.
    pub data_bytes: u64,
    /// The buffer pool.
    pub pool_bytes: u64,
    /// The log.
    pub log_bytes: u64,
    /// Where files lie.
    pub places: Places,
}

fn quick_seconds(start: &Start) -> f64 {
    if start.is_quick {
        QUICK_SECONDS
    } else {
        USUAL_SECONDS
    }
}

fn script(path: Option<&PathBuf>, start: &Start) -> Result<Option<String>, OptionsError> {
    let Some(path) = path.map(|path| start.path(path)) else {
        return Ok(None);
    };
    let read = |path: &Path| -> Result<String, String> {
        let bytes = read_file(&SystemVolume::new(), path).map_err(|e| e.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    };
    match read(&path) {
        Ok(text) => Ok(Some(text.trim_start_matches('\u{feff}').to_owned())),
        Err(why) => Err(OptionsError(format!(
            "{} cannot be read: {why}",
            path.display()
        ))),
    }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: &Typed, start: &Start) -> Result<Options, OptionsError> {
        let quick = |quick, usual| if start.is_quick { quick } else { usual };
        let total_bytes = typed.total.unwrap_or(quick(QUICK_BYTES, USUAL_BYTES));
        let options = Options {
            a: Settings::parse(&typed.a)?,
            b: Settings::parse(&typed.b)?,
            setup: script(typed.setup.as_ref(), start)?,
            load: script(typed.load.as_ref(), start)?,
            sessions: typed.sessions.unwrap_or(16),
            pace: Pace {
                // A script has no end of its own.
                seconds: match (&typed.load, typed.repeat) {
                    (Some(_), None) => {
                        let usual = quick_seconds(start);
                        Some(typed.pace.seconds.unwrap_or(usual))
                    }
                    _ => typed.pace.seconds,
                },
                ..typed.pace
            },
            repeat: typed.repeat,
            rows_per_commit: typed.rows_per_commit.unwrap_or(1),
            files: typed.files.unwrap_or(1),
            data_bytes: typed.data.unwrap_or(total_bytes / 100 * 125 + 16 * MIB),
            total_bytes,
            pool_bytes: typed.pool.unwrap_or(128 * MIB),
            log_bytes: typed.log.unwrap_or(64 * MIB),
            places: typed.place.resolve(start)?,
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        if self.a == self.b {
            return refuse("--a and --b are the same; give settings that differ");
        }
        if !(1..=1024).contains(&self.sessions) {
            return refuse("--sessions must be from 1 to 1024");
        }
        if !(1..=128).contains(&self.files) {
            return refuse("--files must be from 1 to 128");
        }
        self.pace.check()?;
        if self.repeat == Some(0) || self.rows_per_commit == 0 {
            return refuse("--repeat and --rows-per-commit must be 1 at least");
        }
        if self.load.is_none() && self.total_bytes < u64::from(self.sessions) * 64 * 1024 {
            return refuse("--total is too small: give 64KB for each session at least");
        }
        if self.pool_bytes < 4 * MIB || self.log_bytes < 2 * MIB {
            return refuse("--pool must be at least 4MB, --log at least 2MB");
        }
        Ok(())
    }

    /// Bytes of each data file.
    pub fn file_bytes(&self) -> u64 {
        let each = (self.data_bytes / self.files.max(1)).max(8 * MIB);
        each.div_ceil(64 << 10) * (64 << 10)
    }

    /// The load in one sentence.
    pub fn workload(&self) -> String {
        let pace = self.pace.words();
        let most = if self.pace.seconds.is_some() {
            "at most "
        } else {
            ""
        };
        let what = match (&self.load, self.repeat) {
            (None, _) => format!(
                "insert {most}{} of rows of 4.1 KB",
                size_text(self.total_bytes)
            ),
            (Some(_), Some(times)) => format!("run the load script {times} times each"),
            (Some(_), None) => "repeat the load script".to_owned(),
        };
        format!(
            "{} sessions {what}{pace}; {} of {}, log {}, pool {}",
            self.sessions,
            match self.files {
                1 => "1 data file".to_owned(),
                files => format!("{files} data files"),
            },
            size_text(self.file_bytes()),
            size_text(self.log_bytes),
            size_text(self.pool_bytes)
        ) + &self.sides_text()
    }

    /// What reports call the sides: their settings, or where those are long `side A` and `side B`.
    pub fn labels(&self) -> [String; 2] {
        let sides = [self.a.to_string(), self.b.to_string()];
        if sides.iter().all(|side| side.len() <= LONGEST_LABEL) {
            return sides;
        }
        ["side A".to_owned(), "side B".to_owned()]
    }

    /// The settings of both sides, where their names do not say them.
    fn sides_text(&self) -> String {
        let sides = [self.a.to_string(), self.b.to_string()];
        if self.labels() == sides {
            return String::new();
        }
        format!("; side A: {}; side B: {}", self.a, self.b)
    }

    /// The settings that the plan records, scripts included.
    pub fn settings(&self, version: &str) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("engine".to_owned(), version.to_owned()),
            ("load".to_owned(), self.workload()),
            (
                "rows-per-commit".to_owned(),
                self.rows_per_commit.to_string(),
            ),
        ]);
        let scripts = [("set-up script", &self.setup), ("load script", &self.load)];
        for (name, text) in scripts {
            if let Some(text) = text {
                settings.insert(name.to_owned(), text.clone());
            }
        }
        self.pace.record(&mut settings);
        self.places.record(&mut settings);
        settings
    }
}
