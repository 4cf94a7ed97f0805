//! Why: what the arrays did in each run, and the published shape beside it.

use super::options::{LOG_DIRECTORY, Site};
use crate::workloads::load::Worked;
use furrow_disks::volume::ArrayFigures;
use furrow_lab::results::{
    Chart, Curve, Figure, FileRole, Panel, Point, Published, Results, Run, Section, SheetTable,
};
use furrow_stats::mean;
use serde::{Deserialize, Serialize};

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
    text.extend(spindle(&cells));
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
    let files = if busiest.files == 1 { "file" } else { "files" };
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

/// Several files on one drive.
fn spindle(cells: &[CellMeans]) -> Option<String> {
    let several = widest(cells, Site::Spindle).filter(|cell| cell.files > 1)?;
    let several = find(cells, Site::Spindle, 2).unwrap_or(several);
    let one = find(cells, Site::Spindle, 1)?;
    let change = 100.0 * (several.seconds / one.seconds - 1.0);
    let files = several.files;
    Some(if change >= 0.05 {
        format!(
            "{files} files on one drive take {change:.1}% longer than one file there: its arm moves between \
             them."
        )
    } else if change <= -0.05 {
        format!(
            "{files} files on one drive take {:.1}% less time than one file there.",
            -change
        )
    } else {
        format!("{files} files on one drive take as long as one file there.")
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
        x_by_powers: true,
        panels: vec![Panel {
            curves,
            ..Panel::default()
        }],
    }
}

fn table(cells: &[CellMeans]) -> SheetTable {
    let row = |cell: &CellMeans| {
        let arrays = cell.by_array.iter();
        let arrays = arrays.map(|(name, bytes)| format!("{name} {:.0} KB", bytes / 1024.0));
        vec![
            format!("{}, {} files", cell.place, cell.files),
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
/// files.
fn half_array(cells: &[CellMeans]) -> (String, Option<bool>) {
    let published = [Site::One.word(), Site::Two.word()];
    let Some(half) = find(cells, Site::Two, 1) else {
        return ("not among these runs".to_owned(), None);
    };
    let others = || {
        cells
            .iter()
            .filter(|cell| published.contains(&cell.place.as_str()) && *cell != half)
    };
    let Some(slowest) = others().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else {
        return (
            "nothing to compare it with among these runs".to_owned(),
            None,
        );
    };
    let slower = others().filter(|cell| cell.seconds < half.seconds).count();
    let ours = format!(
        "slower than {slower} of {} others in the model, {:+.1}% against the slowest of them",
        others().count(),
        100.0 * (half.seconds / slowest.seconds - 1.0)
    );
    // That it is the slowest needs the one array, too.
    let has_one_array = others().any(|cell| cell.place == Site::One.word());
    let is_slowest = half.seconds > slowest.seconds;
    (ours, (has_one_array || !is_slowest).then_some(is_slowest))
}

/// The published shape, held against these runs.
pub(super) fn published(results: &Results) -> Published {
    let cells = cells(results);
    let change = |to: Option<&CellMeans>, from: Option<&CellMeans>| {
        Some(100.0 * (to?.seconds / from?.seconds - 1.0))
    };
    let shown = |found: Option<f64>| match found {
        Some(percent) => format!("{percent:+.1}% in the model"),
        None => "not among these runs".to_owned(),
    };
    let one = find(&cells, Site::One, 1);
    let best = change(find(&cells, Site::Two, 8), one);
    let two = change(find(&cells, Site::One, 2), one);
    let (slowest_ours, slowest_same) = half_array(&cells);
    let comparisons = vec![
        (
            "8 files on two arrays: just over 6% faster than one file on the one array".to_owned(),
            shown(best),
            best.map(|percent| (-15.0..=-3.0).contains(&percent)),
        ),
        (
            "2 files on the one array: about 3% slower than one".to_owned(),
            shown(two),
            two.map(|percent| (0.0..=6.0).contains(&percent)),
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
    fn several_files_on_a_drive_are_worded_by_the_sign() {
        let with = |seconds: f64| {
            let cells = [
                cell(Site::Spindle, 1, 10.0, 0.9),
                cell(Site::Spindle, 2, seconds, 0.9),
            ];
            spindle(&cells).unwrap()
        };
        assert_eq!(
            with(11.2),
            "2 files on one drive take 12.0% longer than one file there: its arm moves between them."
        );
        assert_eq!(
            with(9.7),
            "2 files on one drive take 3.0% less time than one file there."
        );
        assert_eq!(
            with(10.0),
            "2 files on one drive take as long as one file there."
        );
    }

    #[test]
    fn the_slowest_of_all_is_slower_than_each() {
        let cells = [
            cell(Site::One, 1, 10.0, 0.3),
            cell(Site::One, 2, 12.0, 0.3),
            cell(Site::Two, 1, 11.0, 0.3),
            cell(Site::Two, 8, 9.0, 0.3),
            // Not among what the source compared.
            cell(Site::Spindle, 1, 90.0, 0.9),
        ];
        let (ours, same) = half_array(&cells);
        assert_eq!(same, Some(false), "{ours}");
        assert!(ours.starts_with("slower than 2 of 3 others"), "{ours}");
        assert_eq!(
            half_array(&cells[2..]).1,
            None,
            "without the one array it is open"
        );
        let slowest = [cells[0].clone(), cells[2].clone(), cells[3].clone()];
        assert_eq!(half_array(&slowest).1, Some(true));
    }
}
