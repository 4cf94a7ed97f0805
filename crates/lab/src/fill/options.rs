//! What may be chosen, the sizes that follow from it, and what is said of them.

use crate::datafiles::{OptionsError, parse_size, size_text};
use crate::plan::Plan;
use crate::report::words::{shell_word, typed_percent};
use std::collections::BTreeMap;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;
/// Rows are a page each: fewer than this a session, and start and end are all that is measured.
const LEAST_BYTES_PER_CONNECTION: u64 = 64 << 10;

/// What may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Data files, the same number in every scenario.
    pub files: u64,
    /// Directories that data files are dealt to in turn. None: the output directory.
    pub volumes: Vec<PathBuf>,
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
            volumes: Vec::new(),
            connections: 16,
            total_bytes: 1280 * MIB,
            rows_per_commit: 10,
            pool_bytes: None,
            log_bytes: None,
        }
    }
}

impl Options {
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

    /// The settings a plan keeps: enough to make the options again.
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
        for (index, volume) in self.volumes.iter().enumerate() {
            let name = format!("volume {}", index + 1);
            settings.insert(name, volume.display().to_string());
        }
        settings
    }

    /// The options behind a plan: a resumed experiment needs no others.
    pub fn of_plan(plan: &Plan) -> Result<Options, OptionsError> {
        let missing =
            |name: &str| OptionsError(format!("the journal's plan has no usable '{name}'"));
        let text = |name: &str| plan.settings.get(name).ok_or_else(|| missing(name));
        let size = |name: &str| text(name).and_then(|t| parse_size(t).map_err(|_| missing(name)));
        let count = |name: &str| -> Result<u64, OptionsError> {
            text(name)?.parse().map_err(|_| missing(name))
        };
        let volumes = (1..).map_while(|n| plan.settings.get(&format!("volume {n}")));
        let connections = count("connections")?;
        let options = Options {
            files: count("files")?,
            volumes: volumes.map(PathBuf::from).collect(),
            connections: u32::try_from(connections).map_err(|_| missing("connections"))?,
            total_bytes: size("total")?,
            rows_per_commit: count("rows-per-commit")?,
            pool_bytes: Some(size("pool")?),
            log_bytes: Some(size("log")?),
        };
        options.check()?;
        Ok(options)
    }

    /// What the experiment does not tell.
    pub(super) fn limits(&self) -> Vec<String> {
        vec![
            "Skip targets are reckoned anew after 8,192 extents (512 MB): a load that writes less sees those \
             of the start alone."
                .to_string(),
            "Collisions on a spinlock need threads that run at the same time: few processors show few."
                .to_string(),
            "No file grew: what growth adds is not measured.".to_string(),
            "The engine is Furrow, not SQL Server: where extents go is the product's rule, times are not its \
             times."
                .to_string(),
        ]
    }

    /// The command that runs the plan again.
    pub(super) fn command(&self, plan: &Plan) -> String {
        let usual = Options::default();
        let plain = Options {
            pool_bytes: None,
            log_bytes: None,
            ..self.clone()
        };
        let mut words = format!(
            "furrow lab run {} --blocks {} --seed {}",
            plan.name, plan.blocks, plan.seed
        );
        let mut tell = |differs: bool, option: &str, value: String| {
            if differs {
                words.push_str(&format!(" {option} {value}"));
            }
        };
        tell(self.files != usual.files, "--files", self.files.to_string());
        let total = size_text(self.total_bytes);
        tell(self.total_bytes != usual.total_bytes, "--total", total);
        let connections = self.connections.to_string();
        tell(
            self.connections != usual.connections,
            "--connections",
            connections,
        );
        let rows = self.rows_per_commit.to_string();
        tell(
            self.rows_per_commit != usual.rows_per_commit,
            "--rows-per-commit",
            rows,
        );
        let pool = size_text(self.pool_bytes());
        tell(self.pool_bytes() != plain.pool_bytes(), "--pool", pool);
        let log = size_text(self.log_bytes());
        tell(self.log_bytes() != plain.log_bytes(), "--log", log);
        for volume in &self.volumes {
            tell(true, "--volume", shell_word(&volume.display().to_string()));
        }
        let delta = (plan.delta - 0.02).abs() > 1e-12;
        tell(delta, "--delta", typed_percent(plan.delta));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_back_from_the_plan_they_made() {
        let options = Options {
            files: 3,
            volumes: vec![PathBuf::from("/a b"), PathBuf::from("/c")],
            connections: 5,
            total_bytes: 64 * MIB,
            rows_per_commit: 7,
            pool_bytes: None,
            log_bytes: None,
        };
        let mut plan = Plan::new("proportional-fill", "?", Vec::new(), 3);
        plan.settings = options.settings();
        let back = Options::of_plan(&plan).unwrap();
        assert_eq!(back.settings(), options.settings());
        let command = options.command(&plan);
        assert!(
            command.contains("--files 3") && command.contains("--rows-per-commit 7"),
            "{command}"
        );
        assert!(!command.contains("--pool"), "{command}");
        for wrong in [
            Options {
                files: 1,
                ..options.clone()
            },
            Options {
                total_bytes: 1,
                ..options.clone()
            },
            Options {
                rows_per_commit: 0,
                ..options
            },
        ] {
            assert!(wrong.check().is_err());
        }
    }
}
