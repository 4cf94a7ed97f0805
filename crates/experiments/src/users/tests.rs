//! The experiment with the engine.

use super::*;
use crate::targets::Value;
use crate::testing::{Spoiled, made, run_blocks, run_made, runner_of};
use crate::workloads::load::End;
use furrow_io::SystemVolume;
use furrow_lab::results::RunStatus;
use furrow_lab::runner::Stop;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn users_on_one_and_two_files_are_compared_and_every_run_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--users 1,6 --files 1,2 --churn tempdb --warehouses 2 --part 100 --log 32MB";
    let mut users = made::<Users>(&out, words).unwrap();
    // A deck of 23 transactions for each of six users: every run has new orders.
    users.options.end = End::Units(6 * 23);
    let results = run_made(&out, users);
    assert_eq!(results.levels.len(), 4);
    assert_eq!(results.experiment.response.name, "new orders per minute");
    for run in &results.runs {
        assert!(run.response.unwrap() > 0.0);
        assert_eq!(run.latency[0].operation, "new order");
    }
    let model = results.sections.iter();
    let model = model.filter(|section| section.heading.starts_with("Modelled"));
    let model = model.collect::<Vec<_>>();
    assert_eq!(model.len(), 1, "one section has the model of the latch");
    assert!(model[0].finding.contains("MODEL, not a measurement"));
    assert!(model[0].charts[0].finding.starts_with("MODEL"));
    assert_eq!(
        model[0].tables[0].rows.len(),
        2,
        "a row for each number of files"
    );
    for run in &results.runs {
        let record = &run.extra["MODEL of the busiest allocation latch"];
        assert!(record["measured_mean_hold_us"].as_f64().unwrap() > 0.0);
        let rate = record["measured_holds_per_s"].as_f64().unwrap();
        let holds = rate * run.seconds.unwrap();
        assert!(holds > 10.0, "each churn allocates: {holds}");
    }
    let page = furrow_lab::report::render(&results);
    assert!(
        page.contains("not comparable"),
        "the disclaimer is in the report"
    );
    for word in ["tpmC", "TPM "] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |words: &str| made::<Users>(dir.path(), words).unwrap_err();
    assert!(refused("--users 0,1").contains("--users takes numbers"));
    assert!(refused("--users 4 --files 1").contains("nothing to be compared"));
    assert!(refused("--warehouses 0").contains("--warehouses"));
    assert!(refused("--part 7").contains("--part must be 1, 10 or 100"));
    assert!(refused("--churn maybe").contains("write off, on"));
    assert!(refused("--pace slow").contains("write none or spec"));
    assert!(refused("--pool 1MB").contains("--pool"));
    // A quick run lasts 1.5 s, and keying in takes 2 s at least.
    let few = refused("--pace spec");
    assert!(few.contains("with 1 user needs --seconds 480:"), "{few}");
    let few = refused("--users 1,50 --pace spec --seconds 60");
    assert!(few.contains("with 1 user needs --seconds 480:"), "{few}");
    let few = refused("--users 50,100 --pace spec --seconds 10");
    assert!(few.contains("with 50 users needs --seconds 60:"), "{few}");
    let few = refused("--users 4,50 --pace spec --seconds 60");
    assert!(few.contains("with 4 users needs --seconds 120:"), "{few}");
    for words in [
        "--users 10,50 --pace spec --seconds 600",
        "--users 1,50 --pace spec --seconds 480",
        "--users 1,50 --seconds 0.5",
    ] {
        assert!(made::<Users>(dir.path(), words).is_ok(), "{words}");
    }
}

