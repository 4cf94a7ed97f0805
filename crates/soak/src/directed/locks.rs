//! Scenes of locks.

use super::WAITING;
use crate::engine::{Engine, EngineSession};
use crate::subject::{Failure, Session as _, Store, Subject};
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, Isolation,
    LockHints, ScanSpec, Session, Table, TableSpec, Timeout,
};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, sleep};
use furrow_io::{MemoryVolume, SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::{Arc, Barrier};

/// A thread that has waited so long was not examined for a deadlock. The first search comes at once, the next
/// after seconds.
const NO_DETECTION: Timeout = Timeout::Millis(20_000);

/// Each of two transactions holds the lock that the other waits for.
pub(super) fn deadlock(_: u64) -> Result<(), String> {
    cross().map_err(|error| error.to_string())?
}

/// An instance, its one database, and a table with these keys in it.
type House = (Arc<Instance>, Arc<Database>, Arc<Table>);

fn house(keys: &[i64]) -> Result<House, EngineError> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d"))?;
    let instance = Instance::start(Arc::new(volume), InstanceConfig::default())?;
    let data = FileSpec::new("data", "d/data.mdf").size_mb(4);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(4);
    let db = instance.create_database(&DatabaseSpec::new("scene", data).log(log))?;
    let number = || DataType::simple(TypeId::BigInt);
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", number()).not_null())
        .column(ColumnSpec::new("v", number()).not_null())
        .primary_key(["id"]);
    let mut session = Session::new(&db)?;
    let table = session.create_table(&spec)?;
    for id in keys {
        session.insert(&table, &[Value::BigInt(*id), Value::BigInt(0)])?;
    }
    Ok((instance, db, table))
}

/// A SERIALIZABLE transaction has read all keys. Until it ends no key comes between them, nor before or
/// behind them.
pub(super) fn guarded_gaps(_: u64) -> Result<(), String> {
    guard().map_err(|error| error.to_string())?
}

fn guard() -> Result<Result<(), String>, EngineError> {
    let (instance, db, table) = house(&[10, 20])?;
    let (mut reader, mut writer) = (Session::new(&db)?, Session::new(&db)?);
    reader.set_isolation(Isolation::Serializable);
    writer.set_lock_timeout(Timeout::NoWait);
    reader.begin()?;
    let count = |reader: &mut Session| -> Result<u32, EngineError> {
        let mut rows = 0;
        let scan = reader.scan(&table, &ScanSpec::default())?;
        scan.for_each(|_| {
            rows += 1;
            Ok(())
        })?;
        Ok(rows)
    };
    let before = count(&mut reader)?;
    let mut came = Vec::new();
    for key in [5, 15, 25] {
        match writer.insert(&table, &[Value::BigInt(key), Value::BigInt(1)]) {
            Ok(_) => came.push(key),
            Err(error) if error.number() == 1222 => {}
            Err(error) => return Err(error),
        }
    }
    let after = count(&mut reader)?;
    reader.commit()?;
    // No lock guards the gaps any more.
    writer.insert(&table, &[Value::BigInt(30), Value::BigInt(1)])?;
    drop((reader, writer, table, db));
    instance.shut_down()?;
    Ok(match came.is_empty() && before == after {
        true => Ok(()),
        false => Err(format!(
            "keys {came:?} came between keys that were read: {before} rows, then {after}"
        )),
    })
}

/// A transaction that changed a row keeps others from locking the whole table; while another has locked all
/// of it, no transaction changes a row.
pub(super) fn whole_table(_: u64) -> Result<(), String> {
    all_or_some().map_err(|error| error.to_string())?
}

fn all_or_some() -> Result<Result<(), String>, EngineError> {
    let (instance, db, table) = house(&[1])?;
    let (mut one, mut other) = (Session::new(&db)?, Session::new(&db)?);
    one.set_lock_timeout(Timeout::NoWait);
    other.set_lock_timeout(Timeout::NoWait);
    let change = |session: &mut Session, id| {
        let row = [Value::BigInt(id), Value::BigInt(1)];
        session.insert(&table, &row).map(|_| ())
    };
    // No row has this key: only the lock of the table itself is in the way.
    let whole = |session: &mut Session, hints| {
        session.hinted(hints, |session| {
            let found = session.get(&table, &[Value::BigInt(99)]);
            found.map(|_| ())
        })
    };
    let mut ends = Vec::new();
    for hints in [LockHints::table(), LockHints::table_exclusive()] {
        one.begin()?;
        change(&mut one, 2)?;
        other.begin()?;
        ends.push(whole(&mut other, hints));
        one.rollback()?;
        other.rollback()?;
    }
    one.begin()?;
    whole(&mut one, LockHints::table_exclusive())?;
    ends.push(change(&mut other, 3));
    one.rollback()?;
    change(&mut other, 3)?;
    drop((one, other, table, db));
    instance.shut_down()?;
    let number = |end: &Result<(), EngineError>| end.as_ref().err().map_or(0, EngineError::number);
    let numbers: Vec<u32> = ends.iter().map(number).collect();
    Ok(match numbers[..] {
        [1222, 1222, 1222] => Ok(()),
        _ => Err(format!(
            "the whole table beside a part of it: {numbers:?}, not 1222 each time"
        )),
    })
}

