//! What may be chosen, and the sizes that follow from it.

use crate::design::{Cell, Factor};
use crate::plan::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use thiserror::Error;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// One row of the published table takes one page.
const PAGE_BYTES: u64 = 8 * KIB;
const EXTENT_BYTES: u64 = 64 * KIB;
/// Bytes of a row of the random-key table with its slot, and the part of a page that random inserts fill.
const NARROW_ROW_BYTES: u64 = 160;
const NARROW_FILL_PERCENT: u64 = 69;
/// Room in the data files beyond the rows: the catalog, upper index levels, maps.
const SPARE_PERCENT: u64 = 25;
/// No data file is made smaller than this: the catalog has to fit into the first.
const LEAST_FILE_BYTES: u64 = 4 * MIB;
const LEAST_LOG_BYTES: u64 = 2 * MIB;
const LEAST_POOL_BYTES: u64 = 4 * MIB;
/// Fewest rows a connection inserts: below this start and end are all that is measured.
const LEAST_ROWS_PER_CONNECTION: u64 = 8;

/// How rows are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `BIGINT IDENTITY` as the clustered key and a `CHAR(4100)`: one row a page, keys ascend.
    Sequential,
    /// 160-byte rows on a random 16-byte clustered key: pages split everywhere.
    RandomKey,
}

impl Layout {
    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Layout::Sequential => "sequential",
            Layout::RandomKey => "random-key",
        }
    }

    /// From the word.
    pub fn parse(text: &str) -> Option<Layout> {
        [Layout::Sequential, Layout::RandomKey]
            .into_iter()
            .find(|layout| layout.word() == text)
    }

    /// Rows that fill `total_bytes` of data pages.
    pub fn rows(self, total_bytes: u64) -> u64 {
        match self {
            Layout::Sequential => total_bytes / PAGE_BYTES,
            Layout::RandomKey => total_bytes / 100 * NARROW_FILL_PERCENT / NARROW_ROW_BYTES,
        }
    }
}

/// Options that make no sense, in a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct OptionsError(pub String);

/// What may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Levels: numbers of data files.
    pub files: Vec<u64>,
    /// Directories that data files are dealt to in turn; the log lies in the first. None: the output
    /// directory.
    pub volumes: Vec<PathBuf>,
    /// Sessions that insert at the same time.
    pub connections: u32,
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
            volumes: Vec::new(),
            connections: 16,
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

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) files: u64,
    pub(crate) rows: u64,
    pub(crate) rows_per_commit: u64,
    pub(crate) layout: Layout,
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

