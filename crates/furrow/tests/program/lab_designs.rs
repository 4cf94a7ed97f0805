//! Searches, paced loads, throttled volumes and messages of the lab, from the command line to the results.

use super::*;

/// An experiment of a few seconds in a directory of its own, with these words; its results.
fn experiment(dir: &Path, words: &[&str]) -> Results {
    let out_dir = dir.join("out");
    let small = ["--plain", "--seed", "5", "--out", text(&out_dir)];
    let output = furrow().args(words).args(small).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    results(&out_dir)
}

/// Whether no cause was named, or other programs were, and rightly: tests run beside each other, and a
/// busy machine is a true answer. The share is the one that the runs themselves recorded.
fn is_not_judged(results: &Results) -> bool {
    let badge = results.answer.badge;
    if !badge.has_verdict() {
        // The baseline differs from itself: no cause is named.
        eprintln!("not judged: {}", badge.word());
        return true;
    }
    let found = &results.attribution;
    if found.resource.is_empty() && !found.summary.is_empty() {
        eprintln!("not judged: {}", found.summary);
        return true;
    }
    if found.resource != "other programs on the machine" {
        return false;
    }
    let busiest = results.runs.iter().filter_map(|run| {
        let cpus = f64::from(results.environment.cpu_count.unwrap_or(1));
        Some(run.cpu_other_s? / run.seconds? / cpus)
    });
    let busiest = busiest.fold(0.0, f64::max);
    assert!(busiest > 0.1, "{found:?}");
    eprintln!(
        "not judged: other programs had up to {:.0}% of the processors",
        busiest * 100.0
    );
    true
}

/// Whether 2 files are shown to differ from 1: the noise of a busy machine may hide it.
fn two_differ(results: &Results) -> bool {
    let two = results.level("2").unwrap();
    let is_shown = two.is_shown_to_differ(results.plan.delta);
    if !is_shown {
        eprintln!("2 files are not shown to differ: {:?}", two.interval);
    }
    is_shown
}

/// The least share of the time of a run that its sessions waited for the log.
fn least_log_share(results: &Results) -> f64 {
    let share = |run: &furrow_lab::results::Run| {
        let log = run.waits.iter().filter(|w| w.category == "Tran Log IO");
        let log_us: u64 = log.map(|wait| wait.total_us).sum();
        log_us as f64 / 1e6 / f64::from(run.workers) / run.seconds.unwrap()
    };
    results.runs.iter().map(share).fold(1.0, f64::min)
}

#[test]
fn a_search_runs_every_configuration_once_and_then_the_best_alone() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "lab",
        "run",
        "datafiles",
        "--files",
        "1,2",
        "--rows-per-commit",
        "1,16",
        "--connections",
        "2",
        "--total",
        "1MB",
        "--search",
    ];
    let results = experiment(dir.path(), &words);
    assert!(
        (6..=8).contains(&results.runs.len()),
        "a third of 24 at most: {}",
        results.runs.len()
    );
    let rounds: Vec<u32> = results.runs.iter().map(|run| run.block).collect();
    assert_eq!(rounds.iter().filter(|&&round| round == 1).count(), 4);
    let search = results
        .sections
        .iter()
        .find(|section| section.heading == "Search");
    let search = search.unwrap();
    assert_eq!(search.tables[0].rows.len(), 4);
    let sentence = &results.answer.sentence;
    assert!(sentence.contains("runs instead of 24"), "{sentence}");
    let reproduce = &results.reproduce;
    assert!(reproduce.contains(" --search"), "{reproduce}");
    // It goes on where it was stopped: here there is nothing left to do.
    let out_dir = dir.path().join("out");
    let again = run(&["lab", "run", "--resume", text(&out_dir), "--plain"]);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert_eq!(super::results(&out_dir).runs.len(), results.runs.len());
    let few = run(&["lab", "run", "datafiles", "--files", "1,2", "--search"]);
    assert_eq!(few.status.code(), Some(2), "{}", err(&few));
    assert!(err(&few).contains("four or more"), "{}", err(&few));
}

