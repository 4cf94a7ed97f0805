//! The load on the embedded engine: conditions after the load, after runs, and after planted violations.

mod killed;

use super::calls::{Calls, Form, Outcome};
use super::conditions::{Moment, broken, differences, totals};
use super::requests::Request;
use super::statements::Statements;
use super::*;
use crate::targets::{DatabaseLayout, Embedded, Session, Startup, Target, TargetError};
use crate::workloads::load::{Piece, Work};
use crate::workloads::prepared::session_in;
use furrow_io::time::{Duration, Moment as Clock, sleep};
use furrow_io::{MemoryVolume, Volume, thread};
use random::DECK;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn loaded(scale: Scale, hot_rows: HotRows) -> (Embedded, Population) {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    loaded_at((&volume, Path::new("/")), scale, hot_rows)
}

/// An instance in `i` below a directory.
fn started((volume, root): (&Arc<dyn Volume>, &Path)) -> Embedded {
    let startup = Startup {
        directory: root.join("i"),
        pool_bytes: 64 << 20,
        ..Startup::default()
    };
    let mut target = Embedded::new();
    target.start(volume, &startup).unwrap();
    target
}

/// The same with the tables of the load, in files in `v` below the directory.
fn loaded_at(
    (volume, root): (&Arc<dyn Volume>, &Path),
    scale: Scale,
    hot_rows: HotRows,
) -> (Embedded, Population) {
    let files = root.join("v");
    volume.create_dir(&files).unwrap();
    let target = started((volume, root));
    let data = ["data1.mdf", "data2.ndf"].map(|name| files.join(name));
    let log = files.join("log.ldf");
    let layout = DatabaseLayout::even("oe", &data, 16 << 20, (&log, 16 << 20));
    target.create_database(&layout).unwrap();
    let seed = furrow_io::random::test_seed();
    println!("FURROW_SEED={seed}");
    let population = Population::new(scale, seed);
    let cancel = AtomicBool::new(false);
    load(&target, "oe", &population, hot_rows, &cancel, &mut |_| {}).unwrap();
    (target, population)
}

fn none() -> Vec<String> {
    Vec::new()
}

/// Runs the load; `earlier` is what sessions got in earlier runs on the same tables.
fn run(
    target: &Embedded,
    population: Population,
    (manner, users): (Manner, u32),
    earlier: &Asked,
) -> Asked {
    let before = totals(target, "oe").unwrap();
    let work = OrderEntry::new(target, "oe", population, manner, 77).unwrap();
    thread::scope(|scope| {
        for place in 0..users {
            let mut session = session_in(target, "oe").unwrap();
            let mut job = work.open(place, session.as_mut()).unwrap();
            let body = move || {
                (0..2 * DECK)
                    .for_each(|_| assert_eq!(job.next(session.as_mut(), Piece::now(1)), Ok(1)));
            };
            thread::spawn_scoped(scope, format!("user {place}"), body).unwrap();
        }
    });
    let asked = work.asked();
    assert_eq!(asked.faults(users, population.scale.warehouses), none());
    let mut all = earlier.clone();
    all.add(&asked);
    assert_eq!(
        broken(target, "oe", population.scale, Moment::Run(&all)).unwrap(),
        none()
    );
    let after = totals(target, "oe").unwrap();
    assert_eq!(differences(before, after, &asked), none());
    assert_eq!(work.latencies().len(), Kind::ALL.len());
    asked
}

#[test]
fn the_conditions_hold_after_the_load_and_after_runs() {
    let (target, population) = loaded(Scale::small(2), HotRows::Packed);
    assert_eq!(
        broken(&target, "oe", population.scale, Moment::Loaded).unwrap(),
        none()
    );
    let manner = |calling, churn| Manner {
        calling,
        churn,
        has_pauses: false,
    };
    let statements = (manner(Calling::Statements, Churn::Database), 6);
    let asked = run(&target, population, statements, &Asked::default());
    assert!(asked.new_orders > 50 && asked.delivered > 0, "{asked:?}");
    let procedures = (manner(Calling::Procedures, Churn::Tempdb), 8);
    run(&target, population, procedures, &asked);
    assert_eq!(
        broken(&target, "oe", population.scale, Moment::Loaded)
            .unwrap()
            .len(),
        1
    );
}

