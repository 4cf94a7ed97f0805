//! Why: what the arrays did in each run, and the published shape beside it.

use super::options::{LOG_DIRECTORY, Site};
use crate::workloads::load::Worked;
use crate::workloads::paired;
use furrow_disks::volume::ArrayFigures;
use furrow_lab::results::{
    Bounds, Chart, Curve, Figure, FileRole, Interval, Panel, Point, Published, Results, Run,
    Section, SheetTable,
};
use furrow_stats::mean;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The name under which a run keeps its record.
const RECORD: &str = "arrays";
/// A run has a note when the real drives were later than the model in more than this share of requests.
const LATE_SHARE: f64 = 0.02;
/// A drive that is busier than this is the limit.
const BUSY: f64 = 0.8;

/// What one array did during the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct ArrayRecord {
    name: String,
    requests: u64,
    /// Bytes of requests under way, mean over the load.
    bytes_in_flight: f64,
    /// Share of the time in which its drives worked.
    busy: f64,
    late: u64,
}

/// What a run was, and why it took as long as it did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    files: u64,
    place: String,
    seconds: f64,
    /// Time in which checkpoints wrote pages.
    checkpoint_s: f64,
    /// Time that writers of data files waited, summed.
    data_stall_s: f64,
    /// Time that writers of the log waited, summed.
    log_stall_s: f64,
    arrays: Vec<ArrayRecord>,
}

impl Record {
    fn data(&self) -> impl Iterator<Item = &ArrayRecord> {
        self.arrays
            .iter()
            .filter(|array| array.name != LOG_DIRECTORY)
    }

    /// Bytes under way on all arrays of data files together.
    fn bytes_in_flight(&self) -> f64 {
        self.data().map(|array| array.bytes_in_flight).sum()
    }

    /// Requests that the arrays of data files carried.
    #[cfg(test)]
    pub(super) fn carried(&self) -> u64 {
        self.data().map(|array| array.requests).sum()
    }

    /// How busy the busiest array of data files was.
    fn busy(&self) -> f64 {
        self.data().map(|array| array.busy).fold(0.0, f64::max)
    }
}

/// What each array did between two readings; arrays without requests are left out.
fn between(before: &[ArrayFigures], after: &[ArrayFigures]) -> Vec<ArrayRecord> {
    let one = |later: &ArrayFigures| {
        let earlier = before.iter().find(|figures| figures.dir == later.dir);
        let earlier_totals = earlier.map(|figures| figures.totals).unwrap_or_default();
        let span_ns = later.elapsed_ns - earlier.map_or(0, |figures| figures.elapsed_ns);
        let in_flight = later.totals.byte_ns_in_flight - earlier_totals.byte_ns_in_flight;
        let busy_ns = later.totals.busy_ns - earlier_totals.busy_ns;
        let span = (span_ns.max(1)) as f64;
        let name = later.dir.file_name().unwrap_or_default();
        ArrayRecord {
            name: name.to_string_lossy().into_owned(),
            requests: later.totals.requests - earlier_totals.requests,
            bytes_in_flight: in_flight as f64 / span,
            busy: busy_ns as f64 / span / f64::from(later.drives.max(1)),
            late: later.late - earlier.map_or(0, |figures| figures.late),
        }
    };
    let all = after.iter().map(one);
    all.filter(|array| array.requests > 0).collect()
}

/// Seconds in which checkpoints wrote.
fn checkpoint_seconds(worked: &Worked) -> f64 {
    let pairs = worked.looks.windows(2);
    let seconds = pairs.map(|pair| match pair {
        [a, b] if b.checkpoint_pages > a.checkpoint_pages => b.at_s - a.at_s,
        _ => 0.0,
    });
    seconds.sum()
}

