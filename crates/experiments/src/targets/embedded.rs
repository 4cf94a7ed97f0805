//! Furrow in this process as a target: an instance for each run, spoken to in T-SQL.

use super::{
    DatabaseLayout, Need, Reply, Session, Startup, StatementId, Target, TargetError, Value,
};
use furrow_engine::{Instance, InstanceConfig};
use furrow_io::Volume;
use furrow_observe::traceflags::TraceFlag;
use furrow_sql::{BatchEnd, Connection, Notice, Prepared, ResultColumn, Server, Sink, SqlError};
use furrow_types as types;
use std::path::PathBuf;
use std::sync::Arc;

const PAGE_BYTES: u64 = 8192;
/// Pages in each half of a double-write file: a batch of write-back fits in.
const DOUBLE_WRITE_PAGES: u32 = 257;
/// `master`, `tempdb`, their logs and double-write files, the error log.
const INSTANCE_BYTES: u64 = 24 << 20;

/// Furrow in this process.
#[derive(Debug, Default)]
pub struct Embedded {
    server: Option<Arc<Server>>,
}

impl Embedded {
    /// Not running yet: each run starts an instance of its own.
    pub fn new() -> Embedded {
        Embedded::default()
    }
}

/// Trace flags by number; one that no flag has is an error.
fn flags(numbers: &[u32]) -> Result<Vec<TraceFlag>, TargetError> {
    let flag = |number: &u32| {
        TraceFlag::new(i64::from(*number)).ok_or_else(|| {
            TargetError::other(format!("{number} is not the number of a trace flag"))
        })
    };
    numbers.iter().map(flag).collect()
}

