//! The answers about runs whose truth is known.

use crate::synthetic::{Synthetic, run_all};
use furrow_lab::design::Factor;
use furrow_lab::report::words::change_range;
use furrow_lab::results::{Badge, Confidence, Control, SheetTable, Verdict};
use furrow_lab::runner::Stop;

#[test]
fn a_quiet_machine_gets_a_conclusive_answer() {
    let mut experiment = Synthetic::published(0.004, 3);
    let plan = experiment.plan();
    let (stop, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(stop, Stop::Finished);
    assert_eq!((results.runs.len(), results.plan.blocks_done), (36, 6));
    assert_eq!(
        results.answer.badge,
        Badge::Conclusive,
        "{:#?}",
        results.answer
    );
    let sentence = &results.answer.sentence;
    assert!(sentence.starts_with("4 files: 5."), "{sentence}");
    assert!(sentence.contains("% faster than 1 (4."), "{sentence}");
    let beyond = "); 8 is not better by more than 2%; also shown: 2 files ";
    assert!(sentence.contains(beyond), "{sentence}");
    assert!(
        sentence.contains("% faster, 8 files ") && sentence.contains("% faster, 16 files "),
        "{sentence}"
    );
    assert_eq!(results.answer.recommended.as_deref(), Some("4"));
    assert_eq!(results.answer.apply, "--files 4");
    let knee = results.knee.as_ref().unwrap();
    assert_eq!(knee.level.as_deref(), Some("4"));
    assert!(
        knee.shares[2].probability > 0.9 && knee.unimodal_fit.len() == 5,
        "{knee:?}"
    );
    let four = results.level("4").unwrap();
    assert_eq!(four.verdict, Some(Verdict::Better));
    assert!(four.robust.unwrap().agrees && four.interval.unwrap().contains(0.945));
    let base = results.baseline().unwrap();
    assert_eq!((base.n, base.verdict, four.n), (12, None, 6));
    assert_eq!(
        results
            .runs
            .iter()
            .filter(|run| run.control == Control::APrime)
            .count(),
        6
    );
    let noise = &results.noise;
    assert!(noise.aa.as_ref().unwrap().passed);
    let cv = noise.cv.unwrap();
    assert!(cv.interval.contains(0.004), "{cv:?}");
    assert!(noise.mde_after.unwrap().effect < noise.mde_before.unwrap().effect);
    assert!(noise.drift.unwrap().per_hour > 0.0 && noise.residuals.len() == 36);
    // Log waits are 70% of the time at every level: they cannot cause the difference.
    assert_eq!(results.attribution.confidence, Confidence::Unknown);
    assert!(
        results
            .attribution
            .evidence_against
            .iter()
            .any(|e| e.contains("barely changed"))
    );
}

#[test]
fn a_loud_machine_gets_cannot_tell_with_the_blocks_that_would() {
    let mut experiment = Synthetic::published(0.03, 8);
    experiment.truth = vec![100.0, 99.0, 98.0, 98.0, 98.5];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(
        results.answer.badge,
        Badge::CannotTell,
        "{:#?}",
        results.answer
    );
    let sentence = &results.answer.sentence;
    let begin = "No difference shown; 1 file may do as well. ";
    assert!(sentence.starts_with(begin), "{sentence}");
    assert!(
        sentence.contains(" more blocks (") && sentence.contains(") would find a difference of "),
        "{sentence}"
    );
    assert!(sentence.ends_with("% or more 9 times in 10"), "{sentence}");
    assert!(results.answer.recommended.is_none());
    let next = results.answer.next_step.as_ref().unwrap();
    assert!(
        next.starts_with("furrow lab run --resume /out --blocks "),
        "{next}"
    );
}

#[test]
fn a_level_that_does_less_than_the_baseline_is_shown_and_never_named() {
    let answer_of = |truth: [f64; 3], probes: &[usize]| {
        let mut experiment = Synthetic::published(0.004, 3);
        experiment.files = vec![1, 8, 99];
        experiment.truth = truth.to_vec();
        experiment.are_words = true;
        experiment.probes = probes.to_vec();
        let plan = experiment.plan();
        run_all(&mut experiment, plan).unwrap().1.answer
    };
    // The probe is the fastest; of the others 8 is.
    let answer = answer_of([100.0, 90.0, 60.0], &[2]);
    assert_eq!(answer.recommended.as_deref(), Some("8"), "{answer:?}");
    let also = "; also shown: 99 files ";
    assert!(answer.sentence.starts_with("8 files: 10.") && answer.sentence.contains(also));
    // Nothing but the probe is faster.
    let answer = answer_of([100.0, 100.0, 60.0], &[2]);
    assert_eq!(answer.recommended.as_deref(), Some("1"), "{answer:?}");
    let begin =
        "1 file: no other level that does the same work is better by more than 2%; also shown: 99 ";
    assert!(answer.sentence.starts_with(begin), "{answer:?}");
    // All others are probes.
    let answer = answer_of([100.0, 80.0, 60.0], &[1, 2]);
    assert_eq!(answer.recommended.as_deref(), Some("1"), "{answer:?}");
    let begin = "1 file: no other level does the same work; also shown: 8 files ";
    assert!(answer.sentence.starts_with(begin), "{answer:?}");
    // The baseline is one, too.
    let answer = answer_of([100.0, 80.0, 60.0], &[0, 1, 2]);
    assert_eq!((answer.recommended, answer.apply), (None, String::new()));
}

#[test]
fn a_search_is_not_won_by_a_level_that_does_less_than_the_baseline() {
    let mut experiment = Synthetic::published(0.004, 3);
    experiment.files = vec![1, 2, 4, 8, 16, 32];
    experiment.truth = vec![100.0, 99.0, 98.0, 80.0, 97.0, 40.0];
    experiment.probes = vec![5];
    let plan = experiment.plan();
    let plan = furrow_lab::plan::Plan {
        search: true,
        aa_control: false,
        ..plan
    };
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(answer.recommended.as_deref(), Some("8"), "{answer:?}");
    assert!(
        answer.sentence.contains(" of the best of 5 is "),
        "{answer:?}"
    );
    let probe = results.runs.iter().filter(|run| run.level == "32");
    assert_eq!(probe.count(), 1, "it runs in the first round");
}

#[test]
fn the_scatter_in_the_answer_is_the_one_that_the_panel_shows() {
    let mut experiment = Synthetic::published(0.6, 8);
    // One level scatters more than the others.
    experiment.slow = vec![(3, 30.0), (9, 0.1)];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    let (_, rest) = sentence
        .split_once("Runs scatter by ")
        .unwrap_or_else(|| panic!("{sentence}"));
    let (shown, _) = rest.split_once("% (CV), too much for any").unwrap();
    let cv = 100.0 * results.noise.cv.unwrap().value;
    let shown: f64 = shown.parse().unwrap();
    assert!((shown - cv).abs() <= 0.5, "{sentence}; the CV is {cv}");
}

#[test]
fn a_cause_is_attributed_by_what_the_slower_level_uses_of_its_ceiling() {
    // Level 1 is the slow one.
    for (uses, used, want) in [
        ([0.4, 0.9], "40%", Confidence::Likely),
        ([0.9, 0.4], "90%", Confidence::Attributed),
    ] {
        let mut experiment = Synthetic::published(0.004, 5);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 60.0];
        experiment.uses = uses.to_vec();
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let why = &results.attribution;
        assert_eq!(
            (why.resource.as_str(), why.confidence),
            ("Tran Log IO", want),
            "{why:?}"
        );
        let reported = format!("the log: {used} of its ceiling is used at 1");
        let mut evidence = why.evidence_for.iter().chain(&why.evidence_against);
        assert!(evidence.any(|text| *text == reported), "{why:?}");
    }
}

