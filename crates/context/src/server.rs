//! The server: an instance, its system databases, its connections.

use crate::activity::{Activity, ActivityView};
use crate::configuration::Configuration;
use crate::error::Result;
use crate::query_stats::QueryStats;
use crate::statements::SharedStatements;
use crate::system_databases::{MASTER, TEMPDB};
use crate::usage::Usage;
use furrow_engine::{DatabaseSpec, DatabaseView, FileSpec, Instance};
use furrow_io::time::WallTime;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The files that `tempdb` is created with: logical names and names of files.
const TEMPDB_FILES: [(&str, &str); 2] = [("tempdev", "tempdb.mdf"), ("templog", "templog.ldf")];
/// An instance that speaks T-SQL.
#[derive(Debug)]
pub struct ServerState {
    instance: Arc<Instance>,
    started: WallTime,
    /// The next number of a temporary table.
    temps: AtomicU32,
    /// The open connections, by number.
    connections: Mutex<BTreeMap<i32, Weak<Activity>>>,
    configuration: Configuration,
    /// How often DBCC FREEPROCCACHE has run: a connection's stored texts are valid within one count.
    forgotten: AtomicU64,
    /// Usage counts of indexes.
    usage: Usage,
    /// The cost of statements.
    query_stats: QueryStats,
    /// Held while figures of databases are copied to the counters.
    counting: Mutex<()>,
    /// Statements of the texts that connections store.
    statements: SharedStatements,
    /// Threads of parallel scans at present.
    helpers: Arc<AtomicUsize>,
}

/// Most threads of all parallel scans, for each processor.
const HELPERS_PER_CPU: usize = 16;

/// Threads that a parallel scan may have, until this is dropped.
#[derive(Debug)]
pub struct HelperPermit {
    all: Arc<AtomicUsize>,
    /// How many.
    pub threads: usize,
}

impl Drop for HelperPermit {
    fn drop(&mut self) {
        let before = self.all.fetch_sub(self.threads, Ordering::Relaxed);
        debug_assert!(
            before >= self.threads,
            "threads are counted when they are permitted"
        );
    }
}

impl ServerState {
    /// Takes a started instance; creates `master` if it does not exist, and `tempdb`.
    pub fn start(instance: Arc<Instance>) -> Result<Arc<ServerState>> {
        let usage = Usage::new(&instance.instruments().trace_flags);
        let server = ServerState {
            instance,
            started: WallTime::now(),
            temps: AtomicU32::new(1),
            connections: Mutex::new(BTreeMap::new()),
            configuration: Configuration::default(),
            forgotten: AtomicU64::new(0),
            usage,
            query_stats: QueryStats::default(),
            counting: Mutex::new(()),
            statements: SharedStatements::default(),
            helpers: Arc::default(),
        };
        let known = server.instance.databases();
        if !known.iter().any(|d| d.name.eq_ignore_ascii_case(MASTER)) {
            server.make((MASTER, 1), "master.mdf", "mastlog.ldf")?;
        }
        server.make_tempdb(&known)?;
        Ok(Arc::new(server))
    }

    /// Creates `tempdb` if the instance has not created it by its layout: in a new instance, and in one whose
    /// `tempdb` comes from a version without layouts.
    fn make_tempdb(&self, known: &[DatabaseView]) -> Result<()> {
        let tempdb = self.instance.database(TEMPDB);
        if tempdb.is_ok_and(|db| db.is_temporary()) {
            return Ok(());
        }
        let [data, log] = TEMPDB_FILES;
        if known.iter().any(|d| d.name.eq_ignore_ascii_case(TEMPDB)) {
            let files = [data, log].map(|(_, file)| self.path(file));
            self.instance.discard_database(TEMPDB, &files)?;
        }
        let file =
            |(name, file): (&str, &str), mb| FileSpec::new(name, self.path(file)).size_mb(mb);
        let spec = DatabaseSpec {
            id: Some(2),
            autogrow_all: true,
            temporary: true,
            ..DatabaseSpec::new(TEMPDB, file(data, 4)).log(file(log, 2))
        };
        self.instance.create_database(&spec)?;
        Ok(())
    }