fn config(startup: &Startup) -> Result<InstanceConfig, TargetError> {
    Ok(InstanceConfig {
        directory: Some(startup.directory.clone()),
        pool_pages: usize::try_from(startup.pool_bytes / PAGE_BYTES)
            .map_err(|e| TargetError::other(e.to_string()))?,
        // Otherwise each run would measure how the machine gives memory, too.
        prefault_pool: true,
        double_write_pages: DOUBLE_WRITE_PAGES,
        many_extents_a_turn: startup.many_extents,
        trace_flags: flags(&startup.trace_flags)?,
        ..InstanceConfig::default()
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn refused(error: Box<SqlError>) -> TargetError {
    TargetError::other(error.to_string())
}

impl Target for Embedded {
    fn name(&self) -> String {
        "embedded".to_string()
    }

    fn version(&self) -> String {
        format!("Furrow {}", env!("CARGO_PKG_VERSION"))
    }

    fn lacks(&self, needs: &[Need]) -> Vec<String> {
        let lack = |need: &Need| match need {
            Need::TraceFlag(number) => flags(&[*number]).err().map(|e| e.text),
            Need::Startup(startup) => flags(&startup.trace_flags).err().map(|e| e.text),
            Need::Files | Need::SessionWaits => None,
        };
        needs.iter().filter_map(lack).collect()
    }

    fn paths(&self, layout: &DatabaseLayout) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for file in &layout.data {
            paths.push(file.path.clone());
            let mut double_write = file.path.as_os_str().to_owned();
            double_write.push(".dw");
            paths.push(double_write.into());
        }
        paths.push(layout.log.path.clone());
        paths
    }

    fn extra_bytes_per_file(&self) -> u64 {
        2 * u64::from(DOUBLE_WRITE_PAGES) * PAGE_BYTES
    }

    fn instance_bytes(&self) -> u64 {
        INSTANCE_BYTES
    }

    fn start(&mut self, volume: &Arc<dyn Volume>, startup: &Startup) -> Result<(), TargetError> {
        volume
            .create_dir(&startup.directory)
            .map_err(|e| TargetError::other(e.to_string()))?;
        let instance = Instance::start(Arc::clone(volume), config(startup)?)
            .map_err(|e| TargetError::other(e.to_string()))?;
        self.server = Some(Server::start(instance).map_err(refused)?);
        Ok(())
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        let server = self.server.as_ref();
        let server = server.ok_or_else(|| TargetError::other("the instance is not running"))?;
        let connection = server.connect().map_err(refused)?;
        Ok(Box::new(Worker {
            connection,
            prepared: Vec::new(),
        }))
    }

    /// The instance is let go of, not shut down: its files are about to be removed.
    fn stop(&mut self) -> Result<(), TargetError> {
        if let Some(server) = self.server.take() {
            server.instance().abandon();
        }
        Ok(())
    }
}

struct Worker {
    connection: Connection,
    prepared: Vec<Prepared>,
}

/// Takes what a batch gives; rows only where they are wanted.
#[derive(Default)]
struct Taken {
    reply: Reply,
    keeps_rows: bool,
    error: Option<TargetError>,
}

impl Sink for Taken {
    fn columns(&mut self, _columns: &[ResultColumn]) {}

    fn row(&mut self, row: &[types::Value]) {
        if self.keeps_rows {
            self.reply.rows.push(row.iter().map(value_of).collect());
        }
    }

    fn done(&mut self, rows: Option<u64>) {
        self.reply.count += rows.unwrap_or(0);
    }

    fn notice(&mut self, notice: &Notice) {
        let message = &notice.message;
        if !message.is_error() {
            self.reply.messages.push(message.text.clone());
            return;
        }
        self.error.get_or_insert_with(|| TargetError {
            number: message.number,
            level: message.level,
            state: message.state,
            text: message.text.clone(),
        });
    }
}

impl Taken {
    fn rows() -> Taken {
        Taken {
            keeps_rows: true,
            ..Taken::default()
        }
    }

    fn ended(self, end: BatchEnd) -> Result<Reply, TargetError> {
        match self.error {
            Some(error) => Err(error),
            None if end.cancelled => Err(TargetError::other("cancelled")),
            None => Ok(self.reply),
        }
    }
}

fn value_of(value: &types::Value) -> Value {
    match value {
        types::Value::Null => Value::Null,
        types::Value::Bit(value) => Value::Int(i64::from(*value)),
        types::Value::TinyInt(value) => Value::Int(i64::from(*value)),
        types::Value::SmallInt(value) => Value::Int(i64::from(*value)),
        types::Value::Int(value) => Value::Int(i64::from(*value)),
        types::Value::BigInt(value) => Value::Int(*value),
        types::Value::Real(value) => Value::Float(f64::from(*value)),
        types::Value::Float(value) => Value::Float(*value),
        other => Value::Text(other.to_string()),
    }
}

fn engine_value(value: &Value) -> types::Value {
    match value {
        Value::Null => types::Value::Null,
        Value::Int(value) => types::Value::BigInt(*value),
        Value::Float(value) => types::Value::Float(*value),
        Value::Text(text) => types::Value::NVarChar(text.clone()),
    }
}

impl Worker {
    fn run(
        &mut self,
        statement: StatementId,
        values: &[Value],
        mut taken: Taken,
    ) -> Result<Reply, TargetError> {
        let prepared = self.prepared.get(statement.0);
        let prepared =
            prepared.ok_or_else(|| TargetError::other("the statement is not of this session"))?;
        let values: Vec<types::Value> = values.iter().map(engine_value).collect();
        let end = self
            .connection
            .execute_prepared(prepared, &values, &mut taken);
        taken.ended(end)
    }
}

impl Session for Worker {
    fn batch(&mut self, text: &str) -> Result<Reply, TargetError> {
        let mut taken = Taken::rows();
        let end = self.connection.execute(text, &mut taken);
        taken.ended(end)
    }

    fn prepare(&mut self, text: &str, parameters: &str) -> Result<StatementId, TargetError> {
        let prepared = self.connection.prepare(text, parameters).map_err(refused)?;
        self.prepared.push(prepared);
        Ok(StatementId(self.prepared.len() - 1))
    }

    fn execute(&mut self, statement: StatementId, values: &[Value]) -> Result<u64, TargetError> {
        let reply = self.run(statement, values, Taken::default())?;
        Ok(reply.count)
    }

    fn query(&mut self, statement: StatementId, values: &[Value]) -> Result<Reply, TargetError> {
        self.run(statement, values, Taken::rows())
    }

    fn canceller(&self) -> Box<dyn Fn() + Send + Sync> {
        let cancel = self.connection.canceller();
        Box::new(move || cancel.cancel())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{read_waits, session_id};
    use super::*;
    use furrow_io::MemoryVolume;
    use std::path::Path;

    fn started() -> (Arc<dyn Volume>, Embedded, DatabaseLayout) {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
        volume.create_dir(Path::new("/v")).unwrap();
        let startup = Startup {
            directory: "/i".into(),
            pool_bytes: 8 << 20,
            trace_flags: vec![1118],
            many_extents: false,
        };
        let mut target = Embedded::new();
        target.start(&volume, &startup).unwrap();
        let data = ["/v/data1.mdf".into(), "/v/data2.ndf".into()];
        let log = (Path::new("/v/log.ldf"), 2 << 20);
        let layout = DatabaseLayout::even("lab", &data, 8 << 20, log);
        target.create_database(&layout).unwrap();
        (volume, target, layout)
    }

    #[test]
    fn a_database_has_the_files_that_were_named_and_no_others() {
        let (volume, mut target, layout) = started();
        let mut made = volume.list(Path::new("/v")).unwrap();
        let mut named = target.paths(&layout);
        made.sort();
        named.sort();
        assert_eq!(made, named, "every file is claimed, and no other");
        target.drop_database("lab").unwrap();
        target.drop_database("lab").unwrap();
        target.stop().unwrap();
        assert!(target.connect().is_err());
        target.stop().unwrap();
    }

    #[test]
    fn statements_run_with_parameters_and_errors_keep_their_numbers() {
        let (_volume, target, _) = started();
        let mut session = target.connect().unwrap();
        session
            .batch("USE lab; CREATE TABLE t (a bigint PRIMARY KEY, b varchar(9));")
            .unwrap();
        let insert = session
            .prepare("INSERT t VALUES (@a, @b)", "@a bigint, @b varchar(9)")
            .unwrap();
        for a in 0..5 {
            let values = [Value::Int(a), Value::Text(format!("x{a}"))];
            assert_eq!(session.execute(insert, &values).unwrap(), 1);
        }
        let twice = session
            .execute(insert, &[Value::Int(1), Value::Null])
            .unwrap_err();
        assert_eq!((twice.number, twice.level), (2627, 14));
        let reply = session
            .batch("SELECT COUNT(*), SUM(a) * 0.5, MAX(b), NULL FROM t;")
            .unwrap();
        let row = &reply.rows[0];
        assert_eq!((row[0].count(), row[1].number()), (5, Some(5.0)));
        assert_eq!((row[2].to_string().as_str(), &row[3]), ("x4", &Value::Null));
        let unknown = session.batch("SELECT * FROM nosuch;").unwrap_err();
        assert_eq!(unknown.number, 208);
    }

    #[test]
    fn counters_come_from_the_views_and_rise() {
        let (_volume, target, _) = started();
        let mut session = target.connect().unwrap();
        let before = target.counters(session.as_mut(), "lab").unwrap();
        session
            .batch("USE lab; CREATE TABLE t (a int); INSERT t VALUES (1);")
            .unwrap();
        let after = target.counters(session.as_mut(), "lab").unwrap();
        let log = |counters: &super::super::Counters| {
            let log = counters.files.iter().find(|file| file.is_log).unwrap();
            (log.path.clone(), log.bytes_written)
        };
        assert_eq!(log(&after).0, "/v/log.ldf");
        assert!(log(&after).1 > log(&before).1);
        let name = "Batch Requests/sec";
        assert!(after.total(name) > before.total(name));
        assert!(after.latches.len() > 10 && after.spinlocks.len() > 3);
        let mut other = target.connect().unwrap();
        other.batch("WAITFOR DELAY '00:00:00.020';").unwrap();
        let ids = [session_id(other.as_mut()).unwrap(), 0];
        let waits = read_waits(session.as_mut(), &ids).unwrap();
        let waited = waits[0].iter().find(|wait| wait.name == "WAITFOR").unwrap();
        assert!(waited.total_us >= 20_000 && waits[1].is_empty());
    }

    #[test]
    fn a_trace_flag_that_is_none_is_refused_before_anything_starts() {
        let lacks = Embedded::new().lacks(&[Need::Files, Need::TraceFlag(70_000)]);
        assert_eq!(lacks.len(), 1);
        assert!(lacks[0].contains("70000"), "{lacks:?}");
    }
}