#[test]
fn a_level_whose_verdict_is_cannot_tell_is_not_named() {
    let (mut undecided, mut likely) = (0, 0);
    for seed in 0..40 {
        let mut experiment = Synthetic::published(0.12, seed);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 87.0];
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let verdict = results.level("8").unwrap().verdict;
        let is_undecided = verdict == Some(Verdict::CannotTell);
        undecided += usize::from(is_undecided);
        let answer = &results.answer;
        let knee = results.knee.as_ref().unwrap().level.as_deref();
        if is_undecided {
            assert_ne!(
                answer.recommended.as_deref(),
                Some("8"),
                "seed {seed}: {answer:?}"
            );
            assert_ne!(knee, Some("8"), "seed {seed}: {answer:?}");
        }
        // Of two levels the larger one may do as well only where the smaller one is ruled out, and then it
        // is the knee.
        let sentence = &answer.sentence;
        assert!(!sentence.contains("8 files may do as well"), "{answer:?}");
        let is_likely = sentence.contains(
            "o difference shown; 8 files are likely the fewest that are as good as the best, but the \
             difference from 1 is not shown. ",
        );
        likely += usize::from(is_likely);
        assert!(!is_likely || is_undecided, "{answer:?}");
        if answer.badge == Badge::Conclusive {
            assert!(
                !is_undecided || answer.recommended.as_deref() == Some("1"),
                "{answer:?}"
            );
        }
        if matches!(answer.badge, Badge::Noisy | Badge::Aborted) {
            assert!(
                answer.recommended.is_none() && answer.apply.is_empty(),
                "{answer:?}"
            );
        }
    }
    assert!(
        (5..=35).contains(&undecided),
        "the noise leaves some undecided: {undecided}"
    );
    assert!(
        likely > 0,
        "the rule of the knee is satisfied first in some"
    );
}

