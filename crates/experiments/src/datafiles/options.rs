//! What may be chosen, and the sizes that follow from it.

use crate::drives::{Place, Places};
use crate::layouts::{layouts, record_layouts};
use crate::plugin::Start;
use crate::workloads::ceilings::VOLUMES;
use crate::workloads::inserts::Layout;
use crate::workloads::pace::Pace;
use clap::Args;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;
use std::path::PathBuf;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// One row of the published table takes one page.
const PAGE_BYTES: u64 = 8 * KIB;
const EXTENT_BYTES: u64 = 64 * KIB;
/// Room in the data files beyond the rows: the catalog, upper index levels, maps.
const SPARE_PERCENT: u64 = 25;
/// No data file is made smaller than this: the catalog has to fit into the first.
const LEAST_FILE_BYTES: u64 = 4 * MIB;
const LEAST_LOG_BYTES: u64 = 2 * MIB;
const LEAST_POOL_BYTES: u64 = 4 * MIB;
/// Fewest rows a connection inserts: below this start and end are all that is measured.
const LEAST_ROWS_PER_CONNECTION: u64 = 8;

/// Inserted in each run of a quick look: eighteen of them take less than a minute on two cores.
const QUICK_BYTES: u64 = 256 * MIB;

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

fn layout(text: &str) -> Result<Layout, String> {
    Layout::parse(text).ok_or_else(|| "write sequential or random-key".to_owned())
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Levels: numbers of data files; the others are compared with the first [default: 1,2,4,8,16]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    files: Option<Vec<u64>>,
    #[command(flatten)]
    place: Place,
    /// Sessions that insert at the same time; several make a factor, with a scalability law [default: 16]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    connections: Option<Vec<u32>>,
    #[command(flatten)]
    pace: Pace,
    /// Layouts of volumes, a further factor: separated by `|`, each a list of directories that data files are
    /// dealt to in turn, such as 'a|a,b' [default: those of --volume]
    #[arg(long, value_name = "DIR,..|..")]
    layouts: Option<String>,
    /// Data that all sessions together insert, such as 1GB [default: 1GB, with --quick 256MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool [default: a quarter of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Transaction log [default: 8% of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    log: Option<u64>,
    /// Rows of a transaction; several make a further factor [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    rows_per_commit: Option<Vec<u64>>,
    /// Layout of the rows, sequential or random-key; both make a further factor [default: sequential]
    #[arg(long, value_delimiter = ',', value_parser = layout, value_name = "WORD,...")]
    layout: Option<Vec<Layout>>,
}

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InsertLoad {
    pub(super) files: u64,
    pub(super) connections: u32,
    pub(super) rows: u64,
    pub(super) rows_per_commit: u64,
    pub(super) layout: Layout,
}

/// What may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Levels: numbers of data files.
    pub files: Vec<u64>,
    /// Directories that data files are dealt to in turn, and that of the log.
    pub places: Places,
    /// Sessions that insert at the same time; several make a factor.
    pub connections: Vec<u32>,
    /// How long the load lasts, and how much of it is due.
    pub pace: Pace,
    /// Layouts of volumes by name; empty where the volumes are the same in every run.
    pub volume_layouts: Vec<(String, Vec<PathBuf>)>,
    /// Bytes of data pages that all sessions together fill.
    pub total_bytes: u64,
    /// The buffer pool; a quarter of the total unless said.
    pub pool_bytes: Option<u64>,
    /// The log; 8% of the total unless said.
    pub log_bytes: Option<u64>,
    /// Rows of a transaction; several make a further factor.
    pub rows_per_commit: Vec<u64>,
    /// Layouts; several make a further factor.
    pub layouts: Vec<Layout>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            files: vec![1, 2, 4, 8, 16],
            places: Places::default(),
            connections: vec![16],
            pace: Pace::default(),
            volume_layouts: Vec::new(),
            total_bytes: 1024 * MIB,
            pool_bytes: None,
            log_bytes: None,
            rows_per_commit: vec![1],
            layouts: vec![Layout::Sequential],
        }
    }
}

