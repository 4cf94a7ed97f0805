//! Random databases, made by the engine and closed.

use furrow_datafile::MemoryFiles;
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, IndexSpec, Instance, InstanceConfig,
    KeyColumnSpec, Session, Table, TableSpec,
};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A sound database.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// As it was closed.
    pub files: MemoryFiles,
    /// As it was at a checkpoint before.
    pub earlier: Option<MemoryFiles>,
}

impl Made {
    /// Whether this engine made it: only such databases are repaired.
    pub fn is_own(&self) -> bool {
        self.earlier.is_some()
    }
}

fn big() -> DataType {
    DataType::simple(TypeId::BigInt)
}

/// A table of one of five shapes.
fn table_spec(name: &str, shape: u32) -> TableSpec {
    let spec = TableSpec::new(name)
        .column(ColumnSpec::new("id", big()).not_null())
        .column(ColumnSpec::new("bucket", DataType::simple(TypeId::Int)).not_null())
        .column(ColumnSpec::new(
            "word",
            DataType::sized(TypeId::VarChar, 60),
        ))
        .column(ColumnSpec::new("done", DataType::simple(TypeId::Bit)))
        .column(ColumnSpec::new("at", DataType::simple(TypeId::DateTime)))
        .column(ColumnSpec::new(
            "name",
            DataType::sized(TypeId::NVarChar, 80),
        ))
        .column(ColumnSpec::new("price", DataType::simple(TypeId::Decimal)))
        .column(ColumnSpec::new(
            "filler",
            DataType::sized(TypeId::VarBinary, 2000),
        ))
        .column(ColumnSpec::new("late", DataType::simple(TypeId::Bit)));
    match shape {
        0 => spec
            .primary_key(["id"])
            .index(IndexSpec::new("words", ["word"]).include(&["done", "price"])),
        1 => spec
            .primary_key([KeyColumnSpec::descending("id")])
            .index(IndexSpec::new("names", ["name", "bucket"]))
            .index(IndexSpec::new("ids", ["id"]).unique().include(&["at"])),
        2 => spec
            .index(IndexSpec::new("clustered", ["bucket"]).clustered())
            .index(IndexSpec::new("ids", ["id"]).unique()),
        3 => spec
            .index(IndexSpec::new("clustered", ["word"]).clustered())
            .index(IndexSpec::new("buckets", ["bucket"])),
        _ => spec
            .index(IndexSpec::new("ids", ["id"]).unique())
            .index(IndexSpec::new("words", ["word"])),
    }
}

fn or_null(rng: &mut SeededRng, value: Value) -> Value {
    if rng.random_ratio(1, 6) {
        Value::Null
    } else {
        value
    }
}

fn word(rng: &mut SeededRng, most: usize) -> String {
    let len = rng.random_range(0..=most);
    (0..len)
        .map(|_| char::from(b"abcdefgXYZ -'"[rng.random_range(0..13)]))
        .collect()
}

fn row(rng: &mut SeededRng, id: i64) -> Vec<Value> {
    let at = furrow_types::DateTime::new(rng.random_range(0..50_000), rng.random_range(0..9999));
    let price = furrow_types::Decimal {
        unscaled: rng.random_range(-1_000_000..1_000_000),
        scale: 0,
    };
    let filler = vec![id as u8; rng.random_range(0..400)];
    let values = [
        Value::VarChar(word(rng, 30)),
        Value::Bit(rng.random()),
        at.map_or(Value::Null, Value::DateTime),
        Value::NVarChar(word(rng, 20)),
        Value::Decimal(price),
        Value::Binary(filler),
        Value::Bit(rng.random()),
    ];
    let mut row = vec![Value::BigInt(id), Value::Int(rng.random_range(0..20))];
    for value in values {
        let value = or_null(rng, value);
        row.push(value);
    }
    row
}