#[test]
fn a_comparison_with_the_baseline_has_one_interval_in_the_table_of_levels_and_in_the_curves() {
    let (mut shown, mut compared) = (0, 0);
    for seed in 1..=6 {
        let mut experiment = Synthetic::published(0.02, seed);
        experiment.truth = vec![
            100.0, 100.0, 96.0, 95.5, 104.5, 100.0, 96.0, 96.0, 95.0, 95.0,
        ];
        let mut plan = experiment.plan();
        plan.factors.push(Factor::counts("volumes", &[1, 2]));
        plan.baseline.push("1".to_owned());
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let [along, between] = &results.sections[0].tables[..] else {
            panic!("{:?}", results.sections);
        };
        for level in results.levels.iter().filter(|level| !level.is_baseline) {
            let (files, volumes) = level.level.split_once(" / ").unwrap();
            let of = |table: &SheetTable| {
                let curve = format!("volumes {volumes}");
                let mut rows = table.rows.iter();
                let found = rows.find(|row| row[0] == curve && row[1] == files);
                found.cloned()
            };
            let row = match (files, volumes) {
                (_, "1") => of(along),
                ("1", _) => of(between),
                _ => continue,
            };
            let (row, interval) = (row.unwrap(), level.interval.unwrap());
            let wanted = change_range(interval.low, interval.high);
            assert_eq!(row[4], wanted, "seed {seed}: {}", level.level);
            let is_shown = !interval.contains(1.0) && level.verdict != Some(Verdict::CannotTell);
            assert_eq!(row[5] == "shown", is_shown, "seed {seed}: {}", level.level);
            shown += usize::from(is_shown);
            compared += 1;
        }
    }
    assert_eq!(compared, 6 * 5);
    assert!(shown > 0 && shown < compared, "{shown} of {compared}");
}

#[test]
fn the_scalability_law_is_fitted_to_what_sessions_can_do_and_not_to_a_rate() {
    for is_open in [false, true] {
        let mut experiment = Synthetic::published(0.0005, 5);
        experiment.sessions = Some(is_open);
        // Throughput falls from one session on.
        experiment.truth = vec![100.0, 108.1, 112.3, 114.7, 116.5];
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let section = &results.sections[0];
        let mut tables = section.tables.iter();
        let law = tables.find(|table| table.caption.starts_with("Universal scalability law"));
        assert!(!section.finding.contains("0 of 0"), "{}", section.finding);
        let says_why = section
            .text
            .iter()
            .any(|text| text.starts_with("No scalability law"));
        assert_eq!((law.is_none(), says_why), (is_open, is_open), "{section:?}");
        let begin = "Comparisons with the baseline are those of the table";
        assert!(section.text[0].starts_with(begin), "{section:?}");
        let of_law = "Each interval of the scalability law holds for itself.".to_string();
        assert_eq!(section.text.contains(&of_law), !is_open, "{section:?}");
        if let Some(law) = law {
            let peak = law.rows[0].last().unwrap();
            assert_eq!(peak, "1.00 (1.00 to 1.00)", "{law:?}");
        }
    }
    // Sessions that think can do more than they do.
    let mut experiment = Synthetic::published(0.0005, 5);
    experiment.sessions = Some(false);
    let mut plan = experiment.plan();
    let pace = ("pace".to_string(), "spec".to_string());
    plan.settings.extend([pace]);
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let section = &results.sections[0];
    assert!(
        section
            .text
            .iter()
            .any(|text| text.contains("keying and think times"))
    );
    let mut tables = section.tables.iter();
    assert!(!tables.any(|table| table.caption.starts_with("Universal scalability law")));
}