/// Puts the record and its figures into a run.
pub(super) fn keep(
    run: &mut Run,
    worked: &Worked,
    (files, site): (u64, Site),
    before: &[ArrayFigures],
    after: &[ArrayFigures],
) {
    let stall = |is_log: bool| {
        let files = run.files.iter();
        let of = files.filter(|file| (file.role == FileRole::Log) == is_log);
        of.map(|file| file.write_stall_us).sum::<u64>() as f64 / 1e6
    };
    let record = Record {
        files,
        place: site.word().to_owned(),
        seconds: worked.seconds,
        checkpoint_s: checkpoint_seconds(worked),
        data_stall_s: stall(false),
        log_stall_s: stall(true),
        arrays: between(before, after),
    };
    run.figures = vec![
        Figure::lower("checkpoints wrote", "s", record.checkpoint_s),
        Figure::lower("writers of data files waited", "s", record.data_stall_s),
        Figure::neutral(
            "data bytes under way",
            "KB",
            record.bytes_in_flight() / 1024.0,
        ),
        Figure::neutral("busiest data array", "%", 100.0 * record.busy()),
    ];
    run.notes
        .push("a model of drives, not a measurement".to_owned());
    let late: u64 = record.arrays.iter().map(|array| array.late).sum();
    let requests: u64 = record.arrays.iter().map(|array| array.requests).sum();
    if late as f64 > LATE_SHARE * requests.max(1) as f64 {
        run.notes.push(format!(
            "the real drives were later than the model in {late} calls ({requests} modelled requests): this \
             run is slower than its model; give a faster --volume"
        ));
    }
    if let Ok(value) = serde_json::to_value(&record) {
        run.extra.insert(RECORD.to_owned(), value);
    }
}

/// Means of the runs of one cell.
#[derive(Debug, Clone, PartialEq)]
struct CellMeans {
    files: u64,
    place: String,
    seconds: f64,
    checkpoint_s: f64,
    data_stall_s: f64,
    log_stall_s: f64,
    bytes_in_flight: f64,
    busy: f64,
    /// Bytes under way on each array of data files.
    by_array: Vec<(String, f64)>,
}

fn cells(results: &Results) -> Vec<CellMeans> {
    let good = results.runs.iter().filter(|run| run.status.is_good());
    let records: Vec<Record> = good
        .filter_map(|run| serde_json::from_value(run.extra.get(RECORD)?.clone()).ok())
        .collect();
    let mut keys: Vec<(String, u64)> = Vec::new();
    for record in &records {
        let key = (record.place.clone(), record.files);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by(|a, b| {
        place_order(&a.0)
            .cmp(&place_order(&b.0))
            .then(a.1.cmp(&b.1))
    });
    let cell = |(place, files): &(String, u64)| {
        let mine: Vec<&Record> = records
            .iter()
            .filter(|r| r.place == *place && r.files == *files)
            .collect();
        let of = |part: &dyn Fn(&Record) -> f64| {
            mean(&mine.iter().map(|record| part(record)).collect::<Vec<_>>())
        };
        let arrays = mine.first().map_or(Vec::new(), |record| {
            record.data().map(|array| array.name.clone()).collect()
        });
        let on = |name: &str| {
            of(&|record: &Record| {
                let array = record.arrays.iter().find(|array| array.name == name);
                array.map_or(0.0, |array| array.bytes_in_flight)
            })
        };
        CellMeans {
            files: *files,
            place: place.clone(),
            seconds: of(&|record| record.seconds),
            checkpoint_s: of(&|record| record.checkpoint_s),
            data_stall_s: of(&|record| record.data_stall_s),
            log_stall_s: of(&|record| record.log_stall_s),
            bytes_in_flight: of(&Record::bytes_in_flight),
            busy: of(&Record::busy),
            by_array: arrays.iter().map(|name| (name.clone(), on(name))).collect(),
        }
    };
    keys.iter().map(cell).collect()
}

fn place_order(word: &str) -> usize {
    let all = [Site::One, Site::Two, Site::Added, Site::Spindle];
    all.iter().position(|site| site.word() == word).unwrap_or(0)
}

fn find(cells: &[CellMeans], place: Site, files: u64) -> Option<&CellMeans> {
    cells
        .iter()
        .find(|cell| cell.place == place.word() && cell.files == files)
}

/// The cell with the most files of a place.
fn widest(cells: &[CellMeans], place: Site) -> Option<&CellMeans> {
    let of = cells.iter().filter(|cell| cell.place == place.word());
    of.max_by_key(|cell| cell.files)
}

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let cells = cells(results);
    if cells.is_empty() {
        return Vec::new();
    }
    let mut text = why(&cells);
    text.extend(added(&cells));
    text.extend(spindle(results, &cells));
    let finding = text.remove(0);
    vec![Section {
        heading: "What the arrays did".to_owned(),
        finding,
        text,
        charts: vec![in_flight(&cells)],
        tables: vec![table(&cells)],
    }]
}

/// What limits the load at each place: the arrays of data files, or something else.
fn why(cells: &[CellMeans]) -> Vec<String> {
    let all = [Site::One, Site::Two, Site::Added, Site::Spindle];
    all.into_iter()
        .filter_map(|site| why_at(cells, site))
        .collect()
}

