//! Runs that fail, a stop by the operator, disks that are too small.

use crate::synthetic::{Synthetic, Trouble, assert_clean, furnish, run_all, setup};
use furrow_io::{MemoryVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::guard::GuardError;
use furrow_lab::journal::{State, write_file};
use furrow_lab::plan::{Plan, PlannedRun};
use furrow_lab::results::{Answer, Badge, Control, RunStatus};
use furrow_lab::runner::{Phase, Runner, RunnerError, Stop};
use std::path::Path;
use std::sync::Arc;

fn fails(run: u32, state: State, times: u32) -> Trouble {
    Trouble::Fails { run, state, times }
}

#[test]
fn a_run_that_fails_once_is_tried_again_in_every_state() {
    for state in State::ON_THE_WAY {
        let mut experiment = Synthetic::published(0.004, 3);
        experiment.trouble.push(fails(7, state, 1));
        let plan = experiment.plan();
        let (stop, results) = run_all(&mut experiment, plan).unwrap();
        assert_eq!(stop, Stop::Finished);
        let run = results.runs.iter().find(|run| run.id == 7).unwrap();
        let kinds: Vec<&str> = results.deviations.iter().map(|d| d.kind.as_str()).collect();
        if state == State::Teardown {
            // The figures were taken before, and the runner removed what was left.
            assert_eq!(
                (&run.status, kinds.as_slice()),
                (&RunStatus::Done, &["error"][..])
            );
        } else {
            let why = format!("the model fails in {}", state.word());
            assert_eq!(run.status, RunStatus::Retried(why));
            assert_eq!(kinds, ["failed", "retried"]);
        }
        assert_eq!(results.plan.blocks_done, 6);
    }
}

#[test]
fn a_run_that_fails_twice_is_marked_and_passed_over() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.trouble.push(fails(7, State::Measure, 2));
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!((stop, results.plan.blocks_done), (Stop::Finished, 5));
    let run = results.runs.iter().find(|run| run.id == 7).unwrap();
    assert!(matches!(run.status, RunStatus::Failed(_)) && run.response.is_none());
    assert_eq!(results.level(&run.level).unwrap().failed, 1);
    assert_eq!(results.answer.badge, Badge::Conclusive);
    assert!(
        results
            .limits
            .iter()
            .any(|limit| limit.contains("1 run gave no figures"))
    );
}

#[test]
fn a_wrong_result_is_not_tried_again_and_the_files_of_the_first_one_stay() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    let violates = [7, 12].map(|run| Trouble::Violates { run });
    experiment.trouble.extend(violates);
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume.clone(), &experiment), plan, &experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    assert!(!runner.has_open_run(), "a resume would change nothing");
    // Of what was made only the directory of run 7 is there, with its files in it.
    let left = volume.list(Path::new("/data")).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    let kept = left.iter().find(|path| path.extension().is_none()).unwrap();
    let kept_name = kept.display().to_string();
    assert!(kept_name.ends_with("_r7_a1"), "{kept_name}");
    assert!(!volume.list(kept).unwrap().is_empty());
    // Its database too; that of run 12 was dropped.
    let server = experiment.server.lock().unwrap().clone();
    let databases: Vec<&String> = server.iter().filter(|name| *name != "production").collect();
    assert!(
        databases.len() == 1 && databases[0].ends_with("_r7_a1"),
        "{databases:?}"
    );
    let results = runner.results(&experiment, Environment::default());
    for (id, files) in [
        (7, format!("; its files stay in {kept_name}")),
        (12, String::new()),
    ] {
        let text = format!("condition 3 does not hold{files}");
        let run = results.runs.iter().find(|run| run.id == id).unwrap();
        assert_eq!(run.status, RunStatus::Failed(text.clone()));
        assert_eq!(runner.log().history().runs[&id].attempts, 1);
        let mut warnings = results.warnings.iter();
        let warning = warnings.find(|w| w.starts_with(&format!("Run {id} found a wrong result")));
        assert!(warning.unwrap().contains(&text), "{:?}", results.warnings);
        let mut deviations = results.deviations.iter();
        assert!(deviations.any(|d| d.kind == "violation" && d.run == Some(id) && d.text == text));
    }
    assert_eq!(results.problems(), Vec::<String>::new());
}

#[test]
fn three_failures_in_a_row_stop_the_experiment() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment
        .trouble
        .extend((20..=22).map(|run| fails(run, State::Setup, 2)));
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!((stop, results.runs.len()), (Stop::Failures, 22));
    assert_eq!(results.answer.badge, Badge::Aborted);
    assert_eq!(
        results.plan.stopped_because,
        "too many runs failed in a row"
    );
}

