//! What may be chosen, the sizes that follow from it, and what is said of them.

use crate::drives::{Place, Places};
use crate::plugin::Start;
use clap::Args;
use furrow_lab::experiment::OptionsError;
use furrow_lab::size::{parse_size, size_text};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;
/// Rows are a page each: fewer than this a session, and start and end are all that is measured.
const LEAST_BYTES_PER_CONNECTION: u64 = 64 << 10;

/// Inserted in a quick look: past 512 MB, so that skip targets are recalculated once.
const QUICK_BYTES: u64 = 640 * MIB;

fn size(text: &str) -> Result<u64, OptionsError> {
    parse_size(text)
}

/// What may be typed.
#[derive(Debug, Clone, Args)]
pub struct Typed {
    /// Data files, the same number in every scenario [default: 4]
    #[arg(long, value_name = "N")]
    files: Option<u64>,
    #[command(flatten)]
    place: Place,
    /// Sessions that insert at the same time [default: 16]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Data that all sessions together insert [default: 1.25GB, with --quick 640MB]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    total: Option<u64>,
    /// Buffer pool [default: a quarter of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pool: Option<u64>,
    /// Transaction log [default: 8% of --total]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    log: Option<u64>,
    /// Rows of a transaction [default: 10]
    #[arg(long, value_name = "N")]
    rows_per_commit: Option<u64>,
}

/// What may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Data files, the same number in every scenario.
    pub files: u64,
    /// Directories that data files are dealt to in turn, and that of the log.
    pub places: Places,
    /// Sessions that insert at the same time.
    pub connections: u32,
    /// Bytes of data pages that all sessions together fill; 512 MB of them make a recalculation.
    pub total_bytes: u64,
    /// Rows of a transaction.
    pub rows_per_commit: u64,
    /// The buffer pool; a quarter of the total unless said.
    pub pool_bytes: Option<u64>,
    /// The log; 8% of the total unless said.
    pub log_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            files: 4,
            places: Places::default(),
            connections: 16,
            total_bytes: 1280 * MIB,
            rows_per_commit: 10,
            pool_bytes: None,
            log_bytes: None,
        }
    }
}

impl Options {
    /// What was typed, with defaults for the rest.
    pub fn of(typed: &Typed, start: &Start) -> Result<Options, OptionsError> {
        let usual = Options::default();
        let total = if start.is_quick {
            QUICK_BYTES
        } else {
            usual.total_bytes
        };
        let options = Options {
            files: typed.files.unwrap_or(usual.files),
            places: typed.place.resolve(start)?,
            connections: typed.connections.unwrap_or(usual.connections),
            total_bytes: typed.total.unwrap_or(total),
            rows_per_commit: typed.rows_per_commit.unwrap_or(usual.rows_per_commit),
            pool_bytes: typed.pool,
            log_bytes: typed.log,
        };
        options.check()?;
        Ok(options)
    }

    /// Whether an experiment can be made of them.
    pub fn check(&self) -> Result<(), OptionsError> {
        let refuse = |text: String| Err(OptionsError(text));
        if !(2..=8).contains(&self.files) {
            return refuse("--files takes one number from 2 to 8 here".into());
        }
        if !(1..=1024).contains(&self.connections) {
            return refuse("--connections must be from 1 to 1024".into());
        }
        if !(1..=1000).contains(&self.rows_per_commit) {
            return refuse("--rows-per-commit takes one number from 1 to 1000 here".into());
        }
        let least = LEAST_BYTES_PER_CONNECTION * u64::from(self.connections);
        if self.total_bytes < least.max(MIB) || self.total_bytes > 16 << 40 {
            let mib = least.max(MIB).div_ceil(MIB);
            return refuse(format!("--total must be from {mib}MB to 16TB"));
        }
        if self.log_bytes.is_some_and(|bytes| bytes < 2 * MIB) {
            return refuse("--log must be at least 2MB".into());
        }
        if self.pool_bytes.is_some_and(|bytes| bytes < 4 * MIB) {
            return refuse("--pool must be at least 4MB".into());
        }
        Ok(())
    }

    /// Room that the data files need together: the rows, upper index levels, catalog, maps.
    pub(super) fn room_bytes(&self) -> u64 {
        self.total_bytes / 100 * 125 + 16 * MIB
    }

    pub(super) fn log_bytes(&self) -> u64 {
        let bytes = self.log_bytes.unwrap_or(self.total_bytes / 100 * 8);
        bytes.max(2 * MIB).div_ceil(64 << 10) * (64 << 10)
    }

    pub(super) fn pool_bytes(&self) -> u64 {
        let bytes = self.pool_bytes.unwrap_or(self.total_bytes / 4);
        bytes.max(4 * MIB).div_ceil(8 << 10) * (8 << 10)
    }

    /// The load in one sentence.
    pub(super) fn workload(&self) -> String {
        format!(
            "{} sessions insert {} of rows of 4.1 KB on an ascending clustered key, one row a page, {} rows \
             a durable commit, into {} data files; log {}, pool {}",
            self.connections,
            size_text(self.total_bytes),
            self.rows_per_commit,
            self.files,
            size_text(self.log_bytes()),
            size_text(self.pool_bytes())
        )
    }

    /// The settings that the plan records.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("files".to_string(), self.files.to_string()),
            ("connections".to_string(), self.connections.to_string()),
            ("total".to_string(), size_text(self.total_bytes)),
            (
                "rows-per-commit".to_string(),
                self.rows_per_commit.to_string(),
            ),
            ("log".to_string(), size_text(self.log_bytes())),
            ("pool".to_string(), size_text(self.pool_bytes())),
        ]);
        self.places.record(&mut settings);
        settings
    }

    /// What the experiment does not show.
    pub(super) fn limits(&self) -> Vec<String> {
        vec![
            "Skip targets are recalculated after 8,192 extents (512 MB): a load that writes less sees those \
             of the start alone."
                .to_string(),
            "Collisions on a spinlock need threads that run at the same time: few processors show few."
                .to_string(),
            "No file grew: what growth adds is not measured.".to_string(),
            "The engine is Furrow, not SQL Server: where extents go is SQL Server's rule, times are not its \
             times."
                .to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_make_no_sense_are_refused_with_what_to_do() {
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        assert!(refused(|o| o.files = 1).contains("--files"));
        assert!(refused(|o| o.total_bytes = 1).contains("--total"));
        assert!(refused(|o| o.rows_per_commit = 0).contains("--rows-per-commit"));
        assert!(refused(|o| o.log_bytes = Some(1)).contains("--log"));
        assert!(refused(|o| o.pool_bytes = Some(1)).contains("--pool"));
    }
}