fn why_at(cells: &[CellMeans], site: Site) -> Option<String> {
    let of: Vec<&CellMeans> = cells
        .iter()
        .filter(|cell| cell.place == site.word())
        .collect();
    let busiest = of.iter().max_by(|a, b| a.busy.total_cmp(&b.busy))?;
    let in_flight = || of.iter().map(|cell| cell.bytes_in_flight / 1024.0);
    let place = match site {
        Site::One => "On one array",
        Site::Two => "On two arrays",
        Site::Added => "On two arrays with one file added",
        Site::Spindle => "On a single drive",
    };
    let limit = if busiest.busy < BUSY {
        "was not the limit"
    } else {
        "was the limit"
    };
    let files = files_noun(busiest.files);
    Some(format!(
        "{place} the storage of data files {limit}: the busiest array worked {:.0}% of the time, with {} \
         {files}; between {:.0} and {:.0} KB of data writes were under way on average.",
        100.0 * busiest.busy,
        busiest.files,
        in_flight().fold(f64::MAX, f64::min),
        in_flight().fold(0.0, f64::max)
    ))
}

/// The cost of one empty file beside full ones.
fn added(cells: &[CellMeans]) -> Option<String> {
    let with = widest(cells, Site::Added).filter(|cell| cell.files > 1)?;
    let equal = find(cells, Site::Two, with.files)?;
    let most = with
        .by_array
        .iter()
        .map(|(_, bytes)| *bytes)
        .fold(0.0, f64::max);
    let all: f64 = with.by_array.iter().map(|(_, bytes)| *bytes).sum();
    Some(format!(
        "One empty file beside {} full ones takes all new pages: its array carried {:.0}% of the data bytes \
         under way, and the load took {:+.2} s against equal files ({:.2} s against {:.2} s); checkpoints \
         wrote for {:+.2} s.",
        with.files - 1,
        100.0 * most / all.max(1.0),
        with.seconds - equal.seconds,
        with.seconds,
        equal.seconds,
        with.checkpoint_s - equal.checkpoint_s
    ))
}

/// The key of the level of a cell.
fn key(results: &Results, cell: &CellMeans) -> String {
    paired::key_of_two(results, &cell.files.to_string(), &cell.place)
}

fn is_slower(results: &Results, cell: &CellMeans, other: &CellMeans) -> Option<bool> {
    paired::is_larger(results, &key(results, cell), &key(results, other))
}

/// A ratio as a change with its interval: `+12.0% (+10.1 to +13.9%)`.
fn change_of((ratio, interval): (f64, Interval)) -> String {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    format!(
        "{:+.1}% ({:+.1} to {:+.1}%)",
        percent(ratio),
        percent(interval.low),
        percent(interval.high)
    )
}

/// Several files on one drive, by the ratios within blocks.
fn spindle(results: &Results, cells: &[CellMeans]) -> Option<String> {
    let several = widest(cells, Site::Spindle).filter(|cell| cell.files > 1)?;
    let several = find(cells, Site::Spindle, 2).unwrap_or(several);
    let one = find(cells, Site::Spindle, 1)?;
    let found = paired::ratio(results, &key(results, several), &key(results, one))?;
    let (files, change) = (several.files, change_of(found));
    Some(match is_slower(results, several, one) {
        Some(true) => format!(
            "{files} files on one drive take longer than one file there, {change}: its arm moves between \
             them."
        ),
        Some(false) => {
            format!("{files} files on one drive take less time than one file there, {change}.")
        }
        None => format!(
            "The time of {files} files on one drive is not shown to differ from that of one file there: \
             {change}."
        ),
    })
}

fn in_flight(cells: &[CellMeans]) -> Chart {
    let mut curves: Vec<Curve> = Vec::new();
    for cell in cells {
        for (name, bytes) in &cell.by_array {
            let name = match cell.place == Site::Added.word() {
                true => format!("{name}, one file added"),
                false => name.clone(),
            };
            let point = Point {
                x: cell.files as f64,
                y: bytes / 1024.0,
                ..Point::default()
            };
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    name,
                    points: vec![point],
                }),
            }
        }
    }
    Chart {
        finding: "Bytes of writes under way on each array".to_owned(),
        description:
            "One curve for each array: KB of requests under way, mean over the load, by the number \
                      of data files."
                .to_owned(),
        x: "data files".to_owned(),
        y: "KB under way".to_owned(),
        bounds: Bounds::Interval,
        x_by_powers: true,
        panels: vec![Panel {
            curves,
            ..Panel::default()
        }],
    }
}

fn files_noun(files: u64) -> &'static str {
    if files == 1 { "file" } else { "files" }
}

