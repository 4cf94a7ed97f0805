//! Engines under test, behind one trait that takes T-SQL.
//!
//! # Purpose
//! An experiment uses statements, and files and counters by name. It does not depend on whether the engine
//! runs in this process or behind an address. [`Embedded`] runs Furrow in this process; the tests have a
//! target with recorded answers, which has no engine.
//!
//! # Invariants
//! 1. Missing features of a target are reported before the first run: [`Target::lacks`] gets every [`Need`]
//!    of a plan.
//! 2. Counters come from the system views that a DBA would query, by the names they have there. They only
//!    rise; a run is the difference of two readings.
//! 3. A failed statement returns the engine's number, level, state and text ([`TargetError`]).
//!
//! # What can fail
//! [`TargetError`], from the engine or from the connection to it.

mod counters;
mod embedded;
mod layout;
#[cfg(test)]
pub(crate) mod recorded;
mod value;

pub use counters::{
    Counters, FileCounters, LatchCounters, SpinCounters, WaitCounters, read_waits, session_id,
};
pub use embedded::Embedded;
pub use layout::{DataFile, DatabaseLayout, place_files, volume_of};
pub use value::{Reply, TargetError, Value};

use furrow_io::Volume;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

/// How an instance is started for a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Startup {
    /// A directory for this instance alone: system databases, error log.
    pub directory: PathBuf,
    /// Bytes of the buffer pool.
    pub pool_bytes: u64,
    /// Trace flags that are set at the start (`-T`).
    pub trace_flags: Vec<u32>,
    /// 64 extents of a file in a turn (`-E`).
    pub many_extents: bool,
}

/// A feature that an experiment needs of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The paths of a database's files can be chosen.
    Files,
    /// The instance can be started for each run, with these options.
    Startup(Startup),
    /// The target has this trace flag.
    TraceFlag(u32),
    /// Waits are recorded by session.
    SessionWaits,
}

/// An engine.
pub trait Target: Debug {
    /// Its location, for the report: `embedded`.
    fn name(&self) -> String;

    /// Product and version, in words.
    fn version(&self) -> String;

    /// One sentence for each need that it cannot meet. Called before anything is created.
    fn lacks(&self, needs: &[Need]) -> Vec<String>;

    /// Every path that the creation of this database will use, so that each is claimed before.
    fn paths(&self, layout: &DatabaseLayout) -> Vec<PathBuf>;

    /// Bytes that it stores beside each data file.
    fn extra_bytes_per_file(&self) -> u64 {
        0
    }

    /// Bytes that an instance stores in its directory.
    fn instance_bytes(&self) -> u64 {
        0
    }

    /// Starts the instance, or connects to a running one.
    fn start(&mut self, volume: &Arc<dyn Volume>, startup: &Startup) -> Result<(), TargetError>;

    /// A session, in `master`.
    fn connect(&self) -> Result<Box<dyn Session>, TargetError>;

    /// Stops the instance; no error if none runs. Its files may stay: the lab removes them. An instance that
    /// was already running is not stopped.
    fn stop(&mut self) -> Result<(), TargetError>;

    /// Creates a database.
    fn create_database(&self, layout: &DatabaseLayout) -> Result<(), TargetError> {
        let mut session = self.connect()?;
        session.batch(&layout.create_statement()).map(|_| ())
    }

    /// Drops a database; no error when it is not there.
    fn drop_database(&self, name: &str) -> Result<(), TargetError> {
        let mut session = self.connect()?;
        let statement = format!("DROP DATABASE IF EXISTS {};", quoted(name));
        session.batch(&statement).map(|_| ())
    }

    /// All counters, read by this session.
    fn counters(&self, session: &mut dyn Session, database: &str) -> Result<Counters, TargetError> {
        counters::read(session, database)
    }
}

/// The number of a prepared statement of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// A session; one thread at a time works with it.
pub trait Session: Send {
    /// Runs a batch. The first error ends it.
    fn batch(&mut self, text: &str) -> Result<Reply, TargetError>;

    /// Prepares a text that is run many times, with parameters declared in the form of `sp_executesql`:
    /// `"@id int, @name varchar(50)"`.
    fn prepare(&mut self, text: &str, parameters: &str) -> Result<StatementId, TargetError>;

    /// Runs a prepared text and discards its rows; returns how many rows it returned or changed.
    fn execute(&mut self, statement: StatementId, values: &[Value]) -> Result<u64, TargetError>;

    /// Runs a prepared text and returns its rows.
    fn query(&mut self, statement: StatementId, values: &[Value]) -> Result<Reply, TargetError>;

    /// A function that cancels the statement under way, to be called from another thread.
    fn canceller(&self) -> Box<dyn Fn() + Send + Sync>;

    /// The batches of a script: separated by `GO` on a line of its own, an optional count behind it.
    fn script(&mut self, text: &str) -> Result<Vec<Reply>, TargetError> {
        let mut replies = Vec::new();
        for (batch, times) in batches(text) {
            for _ in 0..times {
                replies.push(self.batch(&batch)?);
            }
        }
        Ok(replies)
    }
}

/// The batches of a script, each with its number of executions.
pub fn batches(text: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut batch = String::new();
    for line in text.lines().chain(["GO"]) {
        let mut words = line.split_whitespace();
        let is_go = words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("GO"));
        let count = match words.next() {
            None => Some(1),
            Some(word) => word.parse().ok(),
        };
        match count.filter(|_| is_go && words.next().is_none()) {
            Some(times) => {
                let whole = std::mem::take(&mut batch);
                if !whole.trim().is_empty() {
                    found.push((whole, times));
                }
            }
            None => {
                batch.push_str(line);
                batch.push('\n');
            }
        }
    }
    found
}

/// An identifier in brackets.
pub fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cut_at_go_and_run_as_often_as_go_says() {
        let script = "SELECT 1;\n go \nSELECT 'a\nGO there';\nGO 3\n\nGO\nlast";
        let found = batches(script);
        let texts: Vec<(&str, u32)> = found.iter().map(|(b, n)| (b.trim(), *n)).collect();
        assert_eq!(
            texts,
            [("SELECT 1;", 1), ("SELECT 'a\nGO there';", 3), ("last", 1)]
        );
    }
}
