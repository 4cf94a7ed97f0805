//! What the tests of tables share: an instance in memory and short names for types and values.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(unreachable_pub, reason = "each test uses its part")]

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, FileSpec, FilegroupSpec, Instance, InstanceConfig,
    ScanSpec, Session, Table, TableSpec,
};
use furrow_io::{MemoryVolume, Volume};
use furrow_txn::lock::{LockMode, LockStatus, Resource};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

pub mod long_rows;

pub struct House {
    pub volume: Arc<dyn Volume>,
    pub instance: Arc<Instance>,
    pub db: Arc<Database>,
    config: InstanceConfig,
}

pub fn config() -> InstanceConfig {
    InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 2048,
        double_write_pages: 64,
        ..InstanceConfig::default()
    }
}

pub fn house() -> House {
    house_of(1)
}

/// One without threads of its own: nothing happens that the test does not ask for.
pub fn quiet_house() -> House {
    let background = false;
    house_with(
        1,
        InstanceConfig {
            background,
            ..config()
        },
    )
}

/// A database of so many files, half of them in a filegroup of their own.
pub fn house_of(files: usize) -> House {
    house_with(files, config())
}

fn house_with(files: usize, config: InstanceConfig) -> House {
    house_on(Arc::new(MemoryVolume::new()), files, config)
}

/// On this volume, which is empty.
pub fn house_on(volume: Arc<dyn Volume>, files: usize, config: InstanceConfig) -> House {
    volume.create_dir(Path::new("d")).unwrap();
    let instance = Instance::start(Arc::clone(&volume), config.clone()).unwrap();
    let primary = FileSpec::new("data", "d/data.mdf").size_mb(8);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(32);
    let mut spec = DatabaseSpec::new("test", primary).log(log);
    let mut others = Vec::new();
    for at in 1..files {
        let file = FileSpec::new(format!("f{at}"), format!("d/f{at}.ndf")).size_mb(4);
        if at % 2 == 0 {
            spec = spec.file(file);
        } else {
            others.push(file);
        }
    }
    if !others.is_empty() {
        spec = spec.filegroup(FilegroupSpec::new("OTHER", others));
    }
    let db = instance.create_database(&spec).unwrap();
    House {
        volume,
        instance,
        db,
        config,
    }
}

impl House {
    pub fn session(&self) -> Session {
        Session::new(&self.db).unwrap()
    }

    /// Ends the instance, abruptly or not, and starts it again. Sessions in the middle of something end
    /// after an abrupt end, when nothing is written any more.
    pub fn restart(self, abruptly: bool, sessions: Vec<Session>) -> House {
        let House {
            volume,
            instance,
            db,
            config,
        } = self;
        drop(db);
        if abruptly {
            instance.abandon();
            drop(sessions);
        } else {
            drop(sessions);
            instance.shut_down().unwrap();
        }
        drop(instance);
        House::started(volume, config)
    }

    /// Ends the instance in order, lets somebody else have the files, and starts it again.
    pub fn restart_after(self, meanwhile: impl FnOnce()) -> House {
        let House {
            volume,
            instance,
            db,
            config,
        } = self;
        drop(db);
        instance.shut_down().unwrap();
        drop(instance);
        meanwhile();
        House::started(volume, config)
    }

    fn started(volume: Arc<dyn Volume>, config: InstanceConfig) -> House {
        let instance = Instance::start(Arc::clone(&volume), config.clone()).unwrap();
        let db = instance.database("test").unwrap();
        House {
            volume,
            instance,
            db,
            config,
        }
    }
}

pub fn bigint() -> DataType {
    DataType::simple(TypeId::BigInt)
}

pub fn int() -> DataType {
    DataType::simple(TypeId::Int)
}

pub fn varchar(len: i16) -> DataType {
    DataType::sized(TypeId::VarChar, len)
}

pub fn n(value: i64) -> Value {
    Value::BigInt(value)
}

pub fn i(value: i32) -> Value {
    Value::Int(value)
}

pub fn s(text: &str) -> Value {
    Value::VarChar(text.to_owned())
}

/// What a session holds: on the table, and how many locks below it.
pub fn held(house: &House, session: &Session, table: &Table) -> (Option<LockMode>, usize) {
    let object = Resource::Object(house.db.id(), table.id());
    let rows = house.instance.locks().snapshot();
    let mine = rows
        .iter()
        .filter(|row| row.session_id == session.id() && row.status == LockStatus::Grant);
    let whole = mine.clone().find(|row| row.resource == object);
    let fine = mine.filter(|row| row.resource.is_fine()).count();
    (whole.map(|row| row.mode), fine)
}

/// How many rows a scan of a table finds.
pub fn rows_of(session: &mut Session, table: &str) -> usize {
    let table = session.table(table).unwrap();
    let mut rows = 0;
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    scan.for_each(|_| {
        rows += 1;
        Ok(())
    })
    .unwrap();
    rows
}

/// Rows 1 to `rows` of a table with the value 0 each.
pub fn numbered(rows: i64) -> (House, Arc<Table>) {
    let house = house();
    let mut session = house.session();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .primary_key(["id"]);
    let table = session.create_table(&spec).unwrap();
    session.begin().unwrap();
    for id in 1..=rows {
        session.insert(&table, &[n(id), i(0)]).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    (house, table)
}
