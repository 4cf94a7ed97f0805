//! How the check scales, where its time goes, and the degree at which to cap it.

use super::cap::{has_several, reference, shown_cap};
use super::cells::{CellMeans, cells, level_of, modes, parsed, records};
use super::options::Mode;
use crate::workloads::paired;
use furrow_lab::report::words::{figure, latency};
use furrow_lab::results::{
    Bounds, Chart, Curve, Panel, Point, Published, PublishedPoint, Results, Section, SheetTable,
};

/// Published times of a full check by degree, that of degree 1 being 1: 70% to 80% more throughput from 1 to
/// 2, 2 to 4 and 4 to 8, and slightly worse beyond.
const FULL: [(u64, f64); 6] = [
    (1, 1.0),
    (2, 0.57),
    (4, 0.33),
    (8, 0.19),
    (16, 0.2),
    (32, 0.2),
];

/// The serial share by Amdahl's law, least squares through degree 1: `t(n) = t(1) (s + (1 - s) / n)`.
fn serial_share(cells: &[CellMeans]) -> Option<f64> {
    let one = cells.iter().find(|cell| cell.dop == 1)?.seconds;
    let points = cells.iter().filter(|cell| cell.dop > 1);
    let (mut over, mut under) = (0.0, 0.0);
    for cell in points {
        let n = cell.dop as f64;
        let (x, y) = (1.0 - 1.0 / n, cell.seconds / one - 1.0 / n);
        over += x * y;
        under += x * x;
    }
    (under > 0.0).then(|| (over / under).clamp(0.0, 1.0))
}

/// Where to cap a check in this mode; `None` where the runs give no verdict, or have one degree.
fn verdict(results: &Results, mode: &str, cells: &[CellMeans]) -> Option<String> {
    if !results.answer.badge.has_verdict() || !has_several(results) {
        return None;
    }
    let Some(cap) = shown_cap(results, mode, cells) else {
        let reference = reference(results, mode, cells)?;
        return Some(format!(
            "{mode}: no degree is shown to be faster than {} ({:.0} MB/s)",
            reference.dop, reference.rate
        ));
    };
    let law = serial_share(cells).map_or(String::new(), |share| {
        format!(
            "; {:.0}% of the time at degree 1 does not divide",
            100.0 * share
        )
    });
    Some(format!(
        "{mode}: cap it at {} ({:.0} MB/s{}){law}",
        cap.degrees(),
        cap.cell.rate,
        cap.why_several()
    ))
}

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let records = records(results);
    let modes = modes(&records);
    let by_mode: Vec<(String, Vec<CellMeans>)> = modes
        .into_iter()
        .map(|mode| (mode.clone(), cells(&records, &mode)))
        .collect();
    let Some((first, cells)) = by_mode.first() else {
        return Vec::new();
    };
    let cpus = results.environment.cpu_count;
    let cpus = cpus.map_or(String::new(), |n| {
        format!("; this machine has {n} processors")
    });
    let verdict = |(mode, cells): &(String, Vec<CellMeans>)| verdict(results, mode, cells);
    let cap = shown_cap(results, first, cells);
    let finding = match (cap, reference(results, first, cells)) {
        _ if !results.answer.badge.has_verdict() => {
            format!("These runs give no verdict, so no degree of a check ({first}) is named{cpus}.")
        }
        (_, Some(only)) if !has_several(results) => format!(
            "A check ({first}) ran at degree {} alone: {} s, {:.0} MB/s{cpus}.",
            only.dop,
            figure(only.seconds),
            only.rate
        ),
        (Some(cap), _) => format!(
            "Cap a check ({first}) at degree {} here: {} s, {:.0} MB/s{}{cpus}.",
            cap.degrees(),
            figure(cap.cell.seconds),
            cap.cell.rate,
            cap.why_several()
        ),
        (None, Some(reference)) => format!(
            "No degree is shown to make a check ({first}) faster than degree {} does: {} s, {:.0} \
             MB/s{cpus}.",
            reference.dop,
            figure(reference.seconds),
            reference.rate
        ),
        (None, None) => format!(
            "The degree that the others of a check ({first}) are compared with has no good run{cpus}."
        ),
    };
    vec![Section {
        heading: "How the check scales".to_owned(),
        finding,
        text: by_mode
            .iter()
            .filter_map(verdict)
            .map(|text| text + ".")
            .collect(),
        charts: vec![chart(&by_mode)],
        tables: vec![table(&by_mode)],
    }]
}

fn chart(by_mode: &[(String, Vec<CellMeans>)]) -> Chart {
    let curve = |(mode, cells): &(String, Vec<CellMeans>)| Curve {
        name: mode.clone(),
        points: cells
            .iter()
            .map(|cell| Point {
                x: cell.dop as f64,
                y: cell.rate,
                ..Point::default()
            })
            .collect(),
    };
    Chart {
        finding: "MB of the database checked a second, by degree of parallelism".to_owned(),
        description: "One curve for each way to check, geometric means of the runs.".to_owned(),
        x: "degree of parallelism".to_owned(),
        y: "MB/s".to_owned(),
        bounds: Bounds::Interval,
        x_by_powers: true,
        panels: vec![Panel {
            curves: by_mode.iter().map(curve).collect(),
            ..Panel::default()
        }],
    }
}