fn table(cells: &[CellMeans]) -> SheetTable {
    let row = |cell: &CellMeans| {
        let arrays = cell.by_array.iter();
        let arrays = arrays.map(|(name, bytes)| format!("{name} {:.0} KB", bytes / 1024.0));
        vec![
            format!("{}, {} {}", cell.place, cell.files, files_noun(cell.files)),
            format!("{:.2} s", cell.seconds),
            format!("{:.2} s", cell.checkpoint_s),
            format!("{:.2} s", cell.data_stall_s),
            format!("{:.2} s", cell.log_stall_s),
            format!("{:.0}%", 100.0 * cell.busy),
            arrays.collect::<Vec<_>>().join(", "),
        ]
    };
    let columns = [
        "place",
        "elapsed",
        "checkpoints wrote",
        "data writers waited",
        "log writers waited",
        "busiest array",
        "under way",
    ];
    SheetTable {
        caption: "Means of the runs (model of drives)".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: cells.iter().map(row).collect(),
    }
}

/// One file on an array of half the drives, among all that the source compared: both layouts with equal
/// files. It is the slowest where it is shown to be slower than each of them.
fn half_array(results: &Results, cells: &[CellMeans]) -> (String, Option<bool>) {
    let published = [Site::One.word(), Site::Two.word()];
    let Some(half) = find(cells, Site::Two, 1) else {
        return ("not among these runs".to_owned(), None);
    };
    let others: Vec<&CellMeans> = cells
        .iter()
        .filter(|cell| published.contains(&cell.place.as_str()) && *cell != half)
        .collect();
    let each: Vec<Option<bool>> = others
        .iter()
        .map(|other| is_slower(results, half, other))
        .collect();
    let Some(is_slowest) = each.iter().copied().reduce(paired::both) else {
        let ours = "nothing to compare it with among these runs".to_owned();
        return (ours, None);
    };
    let slower = each.iter().filter(|is| **is == Some(true)).count();
    let ours = format!(
        "shown to be slower than {slower} of {} others in the model",
        each.len()
    );
    // That it is the slowest needs the one array, too.
    let has_one_array = others.iter().any(|cell| cell.place == Site::One.word());
    let same = is_slowest.filter(|is_slowest| has_one_array || !is_slowest);
    (ours, same)
}

/// The change between two layouts, and whether it is about the published one: the whole interval lies within
/// this range of percents.
fn about(
    results: &Results,
    (to, from): (Option<&CellMeans>, Option<&CellMeans>),
    percents: RangeInclusive<f64>,
) -> (String, Option<bool>) {
    let (Some(to), Some(from)) = (to, from) else {
        return ("not among these runs".to_owned(), None);
    };
    let keys = (key(results, to), key(results, from));
    let Some(found) = paired::ratio(results, &keys.0, &keys.1) else {
        return (paired::absent(results, &keys.0, &keys.1).to_owned(), None);
    };
    let (least, most) = percents.into_inner();
    let range = 1.0 + least / 100.0..=1.0 + most / 100.0;
    let ours = format!("{} in the model", change_of(found));
    (ours, paired::is_within(found.1, range))
}

