//! An open database.

use crate::builder::DataFile;
use crate::home::Home;
use crate::{Error, FileStats, FileView, LatchRow, LogView, Result, Session, SpinRow, WaitRow};
use furrow_engine::{self as engine, Instance};
use furrow_observe::traceflags::TraceFlag;
use std::sync::Arc;

/// An open database; clones are further handles of the same one.
///
/// One process has a database open at a time: its files are locked. Any number of threads may share it,
/// each with a [`Session`] of its own. Dropping the last handle and the last session shuts it down cleanly.
/// A process that ends without that loses no committed transaction: the next open runs recovery.
///
/// ```no_run
/// use furrow::{DataFile, Database};
///
/// # fn main() -> Result<(), furrow::Error> {
/// let db = Database::create("sales")
///     .file(DataFile::new("/disk1/sales1.mdf").size_mb(512))
///     .file(DataFile::new("/disk2/sales2.ndf").size_mb(512))
///     .log(DataFile::new("/disk1/sales.ldf").size_mb(128))
///     .pool_mb(256)
///     .open()?;
/// db.close()?;
/// let db = Database::open("/disk1/sales1.mdf")?;  // the primary file knows where the others are
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    pub(crate) home: Arc<Home>,
}

impl Database {
    /// Shuts the database down cleanly. Refused (3702) while another handle or a session lives.
    pub fn close(self) -> Result<()> {
        match Arc::try_unwrap(self.home) {
            Ok(home) => Ok(home.instance.shut_down()?),
            Err(shared) => {
                let args = ["database".into(), shared.database.name().into()];
                Err(engine::EngineError::refused(3702, &args).into())
            }
        }
    }

    /// A session: one for each thread that works.
    pub fn session(&self) -> Result<Session> {
        Session::new(&self.home)
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        self.home.database.name()
    }

    /// Writes all committed changes to the data files. Commits are durable without it; a checkpoint shortens
    /// the recovery of the next open after a crash.
    pub fn checkpoint(&self) -> Result<()> {
        self.home.database.checkpoint()?;
        Ok(())
    }

    /// Waits since the database was opened, the longest first; waits of idle threads are left out.
    pub fn waits(&self) -> Vec<WaitRow> {
        let snapshot = self.home.instance.instruments().waits.snapshot();
        snapshot.top(1.0).into_iter().map(|top| top.row).collect()
    }

    /// Latch classes that a thread had to wait for.
    pub fn latches(&self) -> Vec<LatchRow> {
        let rows = self.home.instance.instruments().latches.snapshot();
        rows.into_iter()
            .filter(|row| row.waiting_requests > 0)
            .collect()
    }

    /// Spinlock classes for which a thread had to spin.
    pub fn spinlocks(&self) -> Vec<SpinRow> {
        let rows = self.home.instance.instruments().spinlocks.snapshot();
        rows.into_iter().filter(|row| row.collisions > 0).collect()
    }

    /// Reads, writes, bytes, stalls and latencies of each file.
    pub fn file_stats(&self) -> Vec<FileStats> {
        self.home.instance.instruments().files.snapshot()
    }

    /// The data files: sizes, growth, free extents.
    pub fn files(&self) -> Result<Vec<FileView>> {
        Ok(self.home.database.file_list()?)
    }

    /// The log: size, use, and what prevents its reuse.
    pub fn log(&self) -> LogView {
        self.home.database.log_view()
    }

    /// Adds a data file while the database is in use. The default is the primary filegroup.
    pub fn add_file(&self, file: impl Into<DataFile>, filegroup: Option<&str>) -> Result<()> {
        self.home
            .database
            .add_file(&file.into().spec(), filegroup)?;
        Ok(())
    }

    /// Sets a trace flag for all sessions: 1165 with 3605 writes the proportional fill's targets to the error
    /// log. A number that is no valid trace flag is refused.
    pub fn set_trace_flag(&self, flag: u16) -> Result<()> {
        let known = TraceFlag::new(i64::from(flag)).filter(|_| flag > 0);
        let Some(of_number) = known else {
            let text = format!(
                "Trace flag {flag} is not valid. A trace flag is a number from 1 to {}.",
                TraceFlag::MAX
            );
            return Err(Error::custom(40514, 1, &text));
        };
        let instruments = self.home.instance.instruments();
        instruments.trace_flags.set_at_start(of_number);
        Ok(())
    }

    /// The last lines of the error log.
    pub fn error_log(&self, most: usize) -> Vec<String> {
        let entries = self.home.instance.error_log().tail(most);
        entries.into_iter().map(|entry| entry.text).collect()
    }

    /// The engine's own handles, for operations that this interface does not have.
    pub fn engine(&self) -> (&Arc<Instance>, &Arc<engine::Database>) {
        (&self.home.instance, &self.home.database)
    }
}