#[test]
fn other_programs_do_not_slow_a_level_that_reaches_a_measured_bound() {
    // Level 1 is the slow one, and other programs have more of the machine beside it.
    for (uses, resource, confidence) in [
        ([0.96, 0.5], "the volume", Confidence::Attributed),
        (
            [0.6, 0.5],
            "other programs on the machine",
            Confidence::Likely,
        ),
    ] {
        let mut experiment = Synthetic::published(0.004, 5);
        experiment.files = vec![1, 8];
        experiment.truth = vec![100.0, 60.0];
        experiment.beside = vec![(0.6, uses[0]), (0.1, uses[1])];
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let why = &results.attribution;
        assert_eq!(
            (why.resource.as_str(), why.confidence),
            (resource, confidence)
        );
        let lists = [&why.evidence_for, &why.evidence_against]
            .into_iter()
            .flatten();
        assert!(
            lists
                .into_iter()
                .any(|text| text.contains("other programs had 60.0%")),
            "{why:?}"
        );
        let used = why
            .evidence_for
            .iter()
            .any(|text| text.contains("96.0% of its ceiling"));
        assert_eq!(used, confidence == Confidence::Attributed, "{why:?}");
    }
}

#[test]
fn a_flat_curve_says_that_one_is_enough() {
    let mut experiment = Synthetic::published(0.004, 5);
    experiment.truth = vec![100.0; 5];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(
        results.answer.sentence,
        "1 file is enough: no other level is better by more than 2%"
    );
    assert_eq!(results.attribution.resource, "Tran Log IO");
    assert!(
        results.levels[1..]
            .iter()
            .all(|l| matches!(l.verdict, Some(Verdict::Same | Verdict::Tiny)))
    );
}

#[test]
fn a_curve_that_only_rises_says_that_one_is_enough_and_what_the_worst_costs() {
    let mut experiment = Synthetic::published(0.01, 3);
    experiment.truth = vec![100.0, 103.0, 105.5, 109.0, 115.0];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    let begin = "1 file is enough: no other level is better by more than 2%; also shown: ";
    assert!(sentence.starts_with(begin), "{sentence}");
    assert!(
        sentence.contains("16 files 15.") && sentence.ends_with("% slower"),
        "{sentence}"
    );
    assert_eq!(results.level("16").unwrap().verdict, Some(Verdict::Worse));
    assert!(results.knee.unwrap().rise_after_p.unwrap() < 0.01);
}

#[test]
fn throughput_is_judged_with_more_as_better() {
    let mut experiment = Synthetic::published(0.004, 6);
    // The model's seconds are used as rows a second here.
    experiment.truth = vec![100.0, 104.0, 110.0, 110.5, 103.0];
    let mut plan = experiment.plan();
    plan.response.better = furrow_lab::results::Better::Higher;
    plan.response.unit = "rows/s".to_string();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(results.answer.recommended.as_deref(), Some("4"));
    let sentence = &results.answer.sentence;
    assert!(
        sentence.starts_with("4 files: ") && sentence.contains("% faster than 1"),
        "{sentence}"
    );
    assert_eq!(results.level("4").unwrap().verdict, Some(Verdict::Better));
    let fit = &results.knee.as_ref().unwrap().unimodal_fit;
    assert!(fit[2] > fit[0] && fit[3] > fit[4], "{fit:?}");
}

#[test]
fn three_blocks_are_a_screening() {
    let mut experiment = Synthetic::published(0.004, 5);
    let mut plan = experiment.plan();
    plan.blocks = 3;
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    assert_eq!(results.answer.badge, Badge::Screening);
    let sentence = &results.answer.sentence;
    assert!(sentence.starts_with("3 blocks suggest: "), "{sentence}");
    let limit = "A screening: 3 blocks show large differences only.".to_string();
    assert!(results.limits.contains(&limit), "{:?}", results.limits);
    assert!(
        results
            .levels
            .iter()
            .all(|l| l.robust.is_none_or(|r| r.interval.is_none()))
    );
}

