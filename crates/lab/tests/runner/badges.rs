//! What an answer shows beside its badge: the cause of what was shown, and nothing that the badge takes back.

use crate::failures::{fail_all, fail_where};
use crate::synthetic::{Synthetic, Trouble, run_all};
use furrow_lab::results::{Badge, Confidence, Control, Results, Verdict};
use furrow_lab::runner::Stop;
use furrow_lab::terminal::{Style, summary};

#[test]
fn the_cause_of_a_difference_that_a_search_shows_is_sought() {
    let mut experiment = Synthetic::published(0.004, 5);
    experiment.truth = vec![100.0, 100.0, 100.0, 70.0, 100.0];
    experiment.uses = vec![0.4; 5];
    let mut plan = experiment.plan();
    plan.search = true;
    plan.aa_control = false;
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(answer.badge, Badge::Conclusive, "{answer:?}");
    assert_eq!(answer.recommended.as_deref(), Some("8"), "{answer:?}");
    let why = &results.attribution;
    assert_eq!(
        (why.resource.as_str(), why.confidence),
        ("Tran Log IO", Confidence::Likely),
        "{why:?}"
    );
    let page = furrow_lab::report::render(&results);
    assert!(!page.contains("No difference"));
    assert!(page.contains("8 files is the best that was shown"));
}

#[test]
fn the_cause_of_a_search_compares_runs_of_the_same_rounds() {
    let mut experiment = Synthetic::published(0.004, 5);
    experiment.truth = vec![100.0, 100.0, 100.0, 80.0, 100.0];
    experiment.uses = vec![0.4; 5];
    let mut plan = experiment.plan();
    plan.search = true;
    plan.aa_control = false;
    // The machine is slower from the second round on, in which the baseline need not run.
    let later = plan.runs().into_iter().filter(|run| run.block > 1);
    experiment.slow = later.map(|run| (run.id, 1.6)).collect();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(answer.recommended.as_deref(), Some("8"), "{answer:?}");
    assert!(results.good_runs("8").count() > results.good_runs("1").count());
    let why = &results.attribution;
    let mut evidence = why.evidence_for.iter().chain(&why.evidence_against);
    assert!(
        evidence.clone().all(|text| !text.contains("changed by +")),
        "{why:?}"
    );
    // The table beside it has the means of all runs.
    let from_one = |text: &String| {
        text.contains("changed by \u{2212}") && text.ends_with(" (in the 1 block that has both)")
    };
    assert!(evidence.any(from_one), "{why:?}");
    let page = furrow_lab::report::render(&results);
    assert!(page.contains("8 files did not run in the same blocks"));
}

#[test]
fn a_leader_that_is_not_shown_to_differ_from_the_baseline_is_not_to_be_set() {
    let mut leaders = 0;
    for seed in 0..20 {
        let mut experiment = Synthetic::published(0.004, seed);
        experiment.files = (1..=12).collect();
        experiment.truth = vec![100.0; 12];
        let mut plan = experiment.plan();
        plan.search = true;
        plan.aa_control = false;
        plan.blocks = 4;
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        // Its rounds are no blocks of a screening.
        let screening = |limit: &String| limit.starts_with("A screening");
        assert!(!results.limits.iter().any(screening), "seed {seed}");
        let answer = &results.answer;
        let leader = answer.recommended.as_deref();
        if let Some(leader) = leader.filter(|leader| *leader != "1") {
            leaders += 1;
            assert!(answer.apply.is_empty(), "seed {seed}: {answer:?}");
            let page = furrow_lab::report::render(&results);
            let title = format!("by more than 2%; {leader} files leads");
            assert!(page.contains(&title), "seed {seed}: {answer:?}");
        }
    }
    assert!(leaders > 0, "no search is sure of another leader");
}

/// The first experiment with so many blocks whose baseline differs from itself, while level 8 is shown to be
/// better; of those before it each names level 8 where the badge is this one.
fn of_a_baseline_that_differs_from_itself(blocks: u32, otherwise: Badge) -> Results {
    for seed in 0..200 {
        let mut experiment = Synthetic::published(0.01, seed);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 80.0];
        experiment.uses = vec![0.4, 0.4];
        experiment.is_published = true;
        let mut plan = experiment.plan();
        plan.blocks = blocks;
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let has_passed = results.noise.aa.as_ref().unwrap().passed;
        let verdict = results.level("8").unwrap().verdict;
        if !has_passed && verdict == Some(Verdict::Better) {
            return results;
        }
        if results.answer.badge == otherwise {
            let knee = results.knee.as_ref().unwrap().level.as_deref();
            assert_eq!(knee, results.answer.recommended.as_deref(), "seed {seed}");
        }
    }
    panic!("one control in twenty fails by chance");
}

