//! The experiment with the engine.

use super::*;
use crate::targets::Value;
use crate::testing::{Spoiled, made, run_blocks, runner_of};
use furrow_io::{MemoryVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::runner::Stop;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[test]
fn reports_give_the_same_rows_whatever_the_number_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--files 1,3 --cache warm --query count,stock-value,best-sellers,delayed-orders --part 100 \
                 --total 2MB --sessions 2";
    let results = run_blocks::<Scan>(&dir.path().join("out"), words);
    assert_eq!(results.levels.len(), 8);
    for run in &results.runs {
        assert!(run.status.is_good(), "{:?}", run.status);
        assert!(run.response.unwrap() > 0.0);
        let counts = run.level.ends_with("count");
        assert_eq!(
            run.rows.is_some(),
            counts,
            "only a count has a rate in rows"
        );
    }
    let page = furrow_lab::report::render(&results);
    assert!(page.contains("not comparable") && page.contains("MAXDOP 1"));
}

#[test]
fn threads_of_a_scan_are_a_factor_and_their_waits_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    // Of several sessions at once the threads of one do not all end before their session looks.
    let words = "--files 1,2 --cache warm --dop 1,2 --total 12MB --sessions 4";
    let results = run_blocks::<Scan>(&dir.path().join("out"), words);
    assert_eq!(results.levels.len(), 4);
    let mut waited = 0;
    for run in &results.runs {
        assert!(run.status.is_good(), "{:?}", run.status);
        let waits = run.waits.iter().find(|wait| wait.wait_type == "CXPACKET");
        let count = waits.map_or(0, |wait| wait.count);
        // Threads that end at the same time do not wait: that may happen in a run.
        match run.level.ends_with('2') {
            true => waited += count,
            false => assert_eq!(count, 0, "{}", run.level),
        }
    }
    assert!(waited > 0, "two threads wait for each other in some run");
}

#[test]
fn reports_beside_the_load_count_only_while_its_conditions_hold() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--files 1,2 --cache warm --query best-sellers --part 100 --beside 3";
    let results = run_blocks::<Scan>(&dir.path().join("out"), words);
    for run in &results.runs {
        assert!(run.status.is_good(), "{:?}", run.status);
        let alone = run
            .figures
            .iter()
            .find(|f| f.name == "users' commits alone");
        assert!(alone.unwrap().value > 0.0, "users worked");
    }
}

#[test]
fn an_answer_that_differs_from_the_first_database_fails_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--files 1 --query delayed-orders --part 100";
    let scan = made::<Scan>(dir.path(), words).unwrap();
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    let startup = Startup {
        directory: "/i".into(),
        pool_bytes: 32 << 20,
        ..Startup::default()
    };
    let mut target = Embedded::new();
    target.start(&volume, &startup).unwrap();
    let log = (Path::new("/log.ldf"), 16 << 20);
    let data = ["/data1.mdf".into()];
    let layout = DatabaseLayout::even("reported", &data, 16 << 20, log);
    target.create_database(&layout).unwrap();
    let cancel = AtomicBool::new(false);
    let mut reports = Reports::default();
    let mut live = |_: f64| {};
    let how: (_, &mut dyn FnMut(f64)) = (&cancel, &mut live);
    reports
        .load(&target, "reported", &scan.options, how)
        .unwrap();
    // A report that finds nine tenths of the order lines in memory is not cold.
    let least = reports.cold_bytes();
    assert!((3_000 * 60 / 10 * 9..1 << 20).contains(&least), "{least}");
    assert!(table::check_cold(3_000 * 60 / 10, least).is_err());
    let query = Query::DelayedOrders;
    let mut session = session_in(&target, "reported").unwrap();
    let rows = session.batch(query.text()).unwrap().rows;
    assert_eq!(rows.len(), 10, "each district has orders that wait");
    assert!(reports.check(query, &rows).is_ok());
    session.batch("DELETE TOP (1) dbo.new_order;").unwrap();
    let rows = session.batch(query.text()).unwrap().rows;
    let wrong = reports.check(query, &rows).unwrap_err();
    let is_final =
        matches!(&wrong, StepError::Violation(text) if text.contains("delayed-orders differs"));
    assert!(is_final, "{wrong}");
    let conditions = || reports::check_conditions(&target, "reported", &scan.options);
    let broken = conditions().unwrap_err();
    assert!(matches!(broken, StepError::Violation(_)), "{broken}");
}

#[test]
fn a_cold_cache_is_cold_also_where_it_is_the_only_one() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--files 1,2 --cache cold --total 8MB --part 100 \
                 --query count,stock-value,best-sellers,delayed-orders";
    let results = run_blocks::<Scan>(&dir.path().join("out"), words);
    for run in &results.runs {
        let read: u64 = run.files.iter().map(|file| file.bytes_read).sum();
        // 3,000 order lines have 60 bytes each at least.
        let least = match run.level.ends_with("count") {
            true => (8 << 20) / 10 * 9,
            false => 3_000 * 60 / 10 * 9,
        };
        assert!(read >= least, "run {} ({}) read {read}", run.id, run.level);
    }
}

#[test]
fn the_rows_of_the_measured_scan_are_checked_and_not_those_of_another_plan() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--files 1 --cache warm --dop 1,3 --total 4MB";
    let mut scan = made::<Scan>(&out, words).unwrap();
    // The engine, but a scan that is divided among three threads counts a row too few.
    scan.target = Box::new(Spoiled::new(|text, reply| {
        if text.contains("MAXDOP 3") {
            reply.rows[0][0] = Value::Int(reply.rows[0][0].count() as i64 - 1);
        }
    }));
    let mut runner = runner_of(&out, &scan);
    assert_eq!(runner.run(&mut scan, &mut |_| {}).unwrap(), Stop::Finished);
    let results = runner.results(&scan, Environment::default());
    for run in &results.runs {
        let reason = run.status.reason().unwrap_or_default();
        let is_wrong = reason.contains("a scan found 511 rows where 512 were inserted");
        assert_eq!(is_wrong, run.level == "3", "{}: {reason}", run.level);
        assert_eq!(run.status.is_good(), run.level == "1", "{reason}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |words: &str| made::<Scan>(dir.path(), words).unwrap_err();
    assert!(refused("--query worst-sellers").contains("write count"));
    assert!(refused("--part 3").contains("--part must be"));
    assert!(refused("--warehouses 0").contains("--warehouses"));
    assert!(refused("--dop 1,65").contains("--dop takes"));
    assert!(refused("--cache warm --beside 5000").contains("--beside must be"));
    for cache in ["", "--cache cold", "--cache cold,warm"] {
        let words = format!("--files 1,2 --beside 4 {cache}");
        assert!(refused(&words).contains("--cache warm alone"), "{words}");
    }
    assert!(refused("--files 1 --cache warm").contains("nothing to be compared"));
    let memory = |words: &str| made::<Scan>(dir.path(), words).unwrap().memory_bytes();
    let alone = "--files 1,2 --cache warm --query best-sellers --sessions";
    let more = memory(&format!("{alone} 256")) - memory(&format!("{alone} 1"));
    assert_eq!(more, 255 * ASSUMED_SESSION_BYTES);
    let more = memory(&format!("{alone} 1 --beside 2000")) - memory(&format!("{alone} 1"));
    assert_eq!(more, 2000 * ASSUMED_SESSION_BYTES);
}
