//! Counters, read from the system views that a DBA would query.

use super::{Session, TargetError, Value};
use std::collections::BTreeMap;

/// One wait type, since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitCounters {
    /// Name as in `sys.dm_os_wait_stats`.
    pub name: String,
    /// Waits.
    pub count: u64,
    /// Time waited, signal time included.
    pub total_us: u64,
    /// Longest single wait.
    pub max_us: u64,
    /// Part between the signal and running again.
    pub signal_us: u64,
}

/// One latch class, since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatchCounters {
    /// Name as in `sys.dm_os_latch_stats`.
    pub name: String,
    /// Requests that had to wait.
    pub waits: u64,
    /// Time waited.
    pub total_us: u64,
    /// Longest single wait.
    pub max_us: u64,
}

/// One spinlock class, since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpinCounters {
    /// Name as in `sys.dm_os_spinlock_stats`.
    pub name: String,
    /// Times it was found held.
    pub collisions: u64,
    /// Loop iterations.
    pub spins: u64,
    /// Times the scheduler was given up.
    pub backoffs: u64,
    /// Time asleep in back-offs.
    pub sleep_us: u64,
}

/// One file, since it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCounters {
    /// Number in the database.
    pub file_id: u32,
    /// Where it lies; empty for a file that `sys.master_files` does not list.
    pub path: String,
    /// Whether it is a log.
    pub is_log: bool,
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Time readers waited.
    pub read_stall_us: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time writers waited.
    pub write_stall_us: u64,
    /// Its size now.
    pub size_bytes: u64,
}

/// Everything that is counted, since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Waits of all sessions and of background work.
    pub waits: Vec<WaitCounters>,
    /// Latch classes.
    pub latches: Vec<LatchCounters>,
    /// Spinlock classes.
    pub spinlocks: Vec<SpinCounters>,
    /// Files of the database.
    pub files: Vec<FileCounters>,
    /// Performance counters that only rise, by name.
    pub totals: Vec<(String, u64)>,
}

impl Counters {
    /// A performance counter; 0 where the engine has none of that name.
    pub fn total(&self, name: &str) -> u64 {
        let found = self.totals.iter().find(|(known, _)| known == name);
        found.map_or(0, |(_, value)| *value)
    }
}

const WAITS: &str =
    "wait_type, waiting_tasks_count, wait_time_ms, max_wait_time_ms, signal_wait_time_ms";

fn ms(value: &Value) -> u64 {
    value.count().saturating_mul(1000)
}

fn waits_of(rows: &[Vec<Value>]) -> Vec<WaitCounters> {
    let rows = rows.iter().filter_map(|row| match row.as_slice() {
        [name, count, total, most, signal] => Some(WaitCounters {
            name: name.to_string(),
            count: count.count(),
            total_us: ms(total),
            max_us: ms(most),
            signal_us: ms(signal),
        }),
        _ => None,
    });
    rows.filter(|wait| wait.count > 0).collect()
}

/// The number of a session.
pub fn session_id(session: &mut dyn Session) -> Result<u64, TargetError> {
    let reply = session.batch("SELECT @@SPID;")?;
    let id = reply.scalar().map_or(0, Value::count);
    if id == 0 {
        return Err(TargetError::other("the session has no number"));
    }
    Ok(id)
}

/// The waits of each of these sessions, read by another one in one statement: the view lists all sessions,
/// so that a statement for each would cost the square of their number.
pub fn read_waits(
    reader: &mut dyn Session,
    sessions: &[u64],
) -> Result<Vec<Vec<WaitCounters>>, TargetError> {
    let text = format!("SELECT {WAITS}, session_id FROM sys.dm_exec_session_wait_stats;");
    let mut by_session: BTreeMap<u64, Vec<Vec<Value>>> = BTreeMap::new();
    for mut row in reader.batch(&text)?.rows {
        let id = row.pop().map_or(0, |id| id.count());
        by_session.entry(id).or_default().push(row);
    }
    let of = |id: &u64| waits_of(by_session.get(id).map_or(&[], Vec::as_slice));
    Ok(sessions.iter().map(of).collect())
}

