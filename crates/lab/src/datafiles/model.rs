//! An engine that is none: it makes the files, counts rows, and waits as it is told. For tests of the
//! experiment.

use super::target::{Connection, Counters, DatabaseShape, Pulse, Target};
use super::*;
use crate::environment::Environment;
use crate::journal::SystemClock;
use crate::plan::{ASSUMED_CV, TimeModel, explain};
use crate::results::FileRole;
use crate::runner::{Runner, RunnerSetup, Stop};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_observe::files::FileStats;
use furrow_observe::files::IoKind;
use furrow_observe::waits::{WaitSnapshot, WaitTable, WaitType};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Core {
    rows: AtomicU64,
    waits: WaitTable,
    files: Mutex<Vec<FileStats>>,
    /// Rows that get lost, to see whether anybody counts.
    lost: AtomicU64,
    cancel_at: AtomicU64,
    cancel: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Model {
    core: Arc<Core>,
}

struct Session {
    core: Arc<Core>,
    waits: WaitTable,
}

impl Connection for Session {
    fn insert(&mut self, rows: u64) -> Result<(), String> {
        let before = self.core.rows.fetch_add(rows, Ordering::Relaxed);
        for table in [&self.waits, &self.core.waits] {
            table.begin(0, WaitType::WriteLog);
            table.end(0, WaitType::WriteLog, 10, 1);
        }
        let files = self.core.files.lock();
        let data = files.len() - 1;
        files[before as usize % data].record(IoKind::Write, 0, 8192 * rows, 5, 0);
        files[data].record(IoKind::Write, 0, 4096 * rows, 5, 0);
        let at = self.core.cancel_at.load(Ordering::Relaxed);
        if at > 0 && before >= at {
            self.core.cancel.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        Some(self.waits.snapshot())
    }
}

impl Target for Model {
    fn name(&self) -> String {
        "model".to_string()
    }

    fn paths(&self, shape: &DatabaseShape) -> Vec<PathBuf> {
        shape.data.iter().chain([&shape.log]).cloned().collect()
    }

    fn extra_bytes_per_file(&self) -> u64 {
        0
    }

    fn create(&mut self, volume: &Arc<dyn Volume>, shape: &DatabaseShape) -> Result<(), String> {
        let mut files = self.core.files.lock();
        files.clear();
        for (path, number) in self.paths(shape).iter().zip(1..) {
            let made = volume.open(path, Open::Create, Access::Data);
            made.map_err(|e| e.to_string())?;
            files.push(FileStats::new(5, number, &path.display().to_string()));
        }
        self.core.rows.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn connect(&self, _place: u32) -> Result<Box<dyn Connection>, String> {
        Ok(Box::new(Session {
            core: self.core.clone(),
            waits: WaitTable::new(),
        }))
    }

    fn counters(&self) -> Counters {
        let files = self.core.files.lock();
        Counters {
            waits: Some(self.core.waits.snapshot()),
            files: files.iter().map(FileStats::snapshot).collect(),
            ..Counters::default()
        }
    }

    fn pulse(&self) -> Pulse {
        Pulse::default()
    }

    fn count_rows(&self) -> Result<u64, String> {
        let lost = self.core.lost.swap(0, Ordering::Relaxed);
        Ok(self.core.rows.load(Ordering::Relaxed) - lost)
    }

    fn close(&mut self) -> Result<(), String> {
        Ok(())
    }
}

struct Bench {
    volume: Arc<dyn Volume>,
    core: Arc<Core>,
    experiment: DataFiles,
    setup: RunnerSetup,
}

fn bench(options: Options) -> Bench {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    for dir in ["/v1", "/v2"] {
        volume.create_dir(Path::new(dir)).unwrap();
    }
    let core = Arc::new(Core::default());
    let target = Box::new(Model { core: core.clone() });
    let experiment = DataFiles::new(options, Path::new("/out"), target).unwrap();
    let setup = RunnerSetup {
        volume: volume.clone(),
        out_dir: "/out".into(),
        clock: Arc::new(SystemClock::new()),
        cancel: core.cancel.clone(),
        program: "test".to_string(),
    };
    Bench {
        volume,
        core,
        experiment,
        setup,
    }
}

fn small() -> Options {
    Options {
        files: vec![1, 2, 4],
        volumes: vec!["/v1".into(), "/v2".into()],
        connections: 4,
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
    bench.experiment.take_in(runner.log().history());
    let mut results = runner.results(&bench.experiment, Environment::default());
    compare_with_published(&mut results);
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
        assert_eq!((log.count, log.total_us), (256, 2560));
        assert!(
            run.background_waits
                .iter()
                .all(|wait| wait.wait_type != "WRITELOG")
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
    assert!(
        results
            .reproduce
            .contains("--files 1,2,4 --total 2MB --connections 4"),
        "{}",
        results.reproduce
    );
    assert!(
        results.reproduce.contains("--volume /v1 --volume /v2"),
        "{}",
        results.reproduce
    );
}

#[test]
fn a_run_that_lost_rows_does_not_count_and_is_tried_again() {
    let mut bench = bench(small());
    bench.core.lost.store(1, Ordering::Relaxed);
    let plan = plan(&bench.experiment);
    let mut runner = Runner::create(bench.setup.clone(), plan, &bench.experiment).unwrap();
    runner.run(&mut bench.experiment, &mut |_| {}).unwrap();
    let first = &runner.log().history().runs[&1];
    assert_eq!(first.attempts, 2);
    assert!(
        first.failures[0].contains("255 rows where 256"),
        "{:?}",
        first.failures
    );
}

#[test]
fn ctrl_c_in_the_middle_of_a_load_stops_it_and_the_journal_makes_the_same_experiment_again() {
    let mut bench = bench(small());
    bench.core.cancel_at.store(100, Ordering::Relaxed);
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
    let kept = runner.log().history().plan.clone();
    drop(runner);
    bench.core.cancel_at.store(0, Ordering::Relaxed);
    bench.core.cancel.store(false, Ordering::Relaxed);
    let options = Options::of_plan(&kept).unwrap();
    let target = Box::new(Model {
        core: bench.core.clone(),
    });
    let mut again = DataFiles::new(options, Path::new("/out"), target).unwrap();
    let mut runner = Runner::resume(bench.setup.clone(), &mut again).unwrap();
    assert_eq!(runner.run(&mut again, &mut |_| {}).unwrap(), Stop::Finished);
    again.take_in(runner.log().history());
    assert!(
        again
            .ceilings()
            .iter()
            .all(|ceiling| ceiling.limit.is_some())
    );
    assert_eq!(again.command(&kept), bench.experiment.command(&kept));
}

#[test]
fn an_explained_plan_names_bytes_files_and_steps() {
    let bench = bench(small());
    let plan = plan(&bench.experiment);
    let forecast = |run: &crate::plan::PlannedRun| bench.experiment.forecast(&run.cell);
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