impl Options {
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
        if self.files.len() * self.rows_per_commit.len() * self.layouts.len() == 1 {
            return refuse(format!(
                "one level has nothing to be compared with; give several, such as --files {},{}",
                self.files[0],
                4 * self.files[0]
            ));
        }
        if !(1..=1024).contains(&self.connections) {
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
        let least = LEAST_ROWS_PER_CONNECTION * u64::from(self.connections);
        if self
            .layouts
            .iter()
            .any(|layout| layout.rows(self.total_bytes) < least)
        {
            let mib = (least * PAGE_BYTES).div_ceil(MIB);
            return refuse(format!(
                "--total is too small for {} connections: give at least {mib}MB, or fewer --connections",
                self.connections
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

    /// What is varied: files, and whatever else has several levels.
    pub(super) fn factors(&self) -> Vec<Factor> {
        let mut factors = vec![Factor::counts("files", &self.files)];
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
    pub(super) fn load(&self, cell: &Cell) -> Load {
        let first = |levels: &[u64]| levels.first().copied().unwrap_or(1);
        let layout = cell
            .level("layout")
            .and_then(|level| Layout::parse(&level.key));
        let layout = layout
            .or(self.layouts.first().copied())
            .unwrap_or(Layout::Sequential);
        Load {
            files: cell.count("files").unwrap_or(1),
            rows: layout.rows(self.total_bytes),
            rows_per_commit: cell
                .count("rows-per-commit")
                .unwrap_or_else(|| first(&self.rows_per_commit)),
            layout,
        }
    }

    /// The settings a plan keeps: enough to make the options again.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let list = |values: &[u64]| {
            let words: Vec<String> = values.iter().map(u64::to_string).collect();
            words.join(",")
        };
        let sizes = self.sizes();
        let layouts: Vec<&str> = self.layouts.iter().map(|layout| layout.word()).collect();
        let mut settings = BTreeMap::from([
            ("connections".to_string(), self.connections.to_string()),
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
        for (index, volume) in self.volumes.iter().enumerate() {
            settings.insert(
                format!("volume {}", index + 1),
                volume.display().to_string(),
            );
        }
        settings
    }

    /// The options behind a plan: a resumed experiment needs no others.
    pub fn of_plan(plan: &Plan) -> Result<Options, OptionsError> {
        let missing =
            |name: &str| OptionsError(format!("the journal's plan has no usable '{name}'"));
        let text = |name: &str| plan.settings.get(name).ok_or_else(|| missing(name));
        let size = |name: &str| text(name).and_then(|t| parse_size(t).map_err(|_| missing(name)));
        let counts = |name: &str| -> Result<Vec<u64>, OptionsError> {
            let parsed: Result<Vec<u64>, _> = text(name)?.split(',').map(str::parse).collect();
            parsed.map_err(|_| missing(name))
        };
        let files = plan.factors.first().filter(|factor| factor.name == "files");
        let files = files.ok_or_else(|| missing("files"))?;
        let files: Result<Vec<u64>, _> = files
            .levels
            .iter()
            .map(|level| level.key.parse::<u64>())
            .collect();
        let layouts: Option<Vec<Layout>> = text("layout")?.split(',').map(Layout::parse).collect();
        let volumes = (1..).map_while(|n| plan.settings.get(&format!("volume {n}")));
        let options = Options {
            files: files.map_err(|_| missing("files"))?,
            volumes: volumes.map(PathBuf::from).collect(),
            connections: text("connections")?
                .parse()
                .map_err(|_| missing("connections"))?,
            total_bytes: size("total")?,
            pool_bytes: Some(size("pool")?),
            log_bytes: Some(size("log")?),
            rows_per_commit: counts("rows-per-commit")?,
            layouts: layouts.ok_or_else(|| missing("layout"))?,
        };
        options.check()?;
        Ok(options)
    }
}

/// A size as people write it: `1GB`, `64MB`, `512KB`, `4096`; units are powers of 1024, as the product's are.
pub fn parse_size(text: &str) -> Result<u64, OptionsError> {
    let wrong = || {
        OptionsError(format!(
            "'{text}' is not a size; write a number and KB, MB, GB or TB, such as 64MB"
        ))
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => KIB,
        "M" | "MB" | "MIB" => MIB,
        "G" | "GB" | "GIB" => 1024 * MIB,
        "T" | "TB" | "TIB" => 1024 * 1024 * MIB,
        _ => return Err(wrong()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(wrong);
    }
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = value * factor as f64;
    if bytes.is_finite() && bytes < 1e18 {
        Ok(bytes.round() as u64)
    } else {
        Err(wrong())
    }
}

/// A size in the largest unit that tells it in at most two decimals; [`parse_size`] reads it back exactly.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1024 * 1024 * MIB, "TB"),
        (1024 * MIB, "GB"),
        (MIB, "MB"),
        (KIB, "KB"),
    ];
    let exact = |(unit, name): (u64, &str)| {
        let number = format!("{:.2}", bytes as f64 / unit as f64);
        let text = format!(
            "{}{name}",
            number.trim_end_matches('0').trim_end_matches('.')
        );
        (bytes >= unit && parse_size(&text) == Ok(bytes)).then_some(text)
    };
    UNITS
        .into_iter()
        .find_map(exact)
        .unwrap_or_else(|| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them_and_written_so_that_they_read_back() {
        for (text, bytes) in [
            ("1GB", 1 << 30),
            ("64mb", 64 << 20),
            ("512 KB", 512 << 10),
            ("4096", 4096),
            ("1.5G", 3 << 29),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "GB", "12 parsecs", "-1MB", "1..2MB", "99999999999TB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        for bytes in [
            0,
            1,
            1023,
            1024,
            3 << 20,
            (5 << 30) + 4096,
            1 << 40,
            u64::MAX >> 14,
        ] {
            assert_eq!(parse_size(&size_text(bytes)), Ok(bytes));
        }
        assert_eq!(
            [size_text(20_992 << 10), size_text(96 << 20)],
            ["20.5MB", "96MB"]
        );
    }

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
    fn a_plan_gives_the_options_back() {
        let options = Options {
            files: vec![1, 3],
            volumes: vec!["/a b".into(), "/c".into()],
            total_bytes: 96 << 20,
            rows_per_commit: vec![1, 10],
            layouts: vec![Layout::RandomKey, Layout::Sequential],
            ..Options::default()
        };
        let mut plan = Plan::new("datafiles", "?", options.factors(), 1);
        plan.settings = options.settings();
        let back = Options::of_plan(&plan).unwrap();
        let sizes = options.sizes();
        let told = Options {
            pool_bytes: Some(sizes.pool_bytes),
            log_bytes: Some(sizes.log_bytes),
            ..options
        };
        assert_eq!(back, told);
        assert_eq!(back.sizes(), sizes);
        plan.settings.remove("total");
        assert!(
            Options::of_plan(&plan)
                .unwrap_err()
                .to_string()
                .contains("total")
        );
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
        assert!(refused(|o| o.connections = 0).contains("--connections"));
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