    fn make(&self, (name, id): (&str, u16), data: &str, log: &str) -> Result<()> {
        let primary = FileSpec::new(name, self.path(data)).size_mb(4);
        let log = FileSpec::new(log.trim_end_matches(".ldf"), self.path(log)).size_mb(2);
        let spec = DatabaseSpec {
            id: Some(id),
            ..DatabaseSpec::new(name, primary).log(log)
        };
        self.instance.create_database(&spec)?;
        Ok(())
    }

    /// The path of a file that was named without a directory.
    pub fn path(&self, file: &str) -> PathBuf {
        match &self.instance.config().directory {
            Some(directory) => directory.join(file),
            None => PathBuf::from(file),
        }
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The values that `sp_configure` has set.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Permits so many threads of a parallel scan, or fewer where other scans have theirs; `None` for fewer
    /// than two.
    pub fn permit_helpers(&self, wanted: usize) -> Option<HelperPermit> {
        let most = HELPERS_PER_CPU * furrow_io::thread::available_cpus();
        let (take, now) = (Ordering::Relaxed, Ordering::Relaxed);
        let threads = |used: usize| wanted.min(most.saturating_sub(used));
        let taken = self.helpers.fetch_update(take, now, |used| {
            (threads(used) >= 2).then(|| used + threads(used))
        });
        taken.ok().map(|used| HelperPermit {
            all: Arc::clone(&self.helpers),
            threads: threads(used),
        })
    }

    /// Locked by a thread that copies figures of databases to the counters.
    pub fn counting(&self) -> &Mutex<()> {
        &self.counting
    }

    /// Makes the connections discard their stored texts.
    pub fn forget_texts(&self) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
        self.statements.remove_unused();
        self.statements.forget_plans();
        self.query_stats.clear();
    }

    /// How often stored texts have been discarded.
    #[inline]
    pub(crate) fn texts_forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Statements of the texts that connections store.
    pub(crate) fn statements(&self) -> &SharedStatements {
        &self.statements
    }

    /// Usage counts of indexes.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The cost of statements.
    pub fn query_stats(&self) -> &QueryStats {
        &self.query_stats
    }

    /// When the server was started.
    pub fn started(&self) -> WallTime {
        self.started
    }

    /// The open connections, by number: `sys.dm_exec_sessions`.
    pub fn connections(&self) -> Vec<ActivityView> {
        let known = self.connections.lock();
        known
            .values()
            .filter_map(|a| a.upgrade().map(|a| a.view()))
            .collect()
    }

    /// A number that no other temporary table has.
    pub fn next_temp(&self) -> u32 {
        self.temps.fetch_add(1, Ordering::Relaxed)
    }

    /// Registers a connection, and removes those that are closed.
    pub(crate) fn enlist(&self, id: i32, activity: &Arc<Activity>) {
        let mut known = self.connections.lock();
        known.retain(|_, a| a.strong_count() > 0);
        known.insert(id, Arc::downgrade(activity));
    }

    /// Removes a connection.
    pub(crate) fn delist(&self, id: i32) {
        self.connections.lock().remove(&id);
    }

    /// What a connection is doing.
    pub fn connection(&self, id: i32) -> Option<Arc<Activity>> {
        self.connections.lock().get(&id).and_then(Weak::upgrade)
    }

    /// Ends a connection, which accepts no more batches. A batch under way ends at its next row or wait and
    /// is rolled back; an idle connection's open transaction is rolled back at once. `false` if there is no
    /// such connection.
    pub fn kill(&self, id: i32) -> bool {
        let found = self.connection(id);
        if let Some(activity) = &found {
            activity.kill();
        }
        found.is_some()
    }
}