/// Runs a delivery of warehouse 1; its transaction of district 2, which delivers this order, is a deadlock's
/// victim.
fn with_a_victim(
    target: &Embedded,
    (session, form): (&mut dyn Session, &mut dyn Form),
    oldest: u32,
) -> Result<Outcome, TargetError> {
    let mut other = session_in(target, "oe").unwrap();
    let begin = format!(
        "SET DEADLOCK_PRIORITY HIGH; BEGIN TRANSACTION; UPDATE dbo.orders SET o_carrier_id = NULL \
         WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = {oldest};"
    );
    other.batch(&begin).unwrap();
    let mut look = session_in(target, "oe").unwrap();
    let mut waiting = || {
        let text = "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE wait_type LIKE 'LCK[_]%';";
        look.batch(text).unwrap().scalar().unwrap().count()
    };
    thread::scope(|scope| {
        let body = move || form.run(session, 1, &Request::Delivery { carrier: 5 });
        let delivery = thread::spawn_scoped(scope, "delivery".to_owned(), body).unwrap();
        let begun = Clock::now();
        while waiting() == 0 {
            assert!(
                begun.elapsed_us() < 600_000_000,
                "the delivery does not wait"
            );
            sleep(Duration::from_millis(2));
        }
        let close = format!(
            "SELECT no_o_id FROM dbo.new_order WITH (UPDLOCK) \
             WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = {oldest};"
        );
        other.batch(&close).unwrap();
        other.batch("ROLLBACK TRANSACTION;").unwrap();
        delivery.join().unwrap()
    })
}

#[test]
fn a_delivery_that_is_a_victim_goes_on_at_its_district() {
    let (target, population) = loaded(Scale::small(1), HotRows::Packed);
    let scale = population.scale;
    let mut session = session_in(&target, "oe").unwrap();
    procedures::create(session.as_mut(), Churn::Off).unwrap();
    let calls = Calls::prepare(session.as_mut(), scale.districts).unwrap();
    let statements = Statements::prepare(session.as_mut(), scale.districts, Churn::Off).unwrap();
    let forms: [Box<dyn Form>; 2] = [Box::new(calls), Box::new(statements)];
    let mut asked = Asked::default();
    for (oldest, mut form) in (scale.delivered() + 1..).zip(forms) {
        let outcome = with_a_victim(&target, (session.as_mut(), form.as_mut()), oldest);
        let wanted = Outcome::Delivered {
            bits: 0b111,
            deadlocks: 1,
        };
        assert_eq!(outcome, Ok(wanted));
        asked.count(
            &Request::Delivery { carrier: 5 },
            wanted,
            1,
            scale.districts,
        );
    }
    assert_eq!((asked.deadlocks, asked.delivered), (2, 6));
    let found = broken(&target, "oe", scale, Moment::Run(&asked)).unwrap();
    assert_eq!(found, none());
}

#[test]
fn many_sessions_on_padded_hot_rows_leave_the_conditions_whole() {
    let (target, population) = loaded(Scale::small(1), HotRows::Padded);
    let manner = Manner {
        calling: Calling::Procedures,
        churn: Churn::Off,
        has_pauses: false,
    };
    let asked = run(&target, population, (manner, 40), &Asked::default());
    assert!(asked.rolled_back > 0 || asked.new_orders > 300, "{asked:?}");
}

#[test]
fn a_planted_violation_of_each_condition_is_found() {
    let (target, population) = loaded(Scale::small(1), HotRows::Packed);
    let planted = [
        (
            1,
            "UPDATE dbo.district SET d_ytd = d_ytd + 0.01 WHERE d_id = 1",
        ),
        (
            2,
            "UPDATE dbo.district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2",
        ),
        (3, "DELETE dbo.new_order WHERE no_d_id = 1 AND no_o_id = 50"),
        (4, "DELETE TOP (1) dbo.order_line WHERE ol_d_id = 3"),
        (
            5,
            "UPDATE dbo.orders SET o_carrier_id = 1 WHERE o_id = 60 AND o_d_id = 1",
        ),
        (
            6,
            "UPDATE dbo.orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 7 AND o_d_id = 1",
        ),
        (
            7,
            "UPDATE dbo.order_line SET ol_delivery_d = NULL WHERE ol_o_id = 1 AND ol_d_id = 1 AND ol_number \
             = 1",
        ),
        (8, "UPDATE dbo.warehouse SET w_ytd = w_ytd - 1"),
        (9, "DELETE TOP (1) dbo.history WHERE h_d_id = 2"),
        (
            10,
            "UPDATE dbo.customer SET c_balance = c_balance + 0.01 WHERE c_id = 9 AND c_d_id = 2",
        ),
        (
            11,
            "DELETE dbo.new_order WHERE no_d_id = 3 AND no_o_id = 43",
        ),
        (
            12,
            "UPDATE dbo.customer SET c_ytd_payment = 0 WHERE c_id = 11 AND c_d_id = 3",
        ),
    ];
    assert_eq!(planted.len(), conditions::COUNT);
    let mut session = session_in(&target, "oe").unwrap();
    for (number, violation) in planted {
        session.batch("BEGIN TRANSACTION;").unwrap();
        let changed = session.batch(violation).unwrap().count;
        assert!(changed > 0, "{violation}");
        session.batch("COMMIT TRANSACTION;").unwrap();
        // Nothing was delivered, so that after a run without deliveries the same holds.
        let nothing = Asked::default();
        for moment in [Moment::Loaded, Moment::Run(&nothing), Moment::Any] {
            let found = broken(&target, "oe", population.scale, moment).unwrap();
            let is_named = found
                .iter()
                .any(|text| text.starts_with(&format!("condition {number} (")));
            let is_known = number != 11 || moment != Moment::Any;
            assert_eq!(is_named, is_known, "{number}: {found:?}");
        }
    }
}

