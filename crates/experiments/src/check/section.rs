//! How the check scales, where its time goes, and the degree at which to cap it.

use super::options::Mode;
use crate::workloads::paired;
use furrow_lab::results::{
    Chart, Curve, Panel, Point, Published, PublishedPoint, Results, Run, Section, SheetTable,
    Verdict,
};
use furrow_stats::mean;
use serde::{Deserialize, Serialize};

/// The name under which a run keeps its record.
const RECORD: &str = "check";
/// A degree is as good as the best where it takes at most so much of its time.
const AS_GOOD: f64 = 1.02;
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

/// What a run was, and what came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    dop: u64,
    mode: String,
    seconds: f64,
    rate: f64,
    /// Seconds of waits and latches that are no background work, by name.
    waits: Vec<(String, f64)>,
}

/// Keeps the record of a run with it.
pub(super) fn keep(run: &mut Run, (dop, mode): (u64, Mode), seconds: f64, rate: f64) {
    let waits = run.waits.iter().chain(&run.background_waits);
    let waits = waits
        .filter(|wait| !wait.benign)
        .map(|wait| (&wait.wait_type, wait.total_us));
    let latches = run
        .latches
        .iter()
        .map(|latch| (&latch.class, latch.total_us));
    let all = waits.chain(latches).filter(|(_, total_us)| *total_us > 0);
    let record = Record {
        dop,
        mode: mode.word().to_owned(),
        seconds,
        rate,
        waits: all
            .map(|(name, us)| (name.clone(), us as f64 / 1e6))
            .collect(),
    };
    if let Ok(value) = serde_json::to_value(&record) {
        run.extra.insert(RECORD.to_owned(), value);
    }
}

/// Means of the runs of one degree in one mode.
struct CellMeans {
    dop: u64,
    seconds: f64,
    rate: f64,
    waits: Vec<(String, f64)>,
}

fn records(results: &Results) -> Vec<Record> {
    let good = results.runs.iter().filter(|run| run.status.is_good());
    good.filter_map(|run| serde_json::from_value(run.extra.get(RECORD)?.clone()).ok())
        .collect()
}

/// Cells of a mode by degree.
fn cells(records: &[Record], mode: &str) -> Vec<CellMeans> {
    let mine: Vec<&Record> = records
        .iter()
        .filter(|record| record.mode == mode)
        .collect();
    let mut dops: Vec<u64> = mine.iter().map(|record| record.dop).collect();
    dops.sort_unstable();
    dops.dedup();
    let cell = |&dop: &u64| {
        let runs: Vec<&Record> = mine.iter().filter(|r| r.dop == dop).copied().collect();
        let of = |part: fn(&Record) -> f64| {
            mean(&runs.iter().map(|record| part(record)).collect::<Vec<_>>())
        };
        let mut waits: Vec<(String, f64)> = Vec::new();
        for (name, seconds) in runs.iter().flat_map(|record| &record.waits) {
            let share = seconds / runs.len() as f64;
            match waits.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += share,
                None => waits.push((name.clone(), share)),
            }
        }
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        CellMeans {
            dop,
            seconds: of(|record| record.seconds),
            rate: of(|record| record.rate),
            waits,
        }
    };
    dops.iter().map(cell).collect()
}

fn modes(records: &[Record]) -> Vec<String> {
    let mut modes: Vec<String> = Vec::new();
    for record in records {
        if !modes.contains(&record.mode) {
            modes.push(record.mode.clone());
        }
    }
    modes.sort();
    modes
}

/// Degree and mode of a level.
fn parsed(level: &str) -> Option<(u64, &str)> {
    let (dop, mode) = level.split_once(" / ").unwrap_or((level, ""));
    Some((dop.parse().ok()?, mode))
}

/// The degree that the others of a mode are compared with: the one that was typed first.
fn reference<'a>(results: &Results, mode: &str, cells: &'a [CellMeans]) -> Option<&'a CellMeans> {
    let mut levels = results.levels.iter().filter_map(|l| parsed(&l.level));
    match levels.find(|(_, of)| of.is_empty() || *of == mode) {
        Some((dop, _)) => cells.iter().find(|cell| cell.dop == dop),
        // One degree alone: the levels are modes.
        None => cells.first(),
    }
}

/// Whether a degree was shown to be faster than the one that the others are compared with.
fn is_faster(results: &Results, mode: &str, reference: &CellMeans, cell: &CellMeans) -> bool {
    let dop = cell.dop.to_string();
    let alone = || {
        let verdict = results.level(&dop)?.verdict?;
        Some(verdict == Verdict::Better)
    };
    let is_shown = results.is_shown_along(mode, &dop).or_else(alone);
    is_shown == Some(true) && cell.seconds < reference.seconds
}

/// The degree to cap a check at.
struct Cap<'a> {
    cell: &'a CellMeans,
    /// Smaller degrees that are not shown to be slower.
    alike: Vec<u64>,
}

impl Cap<'_> {
    /// `8`, or `8 or 4` where these are not distinguished.
    fn degrees(&self) -> String {
        let all = [self.cell.dop]
            .into_iter()
            .chain(self.alike.iter().copied());
        let all: Vec<String> = all.map(|dop| dop.to_string()).collect();
        all.join(" or ")
    }

    /// Which of them is meant by the figures, and why there are several.
    fn why_several(&self) -> String {
        match self.alike.is_empty() {
            true => String::new(),
            false => format!(" at {}; the runs do not distinguish them", self.cell.dop),
        }
    }
}

