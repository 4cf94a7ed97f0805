//! Where the extents went: for each level what every file took, with the skip targets at each recalculation.

use super::{Plot, plain_tick};
use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, short};
use crate::report::words::{count, figure, percent, to_f64};
use crate::results::{FillHistory, FilledFile, Recalculation, Results, Run};
use maud::{Markup, Render, html};

/// The spinlock that guards skip targets.
const SPINLOCK: &str = "FGCB_PRP_FILL";

/// A level and the run that stands for it: its first good one, with its history.
struct Shown<'a> {
    level: &'a str,
    run: &'a Run,
    fill: &'a FillHistory,
}

/// Whether any run has something to show.
pub(in crate::report) fn is_known(results: &Results) -> bool {
    results.runs.iter().any(|run| run.fill.is_some())
}

fn shown(results: &Results) -> Vec<Shown<'_>> {
    let of_level = |level: &str| {
        let mut good = results
            .runs
            .iter()
            .filter(|run| run.level == level && run.status.is_good());
        good.find_map(|run| Some((run, run.fill.as_ref()?)))
    };
    results
        .levels
        .iter()
        .filter_map(|level| {
            let (run, fill) = of_level(&level.level)?;
            Some(Shown {
                level: &level.level,
                run,
                fill,
            })
        })
        .collect()
}

/// The chart, the recalculations, and the spinlock.
pub(in crate::report) fn section(results: &Results) -> Markup {
    let shown = shown(results);
    if shown.is_empty() {
        return html! { p class="absent" { "No run was finished whose fill was looked at." } };
    }
    let draw = |size: Size| draw(&shown, size);
    let most = shown.iter().map(|s| s.fill.files.len()).max().unwrap_or(0);
    let chart = Figure {
        id: "fill",
        finding: &finding(&shown),
        description: "One panel a level: to the right the extents that all files together took, upwards the \
            extents that each file took. Dashed lines stand where skip targets were reckoned anew.",
        draw: &draw,
        legend: html! { p class="legend" {
            @for place in 0..most { span { (sample(place)) " " (ordinal(place, most)) } }
            span { "above the dashed lines: skip targets, file by file in filling order" }
        } },
        table: shares(&shown),
    };
    html! {
        (chart.render())
        h3 { "Skip targets" }
        div class="scroll" tabindex="0" { (targets(&shown)) }
        h3 { "The spinlock " (SPINLOCK) }
        div class="scroll" tabindex="0" { (spinlock(results)) }
        p class="small" { "It is not taken while all targets are 1." }
    }
}

fn sample(place: usize) -> Markup {
    let mut svg = Svg::new(14.0, 14.0);
    svg.mark(place, (7.0, 7.0), 5.0, "", "");
    svg.decoration("sample")
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
    to_f64(file.taken.last().copied().unwrap_or(0)) / to_f64(all.max(1))
}

