//! Transfers between accounts, some locking rows, some pages, some tables, while pages split under them: the
//! sum that a repeatable reader sees is always the same one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, Granularity, IndexSpec, Isolation, LockHints, ReadLock, ScanSpec,
    Session, Table, TableSpec,
};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::thread;
use furrow_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tables_common::{House, bigint, house, n, s, varchar};

const ACCOUNTS: i64 = 60;
const EACH: i64 = 1_000;
const TRANSFERS: usize = 150;

fn spec(heap: bool) -> TableSpec {
    let spec = TableSpec::new("accounts")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("cents", bigint()).not_null())
        .column(ColumnSpec::new("note", varchar(900)).not_null())
        .index(IndexSpec::new("by_cents", ["cents"]));
    match heap {
        true => spec.primary_key_nonclustered(["id"]),
        false => spec.primary_key(["id"]),
    }
}

fn hints(rng: &mut SeededRng) -> LockHints {
    let granularity = match rng.random_range(0..20) {
        0..9 => Granularity::Row,
        9..19 => Granularity::Page,
        _ => Granularity::Table,
    };
    LockHints {
        granularity,
        ..LockHints::default()
    }
}

fn add(
    session: &mut Session,
    table: &Arc<Table>,
    (id, cents): (i64, i64),
    rng: &mut SeededRng,
) -> Result<(), EngineError> {
    let locked = LockHints {
        lock: ReadLock::Update,
        ..hints(rng)
    };
    let had = session.hinted(locked, |session| {
        let row = session.get(table, &[n(id)])?.unwrap();
        Ok::<_, EngineError>(row.i64(1).unwrap())
    })?;
    let key = session.find_row(table, &[n(id)])?.unwrap();
    // Notes of any length: pages split, and rows of the heap move.
    let note = s(&"n".repeat(rng.random_range(0..900)));
    session.hinted(hints(rng), |session| {
        if rng.random_ratio(1, 4) {
            assert!(session.delete(table, &key)?);
            session.insert(table, &[n(id), n(had + cents), note])?;
            return Ok(());
        }
        let set = [(1, n(had + cents)), (2, note)];
        assert!(session.update(table, &key, &set)?);
        Ok(())
    })
}

fn transfer(
    session: &mut Session,
    table: &Arc<Table>,
    rng: &mut SeededRng,
) -> Result<(), EngineError> {
    let from = rng.random_range(1..=ACCOUNTS);
    let to = rng.random_range(1..=ACCOUNTS);
    let cents = rng.random_range(1..50);
    session.begin()?;
    let done = add(session, table, (from, -cents), rng)
        .and_then(|()| add(session, table, (to, cents), rng));
    let keep = rng.random_ratio(4, 5);
    match done {
        Ok(()) if keep => session.commit(),
        done => {
            if session.in_transaction() {
                session.rollback()?;
            }
            done
        }
    }
}

/// All accounts' cents, read through any index.
fn sum(
    session: &mut Session,
    table: &Arc<Table>,
    rng: &mut SeededRng,
) -> Result<(usize, i64), EngineError> {
    let spec = ScanSpec {
        index: rng.random_range(0..table.indexes().len()),
        hints: hints(rng),
        ..ScanSpec::default()
    };
    let (mut rows, mut sum) = (0, 0);
    session.begin()?;
    let done = session.scan(table, &spec).and_then(|scan| {
        scan.for_each(|row| {
            rows += 1;
            sum += row.i64(1).unwrap();
            Ok(())
        })
    });
    if session.in_transaction() {
        session.rollback()?;
    }
    done.map(|()| (rows, sum))
}

fn is_victim(error: &EngineError) -> bool {
    error.number() == 1205
}

fn runs(heap: bool, isolation: Isolation, seed: u64) {
    println!("FURROW_SEED={seed} heap {heap} {isolation}");
    let house: House = house();
    let table = house.session().create_table(&spec(heap)).unwrap();
    for id in 1..=ACCOUNTS {
        let row: [Value; 3] = [n(id), n(EACH), s("")];
        house.session().insert(&table, &row).unwrap();
    }
    let (done, sums, lost) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let (house, table, done, sums, lost) = (&house, &table, &done, &sums, &lost);
        let writers: Vec<_> = (0..3)
            .map(|who| {
                let body = move || {
                    let rng = &mut seeded(seed ^ (who + 1));
                    let mut session = house.session();
                    session.set_isolation(Isolation::RepeatableRead);
                    let mut made = 0;
                    while made < TRANSFERS {
                        match transfer(&mut session, table, rng) {
                            Ok(()) => made += 1,
                            Err(e) if is_victim(&e) => {
                                lost.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(e) => panic!("{e}"),
                        }
                    }
                };
                thread::spawn_scoped(scope, format!("writer {who}"), body).unwrap()
            })
            .collect();
        let summing = move || {
            let rng = &mut seeded(seed ^ 7);
            let mut session = house.session();
            session.set_isolation(isolation);
            while !done.load(Ordering::Relaxed) {
                match sum(&mut session, table, rng) {
                    Ok(seen) => {
                        assert_eq!(seen, (ACCOUNTS as usize, ACCOUNTS * EACH));
                        sums.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(e) if is_victim(&e) => {}
                    Err(e) => panic!("{e}"),
                }
            }
        };
        let purging = move || {
            while !done.load(Ordering::Relaxed) {
                house.db.purge_ghosts().unwrap();
                thread::yield_now();
            }
        };
        thread::spawn_scoped(scope, "summing", summing).unwrap();
        thread::spawn_scoped(scope, "purging", purging).unwrap();
        let ended: Vec<_> = writers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|w| w.unwrap());
    });
    println!("{} sums, {} victims", sums.into_inner(), lost.into_inner());
    nothing_is_left(&house, &table, &mut seeded(seed));
}

/// Every row once in every index, the sum as it was, and nothing of anybody's locks.
fn nothing_is_left(house: &House, table: &Arc<Table>, rng: &mut SeededRng) {
    for index in table.indexes() {
        let audit = index.rowset().audit().unwrap();
        assert_eq!(audit.rows, ACCOUNTS as u64, "{}", index.name());
    }
    let last = sum(&mut house.session(), table, rng).unwrap();
    assert_eq!(last, (ACCOUNTS as usize, ACCOUNTS * EACH));
    let left = house.instance.locks().snapshot();
    let fine: Vec<_> = left.iter().filter(|l| l.resource.is_fine()).collect();
    assert!(fine.is_empty(), "{fine:?}");
}

#[test]
fn sums_hold_while_some_lock_rows_and_some_pages_of_a_tree() {
    let seed = test_seed();
    runs(false, Isolation::Serializable, seed);
}

#[test]
fn sums_hold_while_some_lock_rows_and_some_pages_of_a_heap() {
    let seed = test_seed();
    runs(true, Isolation::Serializable, seed);
}
