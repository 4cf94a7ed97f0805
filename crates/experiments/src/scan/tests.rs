//! The experiment with the engine.

use super::*;
use crate::testing::{made, run_blocks};
use crate::workloads::prepared::session_in;
use furrow_io::{MemoryVolume, Volume};
use std::path::Path;
use std::sync::Arc;
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
    let words = "--files 1,2 --cache warm --dop 1,2 --total 12MB";
    let results = run_blocks::<Scan>(&dir.path().join("out"), words);
    assert_eq!(results.levels.len(), 4);
    for run in &results.runs {
        assert!(run.status.is_good(), "{:?}", run.status);
        let waits = run.waits.iter().find(|wait| wait.wait_type == "CXPACKET");
        let parallel = run.level.ends_with('2');
        assert_eq!(
            waits.is_some_and(|wait| wait.count > 0),
            parallel,
            "{}",
            run.level
        );
    }
}

#[test]
fn reports_beside_the_load_count_only_while_its_conditions_hold() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--files 1 --cache warm,cold --query best-sellers --part 100 --beside 3";
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
    let query = Query::DelayedOrders;
    let check = || reports.check(&target, "reported", query, &scan.options);
    assert!(check().is_ok());
    let mut session = session_in(&target, "reported").unwrap();
    let rows = session.batch(query.text()).unwrap().rows;
    assert_eq!(rows.len(), 10, "each district has orders that wait");
    session.batch("DELETE TOP (1) dbo.new_order;").unwrap();
    let wrong = check().unwrap_err().to_string();
    assert!(wrong.contains("delayed-orders differs"), "{wrong}");
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |words: &str| made::<Scan>(dir.path(), words).unwrap_err();
    assert!(refused("--query worst-sellers").contains("write count"));
    assert!(refused("--part 3").contains("--part must be"));
    assert!(refused("--warehouses 0").contains("--warehouses"));
    assert!(refused("--dop 1,65").contains("--dop takes"));
    assert!(refused("--beside 5000").contains("--beside"));
    assert!(refused("--files 1 --cache warm").contains("nothing to be compared"));
}