/// The page and the terminal show no knee, no chances, no verdict and no cause beside a chart that gives no
/// verdict; they describe what filled the time.
fn assert_takes_nothing_back(results: &Results) {
    let page = furrow_lab::report::render(results);
    for text in [
        "class=\"knee\"",
        "chance that it is the knee",
        "class=\"share\"",
        "Chance to be the fewest",
        "class=\"chip good\"",
        "The same direction",
        "Nothing was found",
        " less in Tran Log IO",
    ] {
        assert!(!page.contains(text), "{text}: {:?}", results.answer);
    }
    for text in [
        "These runs give no verdict, so no cause of a difference is sought.",
        "(better)</span>",
        "words in brackets describe them",
        "what this section says about them is a description, not a finding",
        "8 files: Tran Log IO 7",
        "Seconds per session against the baseline; these runs give no verdict",
    ] {
        assert!(page.contains(text), "{text}: {:?}", results.answer);
    }
    let why = &results.attribution;
    assert_eq!(why.confidence, Confidence::Unknown, "{why:?}");
    assert!(why.resource.is_empty(), "{why:?}");
    let published = results.published.as_ref().unwrap();
    assert_eq!(published.comparisons[0].2, None);
    let style = Style {
        color: true,
        ..Style::default()
    };
    let text = summary(results, style, None);
    assert!(text.contains("why: not sought"), "{text}");
    assert!(
        text.contains("(better)") && !text.contains("[32m"),
        "{text}"
    );
}

#[test]
fn an_answer_without_a_verdict_shows_no_knee() {
    for (blocks, otherwise) in [(6, Badge::Conclusive), (3, Badge::Screening)] {
        let results = of_a_baseline_that_differs_from_itself(blocks, otherwise);
        let answer = &results.answer;
        assert_eq!(answer.badge, Badge::Noisy, "{answer:?}");
        assert!(
            answer.recommended.is_none() && answer.apply.is_empty(),
            "{answer:?}"
        );
        assert!(results.knee.as_ref().unwrap().level.is_none(), "{answer:?}");
        let page = furrow_lab::report::render(&results);
        assert!(page.contains("The baseline differs from itself, so the chart shows no verdict"));
        assert!(page.contains("What filled the time of each. A: Tran Log IO 80% ("));
        assert!(!page.contains("9 times in 10"), "{answer:?}");
        let fills = results.attribution.fills.as_ref().unwrap();
        let of: Vec<(&str, Control, u32)> = fills
            .iter()
            .map(|fill| (fill.level.as_str(), fill.control, fill.runs))
            .collect();
        let wanted = [
            ("1", Control::A, blocks),
            ("1", Control::APrime, blocks),
            ("8", Control::None, blocks),
        ];
        assert_eq!(of, wanted);
        let text = summary(&results, Style::default(), None);
        let both = "time at 1 file, A: Tran Log IO 80% (";
        assert!(text.replace('\n', " ").contains(both), "{text}");
        assert!(!text.contains("90% power"), "{text}");
        assert_takes_nothing_back(&results);
    }
}

#[test]
fn an_experiment_that_was_stopped_early_only_suggests() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 8];
    experiment.truth = vec![100.0, 70.0];
    experiment.uses = vec![0.4, 0.4];
    experiment.is_published = true;
    // Two blocks of three runs are complete.
    experiment.trouble.push(Trouble::CtrlC { run: 7 });
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!((stop, answer.badge), (Stop::Cancelled, Badge::Aborted));
    assert_eq!(results.level("8").unwrap().verdict, Some(Verdict::Better));
    let begin = "2 blocks suggest: 8 files: ";
    assert!(answer.sentence.starts_with(begin), "{answer:?}");
    assert!(answer.recommended.is_none(), "{answer:?}");
    assert_takes_nothing_back(&results);
}

