//! Histories of registers: threads that write over what they find, and scripts of the named anomalies.
//!
//! A script has two sessions take turns in a fixed order. Where a lock is in the way, its session gives up,
//! so that what each level lets through is the same every time.

use super::history::{End, NEVER_WRITTEN, Registers, Touch, Txn, Value as Held};
use super::inference::register_anomalies;
use super::level_name;
use super::run::{
    Client, Figures, House, Shape, clients, finding, house, judge, values_at_the_end,
};
use crate::Finding;
use furrow_engine::{EngineError, Isolation, LockHints, Session, Table, Timeout};
use furrow_io::random::Rng;
use furrow_io::thread::yield_now;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// What a session of a script does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It reads a register.
    Read(i64),
    /// It writes a value that was not written before.
    Write(i64),
    /// It commits.
    Commit,
    /// It rolls back.
    Rollback,
}

/// Sessions 0 and 1 in turns.
pub type Script = &'static [(usize, Step)];

use Step::{Commit, Read, Rollback, Write};

/// The named anomalies, as they come about.
pub const SCRIPTS: [(&str, Script); 8] = [
    (
        "lost update",
        &[
            (0, Read(1)),
            (1, Read(1)),
            (0, Write(1)),
            (0, Commit),
            (1, Write(1)),
            (1, Commit),
        ],
    ),
    (
        "fuzzy read",
        &[
            (0, Read(1)),
            (1, Write(1)),
            (1, Commit),
            (0, Read(1)),
            (0, Commit),
        ],
    ),
    (
        "read skew",
        &[
            (0, Read(1)),
            (1, Write(1)),
            (1, Write(2)),
            (1, Commit),
            (0, Read(2)),
            (0, Commit),
        ],
    ),
    (
        "write skew",
        &[
            (0, Read(1)),
            (0, Read(2)),
            (1, Read(1)),
            (1, Read(2)),
            (0, Write(1)),
            (1, Write(2)),
            (0, Commit),
            (1, Commit),
        ],
    ),
    (
        "dirty write",
        &[
            (0, Write(1)),
            (1, Write(1)),
            (1, Write(2)),
            (1, Commit),
            (0, Write(2)),
            (0, Commit),
        ],
    ),
    (
        "aborted read",
        &[(0, Write(1)), (1, Read(1)), (0, Rollback), (1, Commit)],
    ),
    (
        "intermediate read",
        &[
            (0, Write(1)),
            (1, Read(1)),
            (0, Write(1)),
            (0, Commit),
            (1, Commit),
        ],
    ),
    (
        "circular information flow",
        &[
            (0, Write(1)),
            (1, Write(2)),
            (0, Read(2)),
            (1, Read(1)),
            (0, Commit),
            (1, Commit),
        ],
    ),
];

/// The numbers of errors that end a transaction and mean nothing else: victim of a deadlock, lock not
/// granted.
const ENDS_IT: [u32; 2] = [1205, 1222];

fn held(value: &Value) -> Result<Held, EngineError> {
    match value {
        Value::BigInt(value) => Ok(Held::try_from(*value).unwrap_or(Held::MAX)),
        other => Err(EngineError::Damaged(format!("no register: {other:?}"))),
    }
}

fn registers(shape: &Shape) -> Result<House, EngineError> {
    let kind = DataType::simple(TypeId::BigInt);
    house(shape, kind, &Value::BigInt(i64::from(NEVER_WRITTEN)))
}

/// The value of a register.
fn look(session: &mut Session, table: &Arc<Table>, key: i64) -> Result<Held, EngineError> {
    let row = session.get(table, &[Value::BigInt(key)])?;
    let value = match row {
        Some(row) => row.values()?.get(1).map(held).transpose()?,
        None => None,
    };
    value.ok_or_else(|| EngineError::Damaged(format!("register {key} is gone")))
}

fn read(client: &mut Client<'_>, key: i64, ops: &mut Vec<Touch>) -> Result<(), EngineError> {
    let value = look(&mut client.session, client.table, key)?;
    ops.push(Touch::Read(key, value));
    Ok(())
}

fn write(client: &mut Client<'_>, key: i64, ops: &mut Vec<Touch>) -> Result<(), EngineError> {
    let value = client.next;
    client.next += 1;
    let name = client.table.row_key(&[Value::BigInt(key)])?;
    let set = [(1, Value::BigInt(i64::from(value)))];
    if !client.session.update(client.table, &name, &set)? {
        return Err(EngineError::Damaged(format!("register {key} is gone")));
    }
    ops.push(Touch::Write(key, value));
    Ok(())
}