#[test]
fn a_broken_condition_fails_the_run_for_good_and_its_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--users 1,2 --files 1 --churn off --part 100 --log 32MB";
    let mut users = made::<Users>(&out, words).unwrap();
    users.options.end = End::Units(2 * 23);
    // Checked once after the load of the tables; the run that checks it next finds a gap, and no later one.
    let checks = AtomicU32::new(0);
    users.target = Box::new(Spoiled::new(move |text, reply| {
        let is_checked = text.contains("MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)");
        if is_checked && checks.fetch_add(1, Ordering::Relaxed) == 1 {
            reply.rows[0][0] = Value::Int(1);
        }
    }));
    let mut runner = runner_of(&out, &users);
    assert_eq!(runner.run(&mut users, &mut |_| {}).unwrap(), Stop::Finished);
    let history = runner.log().history();
    let mut violated = history.runs.values().filter(|run| run.violation.is_some());
    let (failed, other) = (violated.next().unwrap(), violated.next());
    assert_eq!(
        (failed.failures.len(), other),
        (failed.attempts as usize, None)
    );
    let RunStatus::Failed(reason) = failed.status() else {
        panic!("{:?}", failed.status());
    };
    assert!(reason.starts_with("condition 3 ("), "{reason}");
    let left = SystemVolume::new().list(&out).unwrap();
    let kept: Vec<_> = left
        .iter()
        .filter(|path| path.extension().is_none())
        .collect();
    assert!(
        kept.len() == 1 && reason.contains(&kept[0].display().to_string()),
        "{left:?}: {reason}"
    );
    assert!(
        kept[0].join("data1.mdf").exists(),
        "{:?}",
        SystemVolume::new().list(kept[0])
    );
}

#[test]
fn tables_that_are_broken_when_they_are_loaded_end_the_experiment_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--users 1,2 --files 1 --churn off --part 100 --log 32MB";
    let mut users = made::<Users>(&out, words).unwrap();
    users.target = Box::new(Spoiled::new(|text, reply| {
        if text.contains("MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)") {
            reply.rows[0][0] = Value::Int(1);
        }
    }));
    let mut runner = runner_of(&out, &users);
    let ended = runner.run(&mut users, &mut |_| {}).unwrap_err().to_string();
    assert!(ended.contains("condition 3 ("), "{ended}");
    let (_, kept) = ended.split_once("its files stay in ").unwrap();
    let data = std::path::Path::new(kept).join("data1.mdf");
    assert!(SystemVolume::new().exists(&data).unwrap(), "{ended}");
}

#[test]
fn prepared_databases_are_forecast_apart_from_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let users = made::<Users>(dir.path(), "--users 1,2 --files 1,4 --churn off").unwrap();
    let cells = furrow_lab::design::cells(&users.factors());
    let forecast = users.forecast(&cells[0]);
    // Each file, a log and an instance: of one database, and of both.
    assert_eq!(
        (forecast.peak_bytes.len(), forecast.shared_bytes.len()),
        (3, 3 + 6)
    );
}

#[test]
fn the_report_names_how_the_load_deviates() {
    let dir = tempfile::tempdir().unwrap();
    let deviations = |words: &str| {
        let users = made::<Users>(dir.path(), words).unwrap();
        users.options.deviations().join(" ")
    };
    let many = "--users 1,600 --files 1 --warehouses 10 --pace spec --seconds 480 --part 10 \
                --hot-rows padded --churn tempdb";
    let text = deviations(many);
    for part in [
        "Up to 600 users work on 10 warehouses: 10 on each",
        "a further column of 5,000 bytes",
        "the choice is nearly uniform",
        "the last of its ten transactions",
        "tempdb has one",
        "leave out those that are rolled back",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text =
        deviations("--users 1,100 --files 1 --warehouses 10 --pace spec --seconds 480 --churn off");
    for part in [
        "Up to",
        "5,000 bytes",
        "nearly uniform",
        "tempdb",
        "With churn",
    ] {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

/// A look at a machine: prints the table of a quick experiment with these words.
#[test]
#[ignore = "takes minutes; FURROW_WORDS has the options"]
fn a_quick_look_prints_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let words = std::env::var("FURROW_WORDS").unwrap_or_default();
    let begun = furrow_io::time::Moment::now();
    let results = run_blocks::<Users>(&dir.path().join("out"), &words);
    println!("{} s", begun.elapsed_us() / 1_000_000);
    for run in &results.runs {
        let figures: Vec<String> = run
            .figures
            .iter()
            .map(|figure| format!("{} {:.1} {}", figure.name, figure.value, figure.unit))
            .collect();
        println!(
            "{} {:.0} {}",
            run.level,
            run.response.unwrap(),
            figures.join(", ")
        );
        for latch in run.latches.iter().take(12) {
            println!("    {} {} {} us", latch.class, latch.waits, latch.total_us);
        }
        for wait in run.waits.iter().filter(|wait| !wait.benign).take(8) {
            println!("    {} {} {} us", wait.wait_type, wait.count, wait.total_us);
        }
    }
}