/// The degree to cap a check at: the least that is shown to be as good as the fastest, among those that are
/// shown to be faster than the one that was typed first. The ratios within blocks decide, not the means.
fn shown_cap<'a>(results: &Results, mode: &str, cells: &'a [CellMeans]) -> Option<Cap<'a>> {
    if !results.answer.badge.has_verdict() {
        return None;
    }
    let reference = reference(results, mode, cells)?;
    let key = |cell: &CellMeans| level_of(results, cell.dop, mode);
    let faster = || {
        cells
            .iter()
            .filter(|cell| is_faster(results, mode, reference, cell))
    };
    let best = faster().min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let is_as_good = |cell: &CellMeans| {
        let ratio = paired::ratio(results, &key(cell), &key(best));
        let within = ratio.and_then(|(_, interval)| paired::is_at_most(interval, AS_GOOD));
        cell.dop == best.dop || within == Some(true)
    };
    let cap = faster().find(|cell| is_as_good(cell))?;
    // That the reference is slower is shown by the table of levels.
    let smaller = cells
        .iter()
        .filter(|cell| cell.dop < cap.dop && cell.dop != reference.dop);
    let alike = smaller
        .filter(|cell| paired::is_larger(results, &key(cell), &key(cap)) != Some(true))
        .map(|cell| cell.dop);
    Some(Cap {
        cell: cap,
        alike: alike.collect(),
    })
}

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

/// Where to cap a check in this mode; `None` where the runs give no verdict.
fn verdict(results: &Results, mode: &str, cells: &[CellMeans]) -> Option<String> {
    if !results.answer.badge.has_verdict() {
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
        (Some(cap), _) => format!(
            "Cap a check ({first}) at degree {} here: {:.2} s, {:.0} MB/s{}{cpus}.",
            cap.degrees(),
            cap.cell.seconds,
            cap.cell.rate,
            cap.why_several()
        ),
        (None, Some(reference)) => format!(
            "No degree is shown to make a check ({first}) faster than degree {} does: {:.2} s, {:.0} \
             MB/s{cpus}.",
            reference.dop, reference.seconds, reference.rate
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
        description: "One curve for each way to check, means of the runs.".to_owned(),
        x: "degree of parallelism".to_owned(),
        y: "MB/s".to_owned(),
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
            let waits = waits.map(|(name, seconds)| format!("{name} {seconds:.2} s"));
            rows.push(vec![
                format!("{mode}, degree {}", cell.dop),
                format!("{:.2} s", cell.seconds),
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
        caption: "Means of the runs".to_owned(),
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

/// The level of a degree in a mode.
fn level_of(results: &Results, dop: u64, mode: &str) -> String {
    paired::key_of_two(results, &dop.to_string(), mode)
}

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
    use crate::workloads::paired::tests::blocks;
    use furrow_lab::results::{Badge, LevelResult};

    fn cell(dop: u64, seconds: f64) -> CellMeans {
        CellMeans {
            dop,
            seconds,
            rate: 1.0 / seconds,
            waits: Vec::new(),
        }
    }

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

    /// The cap of degrees with these seconds in three blocks and these verdicts, and the degrees like it.
    fn found(levels: &[(u64, [f64; 3], Option<Verdict>)], badge: Badge) -> Option<(u64, Vec<u64>)> {
        let keys: Vec<String> = levels.iter().map(|(dop, ..)| dop.to_string()).collect();
        let of = keys
            .iter()
            .zip(levels)
            .map(|(key, (_, s, _))| (key.as_str(), *s));
        let mut results = blocks(&of.collect::<Vec<_>>());
        results.answer.badge = badge;
        for (level, (_, _, verdict)) in results.levels.iter_mut().zip(levels) {
            level.verdict = *verdict;
        }
        let cells: Vec<CellMeans> = levels
            .iter()
            .map(|(dop, s, _)| cell(*dop, mean(s)))
            .collect();
        let cap = shown_cap(&results, "full", &cells)?;
        Some((cap.cell.dop, cap.alike))
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
    fn degrees_that_are_not_distinguished_are_both_in_the_sentence() {
        let (four, eight) = (cell(4, 3.0), cell(8, 2.9));
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
        let results = results(&[(8, None), (1, worse), (2, worse)]);
        let cells = [cell(1, 10.0), cell(2, 6.0), cell(8, 3.0)];
        let found = reference(&results, "full", &cells);
        assert_eq!(found.map(|cell| cell.dop), Some(8));
        assert!(shown_cap(&results, "full", &cells).is_none());
    }

    #[test]
    fn the_serial_share_of_a_law_is_found_again() {
        let at = |n: u64| cell(n, 10.0 * (0.2 + 0.8 / n as f64));
        let cells = [at(1), at(2), at(4), at(8)];
        assert!((serial_share(&cells).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(serial_share(&cells[..1]), None);
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
        let cells = [cell(2, 10.0), cell(4, 6.0), cell(8, 3.0), cell(16, 3.5)];
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
        let cells = [cell(1, 10.0)];
        let (_, ours, same) = physical_is_faster(&results, &cells, &cells);
        assert_eq!((ours.as_str(), same), ("shown at 0 of 1 degrees", None));
    }

    #[test]
    fn physical_only_is_compared_degree_by_degree_with_intervals() {
        let cells = [cell(1, 10.0), cell(2, 6.0)];
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
