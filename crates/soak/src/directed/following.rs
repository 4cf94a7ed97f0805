//! The scene of a commit that others depend on before it is durable.

use super::WAITING;
use crate::engine::Engine;
use crate::subject::{Failure, Session, Store, Subject};
use furrow_io::SimVolume;
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, Moment, sleep};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The machine as it is while a write is not done.
type UnderWay = Arc<Mutex<Option<SimVolume>>>;

const TABLE: u16 = 0;
const KEY: i64 = 7;
/// As long the write of the log takes: others have that long to return too early.
const STALL: Duration = Duration::from_millis(40);

/// What depends on a commit that waits for the log.
#[derive(Debug, Clone, Copy)]
enum Other {
    /// An insert of the same key, which is refused.
    Duplicate,
    /// The same within a transaction that goes on.
    DuplicateWithin,
    /// A reader of the row.
    Reader,
}

/// A transaction inserts a row, and its commit waits for the disk. What another one learns of that row
/// meanwhile, it learns when the commit is durable: with the answer the power goes, and the row must be
/// there.
pub(super) fn learned_of_a_commit(_: u64) -> Result<(), String> {
    let engine = Engine::default();
    let ground = SimVolume::new(SimOptions::default());
    prepare(&engine, &ground).map_err(|e| e.to_string())?;
    for other in [Other::Duplicate, Other::DuplicateWithin, Other::Reader] {
        let machine = ground.fork();
        let there = learn_and_lose(&engine, &machine, other);
        match there.map_err(|e| format!("{other:?}: {e}"))? {
            true => {}
            false => return Err(format!("{other:?} saw a row that was lost")),
        }
    }
    Ok(())
}

fn prepare(engine: &Engine, ground: &SimVolume) -> Result<(), Failure> {
    let store = engine.create(Arc::new(ground.clone()), &WAITING)?;
    let mut session = store.session()?;
    session.begin()?;
    session.create_table(TABLE, 1)?;
    session.commit()?;
    drop(session);
    store.close()
}

/// Whether the other transaction saw the row.
fn learn(session: &mut dyn Session, other: Other) -> Result<bool, Failure> {
    if matches!(other, Other::Reader) {
        return Ok(session.get(TABLE, KEY)?.is_some());
    }
    if matches!(other, Other::DuplicateWithin) {
        session.begin()?;
    }
    match session.insert(TABLE, KEY, 4) {
        Err(Failure::Duplicate) => Ok(true),
        done => done.map(|()| false),
    }
}

/// The first write from now on takes its time. Meanwhile `under_way` has the machine without that write.
fn stall_first(machine: &SimVolume, waits: &Arc<AtomicBool>, under_way: &UnderWay) {
    let (waits, under_way) = (Arc::clone(waits), Arc::clone(under_way));
    machine.on_boundary(move |before| {
        if !waits.load(Ordering::SeqCst) {
            *under_way.lock() = Some(before);
            waits.store(true, Ordering::SeqCst);
            sleep(STALL);
            under_way.lock().take();
        }
    });
}

/// Whether the row is there after the power went.
fn learn_and_lose(engine: &Engine, machine: &SimVolume, other: Other) -> Result<bool, Failure> {
    let store = engine.open(Arc::new(machine.clone()), &WAITING)?;
    let (mut first, mut second) = (store.session()?, store.session()?);
    first.begin()?;
    first.insert(TABLE, KEY, 3)?;
    let (waits, under_way) = (Arc::new(AtomicBool::new(false)), UnderWay::default());
    stall_first(machine, &waits, &under_way);
    let saw = scope(|all| {
        let committing = spawn_scoped(all, "first", || {
            // Its answer does not matter: the power may go before.
            let _ = first.commit();
        });
        let since = Moment::now();
        while committing.is_ok() && !waits.load(Ordering::SeqCst) {
            if since.elapsed() > Duration::from_secs(20) {
                return Err(Failure::Gone(
                    "the commit does not reach the log".to_owned(),
                ));
            }
            sleep(Duration::from_micros(100));
        }
        let saw = learn(&mut second, other);
        // With the answer the power goes: the write may be under way still.
        let lost = under_way.lock().take();
        machine.power_off();
        saw.map(|saw| (saw, lost))
    });
    drop((first, second));
    store.abandon();
    let (saw, lost) = saw?;
    if !saw {
        return Err(Failure::Wrong("the row was not seen".to_owned()));
    }
    let after = lost.as_ref().unwrap_or(machine).crash(&Crash::DropAll);
    let store = engine.open(Arc::new(after), &WAITING)?;
    let there = store.session()?.get(TABLE, KEY)?.is_some();
    store.abandon();
    Ok(there)
}