#[test]
fn a_run_far_from_the_others_is_not_said_to_come_from_outside() {
    let mut experiment = Synthetic::published(0.004, 5);
    experiment.files = vec![1, 8];
    experiment.truth = vec![100.0, 70.0];
    let mut plan = experiment.plan();
    plan.blocks = 10;
    let runs = plan.runs();
    let slow = runs.iter().find(|run| run.cell.count("files") == Some(8));
    experiment.slow = vec![(slow.unwrap().id, 40.0)];
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let detail = &results.answer.detail;
    let end = "Mean and median disagree at 8: some runs lie far from the others.";
    assert!(detail.ends_with(end), "{detail}");
}

#[test]
fn the_same_journal_gives_the_same_report() {
    let report = || {
        let mut experiment = Synthetic::published(0.01, 9);
        let plan = experiment.plan();
        run_all(&mut experiment, plan).unwrap().1.to_json().unwrap()
    };
    assert_eq!(report(), report());
}

#[test]
fn an_interval_that_reaches_both_ways_says_so() {
    let mut experiment = Synthetic::published(0.02, 21);
    experiment.truth = vec![100.0, 101.5, 94.0, 90.0, 90.0];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    // 2 files are never named; 8 files are named with an interval whose ends lie on the same side.
    let eight = results.level("8").unwrap().interval.unwrap();
    assert!(eight.high < 1.0, "{eight:?}");
    let (near, far) = (100.0 * (1.0 - eight.high), 100.0 * (1.0 - eight.low));
    let range = format!("% faster than 1 ({near:.1} to {far:.1}%)");
    assert!(sentence.contains(&range), "{sentence}: {range}");
}

#[test]
fn a_level_that_takes_many_times_as_long_is_in_the_headline_as_such() {
    let mut experiment = Synthetic::published(0.02, 22);
    experiment.truth = vec![100.0, 100.0, 960.0, 100.0, 100.0];
    let plan = experiment.plan();
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let sentence = &results.answer.sentence;
    assert!(sentence.contains("also shown: 4 files 9."), "{sentence}");
    assert!(sentence.contains(" times as long"), "{sentence}");
}

#[test]
fn no_more_than_is_needed_is_recommended_in_nine_flat_or_plateau_experiments_of_ten() {
    let scenarios: [(&[f64; 5], &str); 4] = [
        (&[100.0, 100.0, 100.0, 100.0, 100.0], "1"),
        (&[100.0, 95.0, 95.0, 95.0, 95.0], "2"),
        (&[100.0, 97.0, 94.0, 94.0, 94.0], "4"),
        (&[100.0, 99.0, 99.0, 99.0, 99.0], "1"),
    ];
    const EXPERIMENTS: u64 = 30;
    for (truth, needed) in scenarios {
        let (mut too_many, mut settled) = (0, 0);
        for seed in 0..EXPERIMENTS {
            let mut experiment = Synthetic::published(0.02, 1_000 + seed);
            experiment.truth = truth.to_vec();
            let mut plan = experiment.plan();
            plan.seed = 7_000 + seed;
            let mut answer = run_all(&mut experiment, plan.clone()).unwrap().1.answer;
            // The tool's own advice is followed once.
            let advice = answer.next_step.as_deref();
            if let Some((_, blocks)) = advice.and_then(|next| next.rsplit_once("--blocks ")) {
                plan.blocks = blocks.parse().unwrap();
                answer = run_all(&mut experiment, plan).unwrap().1.answer;
            }
            if answer.badge == Badge::Conclusive {
                settled += 1;
                too_many += u64::from(answer.recommended.as_deref() != Some(needed));
            }
        }
        println!("{truth:?}: {settled} settled, {too_many} not the fewest, of {EXPERIMENTS}");
        assert!(
            too_many * 10 <= EXPERIMENTS,
            "{truth:?}: {too_many} of {EXPERIMENTS} name another level than {needed}"
        );
        assert!(settled > 0, "{truth:?}: nothing is ever settled");
    }
}