#[test]
fn whoever_resumes_after_failures_has_them_tried_again() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    experiment
        .trouble
        .extend((20..=22).map(|run| fails(run, State::Setup, 2)));
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume.clone(), &experiment), plan, &experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Failures
    );
    assert!(runner.has_open_run());
    drop(runner);
    // The clock was set back by an hour meanwhile; times in the journal still do not fall.
    experiment.clock.advance(-3_600.0);
    let mut runner = Runner::resume(setup(volume, &experiment), &mut experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    let results = runner.results(&experiment, Environment::default());
    assert_eq!(results.plan.blocks_done, 6);
    assert!(matches!(results.runs[21].status, RunStatus::Retried(_)));
    let starts: Vec<f64> = results.runs[22..].iter().map(|run| run.started_s).collect();
    assert!(
        starts.windows(2).all(|pair| pair[1] - pair[0] > 90.0),
        "{starts:?}"
    );
}

#[test]
fn a_disk_that_others_fill_meanwhile_stops_the_experiment() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(64 << 20));
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.forecast_bytes = 40 << 20;
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume.clone(), &experiment), plan, &experiment).unwrap();
    let stop = runner
        .run(&mut experiment, &mut |progress| {
            if progress.run == 5 && progress.phase == Phase::Begin {
                let others = vec![7; 24 << 20];
                write_file(volume.as_ref(), Path::new("/data/others.bak"), &others).unwrap();
            }
        })
        .unwrap();
    assert_eq!(stop, Stop::Space);
    let results = runner.results(&experiment, Environment::default());
    assert_eq!(results.runs.len(), 5);
    assert!(
        results
            .deviations
            .iter()
            .any(|d| d.text.contains("MB are missing"))
    );
}

/// Lets every run with so many files fail twice.
pub(crate) fn fail_all(experiment: &mut Synthetic, plan: &Plan, files: u64) {
    fail_where(experiment, plan, |run| {
        run.cell.count("files") == Some(files)
    });
}

pub(crate) fn fail_where(
    experiment: &mut Synthetic,
    plan: &Plan,
    fails_at: impl Fn(&PlannedRun) -> bool,
) {
    let runs = plan.runs();
    let failing = runs.iter().filter(|run| fails_at(run));
    experiment
        .trouble
        .extend(failing.map(|run| fails(run.id, State::Setup, 2)));
}

#[test]
fn the_second_label_of_the_baseline_that_fails_takes_no_comparison_of_a_curve_away() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.sessions = Some(false);
    let plan = experiment.plan();
    fail_where(&mut experiment, &plan, |run| run.control == Control::APrime);
    let runs = plan.runs();
    let mut strange = runs.iter().filter(|run| run.cell.count("files") == Some(8));
    let strange = strange.next().unwrap().id;
    experiment.slow = vec![(strange, 1.5)];
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let along = &results.sections[0].tables[0];
    assert_eq!(along.rows.len(), 4, "{along:?}");
    // Nor the ratio without a strange run.
    let mut outliers = results.noise.outliers.iter();
    let outlier = outliers.find(|outlier| outlier.run == strange).unwrap();
    let without = outlier.ratio_without.unwrap();
    assert!((without - 0.94).abs() < 0.02, "{outlier:?}");
}

#[test]
fn a_level_that_fails_throughout_leaves_the_others_comparable() {
    let mut experiment = Synthetic::published(0.004, 3);
    let plan = experiment.plan();
    fail_all(&mut experiment, &plan, 16);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(
        results.answer.recommended.as_deref(),
        Some("4"),
        "{:#?}",
        results.answer
    );
    let level = results.level("16").unwrap();
    assert_eq!((level.n, level.failed, level.verdict), (0, 6, None));
}

#[test]
fn a_level_that_fails_throughout_is_not_among_those_that_are_no_better() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.truth = vec![100.0; 5];
    let plan = experiment.plan();
    fail_all(&mut experiment, &plan, 16);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(
        results.answer.sentence,
        "1 file is enough: no other level that ran is better by more than 2%; 16 was not measured"
    );
}

#[test]
fn a_word_that_fails_throughout_leaves_an_answer_about_the_others() {
    let mut experiment = Synthetic::published(0.004, 3);
    (experiment.are_words, experiment.files) = (true, vec![1, 4, 16]);
    experiment.truth = vec![100.0; 3];
    let plan = experiment.plan();
    fail_where(&mut experiment, &plan, |run| run.cell.index == 2);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(
        answer.sentence,
        "1 file: no other level that ran is better by more than 2%; 16 was not measured"
    );
    assert_eq!(answer.badge, Badge::Conclusive, "{answer:?}");
    assert_eq!(answer.recommended.as_deref(), Some("1"));
}

