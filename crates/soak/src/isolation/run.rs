//! Histories of the engine.

use super::anomalies::{Anomaly, Found, anomalies};
use super::history::{Element, End, History, Op, Txn};
use crate::Finding;
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, Isolation,
    LockHints, ScanSpec, Session, Table, TableSpec, Timeout,
};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::thread::{scope, spawn_scoped, yield_now};
use furrow_io::{MemoryVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Bytes of an element in a row.
const ELEMENT_BYTES: usize = 4;
/// A list grows only as long as its row can hold it.
const LONGEST: usize = 1_500;

/// The parameters of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The level of all its transactions.
    pub level: Isolation,
    /// Threads.
    pub threads: usize,
    /// Transactions of each.
    pub txns: usize,
    /// Keys.
    pub keys: i64,
    /// Whether no key is there in the beginning.
    pub empty: bool,
}

impl Shape {
    /// The usual one of a level; where rows that come are to be seen or not, that is tried as well.
    pub fn of(level: Isolation) -> Shape {
        Shape {
            level,
            threads: 4,
            txns: 150,
            keys: 6,
            empty: level == Isolation::Serializable,
        }
    }

    /// What must not be seen.
    pub fn forbids(&self, anomaly: Anomaly) -> bool {
        use Anomaly::{
            AbortedRead, CircularFlow, DirtyWrite, IntermediateRead, LostUpdate, Nonsense,
            ReadSkew, WriteSkew,
        };
        let at_least = |level: Isolation| self.level as u8 >= level as u8;
        match anomaly {
            Nonsense | DirtyWrite => true,
            AbortedRead | IntermediateRead | CircularFlow => at_least(Isolation::ReadCommitted),
            LostUpdate => at_least(Isolation::RepeatableRead),
            ReadSkew | WriteSkew if self.empty => at_least(Isolation::Serializable),
            ReadSkew | WriteSkew => at_least(Isolation::RepeatableRead),
        }
    }
}

/// How a level is written in T-SQL.
pub fn level_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
        Isolation::Snapshot => "SNAPSHOT",
    }
}

/// What was seen of how many transactions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Histories.
    pub histories: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that were rolled back.
    pub aborted: u64,
    /// Histories that showed an anomaly their level allows.
    pub allowed: BTreeMap<Anomaly, u64>,
}

impl Figures {
    /// Adds another's.
    pub fn add(&mut self, other: &Figures) {
        self.histories += other.histories;
        self.committed += other.committed;
        self.aborted += other.aborted;
        for (anomaly, seen) in &other.allowed {
            *self.allowed.entry(*anomaly).or_default() += seen;
        }
    }
}

/// A history of the engine; what its level forbids is a finding.
pub fn run(shape: &Shape, seed: u64) -> Result<Figures, Box<Finding>> {
    let place = format!("histories under {}", level_name(shape.level));
    let history = record(shape, seed).map_err(|e| finding(seed, &place, e.to_string()))?;
    let ends = history.txns.iter().map(|txn| txn.end);
    judge(shape, (seed, &place), anomalies(&history), ends)
}

pub(super) fn finding(seed: u64, place: &str, what: String) -> Box<Finding> {
    Box::new(Finding {
        seed,
        place: place.to_owned(),
        what,
        steps: Vec::new(),
    })
}

/// What was seen, unless its level forbids it.
pub(super) fn judge(
    shape: &Shape,
    (seed, place): (u64, &str),
    seen: Vec<Found>,
    ends: impl Iterator<Item = End>,
) -> Result<Figures, Box<Finding>> {
    let (bad, fair): (Vec<Found>, Vec<Found>) =
        seen.into_iter().partition(|f| shape.forbids(f.anomaly));
    if !bad.is_empty() {
        let texts: Vec<String> = bad.iter().take(5).map(ToString::to_string).collect();
        let text = format!("{shape:?}\n{}", texts.join("\n"));
        return Err(finding(seed, place, text));
    }
    let mut figures = Figures {
        histories: 1,
        ..Figures::default()
    };
    for end in ends {
        match end {
            End::Committed => figures.committed += 1,
            End::Aborted => figures.aborted += 1,
        }
    }
    for found in fair {
        figures.allowed.insert(found.anomaly, 1);
    }
    Ok(figures)
}