fn table(by_mode: &[(String, Vec<CellMeans>)]) -> SheetTable {
    let mut rows = Vec::new();
    for (mode, cells) in by_mode {
        let one = cells
            .iter()
            .find(|cell| cell.dop == 1)
            .map(|cell| cell.seconds);
        for cell in cells {
            let waits = cell.waits.iter().take(3);
            let waits = waits.map(|(name, seconds)| format!("{name} {}", latency(1e6 * seconds)));
            rows.push(vec![
                format!("{mode}, degree {}", cell.dop),
                format!("{} s", figure(cell.seconds)),
                format!("{:.0} MB/s", cell.rate),
                one.map_or("-".to_owned(), |one| format!("{:.2}", one / cell.seconds)),
                waits.collect::<Vec<_>>().join(", "),
            ]);
        }
    }
    let columns = [
        "check",
        "elapsed",
        "rate",
        "times degree 1",
        "most waits and latches",
    ];
    SheetTable {
        caption: "Geometric means of the runs; of waits and latches arithmetic ones".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

/// The published time of a level, where one is known: that of degree 1 in full is 1.
fn published_time(level: &str) -> Option<f64> {
    let (dop, mode) = parsed(level)?;
    let is_full = mode.is_empty() || mode == Mode::Full.word();
    let found = FULL.iter().find(|(known, _)| is_full && *known == dop)?;
    Some(found.1)
}

/// The published times over that of the baseline of these runs; none where it is not among them.
fn points(results: &Results) -> Vec<PublishedPoint> {
    let Some(base) = results.baseline().and_then(|l| published_time(&l.level)) else {
        return Vec::new();
    };
    let point = |level: &furrow_lab::results::LevelResult| {
        Some(PublishedPoint {
            level: level.level.clone(),
            ratio: published_time(&level.level)? / base,
            stated: false,
        })
    };
    results.levels.iter().filter_map(point).collect()
}

type Statement = (String, String, Option<bool>);

/// By the ratios within blocks of degree 8 and each other one. Degree 8 can only be the fastest where lower
/// and higher degrees ran.
fn fastest_at_eight(results: &Results, full: &[CellMeans]) -> Statement {
    let text = "A full check is fastest at degree 8".to_owned();
    let ran = |of: fn(&u64) -> bool| full.iter().any(|cell| of(&cell.dop));
    if !(ran(|dop| *dop < 8) && ran(|dop| *dop == 8) && ran(|dop| *dop > 8)) {
        let ours = "not compared: needs degree 8 with a lower and a higher one".to_owned();
        return (text, ours, None);
    }
    let eight = level_of(results, 8, Mode::Full.word());
    let others = full.iter().filter(|cell| cell.dop != 8);
    let is_slower = |cell: &CellMeans| {
        paired::is_larger(
            results,
            &level_of(results, cell.dop, Mode::Full.word()),
            &eight,
        )
    };
    let each: Vec<Option<bool>> = others.map(is_slower).collect();
    let ours = format!(
        "shown to be faster than {} of {} other degrees",
        count_shown(&each),
        each.len()
    );
    (text, ours, each.into_iter().reduce(paired::both).flatten())
}

fn count_shown(each: &[Option<bool>]) -> usize {
    each.iter().filter(|shown| **shown == Some(true)).count()
}

/// By the ratios within blocks of each degree that ran both ways.
fn physical_is_faster(results: &Results, full: &[CellMeans], physical: &[CellMeans]) -> Statement {
    let of = |cell: &CellMeans| {
        let level = |mode: Mode| level_of(results, cell.dop, mode.word());
        paired::is_larger(results, &level(Mode::Full), &level(Mode::Po))
    };
    let in_both = full
        .iter()
        .filter(|cell| physical.iter().any(|po| po.dop == cell.dop));
    let each: Vec<Option<bool>> = in_both.map(of).collect();
    let shown = count_shown(&each);
    let ours = match each.len() {
        0 => "not among these runs".to_owned(),
        all => format!("shown at {shown} of {all} degrees"),
    };
    let same = each.into_iter().reduce(paired::both).flatten();
    let text = "PHYSICAL_ONLY is faster than a full check at every degree".to_owned();
    (text, ours, same)
}

/// The published shape of a full check.
pub(super) fn published(results: &Results) -> Published {
    let records = records(results);
    let full = cells(&records, Mode::Full.word());
    let physical = cells(&records, Mode::Po.word());
    Published {
        source: "Paul S. Randal, CHECKDB on solid-state drives".to_owned(),
        setting: "a database of 500 GB over 8 files on two drives, 16 cores with 32 threads"
            .to_owned(),
        // Without a full check among the modes the levels are degrees of another one.
        points: if full.is_empty() {
            Vec::new()
        } else {
            points(results)
        },
        approximate: true,
        comparisons: vec![
            fastest_at_eight(results, &full),
            physical_is_faster(results, &full, &physical),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::cells::keep;
    use crate::workloads::paired::tests::blocks;
    use furrow_lab::results::{Badge, LevelResult, Verdict};

    /// Levels in the order in which they were typed, with their verdicts.
    fn results(levels: &[(u64, Option<Verdict>)]) -> Results {
        let level = |&(dop, verdict): &(u64, Option<Verdict>)| LevelResult {
            level: dop.to_string(),
            verdict,
            ..LevelResult::default()
        };
        Results {
            levels: levels.iter().map(level).collect(),
            ..Results::default()
        }
    }

    #[test]
    fn the_serial_share_of_a_law_is_found_again() {
        let at = |n: u64| CellMeans::of(n, 10.0 * (0.2 + 0.8 / n as f64));
        let cells = [at(1), at(2), at(4), at(8)];
        assert!((serial_share(&cells).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(serial_share(&cells[..1]), None);
    }

    #[test]
    fn one_degree_in_two_modes_is_not_compared_with_itself() {
        let mut results = blocks(&[("full", [10.0; 3]), ("po", [5.0; 3])]);
        results.answer.badge = Badge::Conclusive;
        for run in &mut results.runs {
            let mode = match run.level.as_str() {
                "full" => Mode::Full,
                _ => Mode::Po,
            };
            let seconds = run.response.unwrap();
            keep(run, (4, mode), seconds, 1000.0 / seconds);
        }
        let section = sections(&results).remove(0);
        assert_eq!(
            section.finding,
            "A check (full) ran at degree 4 alone: 10.0 s, 100 MB/s."
        );
        assert!(section.text.is_empty(), "{:?}", section.text);
    }

    #[test]
    fn published_times_are_those_against_the_baseline_of_these_runs() {
        let ratios = |levels: &[(u64, Option<Verdict>)]| -> Vec<f64> {
            let mut results = results(levels);
            results.levels[0].is_baseline = true;
            points(&results).iter().map(|point| point.ratio).collect()
        };
        assert_eq!(ratios(&[(1, None), (2, None)]), [1.0, 0.57]);
        assert_eq!(
            ratios(&[(2, None), (4, None), (8, None)]),
            [1.0, 0.33 / 0.57, 0.19 / 0.57]
        );
        assert!(ratios(&[(3, None), (8, None)]).is_empty());
    }

    #[test]
    fn the_highest_degree_that_ran_is_not_called_the_fastest_of_all() {
        let cells = [
            CellMeans::of(2, 10.0),
            CellMeans::of(4, 6.0),
            CellMeans::of(8, 3.0),
            CellMeans::of(16, 3.5),
        ];
        let said = |eight: [f64; 3], cells: &[CellMeans]| {
            let results = blocks(&[
                ("2", [10.0, 10.2, 10.1]),
                ("4", [6.0, 6.1, 6.2]),
                ("8", eight),
                ("16", [3.5, 3.6, 3.4]),
            ]);
            fastest_at_eight(&results, cells)
        };
        let (_, ours, same) = said([3.0, 3.1, 3.0], &cells[..3]);
        assert!(same.is_none() && ours.starts_with("not compared"), "{ours}");
        let (_, ours, same) = said([3.0, 3.1, 3.0], &cells);
        assert_eq!(same, Some(true), "{ours}");
        assert_eq!(ours, "shown to be faster than 3 of 3 other degrees");
        // As fast as 16 by the blocks, whatever the means are.
        let (_, ours, same) = said([3.2, 3.8, 3.4], &cells);
        assert_eq!(same, None, "{ours}");
        let (_, ours, same) = said([3.7, 3.8, 3.6], &cells);
        assert_eq!(same, Some(false), "{ours}");
        assert_eq!(ours, "shown to be faster than 2 of 3 other degrees");
    }

    #[test]
    fn one_block_is_too_few_to_compare_and_not_absent() {
        let mut results = blocks(&[("1 / full", [10.0; 3]), ("1 / po", [5.0; 3])]);
        results.runs.retain(|run| run.block == 1);
        let cells = [CellMeans::of(1, 10.0)];
        let (_, ours, same) = physical_is_faster(&results, &cells, &cells);
        assert_eq!((ours.as_str(), same), ("shown at 0 of 1 degrees", None));
    }

    #[test]
    fn physical_only_is_compared_degree_by_degree_with_intervals() {
        let cells = [CellMeans::of(1, 10.0), CellMeans::of(2, 6.0)];
        let said = |two: [f64; 3]| {
            let results = blocks(&[
                ("1 / full", [10.0, 10.1, 10.2]),
                ("1 / po", [5.0, 5.1, 5.2]),
                ("2 / full", [6.0, 6.1, 6.2]),
                ("2 / po", two),
            ]);
            physical_is_faster(&results, &cells, &cells).2
        };
        assert_eq!(said([3.0, 3.1, 3.2]), Some(true));
        assert_eq!(said([7.0, 7.1, 7.2]), Some(false));
        assert_eq!(said([5.0, 6.5, 6.2]), None);
        let results = blocks(&[("1 / full", [1.0; 3])]);
        assert_eq!(physical_is_faster(&results, &cells, &[]).2, None);
    }
}
