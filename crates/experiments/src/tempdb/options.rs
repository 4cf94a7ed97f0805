//! What may be chosen, and the sizes that follow from it.

use crate::drives::{Place, Places};
use crate::plugin::Start;
use crate::workloads::load::End;
use clap::Args;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
pub(super) const FILES: &str = "files";
pub(super) const SESSIONS: &str = "sessions";
pub(super) const FLAG: &str = "trace flag";
/// Full extents for the first page of a table (documented for versions before 2016).
pub(super) const UNIFORM_EXTENTS: u32 = 1118;

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// The files of tempdb when the load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// So many files of one size.
    Equal(u64),
    /// Four files, each twice the size of the one before.
    Unequal,
    /// A full file, and one that was added empty.
    Added,
}

/// The first file of a new tempdb. It is not made smaller, and the others are not either: else the files of a
/// layout would not have the sizes that it names.
const LEAST_FILE_BYTES: u64 = 4 * MIB;

/// Files of the layout `unequal`.
const UNEQUAL_FILES: u64 = 4;

impl Layout {
    /// As it is written.
    pub fn word(self) -> String {
        match self {
            Layout::Equal(files) => files.to_string(),
            Layout::Unequal => "unequal".to_owned(),
            Layout::Added => "added".to_owned(),
        }
    }

    /// From the word.
    pub fn parse(text: &str) -> Result<Layout, String> {
        match text {
            "unequal" => Ok(Layout::Unequal),
            "added" => Ok(Layout::Added),
            number => match number.parse() {
                Ok(files @ 1..=64) => Ok(Layout::Equal(files)),
                _ => Err("write a number of files from 1 to 64, unequal, or added".to_owned()),
            },
        }
    }

    /// The least total with which no file is smaller than [`LEAST_FILE_BYTES`].
    fn least_total(self) -> u64 {
        LEAST_FILE_BYTES
            * match self {
                Layout::Equal(files) => files,
                Layout::Unequal => (1 << UNEQUAL_FILES) - 1,
                Layout::Added => 2,
            }
    }

    /// Sizes of the files beside the first, and of the first; `total_bytes` together.
    pub(super) fn sizes(self, total_bytes: u64) -> Vec<u64> {
        let round = |bytes: u64| bytes.max(MIB).div_ceil(64 << 10) * (64 << 10);
        match self {
            Layout::Equal(files) => vec![round(total_bytes / files); files as usize],
            Layout::Unequal => {
                let one = total_bytes / ((1 << UNEQUAL_FILES) - 1);
                (0..UNEQUAL_FILES).map(|n| round(one << n)).collect()
            }
            Layout::Added => vec![round(total_bytes / 2); 2],
        }
    }
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: files of tempdb, as a number of equal files, unequal (four, each twice the one before), or
    /// added (an empty file beside a full one) [default: 1,2,4,8,unequal,added, with --quick 1,4,added]
    #[arg(long, value_delimiter = ',', value_parser = Layout::parse, value_name = "WORD,...")]
    files: Option<Vec<Layout>>,
    /// Sessions that create, fill and drop temporary tables; several make a factor [default: 1,16,64, with
    /// --quick 1,16]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    sessions: Option<Vec<u32>>,
    /// Trace flag 1118: off, on; both make a factor [default: off]
    #[arg(long, value_delimiter = ',', value_parser = ["off", "on"], value_name = "WORD,...")]
    trace_flag_1118: Option<Vec<String>>,
    #[command(flatten)]
    place: Place,
    /// Seconds that the load of a run lasts [default: 20, with --quick 1]
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// All data files of tempdb together [default: 256MB, with --quick 64MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(super) layouts: Vec<Layout>,
    pub(super) sessions: Vec<u32>,
    pub(super) flags: Vec<bool>,
    pub(super) places: Places,
    pub(super) seconds: f64,
    /// When the load of a run ends: after those seconds.
    pub(super) end: End,
    pub(super) total_bytes: u64,
}

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) layout: Layout,
    pub(super) sessions: u32,
    pub(super) has_flag: bool,
}