/// Lets threads work on the engine and writes down what they did and saw.
pub fn record(shape: &Shape, seed: u64) -> Result<History, EngineError> {
    let lists = DataType::sized(TypeId::VarBinary, 7000);
    let house = house(shape, lists, &Value::Binary(Vec::new()))?;
    let body = |client: &mut Client<'_>, ops: &mut Vec<Op>| client.transaction(ops);
    let txns = clients(&house, shape, seed, &body)?;
    let last = values_at_the_end(&house, shape, |value| elements(Some(value)))?;
    house.end()?;
    Ok(History { txns, last })
}

/// Reads the value under each key.
pub(super) fn values_at_the_end<T: Default>(
    house: &House,
    shape: &Shape,
    read: impl Fn(&Value) -> Result<T, EngineError>,
) -> Result<BTreeMap<i64, T>, EngineError> {
    let mut last = BTreeMap::new();
    let mut session = Session::new(&house.db)?;
    for key in 0..shape.keys {
        let found = session.get(&house.table, &[Value::BigInt(key)])?;
        let value = match found {
            Some(row) => row.values()?.get(1).map(&read).transpose()?,
            None => None,
        };
        last.insert(key, value.unwrap_or_default());
    }
    Ok(last)
}

/// What a client does in a transaction, with a list for what it saw: whether it is to commit.
pub(super) type Body<O> = dyn Fn(&mut Client<'_>, &mut Vec<O>) -> Result<bool, EngineError> + Sync;

/// Lets clients run transactions side by side; `body` decides for each whether it commits.
pub(super) fn clients<O: Send>(
    house: &House,
    shape: &Shape,
    seed: u64,
    body: &Body<O>,
) -> Result<Vec<Txn<O>>, EngineError> {
    let txns: Mutex<Vec<Txn<O>>> = Mutex::default();
    let failed: Mutex<Option<EngineError>> = Mutex::default();
    scope(|all| {
        for number in 0..shape.threads {
            let (txns, failed) = (&txns, &failed);
            let work = move || {
                let rng = seeded(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
                let client = Client::new(house, *shape, rng, number);
                let ended = client.and_then(|client| client.work(txns, body));
                if let Err(error) = ended {
                    failed.lock().get_or_insert(error);
                }
            };
            if let Err(error) = spawn_scoped(all, format!("client {number}"), work) {
                let text = error.to_string();
                failed.lock().get_or_insert(EngineError::Damaged(text));
            }
        }
    });
    if let Some(error) = failed.into_inner() {
        house.instance.abandon();
        return Err(error);
    }
    Ok(txns.into_inner())
}

/// An instance, its one database, and the one table in it.
pub(super) struct House {
    instance: Arc<Instance>,
    pub(super) db: Arc<Database>,
    pub(super) table: Arc<Table>,
}

impl House {
    pub(super) fn end(self) -> Result<(), EngineError> {
        let House {
            instance,
            db,
            table,
        } = self;
        drop((db, table));
        instance.shut_down()
    }
}

/// Keys with something of this type each.
pub(super) fn house(shape: &Shape, kind: DataType, first: &Value) -> Result<House, EngineError> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d"))?;
    let config = InstanceConfig {
        pool_pages: 512,
        double_write_pages: 64,
        readers: 1,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::new(volume), config)?;
    let data = FileSpec::new("data", "d/data.mdf").size_mb(4);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(8);
    let db = instance.create_database(&DatabaseSpec::new("histories", data).log(log))?;
    let spec = TableSpec::new("kept")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("value", kind).not_null())
        .primary_key(["id"]);
    let mut session = Session::new(&db)?;
    let table = session.create_table(&spec)?;
    if !shape.empty {
        for key in 0..shape.keys {
            session.insert(&table, &[Value::BigInt(key), first.clone()])?;
        }
    }
    drop(session);
    Ok(House {
        instance,
        db,
        table,
    })
}

fn elements(value: Option<&Value>) -> Result<Vec<Element>, EngineError> {
    let Some(Value::Binary(bytes)) = value else {
        return Err(EngineError::Damaged(format!("no list: {value:?}")));
    };
    let (parts, rest) = bytes.as_chunks::<ELEMENT_BYTES>();
    if !rest.is_empty() {
        return Err(EngineError::Damaged(format!("no list: {bytes:?}")));
    }
    Ok(parts
        .iter()
        .map(|part| Element::from_le_bytes(*part))
        .collect())
}