/// Everything.
pub(super) fn read(session: &mut dyn Session, database: &str) -> Result<Counters, TargetError> {
    let waits = session.batch(&format!("SELECT {WAITS} FROM sys.dm_os_wait_stats;"))?;
    Ok(Counters {
        waits: waits_of(&waits.rows),
        latches: latches(session)?,
        spinlocks: spinlocks(session)?,
        files: files(session, database)?,
        totals: totals(session)?,
    })
}

fn latches(session: &mut dyn Session) -> Result<Vec<LatchCounters>, TargetError> {
    let text = "SELECT latch_class, waiting_requests_count, wait_time_ms, max_wait_time_ms \
                FROM sys.dm_os_latch_stats;";
    let reply = session.batch(text)?;
    let rows = reply.rows.iter().filter_map(|row| match row.as_slice() {
        [name, waits, total, most] => Some(LatchCounters {
            name: name.to_string(),
            waits: waits.count(),
            total_us: ms(total),
            max_us: ms(most),
        }),
        _ => None,
    });
    Ok(rows.collect())
}

fn spinlocks(session: &mut dyn Session) -> Result<Vec<SpinCounters>, TargetError> {
    let text =
        "SELECT name, collisions, spins, backoffs, sleep_time FROM sys.dm_os_spinlock_stats;";
    let reply = session.batch(text)?;
    let rows = reply.rows.iter().filter_map(|row| match row.as_slice() {
        [name, collisions, spins, backoffs, sleep] => Some(SpinCounters {
            name: name.to_string(),
            collisions: collisions.count(),
            spins: spins.count(),
            backoffs: backoffs.count(),
            sleep_us: ms(sleep),
        }),
        _ => None,
    });
    Ok(rows.collect())
}

fn files(session: &mut dyn Session, database: &str) -> Result<Vec<FileCounters>, TargetError> {
    let text = format!(
        "SELECT s.file_id, m.physical_name, m.type, s.num_of_reads, s.num_of_bytes_read, \
         s.io_stall_read_ms, s.num_of_writes, s.num_of_bytes_written, s.io_stall_write_ms, \
         s.size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(DB_ID(N'{}'), NULL) AS s \
         LEFT JOIN sys.master_files AS m ON m.database_id = s.database_id AND m.file_id = s.file_id \
         ORDER BY s.file_id;",
        database.replace('\'', "''")
    );
    let reply = session.batch(&text)?;
    let rows = reply.rows.iter().filter_map(|row| match row.as_slice() {
        [
            id,
            path,
            kind,
            reads,
            read,
            read_stall,
            writes,
            written,
            write_stall,
            size,
        ] => Some(FileCounters {
            file_id: u32::try_from(id.count()).unwrap_or(0),
            path: match path {
                Value::Null => String::new(),
                path => path.to_string(),
            },
            is_log: kind.count() == 1,
            reads: reads.count(),
            bytes_read: read.count(),
            read_stall_us: ms(read_stall),
            writes: writes.count(),
            bytes_written: written.count(),
            write_stall_us: ms(write_stall),
            size_bytes: size.count(),
        }),
        _ => None,
    });
    Ok(rows.collect())
}

/// Performance counters whose values only rise (`cntr_type` 272696576), those of single databases left out.
fn totals(session: &mut dyn Session) -> Result<Vec<(String, u64)>, TargetError> {
    let text = "SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters \
                WHERE cntr_type = 272696576 AND instance_name IN (N'', N'_Total');";
    let reply = session.batch(text)?;
    let rows = reply.rows.iter().filter_map(|row| match row.as_slice() {
        [name, value] => Some((name.to_string(), value.count())),
        _ => None,
    });
    Ok(rows.collect())
}
