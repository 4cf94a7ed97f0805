//! The degree at which to cap a check.

use super::cells::{CellMeans, level_of, parsed};
use crate::workloads::paired;
use furrow_lab::results::Results;

/// The degree that the others of a mode are compared with: the one that was typed first.
pub(super) fn reference<'a>(
    results: &Results,
    mode: &str,
    cells: &'a [CellMeans],
) -> Option<&'a CellMeans> {
    let mut levels = results.levels.iter().filter_map(|l| parsed(&l.level));
    match levels.find(|(_, of)| of.is_empty() || *of == mode) {
        Some((dop, _)) => cells.iter().find(|cell| cell.dop == dop),
        // One degree alone: the levels are modes.
        None => cells.first(),
    }
}

/// The time of a degree over that of the baseline, without what made whole blocks slower: by the ratio of the
/// table of levels, else by the means. `None` where one of the two has no good run.
fn relative(results: &Results, mode: &str, cell: &CellMeans) -> Option<f64> {
    let level = results.level(&level_of(results, cell.dop, mode))?;
    let by_means = || Some(level.mean? / results.baseline()?.mean?);
    match level.is_baseline {
        true => Some(1.0),
        false => level.ratio.or_else(by_means),
    }
}

/// Whether a degree was shown to be faster than the one that the others are compared with: a difference is
/// shown along the curve of the mode, and lies beyond the margin. One mode, and a search, have no curve: the
/// table of levels compares with the baseline, the blocks with any other level.
fn is_faster(results: &Results, mode: &str, reference: &CellMeans, cell: &CellMeans) -> bool {
    let delta = results.plan.delta;
    let level = |cell: &CellMeans| results.level(&level_of(results, cell.dop, mode));
    let (Some(ours), Some(theirs)) = (level(cell), level(reference)) else {
        return false;
    };
    let without_curve = || match theirs.is_baseline {
        true => ours.is_shown_to_differ(delta),
        false => paired::is_larger(results, &theirs.level, &ours.level) == Some(true),
    };
    let is_shown = results.is_shown_along(mode, &cell.dop.to_string());
    let of = |cell: &CellMeans| relative(results, mode, cell);
    let is_less = of(cell)
        .zip(of(reference))
        .is_some_and(|(ours, theirs)| ours * (1.0 + delta) < theirs);
    is_less && is_shown.unwrap_or_else(without_curve)
}

/// Whether a level was shown to take longer than another. Levels that a search ran in too few rounds together
/// are compared by their intervals against the baseline.
fn is_slower(results: &Results, level: &str, other: &str) -> bool {
    let interval = |key: &str| results.level(key)?.interval;
    let is_apart = || Some(interval(level)?.low > interval(other)?.high);
    let by_blocks = paired::ratio(results, level, other).map(|(_, ratio)| ratio.low > 1.0);
    by_blocks.or_else(is_apart) == Some(true)
}

/// The degree that the answer recommends; `None` where its levels are degrees in several modes, or the
/// recommended level is the one that the others are compared with.
fn recommended<'a>(
    results: &Results,
    mode: &str,
    (cells, reference): (&'a [CellMeans], &CellMeans),
) -> Option<&'a CellMeans> {
    let named = results.answer.recommended.as_deref()?;
    let (dop, of) = parsed(named)?;
    let cell = cells.iter().find(|cell| cell.dop == dop);
    let cell = cell.filter(|cell| of.is_empty() && cell.dop != reference.dop)?;
    let is_knee = results.knee.as_ref().and_then(|knee| knee.level.as_deref()) == Some(named);
    // A search recommends its leader, which need not be faster than the first degree.
    (is_knee || is_faster(results, mode, reference, cell)).then_some(cell)
}

/// Whether several degrees were to be compared: without, there is nothing to cap.
pub(super) fn has_several(results: &Results) -> bool {
    let mut dops = results.levels.iter().filter_map(|l| parsed(&l.level));
    let first = dops.next();
    first.is_some_and(|(first, _)| dops.any(|(dop, _)| dop != first))
}

/// The degree to cap a check at.
pub(super) struct Cap<'a> {
    pub(super) cell: &'a CellMeans,
    /// Smaller degrees that are not shown to be slower.
    alike: Vec<u64>,
}

