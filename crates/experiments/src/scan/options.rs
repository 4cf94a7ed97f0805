//! What may be chosen for a scan.

use super::queries::Query;
use crate::layouts::{layouts, record_layouts};
use crate::plugin::Start;
use crate::workloads::order_entry::Scale;
use clap::Args;
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;
const QUICK_BYTES: u64 = 128 * MIB;
const USUAL_BYTES: u64 = 1024 * MIB;

/// What is in memory when a scan begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The whole table.
    Warm,
    /// Nothing of it.
    Cold,
}

impl Cache {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        }
    }

    fn parse(text: &str) -> Result<Cache, String> {
        let known = [Cache::Warm, Cache::Cold].into_iter();
        let mut found = known.filter(|cache| cache.word() == text);
        found.next().ok_or_else(|| "write warm or cold".to_owned())
    }
}

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: numbers of data files; the others are compared with the first [default: 1,2,4,8]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    files: Option<Vec<u64>>,
    /// What is in memory when a scan begins: warm, cold, or both [default: warm,cold]
    #[arg(long, value_delimiter = ',', value_parser = Cache::parse, value_name = "WORD,...")]
    cache: Option<Vec<Cache>>,
    /// Layouts of volumes, separated by `|`; each is a list of directories that files are dealt to in turn,
    /// such as 'a|a,b' [default: in --out]
    #[arg(long, value_name = "DIR,..|..")]
    layouts: Option<String>,
    /// What is asked: count (all rows of one large table), or a report over the tables of the order-entry
    /// load: stock-value, best-sellers, delayed-orders; several make a factor [default: count]
    #[arg(long, value_delimiter = ',', value_parser = Query::parse, value_name = "WORD,...")]
    query: Option<Vec<Query>>,
    /// Levels: numbers of threads that a scan is divided among (MAXDOP); several make a factor [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    dop: Option<Vec<u32>>,
    /// Warehouses that reports read, of about 80 MB each [default: 1]
    #[arg(long, value_name = "N")]
    warehouses: Option<u32>,
    /// One part in so many of the customers, orders and items of a warehouse: 1, 10 or 100 [default: 1, with
    /// --quick 10]
    #[arg(long, value_name = "N")]
    part: Option<u32>,
    /// Users that run the order-entry load beside a report or a scan, with --cache warm [default: 0]
    #[arg(long, value_name = "N")]
    beside: Option<u32>,
    /// Sessions that scan at the same time [default: 1]
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    /// Size of the table [default: 1GB, with --quick 128MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool [default: a quarter more than --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Levels: numbers of data files.
    pub files: Vec<u64>,
    /// What is in memory when a scan begins.
    pub caches: Vec<Cache>,
    /// Layouts by name; a layout without directories lies in the output directory.
    pub layouts: Vec<(String, Vec<PathBuf>)>,
    /// What is asked.
    pub queries: Vec<Query>,
    /// Threads that a scan is divided among.
    pub dops: Vec<u32>,
    /// The tables of the order-entry load.
    pub(super) scale: Scale,
    /// Users that run that load meanwhile.
    pub beside: u32,
    /// Sessions.
    pub sessions: u32,
    /// Bytes of the table.
    pub total_bytes: u64,
    /// The buffer pool.
    pub pool: Option<u64>,
}