fn finding(shown: &[Shown<'_>]) -> String {
    let most = shown.iter().map(|entry| {
        let shares = entry.fill.files.iter().map(|file| share(entry.fill, file));
        (entry, shares.fold(0.0, f64::max))
    });
    let (Some((entry, share)), Some(first)) =
        (most.max_by(|a, b| a.1.total_cmp(&b.1)), shown.first())
    else {
        return "Where the extents went".to_owned();
    };
    let fair = 1.0 / to_f64(entry.fill.files.len().max(1) as u64);
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

fn draw(shown: &[Shown<'_>], size: Size) -> Svg {
    let columns = if size.narrow { 1 } else { 2 };
    let (gap, height) = (34.0, 250.0);
    let width = (size.width - gap * to_f64(columns - 1)) / to_f64(columns);
    let rows = (shown.len() as u64).div_ceil(columns);
    let mut svg = Svg::new(size.width, to_f64(rows) * height);
    for (place, entry) in (0_u64..).zip(shown) {
        let left = to_f64(place % columns) * (width + gap);
        let top = to_f64(place / columns) * height;
        let plot = Plot {
            left: left + 52.0,
            right: left + width - 12.0,
            top: top + 46.0,
            bottom: top + height - 52.0,
        };
        svg.text("level", Anchor::Start, left, top + 16.0, entry.level);
        panel(&mut svg, plot, entry.fill);
    }
    svg
}

fn panel(svg: &mut Svg, plot: Plot, fill: &FillHistory) {
    let all = to_f64(fill.at_extents.last().copied().unwrap_or(0)).max(1.0);
    let most = fill.files.iter().filter_map(|file| file.taken.iter().max());
    let most = to_f64(most.copied().max().unwrap_or(0)).max(1.0);
    let x = Scale::new((0.0, all), (plot.left, plot.right));
    let y = Scale::new((0.0, most), (plot.bottom, plot.top));
    plot.value_axis(svg, &y, plain_tick);
    plot.floor(svg);
    plot.across_axis(svg, &x, 4, false, "extents taken by all files");
    for again in &fill.recalculations {
        let at = x.px(to_f64(again.at_extents).min(all));
        svg.line("knee", (at, plot.top), (at, plot.bottom));
        let words = short(&target_words(again), 0.45 * (plot.right - plot.left));
        let past_half = at > f64::midpoint(plot.left, plot.right);
        let anchor = if past_half {
            Anchor::End
        } else {
            Anchor::Start
        };
        svg.text("tick", anchor, at, plot.top - 8.0, &words);
    }
    for (place, file) in fill.files.iter().enumerate() {
        let points: Vec<(f64, f64)> = fill
            .at_extents
            .iter()
            .zip(&file.taken)
            .map(|(all, taken)| (x.px(to_f64(*all)), y.px(to_f64(*taken))))
            .collect();
        svg.polyline(&format!("file l{}", place % 8), &points);
        // Lines that lie on each other are told apart by where their marks are.
        let stops = [1, 2, 3, 4].map(|n| n * points.len().saturating_sub(1) / 4);
        for stop in stops {
            let shift = points.len() * place / (6 * fill.files.len().max(1));
            let Some(point) = points.get(stop.saturating_sub(shift)) else {
                continue;
            };
            let tip = format!("file {}: {}", file.file_id, percent(share(fill, file)));
            svg.mark(place, *point, 4.5, "", &tip);
        }
    }
}

/// `8, 4, 2, 1`.
fn target_words(again: &Recalculation) -> String {
    let words: Vec<String> = again
        .files
        .iter()
        .map(|file| count(file.skip_target))
        .collect();
    words.join(", ")
}

fn shares(shown: &[Shown<'_>]) -> Markup {
    html! {
        table {
            caption { "What each file took, in the run of each level that is drawn" }
            thead { tr {
                th scope="col" { "files" } th scope="col" { "run" } th scope="col" { "file id" }
                th scope="col" { "free extents at the start" } th scope="col" { "taken" }
                th scope="col" { "share" }
            } }
            @for entry in shown {
                tbody { @for file in &entry.fill.files { tr {
                    th scope="row" { (entry.level) }
                    td { (entry.run.id) } td { (file.file_id) } td { (count(file.free_extents)) }
                    td { (count(file.taken.last().copied().unwrap_or(0))) }
                    td { (percent(share(entry.fill, file))) }
                } } }
            }
        }
    }
}

fn targets(shown: &[Shown<'_>]) -> Markup {
    html! {
        table {
            caption { "Free extents and skip targets at the start and at each recalculation" }
            thead { tr {
                th scope="col" { "files" } th scope="col" { "after extents" }
                th scope="col" { "file id: free, target" }
            } }
            @for entry in shown {
                tbody { @for again in &entry.fill.recalculations { tr {
                    th scope="row" { (entry.level) }
                    td { (count(again.at_extents)) }
                    td { @for (place, file) in again.files.iter().enumerate() {
                        @if place > 0 { "; " }
                        (file.file_id) ": " (count(file.free_extents)) ", " (count(file.skip_target))
                    } }
                } } }
            }
        }
    }
}

/// Collisions of all good runs of a level, summed and a run.
fn spinlock(results: &Results) -> Markup {
    let rows = results.levels.iter().map(|level| {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|run| run.level == level.level && run.status.is_good())
            .collect();
        let sum = |figure: fn(&crate::results::SpinTotal) -> u64| -> u64 {
            let of_runs = runs.iter().flat_map(|run| &run.spinlocks);
            of_runs
                .filter(|spin| spin.class == SPINLOCK)
                .map(figure)
                .sum()
        };
        let collisions = sum(|spin| spin.collisions);
        let each = to_f64(collisions) / to_f64((runs.len() as u64).max(1));
        (
            &level.level,
            runs.len(),
            collisions,
            each,
            sum(|spin| spin.spins),
            sum(|spin| spin.backoffs),
        )
    });
    let rows: Vec<_> = rows.collect();
    html! {
        table {
            caption { "Collisions while the load ran" }
            thead { tr {
                th scope="col" { "files" } th scope="col" { "runs" } th scope="col" { "collisions" }
                th scope="col" { "a run" } th scope="col" { "spins" } th scope="col" { "back-offs" }
            } }
            tbody { @for (level, runs, collisions, each, spins, backoffs) in &rows { tr {
                th scope="row" { (level) }
                td { (runs) } td { (count(*collisions)) } td { (figure(*each)) }
                td { (count(*spins)) } td { (count(*backoffs)) }
            } } }
        }
    }
}
