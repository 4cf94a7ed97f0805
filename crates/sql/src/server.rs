//! The server: an instance, its system databases, its connections.

use crate::connection::Connection;
use crate::error::Result;
use furrow_engine::{DatabaseSpec, FileSpec, Instance};
use furrow_io::time::WallTime;
use std::path::PathBuf;
use std::sync::Arc;

/// The database that connections begin in.
pub(crate) const MASTER: &str = "master";
/// The database of temporary tables, made anew at each start.
pub(crate) const TEMPDB: &str = "tempdb";

/// An instance that speaks T-SQL.
#[derive(Debug)]
pub struct Server {
    instance: Arc<Instance>,
    started: WallTime,
}

impl Server {
    /// Takes an instance that has been started; makes `master` where it is not there yet, and `tempdb`.
    pub fn start(instance: Arc<Instance>) -> Result<Arc<Server>> {
        let server = Server {
            instance,
            started: WallTime::now(),
        };
        let known = server.instance.databases();
        if !known.iter().any(|d| d.name.eq_ignore_ascii_case(MASTER)) {
            server.make(MASTER, "master.mdf", "mastlog.ldf")?;
        }
        if known.iter().any(|d| d.name.eq_ignore_ascii_case(TEMPDB)) {
            server.instance.drop_database(TEMPDB)?;
        }
        server.make(TEMPDB, "tempdb.mdf", "templog.ldf")?;
        Ok(Arc::new(server))
    }

    fn make(&self, name: &str, data: &str, log: &str) -> Result<()> {
        let primary = FileSpec::new(name, self.path(data)).size_mb(4);
        let log = FileSpec::new(log.trim_end_matches(".ldf"), self.path(log)).size_mb(2);
        let spec = DatabaseSpec::new(name, primary).log(log);
        self.instance.create_database(&spec)?;
        Ok(())
    }

    /// Where a file lies that is named without a directory.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        match &self.instance.config().directory {
            Some(directory) => directory.join(file),
            None => PathBuf::from(file),
        }
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// When it was started.
    pub fn started(&self) -> WallTime {
        self.started
    }

    /// A new connection, in `master`.
    pub fn connect(self: &Arc<Server>) -> Result<Connection> {
        Connection::new(self)
    }
}