/// The tables of the order-entry load.
fn scale_of(typed: &Typed, start: &Start) -> Result<Scale, OptionsError> {
    let part = typed.part.unwrap_or(if start.is_quick { 10 } else { 1 });
    if !matches!(part, 1 | 10 | 100) {
        return Err(OptionsError("--part must be 1, 10 or 100".to_owned()));
    }
    Ok(Scale::part(typed.warehouses.unwrap_or(1), part))
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: &Typed, start: &Start) -> Result<Options, OptionsError> {
        let usual = if start.is_quick {
            QUICK_BYTES
        } else {
            USUAL_BYTES
        };
        let none = || vec![(String::new(), Vec::new())];
        let options = Options {
            files: typed.files.clone().unwrap_or_else(|| vec![1, 2, 4, 8]),
            caches: typed
                .cache
                .clone()
                .unwrap_or_else(|| vec![Cache::Warm, Cache::Cold]),
            layouts: match &typed.layouts {
                Some(text) => layouts(text, start)?,
                None => none(),
            },
            queries: typed.query.clone().unwrap_or_else(|| vec![Query::Count]),
            dops: typed.dop.clone().unwrap_or_else(|| vec![1]),
            scale: scale_of(typed, start)?,
            beside: typed.beside.unwrap_or(0),
            sessions: typed.sessions.unwrap_or(1),
            total_bytes: typed.total.unwrap_or(usual),
            pool: typed.pool,
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        if self.files.is_empty() || self.files.iter().any(|&n| !(1..=128).contains(&n)) {
            return refuse("--files takes numbers from 1 to 128, such as --files 1,2,4,8");
        }
        if self.queries.is_empty() {
            return refuse("--query takes words such as --query count,best-sellers");
        }
        if self.dops.is_empty() || self.dops.iter().any(|n| !(1..=64).contains(n)) {
            return refuse("--dop takes numbers from 1 to 64, such as --dop 1,2");
        }
        let cells = self.files.len() * self.caches.len() * self.layouts.len();
        if cells * self.queries.len() * self.dops.len() < 2 {
            return refuse(
                "one level has nothing to be compared with; give several, such as --files 1,4",
            );
        }
        if !(1..=256).contains(&self.sessions) {
            return refuse("--sessions must be from 1 to 256");
        }
        if !(1..=10_000).contains(&self.scale.warehouses) {
            return refuse("--warehouses must be from 1 to 10000");
        }
        if self.beside > 0 && self.caches.contains(&Cache::Cold) {
            return refuse(
                "--beside goes with --cache warm alone: users read the pages of a cold cache before a scan \
                 does",
            );
        }
        if self.beside > 2000 {
            return refuse("--beside must be from 0 to 2000 users");
        }
        if self.total_bytes < MIB || self.total_bytes > 1 << 40 {
            return refuse("--total must be from 1MB to 1TB");
        }
        Ok(())
    }

    /// Whether any scan is divided among threads.
    pub(super) fn is_parallel(&self) -> bool {
        self.dops.iter().any(|dop| *dop > 1)
    }

    /// Whether databases have the tables of the order-entry load.
    pub(super) fn has_orders(&self) -> bool {
        self.beside > 0 || self.queries.iter().any(|query| query.is_report())
    }

    /// Whether databases have the large table.
    pub(super) fn has_scanned(&self) -> bool {
        self.queries.contains(&Query::Count)
    }

    /// Bytes of all tables.
    fn bytes(&self) -> u64 {
        let scanned = if self.has_scanned() {
            self.total_bytes
        } else {
            0
        };
        let orders = if self.has_orders() {
            self.scale.bytes()
        } else {
            0
        };
        scanned + orders
    }

    /// Bytes of each data file: all databases have the same total.
    pub fn file_bytes(&self, files: u64) -> u64 {
        let all = self.bytes() / 100 * 120 + 8 * MIB;
        (all / files.max(1)).max(4 * MIB).div_ceil(64 << 10) * (64 << 10)
    }

    /// The log of each database.
    pub fn log_bytes(&self) -> u64 {
        (self.bytes() / 8).clamp(64 * MIB, 1024 * MIB)
    }

    /// The buffer pool.
    pub(crate) fn pool_bytes(&self) -> u64 {
        let bytes = self.pool.unwrap_or(self.bytes() / 4 * 5 + 16 * MIB);
        bytes.next_multiple_of(MIB)
    }

    /// The load in one sentence.
    pub fn workload(&self) -> String {
        let who = match self.sessions {
            1 => "one session scans".to_owned(),
            n => format!("{n} sessions scan"),
        };
        let s = if self.sessions == 1 { "s" } else { "" };
        let mut words = Vec::new();
        if self.has_scanned() {
            words.push(format!(
                "{who} a table of {} in key order and count{s} its rows",
                size_text(self.total_bytes)
            ));
        }
        let reports = self.queries.iter().filter(|query| query.is_report());
        let reports: Vec<&str> = reports.map(|query| query.word()).collect();
        if !reports.is_empty() {
            words.push(format!(
                "{} run{s} a report over {} of the order-entry load ({})",
                who.trim_end_matches(" scans").trim_end_matches(" scan"),
                self.scale.warehouses_text(),
                reports.join(", ")
            ));
        }
        if self.beside > 0 {
            words.push(format!(
                "beside {} users of the order-entry load",
                self.beside
            ));
        }
        words.push(format!("pool {}", size_text(self.pool_bytes())));
        words.join("; ")
    }

    /// The settings that the plan records.
    pub fn settings(&self, version: &str) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("engine".to_owned(), version.to_owned()),
            ("load".to_owned(), self.workload()),
        ]);
        let caches: Vec<&str> = self.caches.iter().map(|cache| cache.word()).collect();
        settings.insert("cache".to_owned(), caches.join(","));
        if self.dops != [1] {
            let dops: Vec<String> = self.dops.iter().map(u32::to_string).collect();
            settings.insert("dop".to_owned(), dops.join(","));
        }
        if self.has_orders() {
            let queries: Vec<&str> = self.queries.iter().map(|query| query.word()).collect();
            settings.insert("query".to_owned(), queries.join(","));
        }
        record_layouts(&self.layouts, &mut settings);
        settings
    }
}