#[test]
fn a_screening_that_names_nothing_and_shows_a_difference_only_suggests_it() {
    let mut seen = 0;
    for seed in 0..60 {
        let mut experiment = Synthetic::published(0.03, seed);
        experiment.files = vec![1, 4, 8];
        experiment.truth = vec![100.0, 72.0, 70.0];
        let mut plan = experiment.plan();
        plan.blocks = 3;
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let answer = &results.answer;
        let verdict = results.level("8").unwrap().verdict;
        let is_open = answer.badge == Badge::Screening && answer.recommended.is_none();
        if is_open && verdict == Some(Verdict::Better) {
            seen += 1;
            let sentence = &answer.sentence;
            assert!(sentence.starts_with("3 blocks suggest: "), "{answer:?}");
        }
    }
    assert!(seen > 0, "none of the screenings is open");
}

#[test]
fn without_a_verdict_the_control_alone_names_no_number_of_blocks() {
    let noisy = (0..400).find_map(|seed| {
        let mut experiment = Synthetic::published(0.03, seed);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 98.0];
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let is_open = results.level("8").unwrap().verdict == Some(Verdict::CannotTell);
        (results.answer.badge == Badge::Noisy && is_open).then_some(results)
    });
    let answer = noisy.unwrap().answer;
    let end = ". Find what changed, then begin again or add blocks";
    assert!(answer.sentence.ends_with(end), "{answer:?}");
}

#[test]
fn the_only_other_level_that_fails_throughout_leaves_nothing_to_compare_and_no_next_step() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 8];
    experiment.truth = vec![100.0, 80.0];
    let plan = experiment.plan();
    fail_all(&mut experiment, &plan, 8);
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!((stop, answer.badge), (Stop::Finished, Badge::CannotTell));
    assert_eq!(
        answer.sentence,
        "8 was not measured, so nothing can be compared"
    );
    assert_eq!((&answer.next_step, &answer.recommended), (&None, &None));
    let page = furrow_lab::report::render(&results);
    for text in [
        "No other level has a good run, so nothing can be compared",
        "no level but the baseline has a good run",
        "No level was compared with 1 file, so no cause of a difference is sought.",
        "1 file: Tran Log IO 70% (70 to 70% in 12 runs)",
        ">not measured<",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in [
        "too few runs",
        "scatter too widely",
        "fills the time",
        "Nothing was found",
    ] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn a_search_without_its_baseline_ranks_the_others_and_does_not_deny_it() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.truth = vec![100.0, 97.0, 94.0, 60.0, 95.0];
    let mut plan = experiment.plan();
    plan.search = true;
    plan.aa_control = false;
    fail_all(&mut experiment, &plan, 1);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(answer.recommended.as_deref(), Some("8"), "{answer:?}");
    let page = furrow_lab::report::render(&results);
    for text in [
        "8 files leads; 1 file has no good run",
        "the runs answer the question",
        "No level was compared with 1 file, so no cause of a difference is sought.",
        ">not compared<",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in [
        "nothing can be compared",
        ">not measured<",
        "fills the time",
    ] {
        assert!(!page.contains(text), "{text}");
    }
    let text = summary(&results, Style::default(), None);
    let why = "why: not sought, because no level was compared with the baseline";
    assert!(text.contains(why), "{text}");
}

#[test]
fn levels_that_ran_once_before_a_stop_are_not_compared_and_were_measured() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 8];
    experiment.truth = vec![100.0, 80.0];
    experiment.trouble.push(Trouble::CtrlC { run: 4 });
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!((stop, results.level("8").unwrap().n), (Stop::Cancelled, 1));
    let page = furrow_lab::report::render(&results);
    assert!(page.contains(">not compared<") && !page.contains(">not measured<"));
}

#[test]
fn arms_that_fail_throughout_take_no_block_away() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 2, 4, 8, 16, 32];
    experiment.truth = vec![100.0, 70.0, 70.0, 70.0, 70.0, 70.0];
    let mut plan = experiment.plan();
    plan.guard.failures_in_a_row = 100;
    fail_where(&mut experiment, &plan, |run| {
        run.cell.count("files") > Some(2)
    });
    let runs = plan.runs();
    let first_of_third = runs
        .iter()
        .find(|run| run.block == 3 && run.cell.count("files") <= Some(2));
    let run = first_of_third.unwrap().id;
    experiment.trouble.push(Trouble::CtrlC { run });
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!((stop, answer.badge), (Stop::Cancelled, Badge::Aborted));
    let begin = "2 blocks suggest: 2 files: 30.";
    assert!(answer.sentence.starts_with(begin), "{answer:?}");
}
