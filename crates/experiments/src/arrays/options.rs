//! What may be chosen: numbers of files, places, and the arrays behind them.

use crate::plugin::Start;
use crate::proportional_fill::Scenario;
use crate::workloads::inserts::Layout;
use clap::{Args, ValueEnum};
use furrow_disks::VolumeSpec;
use furrow_disks::spec::ModelSpec;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const USUAL_BYTES: u64 = 256 * MIB;
const QUICK_BYTES: u64 = 48 * MIB;
const LEAST_FILE_BYTES: u64 = 8 * MIB;
/// The arrays of the published test. A scaled-down run would fit into a write cache, so the data arrays have
/// none; the log's array has one, as there.
const ONE: &str = "raid10:8x15k,stripe=128K";
const HALF: &str = "raid10:4x15k,stripe=128K";
const SPINDLE: &str = "15k";
const LOG: &str = "raid10:8x7k2,stripe=128K,cache=write-back:512M";

/// Where data files lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Site {
    /// All on one array.
    One,
    /// In turn on two arrays of half the drives.
    Two,
    /// As `two`, but all files are full except the last, which is empty.
    Added,
    /// All on one drive.
    Spindle,
}

impl Site {
    /// Its name as a level.
    pub fn word(self) -> &'static str {
        match self {
            Site::One => "one",
            Site::Two => "two",
            Site::Added => "added",
            Site::Spindle => "spindle",
        }
    }

    /// From the name.
    fn parse(word: &str) -> Option<Site> {
        let all = [Site::One, Site::Two, Site::Added, Site::Spindle];
        all.into_iter().find(|site| site.word() == word)
    }

    /// Names of its directories.
    pub fn directories(self) -> &'static [&'static str] {
        match self {
            Site::One => &["array-one"],
            Site::Two | Site::Added => &["array-a", "array-b"],
            Site::Spindle => &["spindle"],
        }
    }

    /// How files of so many stand when the load begins.
    pub(crate) fn scenario(self, files: u64) -> Scenario {
        match self {
            Site::Added if files > 1 => Scenario::Added,
            _ => Scenario::Equal,
        }
    }
}

/// The directory of the log.
pub(super) const LOG_DIRECTORY: &str = "array-log";

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: numbers of data files [default: 1,2,4,8,16, with --quick 1,2,8]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    files: Option<Vec<u64>>,
    /// Where data files lie; everything is compared with the first [default: one,two,added,spindle, with
    /// --quick one,two]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD,...")]
    places: Option<Vec<Site>>,
    /// Model of the one array [default: raid10:8x15k,stripe=128K]
    #[arg(long, value_name = "SPEC")]
    array: Option<String>,
    /// Model of each of the two arrays [default: raid10:4x15k,stripe=128K]
    #[arg(long, value_name = "SPEC")]
    half: Option<String>,
    /// Model of the single drive [default: 15k]
    #[arg(long, value_name = "SPEC")]
    spindle: Option<String>,
    /// Model of the log's array [default: raid10:8x7k2,stripe=128K,cache=write-back:512M]
    #[arg(long, value_name = "SPEC")]
    log_array: Option<String>,
    /// Directory whose real drives hold the bytes: they have to be faster than the models [default: --out]
    #[arg(long, value_name = "DIR")]
    volume: Option<PathBuf>,
    /// Sessions that insert at the same time [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    connections: Option<u32>,
    /// Data that all sessions together insert [default: 256MB, with --quick 48MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool; a small one makes checkpoints and write-back happen during the load [default: a quarter
    /// of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Transaction log; a small one makes checkpoints happen during the load [default: 16% of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    log: Option<u64>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Numbers of data files.
    pub files: Vec<u64>,
    /// Where they lie.
    pub sites: Vec<Site>,
    /// The models: of the one array, of each of the two, of the single drive, of the log.
    pub models: [ModelSpec; 4],
    /// The directory that holds the bytes.
    pub volume: Option<PathBuf>,
    /// Sessions.
    pub connections: u32,
    /// Bytes of data pages that all sessions together fill.
    pub total_bytes: u64,
    /// The buffer pool.
    pub pool_bytes: u64,
    /// The log.
    pub log_bytes: u64,
}

