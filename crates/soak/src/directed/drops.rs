//! The scene of a table that is dropped.

use super::WAITING;
use crate::engine::Engine;
use crate::subject::{Failure, Layout, Session, Store, Subject};
use furrow_io::SimVolume;
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, sleep};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LAYOUT: Layout = Layout {
    files: 2,
    ..WAITING
};

/// The table that is dropped, and one that others work on.
const DROPPED: u16 = 4;
const OTHER: u16 = 0;
const ROWS: i64 = 40;
const ROUNDS: i64 = 10;

/// A table is dropped; before its commit is acknowledged another transaction commits, and the power goes.
/// The table is gone, or it is there with all its rows on pages that are its own.
pub(super) fn pages_of_the_dropped(_: u64) -> Result<(), String> {
    let engine = Engine::default();
    let ground = SimVolume::new(SimOptions::default());
    prepare(&engine, &ground).map_err(|e| e.to_string())?;
    for round in 0..ROUNDS {
        drop_and_lose(&engine, &ground.fork(), round).map_err(|e| format!("round {round}: {e}"))?;
    }
    Ok(())
}

fn prepare(engine: &Engine, ground: &SimVolume) -> Result<(), Failure> {
    let store = engine.create(Arc::new(ground.clone()), &LAYOUT)?;
    let mut session = store.session()?;
    session.begin()?;
    session.create_table(OTHER, 1)?;
    session.create_table(DROPPED, 2)?;
    for key in 0..ROWS {
        session.insert(DROPPED, key, 3 + key as u64)?;
    }
    session.commit()?;
    drop(session);
    store.close()
}

fn drop_and_lose(engine: &Engine, machine: &SimVolume, round: i64) -> Result<(), Failure> {
    let store = engine.open(Arc::new(machine.clone()), &LAYOUT)?;
    let (mut dropper, mut other) = (store.session()?, store.session()?);
    dropper.begin()?;
    dropper.drop_table(DROPPED)?;
    other.begin()?;
    other.insert(OTHER, round, 1_000)?;
    let begun = AtomicBool::new(false);
    let committed = scope(|all| {
        let dropping = spawn_scoped(all, "dropper", || {
            begun.store(true, Ordering::Relaxed);
            // Its answer does not matter: the power may go before.
            let _ = dropper.commit();
        });
        while dropping.is_ok() && !begun.load(Ordering::Relaxed) {
            sleep(Duration::from_micros(100));
        }
        sleep(Duration::from_millis(round as u64));
        let committed = other.commit();
        machine.power_off();
        committed
    });
    drop((dropper, other));
    store.abandon();
    committed?;
    let after = machine.crash(&Crash::DropAll);
    let store = engine.open(Arc::new(after), &LAYOUT)?;
    let mut session = store.session()?;
    let mut there = 0;
    for key in 0..ROWS {
        match session.get(DROPPED, key) {
            Ok(found) => there += i64::from(found.is_some()),
            Err(Failure::Missing) => {}
            Err(other) => return Err(other),
        }
    }
    drop(session);
    if there != 0 && there != ROWS {
        return Err(Failure::Wrong(format!("{there} of {ROWS} rows are there")));
    }
    store.read_all()?;
    store.audit()?;
    store.close()
}