fn cross() -> Result<Result<(), String>, EngineError> {
    let (instance, db, table) = house(&[0, 1])?;
    let (both_hold, ends) = (Barrier::new(2), Mutex::new(Vec::new()));
    let one = |mine: i64| -> Result<(), EngineError> {
        let mut session = Session::new(&db)?;
        session.set_lock_timeout(NO_DETECTION);
        session.begin()?;
        let change = |session: &mut Session, id| {
            let key = table.row_key(&[Value::BigInt(id)])?;
            session.update(&table, &key, &[(1, Value::BigInt(mine))])
        };
        let first = change(&mut session, mine);
        both_hold.wait();
        first?;
        change(&mut session, 1 - mine)?;
        session.commit()
    };
    scope(|all| {
        let other = spawn_scoped(all, "other", || ends.lock().push(one(1)));
        // Without the other thread, this one must not wait for it.
        if other.is_ok() {
            let end = one(0);
            ends.lock().push(end);
        }
    });
    let ends = ends.into_inner();
    let numbers: Vec<u32> = ends
        .iter()
        .map(|e| e.as_ref().err().map_or(0, EngineError::number))
        .collect();
    let right = numbers.len() == 2 && numbers.contains(&0) && numbers.contains(&1205);
    drop((table, db));
    instance.shut_down()?;
    Ok(match right {
        true => Ok(()),
        false => Err(format!(
            "of two in a deadlock one is to get 1205: {numbers:?}"
        )),
    })
}

/// How often a thread that waits for a lock gets it from a transaction that is about to commit.
const ROUNDS: u32 = 12;
const TABLE: u16 = 0;
const KEY: i64 = 7;

/// One transaction changes a row; another waits for it, changes it too and commits. With its acknowledgement
/// the power goes: what it wrote must be there, whatever became of the first.
pub(super) fn order_of_commits(_: u64) -> Result<(), String> {
    let engine = Engine::default();
    let ground = SimVolume::new(SimOptions::default());
    prepare(&engine, &ground).map_err(|e| e.to_string())?;
    for round in 0..ROUNDS {
        let machine = ground.fork();
        let survived = hand_over(&engine, &machine).map_err(|e| format!("round {round}: {e}"))?;
        if survived != Some(4) {
            return Err(format!(
                "round {round}: version 4 was acknowledged, {survived:?} is there"
            ));
        }
    }
    Ok(())
}

fn prepare(engine: &Engine, ground: &SimVolume) -> Result<(), Failure> {
    let store = engine.create(Arc::new(ground.clone()), &WAITING)?;
    let mut session = store.session()?;
    session.begin()?;
    session.create_table(TABLE, 1)?;
    session.insert(TABLE, KEY, 2)?;
    session.commit()?;
    drop(session);
    store.close()
}

/// The version that is there after the power went.
fn hand_over(engine: &Engine, machine: &SimVolume) -> Result<Option<u64>, Failure> {
    let store = engine.open(Arc::new(machine.clone()), &WAITING)?;
    let (mut first, mut second) = (store.session()?, store.session()?);
    first.begin()?;
    first.update(TABLE, KEY, 3)?;
    let behind = |session: &mut EngineSession| -> Result<(), Failure> {
        session.begin()?;
        session.update(TABLE, KEY, 4)?;
        session.commit()?;
        machine.power_off();
        Ok(())
    };
    let done = Mutex::new(Ok(()));
    scope(|all| {
        let waiting = spawn_scoped(all, "second", || {
            let end = behind(&mut second);
            *done.lock() = end;
        });
        // Until the other waits, mostly; if it comes later it gets the lock all the same.
        sleep(Duration::from_millis(5));
        // Its answer does not matter: the power may go before.
        let _ = first.commit();
        waiting
            .map(|_| ())
            .map_err(|e| Failure::Gone(e.to_string()))
    })?;
    drop((first, second));
    store.abandon();
    done.into_inner()?;
    let after = machine.crash(&Crash::DropAll);
    let store = engine.open(Arc::new(after), &WAITING)?;
    let version = store.session()?.get(TABLE, KEY)?;
    store.abandon();
    Ok(version)
}
