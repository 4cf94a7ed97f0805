//! What may be chosen for a check: degrees of parallelism, modes, the database.

use crate::drives::{Place, Places};
use crate::plugin::Start;
use crate::workloads::beside::users_text;
use crate::workloads::prepared::Contents;
use clap::{Args, ValueEnum};
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
const USUAL_BYTES: u64 = 1024 * MIB;
const QUICK_BYTES: u64 = 64 * MIB;

/// How the database is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Everything.
    Full,
    /// PHYSICAL_ONLY.
    Po,
    /// PHYSICAL_ONLY with trace flag 2549.
    #[value(name = "po-2549")]
    Po2549,
    /// PHYSICAL_ONLY with trace flag 2562.
    #[value(name = "po-2562")]
    Po2562,
    /// PHYSICAL_ONLY with both.
    #[value(name = "po-both")]
    PoBoth,
}

impl Mode {
    const ALL: [Mode; 5] = [
        Mode::Full,
        Mode::Po,
        Mode::Po2549,
        Mode::Po2562,
        Mode::PoBoth,
    ];

    /// Its name as a level.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Full => "full",
            Mode::Po => "po",
            Mode::Po2549 => "po-2549",
            Mode::Po2562 => "po-2562",
            Mode::PoBoth => "po-both",
        }
    }

    /// Its trace flags.
    pub fn flags(self) -> &'static [u32] {
        match self {
            Mode::Full | Mode::Po => &[],
            Mode::Po2549 => &[2549],
            Mode::Po2562 => &[2562],
            Mode::PoBoth => &[2549, 2562],
        }
    }

    /// What stands in WITH for it.
    fn option(self) -> &'static str {
        match self {
            Mode::Full => "",
            _ => "PHYSICAL_ONLY, ",
        }
    }
}

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: degrees of parallelism; everything is compared with the first [default: 1,2,4,8,16,32, with
    /// --quick 1,2,4]
    #[arg(long, value_delimiter = ',', value_name = "N,...",
        value_parser = clap::value_parser!(u64).range(1..=64))]
    dop: Option<Vec<u64>>,
    /// How it is checked [default: all, with --quick full,po]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORD,...")]
    modes: Option<Vec<Mode>>,
    #[command(flatten)]
    place: Place,
    /// Data files [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=128))]
    files: Option<u64>,
    /// The table has no nonclustered indexes
    #[arg(long)]
    no_indexes: bool,
    /// Size of the table [default: 1GB, with --quick 64MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool [default: a quarter of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Users that change rows meanwhile; their commits a second and latency are reported [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=256))]
    users: Option<u32>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Degrees of parallelism.
    pub dops: Vec<u64>,
    /// How it is checked.
    pub modes: Vec<Mode>,
    /// Volumes.
    pub places: Places,
    /// Data files.
    pub files: u64,
    /// Whether the table has nonclustered indexes.
    pub has_indexes: bool,
    /// Bytes of the table.
    pub total_bytes: u64,
    /// The buffer pool.
    pub pool_bytes: u64,
    /// Users beside it.
    pub users: u32,
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        let quick = start.is_quick;
        let dops: &[u64] = if quick {
            &[1, 2, 4]
        } else {
            &[1, 2, 4, 8, 16, 32]
        };
        let modes: &[Mode] = if quick { &Mode::ALL[..2] } else { &Mode::ALL };
        let total_bytes = typed
            .total
            .unwrap_or(if quick { QUICK_BYTES } else { USUAL_BYTES });
        let pool = typed.pool.unwrap_or(total_bytes / 4).max(8 * MIB);
        let options = Options {
            dops: typed.dop.unwrap_or_else(|| dops.to_vec()),
            modes: typed.modes.unwrap_or_else(|| modes.to_vec()),
            places: typed.place.resolve(start)?,
            files: typed.files.unwrap_or(8),
            has_indexes: !typed.no_indexes,
            total_bytes,
            pool_bytes: pool.div_ceil(8 << 10) * (8 << 10),
            users: typed.users.unwrap_or(0),
        };
        if options.dops.len() * options.modes.len() < 2 {
            return Err(OptionsError(
                "one level has nothing to be compared with; give several, such as --dop 1,4"
                    .to_owned(),
            ));
        }
        if !(MIB..=1 << 40).contains(&options.total_bytes) {
            return Err(OptionsError("--total must be from 1MB to 1TB".to_owned()));
        }
        Ok(options)
    }

    /// What the database holds.
    pub(crate) fn contents(&self) -> Contents {
        Contents {
            bytes: self.total_bytes,
            has_indexes: self.has_indexes,
        }
    }

    /// What is varied.
    pub fn factors(&self) -> Vec<Factor> {
        let words: Vec<&str> = self.modes.iter().map(|mode| mode.word()).collect();
        let mut factors = vec![Factor::counts("dop", &self.dops)];
        if words.len() > 1 {
            factors.push(Factor::words("mode", &words));
        }
        factors
    }

    /// Degree and mode of a cell.
    pub(crate) fn of_cell(&self, cell: &Cell) -> (u64, Mode) {
        let typed = cell.level("mode").map(|level| level.key.clone());
        let mode = typed.and_then(|word| Mode::ALL.into_iter().find(|mode| mode.word() == word));
        let first = self.modes.first().copied().unwrap_or(Mode::Full);
        (cell.count("dop").unwrap_or(1), mode.unwrap_or(first))
    }

    /// The statement of a cell; `name` is the database in brackets.
    pub fn statement(&self, cell: &Cell, name: &str) -> String {
        let (dop, mode) = self.of_cell(cell);
        let option = mode.option();
        format!("DBCC CHECKDB ({name}) WITH {option}NO_INFOMSGS, MAXDOP = {dop};")
    }

    /// What is same in every run, in one sentence.
    pub fn workload(&self) -> String {
        format!(
            "DBCC CHECKDB of a table of {}{} over {}; pool {}{}",
            size_text(self.total_bytes),
            if self.has_indexes {
                " with two nonclustered indexes"
            } else {
                ""
            },
            match self.files {
                1 => "1 file".to_owned(),
                files => format!("{files} files"),
            },
            size_text(self.pool_bytes),
            users_text(self.users)
        )
    }

    /// The settings that the plan records.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([("load".to_owned(), self.workload())]);
        let words: Vec<&str> = self.modes.iter().map(|mode| mode.word()).collect();
        settings.insert("modes".to_owned(), words.join(","));
        self.places.record(&mut settings);
        settings
    }
}