/// One session of a history.
pub(super) struct Client<'a> {
    number: usize,
    pub(super) session: Session,
    pub(super) table: &'a Arc<Table>,
    pub(super) shape: Shape,
    pub(super) rng: SeededRng,
    /// What it writes next; no other client does.
    pub(super) next: Element,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        house: &'a House,
        shape: Shape,
        rng: SeededRng,
        number: usize,
    ) -> Result<Client<'a>, EngineError> {
        let mut session = Session::new(&house.db)?;
        session.set_isolation(shape.level);
        session.set_lock_timeout(Timeout::Millis(5_000));
        Ok(Client {
            number,
            session,
            table: &house.table,
            shape,
            rng,
            next: number as Element * 1_000_000 + 1,
        })
    }

    fn work<O>(mut self, txns: &Mutex<Vec<Txn<O>>>, body: &Body<O>) -> Result<(), EngineError> {
        for _ in 0..self.shape.txns {
            let mut ops = Vec::new();
            self.session.begin()?;
            let end = match body(&mut self, &mut ops) {
                Ok(true) => {
                    self.session.commit()?;
                    End::Committed
                }
                Ok(false) => {
                    self.session.rollback()?;
                    End::Aborted
                }
                // The victim of a deadlock, a key that another transaction inserted, a wait that was too
                // long.
                Err(e) if matches!(e.number(), 1205 | 2627 | 1222) => {
                    if self.session.in_transaction() {
                        self.session.rollback()?;
                    }
                    End::Aborted
                }
                Err(other) => return Err(other),
            };
            let client = self.number;
            txns.lock().push(Txn { client, ops, end });
        }
        Ok(())
    }

    /// Whether it is to commit.
    fn transaction(&mut self, ops: &mut Vec<Op>) -> Result<bool, EngineError> {
        for _ in 0..self.rng.random_range(1..=5) {
            let key = self.rng.random_range(0..self.shape.keys);
            match self.rng.random_range(0..10) {
                0..5 => self.append(key, ops)?,
                5..9 => {
                    let list = self.list(key)?;
                    ops.push(Op::Read(key, list.unwrap_or_default()));
                }
                _ => self.read_all(ops)?,
            }
            if self.rng.random_ratio(1, 3) {
                yield_now();
            }
        }
        Ok(!self.rng.random_ratio(1, 8))
    }

    fn list(&mut self, key: i64) -> Result<Option<Vec<Element>>, EngineError> {
        let row = self.session.get(self.table, &[Value::BigInt(key)])?;
        row.map(|row| elements(row.values()?.get(1))).transpose()
    }

    fn append(&mut self, key: i64, ops: &mut Vec<Op>) -> Result<(), EngineError> {
        let hints = LockHints::update();
        let table = self.table;
        let found = self.session.hinted(hints, |session| {
            let row = session.get(table, &[Value::BigInt(key)])?;
            row.map(|row| elements(row.values()?.get(1))).transpose()
        })?;
        let there = found.is_some();
        let mut list = found.unwrap_or_default();
        if list.len() >= LONGEST {
            return Ok(());
        }
        list.push(self.next);
        let bytes: Vec<u8> = list.iter().flat_map(|e| e.to_le_bytes()).collect();
        if there {
            let name = table.row_key(&[Value::BigInt(key)])?;
            self.session
                .update(table, &name, &[(1, Value::Binary(bytes))])?;
        } else {
            self.session
                .insert(table, &[Value::BigInt(key), Value::Binary(bytes)])?;
        }
        ops.push(Op::Append(key, self.next));
        self.next += 1;
        Ok(())
    }

    /// Reads all keys by one scan; those that it does not meet are empty.
    fn read_all(&mut self, ops: &mut Vec<Op>) -> Result<(), EngineError> {
        let mut seen: BTreeMap<i64, Vec<Element>> = BTreeMap::new();
        let mut scan = self.session.scan(self.table, &ScanSpec::default())?;
        while let Some(row) = scan.next_row()? {
            let list = elements(row.values()?.get(1))?;
            seen.insert(row.i64(0).unwrap_or_default(), list);
        }
        drop(scan);
        for key in 0..self.shape.keys {
            ops.push(Op::Read(key, seen.remove(&key).unwrap_or_default()));
        }
        Ok(())
    }
}