/// Experiments of so many seeds in which neighbouring runs are called alike.
fn called_alike(likeness: f64, seeds: u64) -> u64 {
    let alike = |seed: &u64| {
        let mut experiment = Synthetic {
            truth: vec![100.0; 5],
            drift: 0.0,
            likeness,
            ..Synthetic::published(0.02, 900 + *seed)
        };
        let plan = experiment.plan();
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        results.noise.lag1_p.is_some_and(|p| p < 0.05)
    };
    (0..seeds).filter(alike).count() as u64
}

#[test]
fn neighbours_are_called_alike_where_they_are_and_not_where_they_are_not() {
    let (alike, independent) = (called_alike(0.6, 20), called_alike(0.0, 20));
    let contrary = called_alike(-0.5, 10);
    assert!(alike >= 16, "{alike} of 20 with a correlation of 0.6");
    assert!(independent <= 4, "{independent} of 20 of independent runs");
    assert_eq!(contrary, 0, "neighbours that differ are not alike");
}

#[test]
fn levels_are_compared_under_the_same_load_and_not_with_fewer_sessions() {
    // Files, then users. Eight users do more in any case.
    let alike = vec![100.0, 60.0, 100.0, 60.0];
    let better = vec![100.0, 60.0, 100.0, 50.0];
    let worse = vec![100.0, 60.0, 125.0, 60.0];
    let tiny = vec![100.0, 60.0, 100.0, 59.5];
    let crossing = vec![100.0, 60.0, 125.0, 40.0];
    for (truth, recommended, said) in [
        (
            alike,
            Some("1 / 1"),
            "no level that was compared is better than files 1 by more than 2%",
        ),
        (
            better,
            Some("2 / 8"),
            "files 2 16.7% faster than files 1 at 8",
        ),
        (
            worse,
            Some("1 / 1"),
            "files 2 25.0% slower than files 1 at 1",
        ),
        (
            tiny,
            Some("1 / 1"),
            "shown: files 2 0.8% faster than files 1 at 8",
        ),
        (
            crossing,
            None,
            "Which level is better depends on the number of sessions",
        ),
    ] {
        let mut experiment = Synthetic::published(0.0001, 3);
        experiment.files = vec![1, 2];
        experiment.truth = truth;
        let mut plan = experiment.plan();
        plan.factors.push(Factor::sessions("users", &[1, 8]));
        plan.baseline.push("1".to_owned());
        let (_, results) = run_all(&mut experiment, plan).unwrap();
        let answer = &results.answer;
        let named = answer.recommended.as_deref();
        assert_eq!(named, recommended, "{answer:?}");
        let begin = "With the same number of sessions ";
        assert!(answer.sentence.starts_with(begin), "{answer:?}");
        assert!(answer.sentence.contains(said), "{answer:?}");
        let load = "; against 1 / 1: 1 / 8 40.0% faster";
        assert!(answer.sentence.contains(load), "{answer:?}");
        assert!(!answer.sentence.contains("2 / "), "{answer:?}");
        assert_eq!(answer.next_step, None, "{answer:?}");
        let curve = &results.sections[0].charts[0];
        assert_eq!(curve.x, "users");
    }
}

#[test]
fn levels_with_other_loads_are_not_compared_with_each_other() {
    let mut experiment = Synthetic::published(0.0001, 3);
    experiment.files = vec![1, 2];
    // Files, then users, then churn: with churn everything takes longer, and two files help.
    experiment.truth = vec![100.0, 200.0, 60.0, 150.0, 100.0, 200.0, 60.0, 120.0];
    let mut plan = experiment.plan();
    plan.factors.push(Factor::sessions("users", &[1, 8]));
    plan.factors
        .push(Factor::words("churn", &["off", "on"]).of_load());
    plan.baseline.extend(["1", "off"].map(str::to_owned));
    let (_, results) = run_all(&mut experiment, plan).unwrap();
    let answer = &results.answer;
    assert_eq!(
        answer.recommended.as_deref(),
        Some("2 / 8 / on"),
        "{answer:?}"
    );
    let said = "2 / on 20.1% faster than 1 / on at 8";
    assert!(answer.sentence.contains(said), "{answer:?}");
}
