//! Real files, real processes, real `kill -9`.

use crate::synthetic::{Synthetic, assert_clean_at, furnish_at, run_all, setup};
use furrow_io::time::{Duration, sleep};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::journal::{FILE_NAME, read, read_file};
use furrow_lab::runner::{Runner, Stop};
use furrow_stats::Stream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const ROOT: &str = "FURROW_LAB_TEST_ROOT";

fn model(root: &Path) -> Synthetic {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.root = root.to_path_buf();
    experiment
}

fn begin_or_resume(experiment: &mut Synthetic) -> Runner {
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let setup = setup(volume, experiment);
    let plan = experiment.plan();
    match Runner::create(setup.clone(), plan, experiment) {
        Ok(runner) => runner,
        Err(_) => Runner::resume(setup, experiment).unwrap(),
    }
}

/// Not a test by itself: the process that is killed by the one below.
#[test]
fn child() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let mut experiment = model(Path::new(&root));
    let mut runner = begin_or_resume(&mut experiment);
    let step = |_: &_| sleep(Duration::from_millis(1));
    runner.run(&mut experiment, &mut { step }).unwrap();
}

#[test]
fn an_experiment_killed_again_and_again_is_finished_as_if_nothing_had_been() {
    let place = tempfile::tempdir().unwrap();
    let root: PathBuf = place.path().to_path_buf();
    let volume = SystemVolume::new();
    furnish_at(&volume, &root);
    let mut stream = Stream::new(17);
    let mut grown = 0;
    // Eight kills, and then as many as a busy machine needs to get to work: each has twice the time.
    for round in 0..18 {
        if round >= 8 && grown > 10 {
            break;
        }
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::child", "--test-threads=1"])
            .env(ROOT, &root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let more_ms = match round {
            0..8 => 20 * round,
            round => 200 << (round - 8),
        };
        sleep(Duration::from_millis(
            60 + more_ms + stream.below(180) as u64,
        ));
        process.kill().unwrap();
        process.wait().unwrap();
        let lines = read(&volume, &root.join("out")).map_or(0, |lines| lines.len());
        assert!(lines >= grown, "the journal shrank");
        grown = lines;
    }
    assert!(grown > 10, "the process never came to work: {grown} events");
    let mut experiment = model(&root);
    let mut runner = begin_or_resume(&mut experiment);
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    assert_clean_at(&volume, &root, &experiment.server);
    let results = runner.results(&experiment, Environment::default());
    let (_, want) = run_all(&mut Synthetic::published(0.004, 3), experiment.plan()).unwrap();
    assert_eq!(results.answer.sentence, want.answer.sentence);
    assert_eq!(results.levels, want.levels);
    // Closed, the journal carries no padding.
    drop(runner);
    let bytes = read_file(&volume, &root.join("out").join(FILE_NAME)).unwrap();
    assert!(bytes.ends_with(b"}\n") && !bytes.windows(2).any(|pair| pair == b"\n\n"));
}