impl Cap<'_> {
    /// `8`, or `8 or 4` where these are not distinguished.
    pub(super) fn degrees(&self) -> String {
        let all = [self.cell.dop]
            .into_iter()
            .chain(self.alike.iter().copied());
        let all: Vec<String> = all.map(|dop| dop.to_string()).collect();
        all.join(" or ")
    }

    /// Which of them is meant by the figures, and why there are several.
    pub(super) fn why_several(&self) -> String {
        match self.alike.is_empty() {
            true => String::new(),
            false => format!(" at {}; the runs do not distinguish them", self.cell.dop),
        }
    }
}

/// The degree to cap a check at: the one that the answer recommends; else the least that is shown to be as
/// good as the fastest, within the margin, among those that are shown to be faster than the one that was
/// typed first. The ratios within blocks decide, not the means.
pub(super) fn shown_cap<'a>(
    results: &Results,
    mode: &str,
    cells: &'a [CellMeans],
) -> Option<Cap<'a>> {
    if !results.answer.badge.has_verdict() {
        return None;
    }
    let reference = reference(results, mode, cells)?;
    if let Some(cell) = recommended(results, mode, (cells, reference)) {
        let alike = Vec::new();
        return Some(Cap { cell, alike });
    }
    let key = |cell: &CellMeans| level_of(results, cell.dop, mode);
    let faster = || {
        cells
            .iter()
            .filter(|cell| is_faster(results, mode, reference, cell))
    };
    let time = |cell: &CellMeans| relative(results, mode, cell).unwrap_or(f64::INFINITY);
    let best = faster().min_by(|a, b| time(a).total_cmp(&time(b)))?;
    let as_good = 1.0 + results.plan.delta;
    let is_as_good = |cell: &CellMeans| {
        let ratio = paired::ratio(results, &key(cell), &key(best));
        let within = ratio.and_then(|(_, interval)| paired::is_at_most(interval, as_good));
        cell.dop == best.dop || within == Some(true)
    };
    let cap = faster().find(|cell| is_as_good(cell))?;
    // That the reference is slower is shown by the table of levels.
    let smaller = cells
        .iter()
        .filter(|cell| cell.dop < cap.dop && cell.dop != reference.dop);
    let alike = smaller
        .filter(|cell| !is_slower(results, &key(cell), &key(cap)))
        .map(|cell| cell.dop);
    Some(Cap {
        cell: cap,
        alike: alike.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::paired::tests::blocks;
    use furrow_lab::results::{Badge, Interval, Knee, Section, SheetTable, Verdict};
    use furrow_stats::mean;

    type Level = (u64, [f64; 3], Option<Verdict>);

    /// Results with these seconds of each degree in three blocks and these verdicts, and the means.
    fn measured(levels: &[Level], badge: Badge) -> (Results, Vec<CellMeans>) {
        let keys: Vec<String> = levels.iter().map(|(dop, ..)| dop.to_string()).collect();
        let of = keys
            .iter()
            .zip(levels)
            .map(|(key, (_, s, _))| (key.as_str(), *s));
        let mut results = blocks(&of.collect::<Vec<_>>());
        results.answer.badge = badge;
        results.plan.delta = 0.02;
        for (level, (_, _, verdict)) in results.levels.iter_mut().zip(levels) {
            level.verdict = *verdict;
        }
        let means = levels
            .iter()
            .map(|(dop, s, _)| CellMeans::of(*dop, mean(s)));
        (results, means.collect())
    }

    fn cap_of((results, cells): &(Results, Vec<CellMeans>)) -> Option<(u64, Vec<u64>)> {
        let cap = shown_cap(results, "full", cells)?;
        Some((cap.cell.dop, cap.alike))
    }

    /// The cap of degrees with these seconds in three blocks and these verdicts, and the degrees like it.
    fn found(levels: &[Level], badge: Badge) -> Option<(u64, Vec<u64>)> {
        cap_of(&measured(levels, badge))
    }

    #[test]
    fn the_cap_is_the_degree_that_the_answer_names_and_its_margin_that_of_the_plan() {
        let better = Some(Verdict::Better);
        let around = |s: f64| [s, 1.001 * s, 0.999 * s];
        let levels = [
            (1, around(10.0), None),
            (4, around(3.0), better),
            (8, around(2.9), better),
        ];
        let mut results = measured(&levels, Badge::CannotTell);
        assert_eq!(cap_of(&results), Some((8, vec![])));
        // 4 takes 3.4% longer than 8.
        results.0.plan.delta = 0.05;
        assert_eq!(cap_of(&results), Some((4, vec![])));
        // The answer names the knee.
        results.0.plan.delta = 0.02;
        results.0.answer.recommended = Some("4".to_owned());
        results.0.knee = Some(Knee {
            level: Some("4".to_owned()),
            ..Knee::default()
        });
        assert_eq!(cap_of(&results), Some((4, vec![])));
        // A search whose leader is not shown to be faster than the first degree.
        results.0.knee = None;
        results.0.levels[1].verdict = Some(Verdict::CannotTell);
        results.0.levels[2].verdict = Some(Verdict::CannotTell);
        assert_eq!(cap_of(&results), None);
    }

    #[test]
    fn a_run_that_is_missing_in_a_slow_block_makes_no_degree_the_fastest() {
        let better = Some(Verdict::Better);
        let slow = |s: f64| [s, 1.001 * s, 1.999 * s];
        let levels = [
            (1, slow(10.0), None),
            (4, slow(3.0), better),
            (8, slow(2.7), better),
        ];
        let (mut results, mut cells) = measured(&levels, Badge::CannotTell);
        for (level, ratio) in results.levels.iter_mut().skip(1).zip([0.3, 0.27]) {
            level.ratio = Some(ratio);
        }
        results
            .runs
            .retain(|run| (run.level.as_str(), run.block) != ("4", 3));
        // By the means of its two runs 4 is the fastest.
        cells[1].seconds = 3.0;
        assert!(cells[1].seconds < cells[2].seconds);
        assert_eq!(cap_of(&(results, cells)), Some((8, vec![])));
    }

    #[test]
    fn the_cap_is_the_least_of_the_degrees_that_are_shown_to_be_as_good_as_the_fastest() {
        let (better, unknown) = (Some(Verdict::Better), Some(Verdict::CannotTell));
        let around = |s: f64| [s, 1.01 * s, 0.99 * s];
        let with_eight = |eight: [f64; 3]| {
            [
                (1, around(10.0), None),
                (2, around(5.5), better),
                (4, around(3.0), better),
                (8, eight, better),
                (16, around(3.2), better),
            ]
        };
        let as_good = with_eight(around(2.98));
        assert_eq!(found(&as_good, Badge::Screening), Some((4, vec![])));
        assert_eq!(
            found(&with_eight(around(2.0)), Badge::CannotTell),
            Some((8, vec![]))
        );
        // By the means 4 takes 2.3% longer than 8; by the blocks either may be the faster one.
        let overlapping = with_eight([3.1, 2.8, 2.9]);
        assert_eq!(found(&overlapping, Badge::CannotTell), Some((8, vec![4])));
        for badge in [Badge::Noisy, Badge::Aborted] {
            assert_eq!(found(&as_good, badge), None);
        }
        // A degree that was lucky by 3% and is not shown to be faster is no cap.
        let lucky = |two| {
            [
                (1, around(10.0), None),
                (2, around(9.0), two),
                (16, around(8.7), unknown),
            ]
        };
        assert_eq!(found(&lucky(better), Badge::CannotTell), Some((2, vec![])));
        assert_eq!(found(&lucky(unknown), Badge::CannotTell), None);
    }

    #[test]
    fn a_search_in_several_modes_has_the_cap_that_its_table_shows() {
        let seconds = [
            ("1 / full", [10.0; 3]),
            ("8 / full", [3.5; 3]),
            ("1 / po", [5.0, 5.1, 4.9]),
            ("8 / po", [2.0, 2.1, 1.9]),
        ];
        let mut results = blocks(&seconds);
        results.answer.badge = Badge::Conclusive;
        results.plan.delta = 0.02;
        // No verdicts and no curves.
        let ratios = [None, Some(0.35), Some(0.5), Some(0.2)];
        for (level, ratio) in results.levels.iter_mut().zip(ratios) {
            level.ratio = ratio;
            level.interval = ratio.map(|ratio| Interval {
                low: ratio - 0.02,
                high: ratio + 0.02,
                confidence: 0.95,
            });
        }
        let of = |results: &Results, mode, one, eight| {
            let cells = [CellMeans::of(1, one), CellMeans::of(8, eight)];
            shown_cap(results, mode, &cells).map(|cap| cap.cell.dop)
        };
        assert_eq!(of(&results, "full", 10.0, 3.5), Some(8));
        assert_eq!(of(&results, "po", 5.0, 2.0), Some(8));
        // What the table does not show is no cap.
        results.levels[1].interval = Some(Interval {
            low: 0.3,
            high: 1.1,
            confidence: 0.95,
        });
        assert_eq!(of(&results, "full", 10.0, 3.5), None);
        assert!(has_several(&results));
        assert!(!has_several(&blocks(&[
            ("full", [1.0; 3]),
            ("po", [1.0; 3])
        ])));
    }

    #[test]
    fn a_degree_that_ran_too_seldom_beside_the_cap_is_compared_by_the_table() {
        let better = Some(Verdict::Better);
        let levels = [
            (1, [10.0; 3], None),
            (4, [5.0; 3], better),
            (8, [3.0; 3], better),
        ];
        let mut measured = measured(&levels, Badge::CannotTell);
        let results = &mut measured.0;
        results
            .runs
            .retain(|run| run.level != "4" || run.block == 1);
        assert_eq!(cap_of(&measured), Some((8, vec![4])));
        for (level, ratio) in measured.0.levels.iter_mut().skip(1).zip([0.5, 0.3]) {
            level.interval = Some(Interval {
                low: ratio - 0.05,
                high: ratio + 0.05,
                confidence: 0.95,
            });
        }
        assert_eq!(cap_of(&measured), Some((8, vec![])));
    }

    #[test]
    fn a_difference_along_a_curve_that_is_within_the_margin_is_no_cap() {
        let seconds = [("1 / full", [10.0; 3]), ("16 / full", [9.95; 3])];
        let mut results = blocks(&seconds);
        results.answer.badge = Badge::CannotTell;
        results.levels[1].ratio = Some(0.995);
        let row = ["full", "16", "1", "-0.5%", "-0.6 to -0.4%", "shown"];
        results.sections = vec![Section {
            tables: vec![SheetTable {
                caption: "Along each curve, against its first point".to_owned(),
                rows: vec![row.map(str::to_owned).to_vec()],
                ..SheetTable::default()
            }],
            ..Section::default()
        }];
        assert_eq!(results.is_shown_along("full", "16"), Some(true));
        let cells = [CellMeans::of(1, 10.0), CellMeans::of(16, 9.95)];
        let cap = |results: &Results| shown_cap(results, "full", &cells).map(|cap| cap.cell.dop);
        results.plan.delta = 0.02;
        assert_eq!(cap(&results), None);
        results.plan.delta = 0.001;
        assert_eq!(cap(&results), Some(16));
    }

    #[test]
    fn degrees_that_are_not_distinguished_are_both_in_the_sentence() {
        let (four, eight) = (CellMeans::of(4, 3.0), CellMeans::of(8, 2.9));
        let alone = Cap {
            cell: &four,
            alike: Vec::new(),
        };
        assert_eq!(
            (alone.degrees(), alone.why_several()),
            ("4".into(), String::new())
        );
        let both = Cap {
            cell: &eight,
            alike: vec![4],
        };
        assert_eq!(both.degrees(), "8 or 4");
        assert_eq!(
            both.why_several(),
            " at 8; the runs do not distinguish them"
        );
    }

    #[test]
    fn degrees_are_compared_with_the_one_that_was_typed_first() {
        // --dop 8,1,2: both others are shown to be slower than 8; 2 is faster than 1, which nothing compared.
        let worse = Some(Verdict::Worse);
        let levels = [
            (8, [3.0; 3], None),
            (1, [10.0; 3], worse),
            (2, [6.0; 3], worse),
        ];
        let (results, mut cells) = measured(&levels, Badge::CannotTell);
        cells.sort_by_key(|cell| cell.dop);
        let found = reference(&results, "full", &cells);
        assert_eq!(found.map(|cell| cell.dop), Some(8));
        assert!(shown_cap(&results, "full", &cells).is_none());
    }
}
