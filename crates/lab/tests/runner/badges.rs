//! What an answer shows beside its badge: the cause of what was shown, and nothing that the badge takes back.

use crate::synthetic::{Synthetic, Trouble, run_all};
use furrow_lab::results::{Badge, Confidence, Results, Verdict};
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

/// The first experiment with so many blocks whose baseline differs from itself, while level 8 is shown to be
/// better; of those before it each names level 8 where the badge is this one.
fn of_a_baseline_that_differs_from_itself(blocks: u32, otherwise: Badge) -> Results {
    for seed in 0..200 {
        let mut experiment = Synthetic::published(0.01, seed);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 80.0];
        experiment.uses = vec![0.4, 0.4];
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

/// The page and the terminal show no knee, no chances and no cause beside a chart that gives no verdict.
fn assert_takes_nothing_back(results: &Results) {
    let page = furrow_lab::report::render(results);
    for text in [
        "class=\"knee\"",
        "chance that it is the knee",
        "class=\"share\"",
        "Chance to be the fewest",
    ] {
        assert!(!page.contains(text), "{text}: {:?}", results.answer);
    }
    assert!(page.contains("These runs give no verdict, so no cause is sought."));
    let why = &results.attribution;
    assert_eq!(why.confidence, Confidence::Unknown, "{why:?}");
    let text = summary(results, Style::default(), None);
    assert!(text.contains("why: not sought"), "{text}");
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
        assert_takes_nothing_back(&results);
    }
}

#[test]
fn an_experiment_that_was_stopped_early_only_suggests() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 8];
    experiment.truth = vec![100.0, 70.0];
    experiment.uses = vec![0.4, 0.4];
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