pub(super) fn flag_word(has_flag: bool) -> &'static str {
    if has_flag { "T1118" } else { "no T1118" }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        use Layout::{Added, Equal, Unequal};
        let quick = start.is_quick;
        let flags = typed
            .trace_flag_1118
            .unwrap_or_else(|| vec!["off".to_owned()]);
        let usual = if quick {
            vec![Equal(1), Equal(4), Added]
        } else {
            vec![Equal(1), Equal(2), Equal(4), Equal(8), Unequal, Added]
        };
        let seconds = typed.seconds.unwrap_or(if quick { 1.0 } else { 20.0 });
        let options = Options {
            layouts: typed.files.unwrap_or(usual),
            sessions: typed
                .sessions
                .unwrap_or_else(|| if quick { vec![1, 16] } else { vec![1, 16, 64] }),
            flags: flags.iter().map(|word| word == "on").collect(),
            places: typed.place.resolve(start)?,
            seconds,
            end: End::Seconds(seconds),
            total_bytes: typed
                .total
                .unwrap_or(if quick { 64 * MIB } else { 256 * MIB }),
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: &str| Err(OptionsError(text.to_owned()));
        if self.sessions.is_empty() || self.sessions.iter().any(|n| !(1..=2000).contains(n)) {
            return refuse("--sessions takes numbers from 1 to 2000, such as --sessions 1,16");
        }
        if self.layouts.len() * self.sessions.len() * self.flags.len() < 2 {
            return refuse(
                "one level has nothing to be compared with; give several, such as --files 1,4",
            );
        }
        if !(0.1..=86_400.0).contains(&self.seconds) {
            return refuse("--seconds must be from 0.1 to 86400");
        }
        if self.places.log.is_some() {
            return refuse(
                "the log of tempdb is in the directory of its instance, beside the first data file: leave \
                 out --log-volume",
            );
        }
        if self.total_bytes < 16 * MIB || self.total_bytes > 1 << 40 {
            return refuse("--total must be from 16MB to 1TB");
        }
        let largest = self
            .layouts
            .iter()
            .max_by_key(|layout| layout.least_total());
        if let Some(layout) = largest.filter(|layout| layout.least_total() > self.total_bytes) {
            return Err(OptionsError(format!(
                "--files {} needs --total {} at least: no file of tempdb is smaller than {}",
                layout.word(),
                size_text(layout.least_total()),
                size_text(LEAST_FILE_BYTES)
            )));
        }
        Ok(())
    }

    /// What is varied.
    pub(super) fn factors(&self) -> Vec<Factor> {
        let words: Vec<String> = self.layouts.iter().map(|layout| layout.word()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut factors = vec![Factor::words(FILES, &words)];
        if self.sessions.len() > 1 {
            let sessions: Vec<u64> = self.sessions.iter().map(|&n| u64::from(n)).collect();
            factors.push(Factor::sessions(SESSIONS, &sessions));
        }
        if self.flags.len() > 1 {
            let words: Vec<&str> = self.flags.iter().map(|&flag| flag_word(flag)).collect();
            factors.push(Factor::words(FLAG, &words));
        }
        factors
    }

    pub(super) fn of_cell(&self, cell: &Cell) -> Setting {
        let layout = cell
            .level(FILES)
            .and_then(|level| Layout::parse(&level.key).ok());
        let sessions = cell.count(SESSIONS).and_then(|n| u32::try_from(n).ok());
        let flag = cell.level(FLAG).map(|level| level.key == flag_word(true));
        Setting {
            layout: layout
                .or(self.layouts.first().copied())
                .unwrap_or(Layout::Equal(1)),
            sessions: sessions.or(self.sessions.first().copied()).unwrap_or(1),
            has_flag: flag.or(self.flags.first().copied()).unwrap_or(false),
        }
    }

    /// The load in one sentence.
    pub(super) fn workload(&self) -> String {
        format!(
            "each session creates a temporary table of char(1000), inserts a row and drops it, for {} s; \
             tempdb has \
             {} in all files together",
            self.seconds,
            size_text(self.total_bytes)
        )
    }

    /// The settings that the plan records.
    pub(super) fn settings(&self, version: &str) -> BTreeMap<String, String> {
        let flags: Vec<&str> = self.flags.iter().map(|&flag| flag_word(flag)).collect();
        let mut settings = BTreeMap::from([
            ("engine".to_owned(), version.to_owned()),
            ("load".to_owned(), self.workload()),
            ("trace flag 1118".to_owned(), flags.join(",")),
        ]);
        self.places.record(&mut settings);
        settings
    }
}