/// Rows come, change and go; some of it is rolled back.
fn work(
    rng: &mut SeededRng,
    session: &mut Session,
    table: &Arc<Table>,
    steps: u32,
) -> Result<(), EngineError> {
    let by_id = table.indexes().iter().position(|i| {
        i.key().first().is_some_and(|k| k.column == 0)
            && i.kind() == furrow_engine::IndexKind::Clustered
    });
    let mut next = 0;
    session.begin()?;
    for _ in 0..steps {
        match rng.random_range(0..10) {
            0 if by_id.is_some() && next > 0 => {
                let key =
                    table.row_key(&[Value::BigInt(rng.random_range(0..next) * 7 % 100_003)])?;
                session.delete(table, &key)?;
            }
            1 if by_id.is_some() && next > 0 => {
                let key =
                    table.row_key(&[Value::BigInt(rng.random_range(0..next) * 7 % 100_003)])?;
                let fresh = row(rng, 0);
                let set: Vec<(usize, Value)> = fresh.into_iter().enumerate().skip(1).collect();
                session.update(table, &key, &set)?;
            }
            2 if rng.random_ratio(1, 20) => {
                session.commit()?;
                session.begin()?;
            }
            3 if rng.random_ratio(1, 40) => {
                let saved = session.savepoint()?;
                let lost = row(rng, 1_000_000 + next);
                session.insert(table, &lost)?;
                session.rollback_to(saved)?;
            }
            _ => {
                let fresh = row(rng, next * 7 % 100_003);
                session.insert(table, &fresh)?;
                next += 1;
            }
        }
    }
    session.commit()
}

fn image(volume: &dyn Volume, paths: &[PathBuf]) -> Result<MemoryFiles, String> {
    let mut files = MemoryFiles::new();
    for path in paths {
        let file = volume
            .open(path, Open::ReadOnly, Access::Data)
            .map_err(|e| e.to_string())?;
        let mut bytes = vec![0; file.len_bytes().map_err(|e| e.to_string())? as usize];
        file.read_at(0, &mut bytes).map_err(|e| e.to_string())?;
        files.add(&bytes).map_err(|e| e.to_string())?;
    }
    Ok(files)
}

fn fill(rng: &mut SeededRng, db: &Arc<Database>) -> Result<(), EngineError> {
    let mut session = Session::new(db)?;
    for number in 0..rng.random_range(1..4_u32) {
        let spec = table_spec(&format!("t{number}"), rng.random_range(0..5));
        let table = match session.create_table(&spec) {
            // Tables without a clustered index, where the engine has none.
            Err(error) if error.number() == 40054 => continue,
            made => made?,
        };
        let steps = rng.random_range(0..800);
        work(rng, &mut session, &table, steps)?;
        if rng.random_ratio(1, 4) {
            db.purge_ghosts()?;
        }
        if rng.random_ratio(1, 6) {
            session.drop_table(&format!("t{number}"))?;
        }
    }
    Ok(())
}

/// Rows at the end, so that pages differ from what they were before.
fn fill_more(rng: &mut SeededRng, db: &Arc<Database>) -> Result<(), EngineError> {
    let mut session = Session::new(db)?;
    for number in 0..4 {
        let Ok(table) = session.table(&format!("t{number}")) else {
            continue;
        };
        for id in 0..rng.random_range(0..200) {
            let fresh = row(rng, 200_000 + id);
            session.insert(&table, &fresh)?;
        }
    }
    Ok(())
}

fn make_of(rng: &mut SeededRng) -> Result<Made, EngineError> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d"))?;
    let volume: Arc<dyn Volume> = Arc::new(volume);
    let config = InstanceConfig {
        pool_pages: 1024,
        readers: 1,
        double_write_pages: 64,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::clone(&volume), config)?;
    let primary = FileSpec::new("data", "d/data.mdf").size_kb(2048);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(8);
    let mut spec = DatabaseSpec::new("made", primary).log(log);
    for at in 0..rng.random_range(0..4) {
        let file = FileSpec::new(format!("f{at}"), format!("d/f{at}.ndf"));
        spec = spec.file(file.size_kb(512));
    }
    let db = instance.create_database(&spec)?;
    let damaged = |text: String| EngineError::Damaged(text);
    fill(rng, &db)?;
    db.checkpoint()?;
    let views = db.file_list()?;
    let data = views.into_iter().filter(|file| file.filegroup != 0);
    let paths: Vec<PathBuf> = data.map(|file| file.path).collect();
    let earlier = image(&*volume, &paths).map_err(damaged)?;
    fill_more(rng, &db)?;
    drop(db);
    instance.shut_down()?;
    Ok(Made {
        files: image(&*volume, &paths).map_err(damaged)?,
        earlier: Some(earlier),
    })
}

/// The database of a seed.
pub fn make(seed: u64) -> Result<Made, String> {
    make_of(&mut seeded(seed)).map_err(|error| error.to_string())
}