/// Reads a model as it is typed behind `model=`.
fn model(option: &str, typed: Option<String>, usual: &str) -> Result<ModelSpec, OptionsError> {
    let text = typed.unwrap_or_else(|| usual.to_owned());
    let read = ModelSpec::parse(&format!("model={text}"));
    read.map_err(|error| OptionsError(format!("{option} {text}: {error}")))
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        let quick = start.is_quick;
        let files: &[u64] = if quick { &[1, 2, 8] } else { &[1, 2, 4, 8, 16] };
        let sites: &[Site] = if quick {
            &[Site::One, Site::Two]
        } else {
            &[Site::One, Site::Two, Site::Added, Site::Spindle]
        };
        let usual = if quick { QUICK_BYTES } else { USUAL_BYTES };
        let total_bytes = typed.total.unwrap_or(usual);
        let page = |bytes: u64| bytes.div_ceil(64 << 10) * (64 << 10);
        let options = Options {
            files: typed.files.unwrap_or_else(|| files.to_vec()),
            sites: typed.places.unwrap_or_else(|| sites.to_vec()),
            models: [
                model("--array", typed.array, ONE)?,
                model("--half", typed.half, HALF)?,
                model("--spindle", typed.spindle, SPINDLE)?,
                model("--log-array", typed.log_array, LOG)?,
            ],
            volume: typed.volume.map(|dir| start.path(&dir)),
            connections: typed.connections.unwrap_or(16),
            total_bytes,
            pool_bytes: page(typed.pool.unwrap_or(total_bytes / 4).max(4 * MIB)),
            log_bytes: page(typed.log.unwrap_or(total_bytes / 100 * 16).max(2 * MIB)),
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: String| Err(OptionsError(text));
        if self.files.is_empty() || self.files.iter().any(|&n| !(1..=128).contains(&n)) {
            return refuse("--files takes numbers from 1 to 128, such as --files 1,2,8".into());
        }
        if self.files.len() * self.sites.len() < 2 {
            return refuse(
                "one level has nothing to be compared with; give several, such as --files 1,8"
                    .into(),
            );
        }
        let least = 8 * u64::from(self.connections) * 8192;
        if !(least..=1 << 40).contains(&self.total_bytes) {
            return refuse(format!(
                "--total must be from {}KB to 1TB for {} connections",
                least >> 10,
                self.connections
            ));
        }
        if let Some(dir) = self.volume.as_ref().filter(|dir| !dir.is_dir()) {
            return refuse(format!(
                "--volume {} is not a directory that is there; make it first",
                dir.display()
            ));
        }
        Ok(())
    }

    /// Every directory with its model, below `base`. Directories of places that are not used are left out.
    pub fn drives(&self, base: &Path) -> Vec<VolumeSpec> {
        let [one, half, spindle, log] = &self.models;
        let mut drives: Vec<VolumeSpec> = Vec::new();
        let mut add = |name: &str, model: &ModelSpec| {
            let dir = base.join(name);
            if !drives.iter().any(|known| known.dir == dir) {
                drives.push(VolumeSpec {
                    dir,
                    model: Some(model.clone()),
                });
            }
        };
        for site in &self.sites {
            let model = match site {
                Site::One => one,
                Site::Two | Site::Added => half,
                Site::Spindle => spindle,
            };
            for name in site.directories() {
                add(name, model);
            }
        }
        add(LOG_DIRECTORY, log);
        drives
    }

    /// Rows that all sessions insert.
    pub fn rows(&self) -> u64 {
        Layout::Sequential.rows(self.total_bytes)
    }

    /// Bytes that the data files have free for the load, together.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.total_bytes / 100 * 125 + LEAST_FILE_BYTES
    }

    /// What is varied.
    pub fn factors(&self) -> Vec<Factor> {
        let words: Vec<&str> = self.sites.iter().map(|site| site.word()).collect();
        let mut factors = vec![Factor::counts("files", &self.files)];
        if words.len() > 1 {
            factors.push(Factor::words("place", &words));
        }
        factors
    }

    /// Files and place of a run.
    pub(crate) fn of_cell(&self, cell: &Cell) -> (u64, Site) {
        let typed = cell.level("place");
        let site = typed.and_then(|level| Site::parse(&level.key));
        let first = self.sites.first().copied().unwrap_or(Site::One);
        (cell.count("files").unwrap_or(1), site.unwrap_or(first))
    }

    /// The load in one sentence.
    pub fn workload(&self) -> String {
        format!(
            "{} sessions insert {} of rows of 4.1 KB on an ascending clustered key, one row a durable \
             commit; log {}, pool {}",
            self.connections,
            size_text(self.total_bytes),
            size_text(self.log_bytes),
            size_text(self.pool_bytes)
        )
    }

    /// What is the same in every run.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([("load".to_owned(), self.workload())]);
        let names = [
            "one array",
            "each of two arrays",
            "single drive",
            "log array",
        ];
        for (name, model) in names.into_iter().zip(&self.models) {
            settings.insert(name.to_owned(), model.describe());
        }
        if let Some(volume) = &self.volume {
            settings.insert("volume".to_owned(), volume.display().to_string());
        }
        settings
    }
}
