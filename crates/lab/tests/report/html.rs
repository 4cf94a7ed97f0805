//! What must hold for every page.

use crate::{every, samples};
use furrow_lab::report::render;
use furrow_lab::results::{Badge, Control, Results, Verdict};
use html5ever::tendril::TendrilSink;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use std::collections::BTreeSet;

fn parse(page: &str) -> RcDom {
    let options = html5ever::ParseOpts {
        tree_builder: html5ever::tree_builder::TreeBuilderOpts {
            exact_errors: true,
            ..Default::default()
        },
        ..Default::default()
    };
    html5ever::parse_document(RcDom::default(), options).one(page)
}

type Attr = (String, String);

/// Calls `see` with the name and attributes of every element.
fn walk(node: &Handle, see: &mut dyn FnMut(&str, &[Attr])) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attrs: Vec<Attr> = attrs
            .borrow()
            .iter()
            .map(|attr| (attr.name.local.to_string(), attr.value.to_string()))
            .collect();
        see(&name.local, &attrs);
    }
    for child in node.children.borrow().iter() {
        walk(child, see);
    }
}

#[test]
fn every_page_is_well_formed() {
    for (name, results) in every() {
        let page = render(&results);
        let dom = parse(&page);
        let errors = dom.errors.borrow();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    // The parser would notice.
    assert!(
        !parse("<!DOCTYPE html><title>x</title><p></div>")
            .errors
            .borrow()
            .is_empty()
    );
}

#[test]
fn every_drawing_is_xml_with_title_and_description() {
    let mut drawings = 0;
    for (name, results) in every() {
        for part in render(&results).split("<svg ").skip(1) {
            let text = format!("<svg {}</svg>", part.split("</svg>").next().unwrap());
            let svg =
                roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}"));
            let root = svg.root_element();
            assert!(!text.contains("NaN") && !text.contains("inf\""), "{name}");
            if root.attribute("aria-hidden").is_none() {
                drawings += 1;
                assert_eq!(root.attribute("role"), Some("img"));
                let label = root.attribute("aria-labelledby").unwrap();
                for id in label.split(' ') {
                    let named = svg
                        .descendants()
                        .find(|n| n.attribute("id") == Some(id))
                        .unwrap();
                    assert!(
                        !named.text().unwrap_or_default().is_empty(),
                        "{name}: {id} is empty"
                    );
                }
            }
        }
    }
    assert!(drawings > 60, "{drawings} drawings seen");
}

#[test]
fn every_section_is_there_in_order_and_links_find_their_target() {
    let wanted = [
        "answer",
        "why",
        "curve",
        "levels",
        "where",
        "files",
        "limits-used",
        "strips",
        "trust",
        "plan",
        "environment",
        "limits",
        "seed",
        "raw",
    ];
    for (name, results) in every() {
        let dom = parse(&render(&results));
        let (mut sections, mut ids, mut targets) = (Vec::new(), BTreeSet::new(), Vec::new());
        walk(&dom.document, &mut |element, attrs| {
            for (key, value) in attrs {
                match key.as_str() {
                    "id" => {
                        assert!(ids.insert(value.clone()), "{name}: id {value} occurs twice");
                        if element == "section" {
                            sections.push(value.clone());
                        }
                    }
                    "href" if value.starts_with('#') => targets.push(value[1..].to_owned()),
                    "for" => targets.push(value.clone()),
                    "aria-labelledby" => targets.extend(value.split(' ').map(str::to_owned)),
                    _ => {}
                }
            }
        });
        assert_eq!(sections, wanted, "{name}");
        for target in targets {
            assert!(ids.contains(&target), "{name}: nothing has the id {target}");
        }
    }
}

#[test]
fn nothing_is_fetched_and_the_page_stays_small() {
    for (name, results) in every() {
        let page = render(&results);
        assert!(page.len() < 1_500_000, "{name}: {} bytes", page.len());
        walk(&parse(&page).document, &mut |element, attrs| {
            assert!(
                !["link", "img", "iframe", "object", "embed", "base"].contains(&element),
                "{element}"
            );
            for (key, value) in attrs {
                let local = value.starts_with('#') || value.starts_with("data:text/csv");
                assert!(!key.starts_with("on"), "{name}: handler {key}");
                assert!(
                    key != "src" && key != "srcset",
                    "{name}: {element} {key}={value}"
                );
                assert!(key != "href" || local, "{name}: {element} links to {value}");
            }
        });
        let outside = page
            .replace("http://www.w3.org/2000/svg", "")
            .replace("http-equiv", "");
        assert!(
            !outside.contains("http:") && !outside.contains("https:"),
            "{name}"
        );
        assert!(
            !outside.contains("url(") && !outside.contains("@import"),
            "{name}"
        );
        assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
    }
}

