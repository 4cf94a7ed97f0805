//! Nesting of every kind, shallow and far too deep: a statement works or ends with an error, and the process
//! goes on.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/nesting.rs"]
mod nesting;

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::Moment;
use furrow_sql::{Connection, Kept, Server};

fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    server.connect().unwrap()
}

/// Runs all shapes at a depth; the numbers of errors by shape.
fn run(depth: usize) -> Vec<(&'static str, Vec<u32>)> {
    let mut connection = connect();
    let mut found = Vec::new();
    for (name, batches) in nesting::shapes(depth) {
        let mut numbers = Vec::new();
        let begun = Moment::now();
        eprintln!("{depth:>6} {name}");
        for batch in batches {
            let mut kept = Kept::default();
            connection.execute(&batch, &mut kept);
            numbers.extend(kept.errors().iter().map(|e| e.number));
            if !numbers.is_empty() {
                // What the next batch needs is not there.
                break;
            }
            // Twice: what is kept of it runs as well.
            connection.execute(&batch, &mut Kept::default());
        }
        eprintln!("       {numbers:?} {:?}", begun.elapsed());
        found.push((name, numbers));
    }
    let mut kept = Kept::default();
    connection.execute("SELECT 1", &mut kept);
    assert!(kept.errors().is_empty());
    found
}

#[test]
fn nesting_of_every_kind_works_or_is_refused_on_a_thread_of_2_mb() {
    let mut wrong: Vec<String> = Vec::new();
    for depth in [3, 30, 150, 700, 3000] {
        let running = spawn_named("deep", move || run(depth));
        for (name, numbers) in running.unwrap().join().unwrap() {
            println!("{depth:>6} {name}: {numbers:?}");
            let refused = |n: &u32| depth > nesting::WORKS && nesting::REFUSALS.contains(n);
            if !numbers.iter().all(refused) {
                wrong.push(format!("{name} at {depth}: {numbers:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
