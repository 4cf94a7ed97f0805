//! The process or the machine dies at every single operation; the experiment is taken up and finished.

use crate::synthetic::{Synthetic, assert_clean, furnish, setup};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions, SimVolume};
use furrow_lab::environment::Environment;
use furrow_lab::journal::{JournalError, State, read};
use furrow_lab::plan::Plan;
use furrow_lab::results::RunStatus;
use furrow_lab::runner::{Runner, RunnerError, Stop};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

fn model() -> (Synthetic, Plan) {
    let mut experiment = Synthetic::published(0.01, 5);
    experiment.files = vec![1, 4];
    experiment.truth = vec![100.0, 90.0];
    let mut plan = experiment.plan();
    plan.blocks = 2;
    (experiment, plan)
}

fn begin(
    volume: &SimVolume,
    plan: &Plan,
    experiment: &mut Synthetic,
) -> Result<Runner, RunnerError> {
    let setup = setup(Arc::new(volume.clone()), experiment);
    match Runner::resume(setup.clone(), experiment) {
        Ok(runner) => Ok(runner),
        // Died before the first line: the experiment begins from the start.
        Err(RunnerError::Journal(JournalError::NoPlan { .. } | JournalError::Io(_)))
            if volume.is_powered() =>
        {
            Runner::create(setup, plan.clone(), experiment)
        }
        Err(error) => Err(error),
    }
}

/// Runs until power is lost at the `nth` operation; returns the state at that moment, or `None` when it
/// finished.
fn run_until_loss(
    volume: &SimVolume,
    plan: &Plan,
    experiment: &mut Synthetic,
    nth: u64,
) -> Option<BTreeSet<State>> {
    volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
    let setup = setup(Arc::new(volume.clone()), experiment);
    let outcome = Runner::create(setup, plan.clone(), experiment)
        .and_then(|mut runner| runner.run(experiment, &mut |_| {}));
    volume.heal();
    if volume.is_powered() {
        assert_eq!(outcome.unwrap(), Stop::Finished);
        return None;
    }
    assert!(outcome.is_err(), "went on without power");
    Some(BTreeSet::new())
}

/// The states that the journal shows unfinished runs in.
fn states_of(volume: &SimVolume) -> BTreeSet<State> {
    let Ok(lines) = read(volume, Path::new("/out")) else {
        return BTreeSet::new();
    };
    let path = Path::new("/out/journal.jsonl");
    let Ok(history) = furrow_lab::journal::History::of(path, &lines) else {
        return BTreeSet::new();
    };
    history
        .runs
        .values()
        .filter(|run| !run.ended)
        .map(|run| run.state)
        .collect()
}

#[test]
fn a_kill_at_any_operation_loses_no_finished_run_and_leaves_nothing_behind() {
    let mut want: Option<Vec<Option<f64>>> = None;
    let mut states = BTreeSet::new();
    let mut kills = 0;
    for nth in 1.. {
        // Torn is the hardest; what a plain kill and a loss of everything leave is tried in turn.
        let plain = if nth % 2 == 0 {
            Crash::KeepAll
        } else {
            Crash::DropAll
        };
        for outcome in [plain, Crash::Torn { seed: nth }] {
            let (mut experiment, plan) = model();
            let volume = SimVolume::new(SimOptions {
                seed: nth,
                ..SimOptions::default()
            });
            furnish(&volume);
            let lost = run_until_loss(&volume, &plan, &mut experiment, nth);
            if lost.is_none() {
                assert!(kills > 250, "only {kills} kills");
                let every: BTreeSet<State> = State::ON_THE_WAY
                    .into_iter()
                    .chain([State::Planned])
                    .collect();
                assert_eq!(states, every, "some state was never killed in");
                return;
            }
            kills += 1;
            volume.restart(&outcome);
            states.extend(states_of(&volume));
            let finished_before = done_runs(&volume);
            experiment.clock.advance(60.0);
            let mut runner = begin(&volume, &plan, &mut experiment)
                .unwrap_or_else(|error| panic!("operation {nth}, {outcome:?}: {error}"));
            assert_eq!(
                runner.run(&mut experiment, &mut |_| {}).unwrap(),
                Stop::Finished
            );
            assert_clean(&volume, &experiment.server);
            let results = runner.results(&experiment, Environment::default());
            assert_eq!(results.problems(), Vec::<String>::new());
            assert!(results.runs.iter().all(|run| run.status == RunStatus::Done));
            let responses: Vec<Option<f64>> = results.runs.iter().map(|r| r.response).collect();
            assert_eq!(
                responses,
                *want.get_or_insert(responses.clone()),
                "operation {nth}"
            );
            // A run that was over before the kill is not run again.
            let again = experiment
                .seen
                .iter()
                .filter(|(run, times, s)| {
                    *s == State::Setup && *times > 1 && finished_before.contains(run)
                })
                .count();
            assert_eq!(again, 0, "operation {nth}: a finished run was repeated");
        }
    }
}

fn done_runs(volume: &SimVolume) -> BTreeSet<u32> {
    let Ok(lines) = read(volume, Path::new("/out")) else {
        return BTreeSet::new();
    };
    let path = Path::new("/out/journal.jsonl");
    match furrow_lab::journal::History::of(path, &lines) {
        Ok(history) => history
            .runs
            .iter()
            .filter(|(_, run)| run.is_settled())
            .map(|(&id, _)| id)
            .collect(),
        Err(_) => BTreeSet::new(),
    }
}

#[test]
fn a_second_kill_during_the_clearing_away_is_survived_too() {
    for nth in (1..400).step_by(7) {
        let (mut experiment, plan) = model();
        let volume = SimVolume::new(SimOptions {
            seed: nth,
            ..SimOptions::default()
        });
        furnish(&volume);
        if run_until_loss(&volume, &plan, &mut experiment, nth).is_none() {
            return;
        }
        volume.restart(&Crash::KeepAll);
        for second in 1..=12 {
            volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(second));
            let _died = begin(&volume, &plan, &mut experiment)
                .and_then(|mut runner| runner.run(&mut experiment, &mut |_| {}));
            volume.heal();
            volume.restart(&Crash::DropAll);
        }
        let mut runner = begin(&volume, &plan, &mut experiment).unwrap();
        assert_eq!(
            runner.run(&mut experiment, &mut |_| {}).unwrap(),
            Stop::Finished
        );
        assert_clean(&volume, &experiment.server);
    }
}