#[test]
fn a_row_that_sessions_know_of_and_that_is_not_there_is_missed() {
    let before = conditions::Totals::default();
    let after = conditions::Totals {
        next_orders: 5,
        payments: 7,
        undelivered: 3,
    };
    let mut asked = Asked {
        new_orders: 5,
        delivered: 2,
        ..Asked::default()
    };
    asked.transactions[Kind::Payment as usize] = 7;
    assert_eq!(differences(before, after, &asked), none());
    asked.new_orders = 6;
    asked.delivered = 3;
    let missed = differences(before, after, &asked);
    assert_eq!(missed.len(), 1, "{missed:?}");
    assert!(
        missed[0].contains("new orders: the database has 5"),
        "{missed:?}"
    );
}

/// Restores backups as a database of this name; with the log backup rolled forward to its end, without it as
/// of the end of the full one.
fn restore(target: &Embedded, name: &str, log: Option<&str>) {
    let move_to = |file: &str| format!("MOVE '{file}' TO '/v/{name}_{file}'");
    let moves = ["data1", "data2", "log"].map(move_to).join(", ");
    let end = if log.is_some() {
        "NORECOVERY"
    } else {
        "RECOVERY"
    };
    let mut session = target.connect().unwrap();
    let text = format!("RESTORE DATABASE {name} FROM DISK = '/v/oe.bak' WITH {moves}, {end};");
    session.batch(&text).unwrap();
    if let Some(log) = log {
        let text = format!("RESTORE LOG {name} FROM DISK = '{log}' WITH RECOVERY;");
        session.batch(&text).unwrap();
    }
}

#[test]
fn the_conditions_hold_after_a_restore_of_backups_taken_under_the_load() {
    let (target, population) = loaded(Scale::small(2), HotRows::Packed);
    let manner = Manner {
        calling: Calling::Procedures,
        churn: Churn::Database,
        has_pauses: false,
    };
    let work = OrderEntry::new(&target, "oe", population, manner, 78).unwrap();
    let orders = |database: &str| totals(&target, database).unwrap().next_orders;
    let begun_with = orders("oe");
    let stop = AtomicBool::new(false);
    // Users end when the test fails, too.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let mut session = target.connect().unwrap();
    session
        .batch("ALTER DATABASE oe SET RECOVERY FULL;")
        .unwrap();
    // Orders of the database when each backup began and ended.
    let mut seen = Vec::new();
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for place in 0..4 {
            let mut session = session_in(&target, "oe").unwrap();
            let mut job = work.open(place, session.as_mut()).unwrap();
            let stop = &stop;
            let body = move || {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(job.next(session.as_mut(), Piece::now(1)), Ok(1));
                }
            };
            thread::spawn_scoped(scope, format!("user {place}"), body).unwrap();
        }
        while orders("oe") == begun_with {
            sleep(Duration::from_millis(5));
        }
        // A backup counts as one under the load when orders came while it was taken.
        for text in [
            "BACKUP DATABASE oe TO DISK = '/v/oe.bak' WITH INIT, FORMAT;",
            "BACKUP LOG oe TO DISK = '/v/oe.trn';",
        ] {
            let mut tries = 0..200;
            let span = loop {
                assert!(tries.next().is_some(), "no order came during a backup");
                let before = orders("oe");
                session.batch(text).unwrap();
                let after = orders("oe");
                // One log backup follows the full one: a second would leave a gap behind it.
                if after > before || text.starts_with("BACKUP LOG") {
                    break (before, after);
                }
            };
            seen.push(span);
        }
    });
    restore(&target, "oe_full", None);
    restore(&target, "oe_rolled", Some("/v/oe.trn"));
    for (database, (before, after)) in ["oe_full", "oe_rolled"].into_iter().zip(seen) {
        let faults = broken(&target, database, population.scale, Moment::Any).unwrap();
        assert_eq!(faults, none(), "{database}");
        let found = orders(database);
        assert!(
            (before..=after).contains(&found),
            "{database}: {found} orders, {before} when its backup began, {after} when it had ended"
        );
    }
    assert_eq!(
        broken(&target, "oe", population.scale, Moment::Run(&work.asked())).unwrap(),
        none()
    );
}