#[test]
fn a_load_of_fixed_time_is_judged_by_its_rate_and_a_due_one_by_its_latency() {
    let dir = tempfile::tempdir().unwrap();
    let words = [
        "lab",
        "run",
        "datafiles",
        "--connections",
        "1,2",
        "--files",
        "1",
        "--total",
        "64MB",
        "--blocks",
        "2",
        "--seconds",
        "0.4",
    ];
    let results = experiment(dir.path(), &words);
    let response = &results.experiment.response;
    assert_eq!(
        (response.name.as_str(), response.unit.as_str()),
        ("throughput", "rows/s")
    );
    for run in &results.runs {
        let (rate, seconds) = (run.response.unwrap(), run.seconds.unwrap());
        let rows = run.rows.unwrap();
        // The time ended it, and not the 8,192 rows of a page each; a busy machine may end it late.
        assert!(seconds > 0.3 && rows > 0, "{rows} rows in {seconds} s");
        assert!(rows < 8192 || seconds < 0.5, "{rows} rows in {seconds} s");
        assert!((rate * seconds / rows as f64 - 1.0).abs() < 0.01);
        assert!(run.latency[0].coordinated_omission_possible);
    }
    let curves = results
        .sections
        .iter()
        .find(|section| section.heading == "Curves")
        .unwrap();
    // The scalability law has three parameters.
    let none = "The scalability law fits the points of no curve.".to_owned();
    assert!(curves.text.contains(&none), "{curves:?}");

    let dir = tempfile::tempdir().unwrap();
    let due = [
        &words[..3],
        &["--files", "1,2", "--connections", "2", "--total", "1MB"],
    ]
    .concat();
    let due = [&due[..], &["--blocks", "2", "--rate", "400"]].concat();
    let results = experiment(dir.path(), &due);
    assert_eq!(results.experiment.response.unit, "ms");
    for run in &results.runs {
        assert!(!run.latency[0].coordinated_omission_possible);
        assert!(run.seconds.unwrap() > 0.3, "128 inserts at 400 a second");
    }
}

#[test]
fn the_slow_volume_of_two_is_named_as_the_cause() {
    let dir = tempfile::tempdir().unwrap();
    let (fast, slow) = (dir.path().join("fast"), dir.path().join("slow"));
    for volume in [&fast, &slow] {
        SystemVolume::new().create_dir(volume).unwrap();
    }
    let throttled = format!("{},write=3MB/s", slow.display());
    let words = [
        "lab",
        "run",
        "datafiles",
        "--files",
        "1,2",
        "--connections",
        "4",
        "--total",
        "8MB",
        "--pool",
        "4MB",
        "--log",
        "2MB",
        "--blocks",
        "3",
        "--volume",
        text(&fast),
        "--volume",
        &throttled,
    ];
    let results = experiment(dir.path(), &words);
    if !is_not_judged(&results) && two_differ(&results) {
        let resource = &results.attribution.resource;
        assert!(
            resource.contains(text(&slow)) && resource.contains("is slow"),
            "{:?}",
            results.attribution
        );
    }
    assert_eq!(results.models.len(), 1, "{:?}", results.models);
}

#[test]
fn a_slow_log_volume_is_named_where_it_fills_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    SystemVolume::new().create_dir(&log).unwrap();
    let throttled = format!("{},write=1MB/s", log.display());
    let words = [
        "lab",
        "run",
        "datafiles",
        "--files",
        "1,2",
        "--connections",
        "4",
        "--total",
        "1MB",
        "--blocks",
        "3",
        "--log-volume",
        &throttled,
    ];
    let results = experiment(dir.path(), &words);
    // By the runs' own records: other programs make sessions wait for a processor, too.
    let share = least_log_share(&results);
    assert!(share > 0.0, "sessions waited for the slow log");
    if is_not_judged(&results) || two_differ(&results) || share < 0.6 {
        eprintln!("the log took {share:.2} of a run at least");
    } else {
        let resource = &results.attribution.resource;
        assert!(
            resource.starts_with("Tran Log IO"),
            "{:?}",
            results.attribution
        );
    }
}

#[cfg(unix)]
#[test]
fn a_message_is_sent_when_an_experiment_ends_and_when_one_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out_dir) = (dir.path().join("message"), dir.path().join("out"));
    let to = format!("command:cat > '{}'", file.display());
    let words = ["--plain", "--out", text(&out_dir), "--notify", &to];
    let output = furrow().args(SMALL).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let message: serde_json::Value = serde_json::from_str(&content(&file)).unwrap();
    assert_eq!(
        (&message["event"], &message["experiment"]),
        (&"end".into(), &"datafiles".into())
    );
    assert_eq!(message["text"], results(&out_dir).answer.sentence.as_str());

    let asked = run(&["lab", "notify", "--test", &to]);
    assert_eq!(asked.status.code(), Some(0), "{}", err(&asked));
    assert!(content(&file).contains("this is a test"));
    let broken = run(&["lab", "notify", "--test", "command:exit 7"]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(err(&broken).contains('7'), "{}", err(&broken));
}