#[test]
fn a_thousand_runs_still_make_a_small_page() {
    let results = samples::a_thousand_runs();
    assert!(results.runs.len() > 1000);
    let page = render(&results);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    assert!(page.contains("Left out of the page to keep it small: "));
    assert!(page.contains("the first 300 of "));
    assert!(parse(&page).errors.borrow().is_empty());
}

#[test]
fn hostile_names_stay_text() {
    let page = render(&samples::hostile());
    let mut scripts = 0;
    walk(&parse(&page).document, &mut |element, _| {
        scripts += usize::from(element == "script");
        assert_ne!(element, "img");
    });
    assert_eq!(scripts, 2, "the data block and our own script");
    assert!(!page.contains("<img") && !page.contains("<!--"));
}

#[test]
fn the_data_block_is_the_result() {
    let results = samples::conclusive();
    let page = render(&results);
    let block = page
        .split("<script type=\"application/json\" id=\"results\">")
        .nth(1)
        .unwrap();
    let block = block.split("</script>").next().unwrap();
    assert_eq!(Results::from_json(block).unwrap(), results);
    assert!(results.problems().is_empty(), "{:?}", results.problems());
}

#[test]
fn titles_state_the_finding() {
    let page = render(&samples::conclusive());
    for sentence in [
        "4 files: 4.7% faster than 1 (3.4 to 5.9); 8 is not better by more than 2%",
        "4 data files is the fewest that is as good as the best, within 2%",
        "Proportional fill kept the files even",
        "FGCB_PRP_FILL</th><td>3.00</td>",
        "LOG_MANAGER</th><td>9.00</td>",
        "Nearly used up: log device, synced writes",
        "The same direction as published in 2 of 3 statements",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
    assert!(page.contains("At 4 data files a session waits 0.419 s less in Tran Log IO"));
    // Seconds that shrink in step with everything else explain no difference.
    let modelled = render(&crate::analysed(0.006, 6));
    assert!(modelled.contains("Tran Log IO keeps its share of the time (70.0%, at 4 files 70.0%)"));
    let uneven = render(&samples::sixteen_uneven_files());
    assert!(uneven.contains("the most written file got 1.67 times the least written one"));
    let noisy = render(&samples::noisy());
    assert!(noisy.contains("The runs scatter too widely to tell the levels apart"));
    let failed = render(&samples::one_level_failed());
    assert!(failed.contains("6 failed") && failed.contains("no good"));
    assert!(failed.contains("No ceiling was measured in this experiment"));
}

#[test]
fn a_column_in_which_no_run_has_a_value_is_left_out() {
    let mut results = samples::conclusive();
    assert!(render(&results).contains(">rows/s</th>"));
    results
        .runs
        .iter_mut()
        .for_each(|run| run.rows_per_s = None);
    assert!(!render(&results).contains(">rows/s</th>"));
}

#[test]
fn the_change_of_waits_is_about_the_level_whose_difference_is_explained() {
    let mut results = samples::conclusive();
    results.answer.recommended = None;
    results.knee = None;
    // The largest change of the time is that of 8 files; 16 files alone are shown to differ.
    for level in results.levels.iter_mut().filter(|l| !l.is_baseline) {
        level.verdict = Some(match level.level.as_str() {
            "16" => Verdict::Better,
            _ => Verdict::CannotTell,
        });
    }
    assert!(render(&results).contains("At 16 data files a session waits "));
    for level in results.levels.iter_mut().filter(|l| !l.is_baseline) {
        level.verdict = Some(Verdict::CannotTell);
    }
    let page = render(&results);
    assert!(page.contains("Seconds per session against the baseline: no difference is shown"));
    assert!(!page.contains(" a session waits ") && !page.contains("explains no difference"));
    results.answer.badge = Badge::Noisy;
    let page = render(&results);
    assert!(page.contains("Seconds per session against the baseline; these runs give no verdict"));
}

#[test]
fn a_control_that_fails_shows_what_other_programs_had_beside_each_label() {
    let mut results = samples::conclusive();
    assert!(!render(&results).contains("Other programs had at most"));
    results.answer.badge = Badge::Noisy;
    results.noise.aa.as_mut().unwrap().passed = false;
    for run in &mut results.runs {
        if run.control == Control::APrime {
            run.cpu_other_s = run.seconds.map(|seconds| 2.0 * seconds);
        }
    }
    let page = render(&results);
    assert!(
        page.contains("Other programs had at most 0.1% of the processors in a run of A, 25.0%")
    );
    assert!(page.contains("not calculated: the baseline differs from itself"));
    // A file of an earlier version has no shares of the time by level.
    assert!(!page.contains("What filled the time") && !page.contains("At no level"));
}

#[test]
fn a_title_claims_nothing_about_a_level_without_a_good_run() {
    let mut results = samples::conclusive();
    let last = results.levels.last_mut().unwrap();
    (last.n, last.verdict) = (0, None);
    (last.ratio, last.interval) = (None, None);
    let page = render(&results);
    assert!(
        page.contains("4 data files is the fewest that is as good as the best that ran, within 2%")
    );
    // A flat curve: the first level is enough as far as the others ran.
    for level in results
        .levels
        .iter_mut()
        .filter(|level| level.verdict.is_some())
    {
        level.verdict = Some(Verdict::Same);
    }
    results.knee.as_mut().unwrap().level = Some("1".to_owned());
    let page = render(&results);
    assert!(page.contains("No level that ran above 1 data file shows a gain beyond 2%"));
    results.knee.as_mut().unwrap().level = None;
    results.answer.recommended = Some("1".to_owned());
    let page = render(&results);
    assert!(page.contains("No level that ran is shown to differ from 1 data file by more than 2%"));
    results.answer.badge = Badge::Aborted;
    let page = render(&results);
    assert!(page.contains("Too few blocks were finished for a verdict"));
}

#[test]
fn colour_needs_an_interval_that_excludes_no_difference() {
    let chips = |page: &str| {
        (
            page.matches("class=\"chip good\"").count(),
            page.matches("class=\"chip bad\"").count(),
        )
    };
    let mut results = samples::conclusive();
    let (good, _) = chips(&render(&results));
    assert!(good >= 2, "{good}");
    for level in &mut results.levels {
        // A verdict that its own interval doesn't bear out gets no colour.
        if let Some(interval) = &mut level.interval {
            (interval.low, interval.high) = (0.9, 1.1);
        }
    }
    assert_eq!(chips(&render(&results)), (0, 0));
}

#[test]
fn a_ceiling_that_was_passed_says_why_that_can_be() {
    let mut results = samples::conclusive();
    let ceiling = results.ceilings.first_mut().unwrap();
    ceiling.used = ceiling.limit.map(|limit| 1.2 * limit);
    let page = render(&results);
    assert!(page.contains("120% of what it did when it was measured"));
    assert!(page.contains("while the engine ran it did more"));
}

#[test]
fn a_level_that_makes_no_difference_is_not_said_to_explain_one() {
    let mut results = samples::conclusive();
    results.attribution.share = None;
    let page = render(&results);
    assert!(!page.contains("of the change in time lies there"));
    // The table shows levels that differ, so the page does not say that none does.
    assert!(page.contains("The time of the compared level hardly changed"));
    for level in results.levels.iter_mut().filter(|l| !l.is_baseline) {
        level.verdict = Some(Verdict::Same);
    }
    let page = render(&results);
    assert!(page.contains("this is what fills the time at each"));
}

#[test]
fn a_cause_that_could_not_be_measured_is_no_proof_that_nothing_differs() {
    let mut results = samples::conclusive();
    results.attribution = furrow_lab::results::Attribution::default();
    let page = render(&results);
    assert!(!page.contains("No difference was shown"));
    for run in &mut results.runs {
        run.waits.clear();
        run.cpu_s = None;
    }
    let page = render(&results);
    assert!(page.contains("Waits were not measured in these runs"));
    // Sessions that only compute do not wait.
    results
        .runs
        .iter_mut()
        .for_each(|run| run.cpu_s = Some(1.0));
    assert!(!render(&results).contains("Waits were not measured"));
}

#[test]
fn names_of_levels_that_are_too_wide_for_a_phone_stand_upright() {
    let mut results = samples::conclusive();
    assert!(!render(&results).contains("rotate(-90"));
    for level in &mut results.levels {
        level.level += " / random keys, padded rows";
    }
    assert!(render(&results).contains("rotate(-90"));
}

#[test]
fn waits_that_grew_by_more_than_the_time_are_no_share_of_it() {
    let mut results = samples::conclusive();
    results.attribution.share = Some(9.78);
    let page = render(&results);
    assert!(!page.contains("978%"));
    assert!(page.contains("changed by 9.78 times the change of the elapsed time"));
    // Runs of a fixed time all take as long.
    results.experiment.response.unit = "scripts/s".to_owned();
    let page = render(&results);
    assert!(page.contains("changed by 9.78 times the change of the time of one piece of work"));
}

#[test]
fn the_alignment_of_volumes_and_what_does_not_fit_are_on_the_page() {
    let page = render(&samples::two_runs());
    assert!(page.contains("Alignment: "));
    assert!(page.contains("Warning: the partition begins at byte 32256"));
}
