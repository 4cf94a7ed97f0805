//! "Where the extents went": what every file took, with the skip targets at each recalculation.

use super::record::{self, FillHistory, FilledFile, Recalculation};
use furrow_lab::report::words::{count, percent};
use furrow_lab::results::{
    Bounds, Chart, Curve, Mark, Panel, Point, Results, Run, Section, SheetTable, SpinTotal,
};

/// The spinlock that guards skip targets.
const SPINLOCK: &str = "FGCB_PRP_FILL";

/// A level and the run that stands for it: its first good one, with its history.
struct Shown<'a> {
    level: &'a str,
    run: &'a Run,
    fill: FillHistory,
}

fn shown(results: &Results) -> Vec<Shown<'_>> {
    let of_level = |level: &'_ str| {
        let mut good = results
            .runs
            .iter()
            .filter(|run| run.level == level && run.status.is_good());
        good.find_map(|run| Some((run, record::of(run)?)))
    };
    let levels = results.levels.iter().filter_map(|level| {
        let (run, fill) = of_level(&level.level)?;
        Some(Shown {
            level: &level.level,
            run,
            fill,
        })
    });
    levels.collect()
}

/// The section; none where no run was finished.
pub(super) fn sections(results: &Results) -> Vec<Section> {
    let shown = shown(results);
    if shown.is_empty() {
        return Vec::new();
    }
    let chart = Chart {
        finding: finding(&shown),
        description:
            "One panel a level: to the right the extents that all files together took, upwards the \
            extents that each file took. Dashed lines mark recalculations of the skip targets."
                .to_owned(),
        x: "extents taken by all files".to_owned(),
        y: "extents".to_owned(),
        bounds: Bounds::Interval,
        x_by_powers: false,
        panels: shown.iter().map(panel).collect(),
    };
    vec![Section {
        heading: "Where the extents went".to_owned(),
        finding: chart.finding.clone(),
        text: vec![
            "Above the dashed lines: skip targets, file by file in filling order.".to_owned(),
            format!("The spinlock {SPINLOCK} is not taken while all targets are 1."),
        ],
        charts: vec![chart],
        tables: vec![shares(&shown), targets(&shown), spinlock(results)],
    }]
}

fn panel(shown: &Shown<'_>) -> Panel {
    let files = shown.fill.files.len();
    let curve = |(place, file): (usize, &FilledFile)| Curve {
        name: ordinal(place, files),
        points: shown
            .fill
            .at_extents
            .iter()
            .zip(&file.taken)
            .map(|(&all, &taken)| Point {
                x: all as f64,
                y: taken as f64,
                ..Point::default()
            })
            .collect(),
    };
    let mark = |again: &Recalculation| {
        let targets = again.files.iter().map(|file| count(file.skip_target));
        Mark {
            x: again.at_extents as f64,
            text: targets.collect::<Vec<_>>().join(", "),
        }
    };
    Panel {
        title: shown.level.to_owned(),
        curves: shown.fill.files.iter().enumerate().map(curve).collect(),
        marks: shown.fill.recalculations.iter().map(mark).collect(),
    }
}

/// A file by its place in filling order: the primary one, then from the newest to the oldest.
fn ordinal(place: usize, files: usize) -> String {
    match place {
        0 => "primary file".to_owned(),
        1 => "newest file".to_owned(),
        _ if place + 1 == files => "oldest file".to_owned(),
        _ => format!("file {} in filling order", place + 1),
    }
}

/// The part that each file took in the end.
fn share(fill: &FillHistory, file: &FilledFile) -> f64 {
    let all = fill.at_extents.last().copied().unwrap_or(0);
    file.taken.last().copied().unwrap_or(0) as f64 / all.max(1) as f64
}

fn finding(shown: &[Shown<'_>]) -> String {
    let most = shown.iter().map(|entry| {
        let shares = entry.fill.files.iter().map(|file| share(&entry.fill, file));
        (entry, shares.fold(0.0, f64::max))
    });
    let (Some((entry, share)), Some(first)) =
        (most.max_by(|a, b| a.1.total_cmp(&b.1)), shown.first())
    else {
        return String::new();
    };
    let fair = 1.0 / entry.fill.files.len().max(1) as f64;
    if share < 1.05 * fair {
        return format!(
            "In every scenario each file took an even share, as with \"{}\"",
            first.level
        );
    }
    format!(
        "With \"{}\" one file of {} took {} of all extents",
        entry.level,
        entry.fill.files.len(),
        percent(share)
    )
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn shares(shown: &[Shown<'_>]) -> SheetTable {
    let rows = shown.iter().flat_map(|entry| {
        entry.fill.files.iter().map(|file| {
            vec![
                entry.level.to_owned(),
                entry.run.id.to_string(),
                file.file_id.to_string(),
                count(file.free_extents),
                count(file.taken.last().copied().unwrap_or(0)),
                percent(share(&entry.fill, file)),
            ]
        })
    });
    SheetTable {
        caption: "What each file took, in the run of each level that is drawn".to_owned(),
        columns: columns(&[
            "files",
            "run",
            "file id",
            "free extents at the start",
            "taken",
            "share",
        ]),
        rows: rows.collect(),
    }
}

fn targets(shown: &[Shown<'_>]) -> SheetTable {
    let row = |level: &str, again: &Recalculation| {
        let files = again.files.iter().map(|file| {
            let (free, target) = (count(file.free_extents), count(file.skip_target));
            format!("{}: {free}, {target}", file.file_id)
        });
        vec![
            level.to_owned(),
            count(again.at_extents),
            files.collect::<Vec<_>>().join("; "),
        ]
    };
    let rows = shown.iter().flat_map(|entry| {
        let recalculations = entry.fill.recalculations.iter();
        recalculations.map(|again| row(entry.level, again))
    });
    SheetTable {
        caption: "Free extents and skip targets at the start and at each recalculation".to_owned(),
        columns: columns(&["files", "after extents", "file id: free, target"]),
        rows: rows.collect(),
    }
}

/// Collisions of all good runs of a level, summed and a run.
fn spinlock(results: &Results) -> SheetTable {
    let rows = results.levels.iter().map(|level| {
        let runs: Vec<&Run> = results.good_runs(&level.level).collect();
        let sum = |figure: fn(&SpinTotal) -> u64| -> u64 {
            let of_runs = runs.iter().flat_map(|run| &run.spinlocks);
            of_runs
                .filter(|spin| spin.class == SPINLOCK)
                .map(figure)
                .sum()
        };
        let collisions = sum(|spin| spin.collisions);
        vec![
            level.level.clone(),
            runs.len().to_string(),
            count(collisions),
            format!("{:.1}", collisions as f64 / runs.len().max(1) as f64),
            count(sum(|spin| spin.spins)),
            count(sum(|spin| spin.backoffs)),
        ]
    });
    SheetTable {
        caption: format!("Collisions on {SPINLOCK} while the load ran"),
        columns: columns(&["files", "runs", "collisions", "a run", "spins", "back-offs"]),
        rows: rows.collect(),
    }
}
