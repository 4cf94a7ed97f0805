//! The experiment on a target with recorded answers: nothing of the engine is behind it.

use super::*;
use crate::drives::Places;
use crate::targets::recorded::{Recorded, Tape};
use furrow_io::{MemoryVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::{ASSUMED_CV, Plan, TimeModel, explain};
use furrow_lab::results::{FileRole, RunStatus};
use furrow_lab::runner::{Runner, RunnerSetup, Stop};
use std::sync::Arc;
use std::sync::atomic::Ordering;

struct Bench {
    volume: Arc<dyn Volume>,
    tape: Arc<Tape>,
    experiment: DataFiles,
    setup: RunnerSetup,
}

fn bench(options: Options) -> Bench {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    for dir in ["/v1", "/v2"] {
        volume.create_dir(Path::new(dir)).unwrap();
    }
    let tape = Arc::new(Tape::default());
    let target = Box::new(Recorded::on(&tape));
    let experiment = DataFiles::on(options, Path::new("/out"), target).unwrap();
    let setup = RunnerSetup {
        volume: volume.clone(),
        out_dir: "/out".into(),
        clock: Arc::new(SystemClock::new()),
        cancel: tape.cancel.clone(),
        program: "test".to_string(),
    };
    Bench {
        volume,
        tape,
        experiment,
        setup,
    }
}

fn small() -> Options {
    Options {
        files: vec![1, 2, 4],
        places: Places {
            volumes: vec!["/v1".into(), "/v2".into()],
            log: None,
            models: Vec::new(),
        },
        connections: vec![4],
        total_bytes: 2 << 20,
        ..Options::default()
    }
}

fn plan(experiment: &DataFiles) -> Plan {
    Plan {
        blocks: 2,
        ..experiment.plan(7)
    }
}

#[test]
fn a_run_records_all_that_the_report_wants_and_leaves_nothing_behind() {
    let mut bench = bench(small());
    let plan = plan(&bench.experiment);
    let mut runner = Runner::create(bench.setup.clone(), plan, &bench.experiment).unwrap();
    let stop = runner.run(&mut bench.experiment, &mut |_| {}).unwrap();
    assert_eq!(stop, Stop::Finished);
    let results = runner.results(&bench.experiment, Environment::default());
    assert_eq!(results.problems(), Vec::<String>::new());
    assert_eq!(results.runs.len(), 8);
    for run in &results.runs {
        assert_eq!(run.rows, Some(256), "{run:?}");
        assert_eq!(run.workers, 4);
        let log = run
            .waits
            .iter()
            .find(|wait| wait.wait_type == "WRITELOG")
            .unwrap();
        assert!(
            log.count > 0 && log.total_us >= 10_000 * log.count,
            "{log:?}"
        );
        assert_eq!(run.latency[0].count, 256);
        let data: Vec<_> = run
            .files
            .iter()
            .filter(|f| f.role == FileRole::Data)
            .collect();
        assert_eq!(data.len().to_string(), run.level);
        assert_eq!(data.iter().map(|f| f.bytes_written).sum::<u64>(), 2 << 20);
        assert_eq!(data[0].volume, "/v1");
        assert!(data.get(1).is_none_or(|file| file.volume == "/v2"));
        assert_eq!(run.files.last().unwrap().role, FileRole::Log);
    }
    let limits: Vec<_> = results.ceilings.iter().map(|c| (c.limit, c.used)).collect();
    assert!(
        limits
            .iter()
            .all(|(limit, used)| limit.is_some() && used.is_some()),
        "{limits:?}"
    );
    let published = results.published.as_ref().unwrap();
    assert!(!published.comparisons.is_empty() && published.points.len() == 3);
    for dir in ["/v1", "/v2"] {
        assert_eq!(
            bench.volume.list(Path::new(dir)).unwrap(),
            Vec::<PathBuf>::new()
        );
    }
}

#[test]
fn a_run_that_lost_rows_does_not_count_and_its_files_stay() {
    let mut bench = bench(small());
    bench.tape.lost.store(1, Ordering::Relaxed);
    let plan = plan(&bench.experiment);
    let mut runner = Runner::create(bench.setup.clone(), plan, &bench.experiment).unwrap();
    runner.run(&mut bench.experiment, &mut |_| {}).unwrap();
    let first = &runner.log().history().runs[&1];
    assert_eq!(first.attempts, 1);
    let status = first.status();
    assert!(matches!(status, RunStatus::Failed(_)), "{status:?}");
    let kept = bench.volume.list(Path::new("/v1")).unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(first.failures[0].contains(&kept[0].display().to_string()));
    assert!(
        first.failures[0].contains("255 rows where 256"),
        "{:?}",
        first.failures
    );
}

#[test]
fn ctrl_c_in_the_middle_of_a_load_stops_it_and_the_journal_makes_the_same_experiment_again() {
    let mut bench = bench(small());
    bench.tape.cancel_at.store(100, Ordering::Relaxed);
    let plan = plan(&bench.experiment);
    let mut runner = Runner::create(bench.setup.clone(), plan, &bench.experiment).unwrap();
    assert_eq!(
        runner.run(&mut bench.experiment, &mut |_| {}).unwrap(),
        Stop::Cancelled
    );
    for dir in ["/v1", "/v2"] {
        assert_eq!(
            bench.volume.list(Path::new(dir)).unwrap(),
            Vec::<PathBuf>::new()
        );
    }
    drop(runner);
    bench.tape.cancel_at.store(0, Ordering::Relaxed);
    bench.tape.cancel.store(false, Ordering::Relaxed);
    let target = Box::new(Recorded::on(&bench.tape));
    let mut again = DataFiles::on(small(), Path::new("/out"), target).unwrap();
    let mut runner = Runner::resume(bench.setup.clone(), &mut again).unwrap();
    assert_eq!(runner.run(&mut again, &mut |_| {}).unwrap(), Stop::Finished);
    assert!(
        again
            .ceilings(runner.log().history())
            .iter()
            .all(|ceiling| ceiling.limit.is_some())
    );
}

#[test]
fn an_explained_plan_names_bytes_files_and_steps() {
    let bench = bench(small());
    let plan = plan(&bench.experiment);
    let forecast = |run: &furrow_lab::plan::PlannedRun| bench.experiment.forecast(&run.cell);
    let text = explain(&plan, TimeModel::Assumed, ASSUMED_CV, forecast);
    assert!(
        text.contains("/v2: ") && text.contains("insert 256 rows by 4 sessions"),
        "{text}"
    );
    assert!(
        bench
            .volume
            .list(Path::new("/"))
            .unwrap()
            .iter()
            .all(|path| !path.ends_with("out"))
    );
}
