//! What all runs share: prepared files, volumes, the program.

use crate::synthetic::{Synthetic, Trouble, assert_clean, furnish, run_all, setup};
use furrow_io::{MemoryVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::runner::{Runner, Stop};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[test]
fn shared_files_are_made_once_restored_in_every_run_and_removed_at_the_end() {
    let mut experiment = Synthetic::published(0.01, 5);
    experiment.prepares = true;
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!((stop, experiment.prepared), (Stop::Finished, 1));
    assert_eq!(results.plan.blocks_done, 6);
}

#[test]
fn shared_files_go_at_ctrl_c_and_are_made_again_when_the_experiment_is_resumed() {
    let mut experiment = Synthetic::published(0.01, 5);
    experiment.prepares = true;
    experiment.trouble.push(Trouble::CtrlC { run: 9 });
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut how = setup(volume.clone(), &experiment);
    let plan = experiment.plan();
    let mut runner = Runner::create(how.clone(), plan, &experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Cancelled
    );
    assert_clean(volume.as_ref(), &experiment.server);
    drop(runner);
    experiment.trouble.clear();
    how.cancel.store(false, Ordering::Relaxed);
    how.program = "furrow 9.9".to_string();
    experiment.clock.advance(100_000.0);
    let mut runner = Runner::resume(how, &mut experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    assert_clean(volume.as_ref(), &experiment.server);
    assert_eq!(experiment.prepared, 2);
    let results = runner.results(&experiment, Environment::default());
    assert!(results.duration_s < 50_000.0, "without the pause");
    let other = results
        .deviations
        .iter()
        .find(|d| d.kind == "other program");
    let text = &other.unwrap().text;
    assert!(
        text.contains("were made by test, runs after it by furrow 9.9"),
        "{text}"
    );
}

#[test]
fn space_that_shared_files_have_taken_is_not_asked_for_again() {
    const MIB: u64 = 1 << 20;
    let mut experiment = Synthetic::published(0.01, 5);
    experiment.prepares = true;
    (experiment.shared_bytes, experiment.forecast_bytes) = (4 * MIB, 5 * MIB);
    // 1.2 times both at the beginning, and a little for the journal.
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(11 * MIB));
    furnish(volume.as_ref());
    let (how, plan) = (setup(volume.clone(), &experiment), experiment.plan());
    let mut runner = Runner::create(how, plan.clone(), &experiment).unwrap();
    let stop = runner.run(&mut experiment, &mut |_| {}).unwrap();
    assert_eq!((stop, experiment.prepared), (Stop::Finished, 1));
    assert_clean(volume.as_ref(), &experiment.server);
    // What is made first is asked for before anything is made.
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(10 * MIB));
    furnish(volume.as_ref());
    let refused = Runner::create(setup(volume, &experiment), plan, &experiment);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("not enough space")
    );
}

#[test]
fn another_disk_behind_a_directory_stops_the_experiment_before_the_next_run() {
    let mut experiment = Synthetic::published(0.01, 5);
    experiment.trouble.push(Trouble::OtherDisk { after: 4 });
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!((stop, results.runs.len()), (Stop::Volume, 4));
    let error = results.deviations.iter().find(|d| d.kind == "error");
    let text = &error.unwrap().text;
    assert!(
        text.ends_with("lay on disk 1 and lies on disk 2 now"),
        "{text}"
    );
}
