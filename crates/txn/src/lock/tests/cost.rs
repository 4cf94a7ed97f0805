//! What an uncontended lock costs: measured on request, not asserted.
//! `cargo test --release -p furrow-txn -- --ignored --nocapture cost`

use furrow_format::ObjectId;
use furrow_io::time::Moment;

use super::super::LockMode::*;
use super::super::Timeout;
use super::{key, parties, table};

const ROUNDS: u64 = 2_000_000;

fn measure(what: &str, mut body: impl FnMut(u64)) {
    let best = (0..5).map(|_| {
        let began = Moment::now();
        (0..ROUNDS).for_each(&mut body);
        began.elapsed_ns() as f64 / ROUNDS as f64
    });
    println!("{what}: {:.1} ns", best.fold(f64::MAX, f64::min));
}

#[test]
#[ignore = "a measurement"]
fn cost_of_uncontended_locks() {
    let (manager, [a]) = parties();
    let lock = |n, mode| assert!(manager.lock(&a, key(n), mode, Timeout::Forever).is_ok());
    manager.lock(&a, table(1), IX, Timeout::Forever).unwrap();
    measure("lock and unlock a row, 1000 rows in turn", |n| {
        lock(n % 1000, X);
        manager.unlock(&a, &key(n % 1000));
    });
    measure("intent on the table, held already", |_| {
        assert!(manager.lock(&a, table(1), IX, Timeout::Forever).is_ok());
    });
    measure("probe of a free row", |n| {
        assert!(manager.try_instant(&a, key(n % 1000), S));
    });
    measure("a row of a transaction of 20, release_all included", |n| {
        manager
            .lock_within(&a, ObjectId(1), key(n % 1000), X, Timeout::Forever)
            .unwrap();
        if n % 20 == 19 {
            manager.release_all(&a);
        }
    });
    manager.release_all(&a);
    measure(
        "a row of a transaction of 4000, release_all included",
        |n| {
            lock(n, X);
            if n % 4000 == 3999 {
                manager.release_all(&a);
            }
        },
    );
}