/// The answer of one level against the baseline, where some blocks have only the first label of the baseline.
fn answer_without(blocks: &[u32]) -> (Answer, u32) {
    let mut experiment = Synthetic::published(0.03, 8);
    (experiment.files, experiment.truth) = (vec![1, 8], vec![100.0, 98.0]);
    let plan = experiment.plan();
    fail_where(&mut experiment, &plan, |run| {
        let is_first_label = run.cell.index == 0 && run.control != Control::APrime;
        blocks.contains(&run.block) && !is_first_label
    });
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(stop, Stop::Finished);
    let answer = results.answer;
    let (before, _) = answer.sentence.split_once(" more block").unwrap();
    let more = before.rsplit(' ').next().unwrap().parse().unwrap();
    (answer, more)
}

#[test]
fn the_next_step_adds_blocks_where_runs_failed_for_good() {
    let (answer, more) = answer_without(&[4]);
    assert_eq!(answer.badge, Badge::CannotTell, "{answer:?}");
    let wanted = format!("furrow lab run --resume /out --blocks {}", 6 + more);
    assert_eq!(answer.next_step, Some(wanted), "{answer:?}");
    let (answer, more) = answer_without(&[3, 5]);
    assert_eq!(answer.badge, Badge::Aborted, "{answer:?}");
    let wanted = format!("furrow lab run --resume /out --blocks {}", 6 + more);
    assert_eq!(answer.next_step, Some(wanted), "{answer:?}");
}

#[test]
fn an_answer_that_names_nothing_says_what_was_not_measured() {
    let mut experiment = Synthetic::published(0.03, 8);
    experiment.truth = vec![100.0, 99.0, 98.0, 98.0, 98.5];
    let plan = experiment.plan();
    fail_all(&mut experiment, &plan, 16);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    assert_eq!(results.answer.badge, Badge::CannotTell, "{sentence}");
    assert!(sentence.contains("; 16 was not measured. "), "{sentence}");
}

#[test]
fn a_baseline_that_fails_throughout_leaves_nothing_to_compare_and_no_next_step() {
    let mut experiment = Synthetic::published(0.004, 3);
    let plan = experiment.plan();
    fail_all(&mut experiment, &plan, 1);
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(stop, Stop::Finished, "{answer:?}");
    assert_eq!(
        answer.sentence,
        "1 was not measured, so nothing can be compared"
    );
    assert_eq!((&answer.next_step, &answer.recommended), (&None, &None));
    assert!(
        answer.detail.is_empty() && results.knee.is_none(),
        "{answer:?}"
    );
    let page = furrow_lab::report::render(&results);
    for text in [
        "The baseline has no good run, so nothing can be compared",
        " the baseline has no good run",
        "No level was compared with 1 file, so no cause of a difference is sought.",
        "8 files: Tran Log IO 70%",
        ">not compared<",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in [
        "chance that it is the knee",
        "too few runs",
        ">not measured<",
        "fills the time",
    ] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn a_search_counts_the_configurations_that_ran() {
    let mut experiment = Synthetic::published(0.004, 3);
    let mut plan = experiment.plan();
    plan.search = true;
    plan.aa_control = false;
    fail_all(&mut experiment, &plan, 16);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    assert!(sentence.contains("of the best of 4 is "), "{sentence}");
    assert!(
        sentence.contains("; 1 configuration was not measured; "),
        "{sentence}"
    );
}

#[test]
fn figures_that_are_not_finite_fail_the_run_and_nothing_else() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.trouble.push(Trouble::NotFinite { run: 4 });
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(stop, Stop::Finished);
    let run = results.runs.iter().find(|run| run.id == 4).unwrap();
    assert!(
        run.status.reason().unwrap().contains("cannot be written"),
        "{:?}",
        run.status
    );
}

#[test]
fn what_somebody_puts_into_our_directory_stays() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.trouble.push(Trouble::Intruder { run: 2 });
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume.clone(), &experiment), plan, &experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    let left = volume.list(Path::new("/data")).unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    let dir = left.iter().find(|path| path.extension().is_none()).unwrap();
    assert_eq!(volume.list(dir).unwrap(), [dir.join("holiday.jpg")]);
    let results = runner.results(&experiment, Environment::default());
    assert!(
        results
            .deviations
            .iter()
            .any(|d| d.text.contains("is not empty"))
    );
}