/// Sizes that follow from the options, the same in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// All data files together, at every level.
    pub data_bytes: u64,
    /// The log.
    pub log_bytes: u64,
    /// The buffer pool.
    pub pool_bytes: u64,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: Typed, start: &Start) -> Result<Options, OptionsError> {
        let usual = Options::default();
        let total = if start.is_quick {
            QUICK_BYTES
        } else {
            usual.total_bytes
        };
        Ok(Options {
            files: typed.files.unwrap_or(usual.files),
            places: typed.place.resolve(start)?,
            connections: typed.connections.unwrap_or(usual.connections),
            pace: typed.pace,
            volume_layouts: match &typed.layouts {
                Some(text) => layouts(text, start)?,
                None => Vec::new(),
            },
            total_bytes: typed.total.unwrap_or(total),
            pool_bytes: typed.pool,
            log_bytes: typed.log,
            rows_per_commit: typed.rows_per_commit.unwrap_or(usual.rows_per_commit),
            layouts: typed.layout.unwrap_or(usual.layouts),
        })
    }

    /// Whether an experiment can be made of them.
    pub fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: String| Err(OptionsError(text));
        if self.files.is_empty() || self.files.iter().any(|&n| !(1..=128).contains(&n)) {
            return refuse("--files takes numbers from 1 to 128, such as --files 1,2,4,8".into());
        }
        let twice = |n: &u64| self.files.iter().filter(|other| *other == n).count() > 1;
        if let Some(files) = self.files.iter().find(|n| twice(n)) {
            return refuse(format!("--files names {files} twice"));
        }
        self.pace.check()?;
        let volumes = self.volume_layouts.len().max(1);
        let rows = self.rows_per_commit.len() * self.layouts.len();
        if self.files.len() * self.connections.len() * volumes * rows == 1 {
            return refuse(format!(
                "one level has nothing to be compared with; give several, such as --files {},{}",
                self.files[0],
                4 * self.files[0]
            ));
        }
        let sessions = &self.connections;
        if sessions.is_empty() || sessions.iter().any(|n| !(1..=1024).contains(n)) {
            return refuse("--connections must be from 1 to 1024".into());
        }
        if self.rows_per_commit.is_empty()
            || self
                .rows_per_commit
                .iter()
                .any(|&n| !(1..=100_000).contains(&n))
        {
            return refuse("--rows-per-commit must be from 1 to 100000".into());
        }
        if self.layouts.is_empty() {
            return refuse("--layout needs sequential, random-key or both".into());
        }
        let most = self.most_connections();
        let least = LEAST_ROWS_PER_CONNECTION * u64::from(most);
        if self
            .layouts
            .iter()
            .any(|layout| layout.rows(self.total_bytes) < least)
        {
            let mib = (least * PAGE_BYTES).div_ceil(MIB);
            return refuse(format!(
                "--total is too small for {most} connections: give at least {mib}MB, or fewer --connections"
            ));
        }
        if self.total_bytes > 16 << 40 {
            return refuse("--total must be at most 16TB".into());
        }
        if self.log_bytes.is_some_and(|bytes| bytes < LEAST_LOG_BYTES) {
            return refuse(format!(
                "--log must be at least {}MB",
                LEAST_LOG_BYTES / MIB
            ));
        }
        if self
            .pool_bytes
            .is_some_and(|bytes| bytes < LEAST_POOL_BYTES)
        {
            return refuse(format!(
                "--pool must be at least {}MB",
                LEAST_POOL_BYTES / MIB
            ));
        }
        Ok(())
    }

    /// Sizes of files and memory. The data files' total is one number that every level divides into
    /// whole extents.
    pub fn sizes(&self) -> Sizes {
        let most = self.files.iter().copied().max().unwrap_or(1);
        let common = self.files.iter().fold(1, |all: u64, &n| {
            (all / greatest_common_divisor(all, n.max(1))).saturating_mul(n.max(1))
        });
        // Levels without a small common multiple (7, 11, 13) are rounded each by itself: extents apart.
        let step = EXTENT_BYTES * if common <= 1024 { common } else { 1 };
        let wanted = self.total_bytes / 100 * (100 + SPARE_PERCENT) + LEAST_FILE_BYTES;
        let data_bytes = wanted.max(most * LEAST_FILE_BYTES).div_ceil(step) * step;
        let log_bytes = self
            .log_bytes
            .unwrap_or(self.total_bytes / 100 * 8)
            .max(LEAST_LOG_BYTES);
        let pool_bytes = self
            .pool_bytes
            .unwrap_or(self.total_bytes / 4)
            .max(LEAST_POOL_BYTES);
        Sizes {
            data_bytes,
            log_bytes: log_bytes.div_ceil(EXTENT_BYTES) * EXTENT_BYTES,
            pool_bytes: pool_bytes.div_ceil(PAGE_BYTES) * PAGE_BYTES,
        }
    }

    /// Bytes of each data file at a level.
    pub fn file_bytes(&self, files: u64) -> u64 {
        let each = self.sizes().data_bytes / files.max(1);
        each.div_ceil(EXTENT_BYTES) * EXTENT_BYTES
    }

    /// The largest number of sessions.
    pub(super) fn most_connections(&self) -> u32 {
        self.connections.iter().copied().max().unwrap_or(1)
    }

    /// The directories of data files in a run, where its layout of volumes sets them.
    pub(super) fn directories(&self, cell: &Cell) -> Option<&[PathBuf]> {
        let key = cell.level(VOLUMES).map(|level| level.key.as_str());
        let mut layouts = self.volume_layouts.iter();
        let found = match key {
            Some(key) => layouts.find(|(name, _)| name == key),
            None => layouts.next(),
        };
        found.map(|(_, directories)| directories.as_slice())
    }

    /// What is varied: sessions where there are several numbers of them, files, and whatever else has several
    /// levels.
    pub(super) fn factors(&self) -> Vec<Factor> {
        let mut factors = Vec::new();
        if self.connections.len() > 1 {
            let counts: Vec<u64> = self.connections.iter().copied().map(u64::from).collect();
            factors.push(Factor::sessions("connections", &counts));
        }
        factors.push(Factor::counts("files", &self.files));
        if self.volume_layouts.len() > 1 {
            let names: Vec<&str> = self.volume_layouts.iter().map(|l| l.0.as_str()).collect();
            factors.push(Factor::words(VOLUMES, &names));
        }
        if self.rows_per_commit.len() > 1 {
            factors.push(Factor::counts("rows-per-commit", &self.rows_per_commit));
        }
        if self.layouts.len() > 1 {
            let words: Vec<&str> = self.layouts.iter().map(|layout| layout.word()).collect();
            factors.push(Factor::words("layout", &words));
        }
        factors
    }

    /// What a run of this cell does.
    pub(super) fn load(&self, cell: &Cell) -> InsertLoad {
        let first = |levels: &[u64]| levels.first().copied().unwrap_or(1);
        let layout = cell
            .level("layout")
            .and_then(|level| Layout::parse(&level.key));
        let layout = layout
            .or(self.layouts.first().copied())
            .unwrap_or(Layout::Sequential);
        let connections = cell
            .count("connections")
            .and_then(|n| u32::try_from(n).ok());
        InsertLoad {
            files: cell.count("files").unwrap_or(1),
            connections: connections.unwrap_or_else(|| self.most_connections()),
            rows: layout.rows(self.total_bytes),
            rows_per_commit: cell
                .count("rows-per-commit")
                .unwrap_or_else(|| first(&self.rows_per_commit)),
            layout,
        }
    }

    /// The settings that the plan records.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let list = |values: &[u64]| {
            let words: Vec<String> = values.iter().map(u64::to_string).collect();
            words.join(",")
        };
        let sizes = self.sizes();
        let layouts: Vec<&str> = self.layouts.iter().map(|layout| layout.word()).collect();
        let mut settings = BTreeMap::from([
            (
                "connections".to_string(),
                list(
                    &self
                        .connections
                        .iter()
                        .copied()
                        .map(u64::from)
                        .collect::<Vec<_>>(),
                ),
            ),
            ("total".to_string(), size_text(self.total_bytes)),
            (
                "data files together".to_string(),
                size_text(sizes.data_bytes),
            ),
            ("log".to_string(), size_text(sizes.log_bytes)),
            ("pool".to_string(), size_text(sizes.pool_bytes)),
            ("rows-per-commit".to_string(), list(&self.rows_per_commit)),
            ("layout".to_string(), layouts.join(",")),
        ]);
        self.pace.record(&mut settings);
        record_layouts(&self.volume_layouts, &mut settings);
        self.places.record(&mut settings);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_gets_the_same_total_in_whole_extents() {
        for total_bytes in [24 << 20, 1 << 30, (1 << 30) + 12_345] {
            let options = Options {
                total_bytes,
                ..Options::default()
            };
            let sizes = options.sizes();
            for &files in &options.files {
                assert_eq!(options.file_bytes(files) * files, sizes.data_bytes);
                assert_eq!(options.file_bytes(files) % EXTENT_BYTES, 0);
                assert!(options.file_bytes(files) >= LEAST_FILE_BYTES);
            }
            assert!(sizes.data_bytes >= total_bytes / 4 * 5);
        }
    }

    #[test]
    fn options_that_make_no_sense_are_refused_with_what_to_do() {
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        assert!(refused(|o| o.files = vec![0]).contains("--files"));
        assert!(refused(|o| o.files = vec![1, 4, 1]).contains("1 twice"));
        assert!(refused(|o| o.files = vec![2]).contains("--files 2,8"));
        assert!(refused(|o| o.connections = vec![0]).contains("--connections"));
        assert!(refused(|o| o.rows_per_commit = vec![0]).contains("--rows-per-commit"));
        let small = refused(|o| o.total_bytes = 64 << 10);
        assert!(small.contains("at least 1MB"), "{small}");
        assert!(refused(|o| o.log_bytes = Some(1)).contains("--log"));
        assert!(refused(|o| o.pool_bytes = Some(1)).contains("--pool"));
    }

    #[test]
    fn the_published_load_has_the_published_rows() {
        let published = 100 * (1u64 << 30);
        assert_eq!(Layout::Sequential.rows(published), 13_107_200);
    }
}
