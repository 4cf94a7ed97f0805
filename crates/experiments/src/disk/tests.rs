//! The experiment by the lab's own runner, from options to results.

use super::*;
use crate::plugin::Entry;
use furrow_io::{SystemVolume, Volume, read_file, write_file};
use furrow_lab::environment::Environment;
use furrow_lab::journal::SystemClock;
use furrow_lab::runner::{Runner, RunnerSetup};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn made(words: &str, out: &Path) -> Result<Box<dyn Experiment>, OptionsError> {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let start = Start::new(out.to_path_buf(), out.to_path_buf(), true);
    let (experiment, _) = Entry::of::<Disk>().make(&words, &start)?;
    Ok(experiment)
}

fn run(words: &str) -> Results {
    let dir = tempfile::tempdir_in(".").unwrap();
    let out = dir.path().canonicalize().unwrap().join("out");
    let mut experiment = made(words, &out).unwrap();
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    volume.create_dir(&out).unwrap();
    let setup = RunnerSetup {
        volume,
        out_dir: out,
        clock: Arc::new(SystemClock::new()),
        cancel: Arc::new(AtomicBool::new(false)),
        program: "test".to_owned(),
    };
    let mut plan = experiment.plan(7);
    plan.blocks = 2;
    let mut runner = Runner::create(setup, plan, &*experiment).unwrap();
    runner.run(&mut *experiment, &mut |_| {}).unwrap();
    let results = runner.results(&*experiment, Environment::default());
    assert_eq!(results.problems(), Vec::<String>::new());
    assert!(results.runs.iter().all(|run| run.status.is_good()));
    results
}

#[test]
fn a_model_gives_a_report_that_says_so_and_holds_the_published_gains_against_it() {
    let results = run("--requests 40000 --stripe 64K --unit 64K --reads 100,0 --depth 64");
    assert_eq!(results.runs.len(), 2 * 5);
    assert!(results.experiment.question.contains("MODEL"));
    assert!(
        results
            .experiment
            .target
            .starts_with("model in virtual time")
    );
    let comparisons = results.published.unwrap().comparisons;
    let same: Vec<Option<bool>> = comparisons.iter().map(|(.., same)| *same).collect();
    assert_eq!(same, [Some(true), Some(true)], "{comparisons:?}");
    let headings: Vec<&str> = results
        .sections
        .iter()
        .map(|s| s.heading.as_str())
        .collect();
    let expected = [
        "Curves",
        "Effect of the partition offset (model)",
        "Published gain against the model",
    ];
    assert_eq!(headings, expected);
    let largest = &results.sections[1].finding;
    let begin = "By the geometric means of the runs the largest effect is +";
    assert!(largest.starts_with(begin), "{largest}");
}

#[test]
fn a_real_file_is_measured_and_removed() {
    let results = run("--mode file-offset --size 4M --time 1 --reads 100 --depth 4 --offset 0,4K");
    assert!(!results.experiment.question.contains("MODEL"));
    assert!(results.runs.iter().all(|run| run.response.unwrap() > 1.0));
}

#[test]
fn an_existing_target_is_only_read_unless_it_is_named_twice() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().canonicalize().unwrap().join("t.dat");
    let volume = SystemVolume::new();
    write_file(&volume, &path, &vec![7; 1 << 20]).unwrap();
    let name = path.display();
    let usual = "--mode file-offset --time 1 --depth 2 --offset 0,4K";
    run(&format!("{usual} --device {name}"));
    assert!(
        read_file(&volume, &path)
            .unwrap()
            .iter()
            .all(|byte| *byte == 7)
    );
    run(&format!(
        "{usual} --reads 0 --device {name} --destroy {name}"
    ));
    let after = read_file(&volume, &path).unwrap();
    assert!(after.len() == 1 << 20 && after.iter().any(|byte| *byte != 7));
    for (words, part) in [
        (
            format!("{usual} --reads 0 --device {name}"),
            "add --destroy",
        ),
        (
            format!("{usual} --device {name} --destroy /dev/null"),
            "name the same one twice",
        ),
        (format!("{usual} --destroy {name}"), "needs --device"),
        (format!("--device {name}"), "belongs to --mode file-offset"),
    ] {
        let refused = made(&words, Path::new("/out")).err().unwrap().to_string();
        assert!(refused.contains(part), "{words}: {refused}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused_before_anything_runs() {
    for (words, part) in [
        ("--array raid10:5x15k", "even number"),
        ("--offset 100", "multiple of a sector"),
        ("--mode file-offset --volume /no/such", "make it first"),
        ("--stripe fast", "write it as 64K"),
        ("--mode file-offset --stripe 64K", "belong to the model"),
    ] {
        let refused = made(words, Path::new("/out")).err().unwrap().to_string();
        assert!(refused.contains(part), "{words}: {refused}");
    }
}