/// The published shape, held against these runs.
pub(super) fn published(results: &Results) -> Published {
    let cells = cells(results);
    let one = find(&cells, Site::One, 1);
    let (best, is_best) = about(results, (find(&cells, Site::Two, 8), one), -15.0..=-3.0);
    let (two, is_two) = about(results, (find(&cells, Site::One, 2), one), 0.0..=6.0);
    let (slowest_ours, slowest_same) = half_array(results, &cells);
    let comparisons = vec![
        (
            "8 files on two arrays: just over 6% faster than one file on the one array".to_owned(),
            best,
            is_best,
        ),
        (
            "2 files on the one array: about 3% slower than one".to_owned(),
            two,
            is_two,
        ),
        (
            "One file on one array of four drives: the slowest of all".to_owned(),
            slowest_ours,
            slowest_same,
        ),
    ];
    Published {
        source: "Paul S. Randal, Benchmarking: do multiple data files make a difference?".to_owned(),
        setting: "100 GB inserted by 16 connections into 160 GB of pre-sized files; one array of eight \
                  drives or two of four (RAID 10, 15k SCSI, iSCSI), the log on eight SATA drives; means of \
                  five runs"
            .to_owned(),
        points: Vec::new(),
        approximate: true,
        comparisons,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::paired::tests::blocks;

    fn cell(place: Site, files: u64, seconds: f64, busy: f64) -> CellMeans {
        CellMeans {
            files,
            place: place.word().to_owned(),
            seconds,
            checkpoint_s: 0.0,
            data_stall_s: 0.0,
            log_stall_s: 0.0,
            bytes_in_flight: 2048.0,
            busy,
            by_array: Vec::new(),
        }
    }

    #[test]
    fn each_place_has_its_own_limit() {
        let cells = [
            cell(Site::One, 1, 10.0, 0.3),
            cell(Site::One, 2, 10.0, 0.4),
            cell(Site::Spindle, 1, 90.0, 0.97),
        ];
        let said = why(&cells);
        assert_eq!(said.len(), 2, "{said:?}");
        let one = "On one array the storage of data files was not the limit: the busiest array worked 40% \
                   of the time, with 2 files";
        assert!(said[0].starts_with(one), "{said:?}");
        let drive = "On a single drive the storage of data files was the limit: the busiest array worked 97%";
        assert!(said[1].starts_with(drive), "{said:?}");
    }

    #[test]
    fn several_files_on_a_drive_are_worded_by_the_blocks() {
        let with = |seconds: [f64; 3]| {
            let results = blocks(&[("1", [10.0, 20.0, 15.0]), ("2", seconds)]);
            let cells = [
                cell(Site::Spindle, 1, 15.0, 0.9),
                cell(Site::Spindle, 2, mean(&seconds), 0.9),
            ];
            spindle(&results, &cells).unwrap()
        };
        let longer = with([11.2, 22.5, 16.7]);
        let begin = "2 files on one drive take longer than one file there, +11.";
        assert!(longer.starts_with(begin), "{longer}");
        assert!(
            longer.ends_with(": its arm moves between them."),
            "{longer}"
        );
        let shorter = with([9.0, 18.1, 13.4]);
        let begin = "2 files on one drive take less time than one file there, -10.";
        assert!(shorter.starts_with(begin), "{shorter}");
        // By the means 2 files take 2% longer; by the blocks either may be the faster one.
        let open = with([11.0, 18.0, 17.0]);
        assert!(open.contains("is not shown to differ"), "{open}");
        assert!(!open.contains("arm"), "{open}");
    }

    #[test]
    fn the_slowest_of_all_is_shown_to_be_slower_than_each() {
        let cells = [
            cell(Site::One, 1, 10.0, 0.3),
            cell(Site::One, 2, 12.0, 0.3),
            cell(Site::Two, 1, 11.0, 0.3),
            cell(Site::Two, 8, 9.0, 0.3),
            // Not among what the source compared.
            cell(Site::Spindle, 1, 90.0, 0.9),
        ];
        let around = |s: f64| [s, 1.02 * s, 0.99 * s];
        let with_half = |half: [f64; 3]| {
            blocks(&[
                ("1 / one", around(10.0)),
                ("2 / one", around(12.0)),
                ("1 / two", half),
                ("8 / two", around(9.0)),
                ("1 / spindle", around(90.0)),
            ])
        };
        let results = with_half(around(11.0));
        let (ours, same) = half_array(&results, &cells);
        assert_eq!(same, Some(false), "{ours}");
        assert_eq!(ours, "shown to be slower than 2 of 3 others in the model");
        assert_eq!(
            half_array(&results, &cells[2..]).1,
            None,
            "without the one array it is open"
        );
        let without_two = [cells[0].clone(), cells[2].clone(), cells[3].clone()];
        assert_eq!(half_array(&results, &without_two).1, Some(true));
        // The largest mean of all, and not shown to be larger than each other.
        let (ours, same) = half_array(&with_half([14.0, 11.5, 11.2]), &cells);
        assert_eq!(same, None, "{ours}");
    }

    #[test]
    fn a_published_change_is_confirmed_by_the_whole_interval() {
        let one = cell(Site::One, 1, 10.0, 0.3);
        let two = cell(Site::One, 2, 10.3, 0.3);
        let with = |seconds: [f64; 3]| {
            let results = blocks(&[("1", [10.0; 3]), ("2", seconds)]);
            about(&results, (Some(&two), Some(&one)), 0.0..=6.0)
        };
        assert_eq!(with([10.3, 10.31, 10.29]).1, Some(true));
        assert_eq!(with([11.3, 11.31, 11.29]).1, Some(false));
        // The mean lies within the range and the interval reaches beyond it.
        let (ours, same) = with([10.0, 10.9, 10.1]);
        assert_eq!(same, None, "{ours}");
        assert!(ours.starts_with("+3."), "{ours}");
        let results = blocks(&[]);
        let absent = about(&results, (None, Some(&one)), 0.0..=6.0);
        assert_eq!(absent, ("not among these runs".to_owned(), None));
    }
}