#[test]
fn ctrl_c_ends_the_run_and_resume_does_it_again() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.trouble.push(Trouble::CtrlC { run: 9 });
    let plan = experiment.plan();
    let mut runner = Runner::create(
        setup(volume.clone(), &experiment),
        plan.clone(),
        &experiment,
    )
    .unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Cancelled
    );
    assert_clean(volume.as_ref(), &experiment.server);
    let results = runner.results(&experiment, Environment::default());
    assert_eq!(results.answer.badge, Badge::Aborted);
    assert!(matches!(results.runs[8].status, RunStatus::Interrupted(_)));
    drop(runner);

    experiment.trouble.clear();
    experiment.clock.advance(7_200.0);
    let mut runner = Runner::resume(setup(volume.clone(), &experiment), &mut experiment).unwrap();
    assert_eq!(
        runner.run(&mut experiment, &mut |_| {}).unwrap(),
        Stop::Finished
    );
    let results = runner.results(&experiment, Environment::default());
    assert_eq!((results.runs.len(), results.plan.blocks_done), (36, 6));
    assert!(
        results
            .deviations
            .iter()
            .any(|d| d.text.contains("after a gap of 7200 s"))
    );
    assert!(results.runs[8].started_s > 7_200.0);
    let mut whole = Synthetic::published(0.004, 3);
    let (_, want) = run_all(&mut whole, plan).unwrap();
    let responses = |r: &furrow_lab::results::Results| -> Vec<Option<f64>> {
        r.runs.iter().map(|run| run.response).collect()
    };
    assert_eq!(responses(&results), responses(&want));
    assert_eq!(results.answer.sentence, want.answer.sentence);
}

#[test]
fn after_the_deadline_no_run_is_begun() {
    let mut experiment = Synthetic::published(0.004, 3);
    let mut plan = experiment.plan();
    // The clock starts at midnight; a run takes about 100 s.
    plan.until = Some("00:30".to_string());
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(stop, Stop::Deadline);
    assert!(
        (17..=19).contains(&results.runs.len()),
        "{}",
        results.runs.len()
    );
    assert!(results.runs.iter().all(|run| run.started_s < 1_800.0));
    assert_eq!(results.plan.stopped_because, "the deadline was reached");
}

#[test]
fn a_directory_in_use_and_a_full_disk_are_refused_before_anything_is_made() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::with_capacity(64 << 20));
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.forecast_bytes = 60 << 20;
    let setup = setup(volume.clone(), &experiment);
    let refused = Runner::create(setup.clone(), experiment.plan(), &experiment);
    let Err(RunnerError::Guard(GuardError::Space { missing })) = refused else {
        panic!("60 MiB and a fifth were promised on 64");
    };
    assert!(missing[0].missing_bytes() > 8 << 20 && !volume.exists(Path::new("/out")).unwrap());
    experiment.forecast_bytes = 1 << 20;
    let first = Runner::create(setup.clone(), experiment.plan(), &experiment).unwrap();
    let second = Runner::resume(setup.clone(), &mut experiment);
    assert!(
        matches!(second, Err(RunnerError::Guard(GuardError::InUse { .. }))),
        "{second:?}"
    );
    drop(first);
    // A journal with runs in it is never created again.
    assert!(Runner::create(setup, experiment.plan(), &experiment).is_err());
}

#[test]
fn the_time_left_is_reported_truthfully() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume, &experiment), plan, &experiment).unwrap();
    let mut reported = Vec::new();
    runner
        .run(&mut experiment, &mut |progress| {
            if matches!(progress.phase, Phase::End { .. }) {
                reported.push((
                    progress.elapsed_s,
                    progress.left_s,
                    progress.worst_left_s,
                    progress.run,
                ));
            }
        })
        .unwrap();
    let total = reported.last().unwrap().0;
    assert_eq!(reported.len(), 36);
    // The forecast of 50 s was wrong by half; after the first block it is right within 2%.
    for (elapsed, left, worst, run) in &reported[6..] {
        let error = (elapsed + left - total).abs() / total;
        assert!(error < 0.02 && worst >= left, "run {run}: {error}");
    }
    assert_eq!(reported[35].1, 0.0);
}

#[test]
fn a_journal_that_somebody_deletes_stops_the_experiment_and_leaves_nothing_behind() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut experiment = Synthetic::published(0.004, 3);
    let plan = experiment.plan();
    let mut runner = Runner::create(setup(volume.clone(), &experiment), plan, &experiment).unwrap();
    let mut last = 0;
    let stopped = runner.run(&mut experiment, &mut |progress| {
        last = progress.run;
        if progress.run == 5 && progress.phase == Phase::Begin {
            volume.remove(Path::new("/out/journal.jsonl")).unwrap();
        }
    });
    let reported = stopped.unwrap_err().to_string();
    assert!(
        reported.contains("/out/journal.jsonl was deleted"),
        "{reported}"
    );
    assert_eq!(last, 5);
    assert_clean(volume.as_ref(), &experiment.server);
}