/// One transaction of a thread; whether it is to commit.
fn transaction(client: &mut Client<'_>, ops: &mut Vec<Touch>) -> Result<bool, EngineError> {
    for _ in 0..client.rng.random_range(1..=4) {
        let key = client.rng.random_range(0..client.shape.keys);
        match client.rng.random_range(0..10) {
            0..4 => read(client, key, ops)?,
            4..6 => write(client, key, ops)?,
            // Read, then write: without a lock, this may lose an update.
            6..8 => {
                read(client, key, ops)?;
                yield_now();
                write(client, key, ops)?;
            }
            _ => {
                let table = client.table;
                let locked = |session: &mut Session| look(session, table, key);
                let value = client.session.hinted(LockHints::update(), locked)?;
                ops.push(Touch::Read(key, value));
                write(client, key, ops)?;
            }
        }
        if client.rng.random_ratio(1, 3) {
            yield_now();
        }
    }
    Ok(!client.rng.random_ratio(1, 8))
}

/// A history of registers under threads, and one of each script; what the level forbids is a finding.
pub fn run_registers(level: Isolation, seed: u64) -> Result<Figures, Box<Finding>> {
    let shape = Shape {
        empty: false,
        ..Shape::of(level)
    };
    let place = format!("registers under {}", level_name(level));
    let mut figures = Figures::default();
    for (name, script) in SCRIPTS {
        let place = format!("{place}, {name}");
        let history = play(level, script).map_err(|e| finding(seed, &place, e.to_string()))?;
        figures.add(&judged(&shape, (seed, &place), &history)?);
    }
    let history = record(&shape, seed).map_err(|e| finding(seed, &place, e.to_string()))?;
    figures.add(&judged(&shape, (seed, &place), &history)?);
    Ok(figures)
}

fn judged(shape: &Shape, place: (u64, &str), history: &Registers) -> Result<Figures, Box<Finding>> {
    let ends = history.txns.iter().map(|txn| txn.end);
    judge(shape, place, register_anomalies(history), ends)
}

fn record(shape: &Shape, seed: u64) -> Result<Registers, EngineError> {
    let house = registers(shape)?;
    let txns = clients(&house, shape, seed, &transaction)?;
    let last = values_at_the_end(&house, shape, held)?;
    house.end()?;
    Ok(Registers { txns, last })
}

/// Plays a script under a level, on registers 0 to 2.
pub fn play(level: Isolation, script: Script) -> Result<Registers, EngineError> {
    let shape = Shape {
        keys: 3,
        empty: false,
        ..Shape::of(level)
    };
    let house = registers(&shape)?;
    let mut players = Vec::new();
    for number in 0..2 {
        let mut client = Client::new(&house, shape, furrow_io::random::seeded(0), number)?;
        client.session.set_lock_timeout(Timeout::NoWait);
        client.session.begin()?;
        players.push((client, Vec::new(), None));
    }
    for &(who, step) in script {
        let Some((client, ops, end)) = players.get_mut(who) else {
            continue;
        };
        if end.is_none() {
            *end = take(client, step, ops)?;
        }
    }
    let mut txns = Vec::new();
    for (number, (mut client, ops, end)) in players.into_iter().enumerate() {
        let end = match end {
            Some(end) => end,
            None => give_up(&mut client.session)?,
        };
        txns.push(Txn {
            client: number,
            ops,
            end,
        });
    }
    let last = values_at_the_end(&house, &shape, held)?;
    house.end()?;
    Ok(Registers { txns, last })
}

/// One step of a script; how the transaction ended, if it did.
fn take(
    client: &mut Client<'_>,
    step: Step,
    ops: &mut Vec<Touch>,
) -> Result<Option<End>, EngineError> {
    let done = match step {
        Read(key) => read(client, key, ops),
        Write(key) => write(client, key, ops),
        Commit => {
            client.session.commit()?;
            return Ok(Some(End::Committed));
        }
        Rollback => return give_up(&mut client.session).map(Some),
    };
    match done {
        Ok(()) => Ok(None),
        Err(e) if ENDS_IT.contains(&e.number()) => give_up(&mut client.session).map(Some),
        Err(other) => Err(other),
    }
}

fn give_up(session: &mut Session) -> Result<End, EngineError> {
    if session.in_transaction() {
        session.rollback()?;
    }
    Ok(End::Aborted)
}
