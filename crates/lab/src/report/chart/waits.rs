//! The distribution of the sessions' time: stacked bars by level, and the change against the baseline.

use super::Plot;
use crate::report::derive::{LevelTime, TimeSpent};
use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, room_for, short};
use crate::report::words::{figure, latency, level_name, percent, to_f64};
use crate::results::{NOT_DUE, OWN_THREADS, Results, THINKING};
use maud::{Markup, Render, html};
use std::collections::BTreeSet;

/// A category whose share of the time changes by less than this does not explain a difference. It changed in
/// proportion to the total, however many seconds it has.
const BARELY: f64 = 0.02;

/// Both charts and the table of wait types, or a sentence if no run counted its waits.
pub(in crate::report) fn section(results: &Results) -> Markup {
    let time = TimeSpent::of(results);
    if time.levels.is_empty() {
        return html! { p class="absent" { "Waits were not measured." } };
    }
    html! {
        (stack(results, &time))
        (changes(results, &time))
        (types_table(results, &time))
    }
}

/// The title of the stacked bars: the heaviest category of the baseline, or of the first level.
fn stack_finding(results: &Results, time: &TimeSpent) -> String {
    let level = results
        .baseline()
        .and_then(|level| time.at(&level.level))
        .or_else(|| time.levels.first());
    let Some(level) = level.filter(|level| level.elapsed_s > 0.0) else {
        return "Where a session's time went".to_owned();
    };
    let name = level_name(&results.experiment, &level.level);
    let Some((category, seconds)) = heaviest(time, level) else {
        return format!("At {name} sessions did not wait");
    };
    let all = level.of_threads_s();
    if level.running_s > *seconds {
        let share = percent(level.running_s / all);
        let what = match level.hidden_sleep {
            Some(sleep) => format!("running, or {sleep}: these runs did not record which"),
            None => "running, or in what is not accounted for".to_owned(),
        };
        return format!("At {name} a session spends {share} of its time {what}");
    }
    let share = percent(seconds / all);
    if [THINKING, NOT_DUE].contains(&category.as_str()) {
        return format!(
            "At {name} a session has nothing to do for {share} of its time: {category}"
        );
    }
    if level.overlaps() {
        return format!(
            "At {name} {share} of the time of all threads of a session is waiting in {category}"
        );
    }
    let what = if category == OWN_THREADS {
        "waiting for"
    } else {
        "waiting in"
    };
    format!("At {name} a session spends {share} of its time {what} {category}")
}

/// Whether threads of a session overlap at any level: all bars are then of the time of all threads.
fn overlap(time: &TimeSpent) -> bool {
    time.levels.iter().any(LevelTime::overlaps)
}

/// The unit of the bars.
fn unit(time: &TimeSpent) -> &'static str {
    match overlap(time) {
        true => "seconds of all threads per session",
        false => "seconds per session",
    }
}

fn heaviest<'a>(time: &'a TimeSpent, level: &'a LevelTime) -> Option<(&'a String, &'a f64)> {
    time.categories
        .iter()
        .zip(&level.waited_s)
        .filter(|(_, seconds)| **seconds > 0.0)
        .max_by(|a, b| a.1.total_cmp(b.1))
}

fn stack(results: &Results, time: &TimeSpent) -> Markup {
    let finding = stack_finding(results, time);
    let draw = |size: Size| draw_stack(time, size);
    Figure {
        id: "time",
        finding: &finding,
        description: match overlap(time) {
            true => {
                "One bar for each level: seconds of all threads of a session, which are more than those that \
                 pass where threads wait at the same time, split into wait categories. Mean of the good runs."
            }
            false => {
                "One bar for each level: seconds of the measured part, split into wait categories per \
                 session, the rest running. Mean of the good runs."
            }
        },
        draw: &draw,
        legend: legend(time),
        table: stack_table(results, time),
    }
    .render()
}

fn legend(time: &TimeSpent) -> Markup {
    html! {
        p class="legend" {
            @for (index, category) in time.categories.iter().enumerate() {
                span class={ "key k" (index) } { (category) }
            }
            span class="key running" { "running or not accounted for" }
        }
    }
}

fn draw_stack(time: &TimeSpent, size: Size) -> Svg {
    let row = if size.narrow { 34.0 } else { 40.0 };
    let plot = Plot {
        left: room_for(
            time.levels.iter().map(|level| &*level.level),
            if size.narrow {
                (40.0, size.width * 0.36)
            } else {
                (60.0, 200.0)
            },
        ),
        right: size.width - if size.narrow { 12.0 } else { 64.0 },
        top: 8.0,
        bottom: 8.0 + row * to_f64(time.levels.len() as u64),
    };
    let mut svg = Svg::new(size.width, plot.bottom + 42.0);
    let total = LevelTime::of_threads_s;
    let longest = time.levels.iter().map(total).fold(0.0, f64::max);
    let x = Scale::new((0.0, longest * 1.02), (plot.left, plot.right));
    let wanted = if size.narrow { 4 } else { 8 };
    plot.across_axis(&mut svg, &x, wanted, true, unit(time));
    for (index, level) in time.levels.iter().enumerate() {
        let top = plot.top + row * to_f64(index as u64) + 5.0;
        let bottom = top + row - 10.0;
        let middle = f64::midpoint(top, bottom) + 4.0;
        let name = short(&level.level, plot.left);
        svg.text("level", Anchor::End, plot.left - 10.0, middle, &name);
        draw_parts(&mut svg, &x, (top, bottom), level, &time.categories);
        if !size.narrow {
            let end = x.px(total(level)) + 8.0;
            svg.text(
                "value",
                Anchor::Start,
                end,
                middle,
                &format!("{} s", figure(total(level))),
            );
        }
    }
    svg
}

/// One bar: the categories one after the other, then the rest.
fn draw_parts(
    svg: &mut Svg,
    x: &Scale,
    (top, bottom): (f64, f64),
    level: &LevelTime,
    categories: &[String],
) {
    let mut from = 0.0;
    let parts = level.waited_s.iter().zip(categories).enumerate();
    for (kind, (seconds, category)) in parts.filter(|(_, (seconds, _))| **seconds > 0.0) {
        let tip = format!(
            "{category} at {}: {} s per session",
            level.level,
            figure(*seconds)
        );
        let class = format!("bar k{kind}");
        svg.rect(
            &class,
            (x.px(from), top),
            (x.px(from + seconds), bottom),
            &tip,
        );
        from += seconds;
    }
    let tip = format!(
        "running or not accounted for: {} s",
        figure(level.running_s)
    );
    svg.rect(
        "bar running",
        (x.px(from), top),
        (x.px(from + level.running_s), bottom),
        &tip,
    );
}

fn stack_table(results: &Results, time: &TimeSpent) -> Markup {
    html! {
        table {
            caption { "Seconds per session, mean of the good runs" }
            thead { tr {
                th scope="col" { (results.experiment.factor.plural) }
                th scope="col" { "elapsed" }
                @if overlap(time) { th scope="col" { "of all threads" } }
                @for category in &time.categories { th scope="col" { (category) } }
                th scope="col" { "running or not accounted for" }
            } }
            tbody { @for level in &time.levels { tr {
                th scope="row" { (level.level) }
                td { (figure(level.elapsed_s)) }
                @if overlap(time) { td { (figure(level.of_threads_s())) } }
                @for seconds in &level.waited_s { td { (figure(*seconds)) } }
                td { (figure(level.running_s)) }
            } } }
        }
    }
}

/// Change of each part against the baseline.
struct Change<'a> {
    level: &'a str,
    /// Categories, then running, then all.
    by_row: Vec<f64>,
}

fn change_list<'a>(results: &Results, time: &'a TimeSpent) -> Vec<Change<'a>> {
    let Some(base) = results.baseline().and_then(|level| time.at(&level.level)) else {
        return Vec::new();
    };
    let others = time.levels.iter().filter(|level| level.level != base.level);
    others
        .map(|level| {
            let waits = level
                .waited_s
                .iter()
                .zip(&base.waited_s)
                .map(|(now, then)| now - then);
            let mut by_row: Vec<f64> = waits.collect();
            by_row.push(level.running_s - base.running_s);
            by_row.push(level.elapsed_s - base.elapsed_s);
            Change {
                level: &level.level,
                by_row,
            }
        })
        .collect()
}

/// From this ratio of the smaller change to the larger one on, time moved from running to a wait, or back.
const MOVED: f64 = 0.5;

fn more_or_less(seconds: f64) -> &'static str {
    if seconds < 0.0 { "less" } else { "more" }
}

fn changes_finding(results: &Results, time: &TimeSpent, changes: &[Change<'_>]) -> String {
    const WHAT: &str = "Seconds per session against the baseline";
    if !results.answer.badge.has_verdict() {
        return format!("{WHAT}; these runs give no verdict");
    }
    let Some(level) = results.explained_level() else {
        return WHAT.to_owned();
    };
    let name = level_name(&results.experiment, &level.level);
    let delta = results.plan.delta;
    if !level.is_shown_to_differ(delta) {
        let mut others = results.levels.iter();
        return match others.any(|level| level.is_shown_to_differ(delta)) {
            true => format!("{WHAT}: {name} is not shown to differ from it"),
            false => format!("{WHAT}: no difference is shown"),
        };
    }
    // Means over different blocks differ by the effects of the blocks, too.
    let blocks =
        |key: &str| -> BTreeSet<u32> { results.good_runs(key).map(|run| run.block).collect() };
    let baseline = results.baseline().map(|level| blocks(&level.level));
    if baseline != Some(blocks(&level.level)) {
        return format!("{WHAT}: {name} did not run in the same blocks");
    }
    let change = changes.iter().find(|change| change.level == level.level);
    let sentence = change.and_then(|change| change_sentence(results, time, change));
    sentence.unwrap_or_else(|| WHAT.to_owned())
}

/// The part of the time that changed most between the baseline and a level.
fn change_sentence(results: &Results, time: &TimeSpent, change: &Change<'_>) -> Option<String> {
    let name = level_name(&results.experiment, change.level);
    let waits = time.categories.iter().zip(&change.by_row).enumerate();
    let heaviest = waits.max_by(|a, b| a.1.1.abs().total_cmp(&b.1.1.abs()));
    let (part, (category, seconds)) = heaviest?;
    let running = change.by_row.get(time.categories.len()).copied();
    let running = running.unwrap_or(0.0);
    // In runs of a fixed time a session runs less because it waits more.
    let (smaller, larger) = (
        running.abs().min(seconds.abs()),
        running.abs().max(seconds.abs()),
    );
    let is_for_the_wait = running * seconds < 0.0 && smaller >= MOVED * larger;
    if running.abs() > seconds.abs() && !is_for_the_wait {
        return Some(format!(
            "At {name} a session spends {} s {} running, or in what is not accounted for, than at the \
             baseline; no wait changes as much",
            figure(running.abs()),
            more_or_less(running)
        ));
    }
    let base = results.baseline().and_then(|level| time.at(&level.level));
    let elapsed = base.map_or(0.0, |time| time.elapsed_s);
    let share = |time: &LevelTime| {
        time.waited_s.get(part).copied().unwrap_or(0.0) / time.of_threads_s().max(f64::MIN_POSITIVE)
    };
    let shares = (base.map(share), time.at(change.level).map(share));
    if seconds.abs() < 0.01 * elapsed {
        return Some(format!(
            "Waits barely change between the baseline and {name}: they explain no difference"
        ));
    }
    if let (Some(before), Some(after)) = shares
        && (after - before).abs() < BARELY
        && !is_for_the_wait
    {
        let (before, after) = (percent(before), percent(after));
        return Some(format!(
            "{category} keeps its share of the time ({before}, at {name} {after}): \
             it changed with everything else and explains no difference"
        ));
    }
    let (way, amount) = (more_or_less(*seconds), figure(seconds.abs()));
    if [THINKING, NOT_DUE].contains(&category.as_str()) {
        return Some(format!(
            "At {name} a session rests {amount} s {way} than at the baseline: {category}"
        ));
    }
    let runs = match is_for_the_wait {
        true => format!(
            ", and spends {} s {} running, or in what is not accounted for",
            figure(running.abs()),
            more_or_less(running)
        ),
        false => String::new(),
    };
    Some(format!(
        "At {name} a session waits {amount} s {way} in {category} than at the baseline{runs}"
    ))
}

fn changes(results: &Results, time: &TimeSpent) -> Markup {
    let list = change_list(results, time);
    if list.is_empty() {
        return html! {};
    }
    let finding = changes_finding(results, time, &list);
    let rows: Vec<&str> = time
        .categories
        .iter()
        .map(String::as_str)
        .chain(["running or not accounted for", "elapsed time"])
        .collect();
    let drawn = visible_rows(&list, &rows);
    let hidden = rows.len() - drawn.len();
    let draw = |size: Size| draw_changes(&list, &drawn, size);
    Figure {
        id: "time-change",
        finding: &finding,
        description: "For each category one thin bar a level: seconds per session more (right) or less \
            (left) than at the baseline. Descriptive: no interval is claimed for a wait.",
        draw: &draw,
        legend: html! { p class="legend" {
            @for (index, change) in list.iter().enumerate() {
                span class={ "key s" (index.min(7)) } { (level_name(&results.experiment, change.level)) }
            }
            @if hidden > 0 { span { (hidden) " parts that hardly change are in the table only" } }
        } },
        table: html! { table {
            caption { "Seconds per session against the baseline" }
            thead { tr {
                th scope="col" { "part" }
                @for change in &list { th scope="col" { (change.level) } }
            } }
            tbody { @for (index, row) in rows.iter().enumerate() { tr {
                th scope="row" { (row) }
                @for change in &list {
                    td { (signed(change.by_row.get(index).copied().unwrap_or(0.0))) }
                }
            } } }
        } },
    }
    .render()
}

/// The rows to draw, with their index in [`Change::by_row`]: a bar of less than one or two pixels is left
/// out.
fn visible_rows<'a>(list: &[Change<'_>], rows: &[&'a str]) -> Vec<(usize, &'a str)> {
    let size = |row: usize| {
        let values = list.iter().filter_map(|change| change.by_row.get(row));
        values.fold(0.0, |most: f64, value| most.max(value.abs()))
    };
    let largest = (0..rows.len()).map(size).fold(0.0, f64::max);
    let always = rows.len().saturating_sub(2);
    let rows = rows.iter().copied().enumerate();
    rows.filter(|(row, _)| *row >= always || size(*row) >= 0.03 * largest)
        .collect()
}

fn signed(seconds: f64) -> String {
    let sign = if seconds > 0.0 { "+" } else { "" };
    format!("{sign}{}", figure(seconds).replace('-', "\u{2212}"))
}

fn draw_changes(list: &[Change<'_>], rows: &[(usize, &str)], size: Size) -> Svg {
    let bar = if size.narrow { 5.0 } else { 6.0 };
    let head = if size.narrow { 18.0 } else { 0.0 };
    let pitch = head + (bar + 1.0) * to_f64(list.len() as u64) + 12.0;
    let plot = Plot {
        left: if size.narrow { 10.0 } else { 150.0 },
        right: size.width - 14.0,
        top: 6.0,
        bottom: 6.0 + pitch * to_f64(rows.len() as u64),
    };
    let mut svg = Svg::new(size.width, plot.bottom + 42.0);
    let values = list
        .iter()
        .flat_map(|change| change.by_row.iter().copied())
        .chain([0.0]);
    let x = Scale::new(
        crate::report::svg::range(values, 0.05),
        (plot.left, plot.right),
    );
    let wanted = if size.narrow { 4 } else { 8 };
    plot.across_axis(
        &mut svg,
        &x,
        wanted,
        true,
        "seconds per session against the baseline",
    );
    for (index, (part, row)) in rows.iter().enumerate() {
        let top = plot.top + pitch * to_f64(index as u64);
        if index > 0 {
            svg.line(
                "grid",
                (if size.narrow { plot.left } else { 0.0 }, top),
                (plot.right, top),
            );
        }
        if size.narrow {
            let name = short(row, plot.right - plot.left);
            svg.text("row", Anchor::Start, plot.left, top + 15.0, &name);
        } else {
            svg.text(
                "row",
                Anchor::End,
                plot.left - 12.0,
                top + pitch / 2.0 + 4.0,
                &short(row, plot.left),
            );
        }
        for (place, change) in list.iter().enumerate() {
            let seconds = change.by_row.get(*part).copied().unwrap_or(0.0);
            let y = top + head + 6.0 + (bar + 1.0) * to_f64(place as u64);
            let class = format!("bar s{}", place.min(7));
            let tip = format!("{row} at {}: {} s", change.level, signed(seconds));
            svg.rect(&class, (x.px(0.0), y), (x.px(seconds), y + bar), &tip);
        }
    }
    svg
}

/// The list of wait types.
fn types_table(results: &Results, time: &TimeSpent) -> Markup {
    let levels: Vec<&str> = time
        .levels
        .iter()
        .map(|level| level.level.as_str())
        .collect();
    html! {
        h3 { "Top waits" }
        div class="scroll" tabindex="0" { table {
            caption {
                span {
                    "Share of all waiting by " (results.experiment.factor.plural)
                    "; idle waits and background work left out"
                }
            }
            thead { tr {
                th scope="col" { "wait type" } th scope="col" class="words" { "category" }
                @for level in &levels { th scope="col" { (level) } }
                th scope="col" { "mean wait, all levels" } th scope="col" { "signal part" }
            } }
            tbody { @for row in time.types.iter().take(12) { tr {
                th scope="row" class="code" { (row.wait_type) }
                td class="words" { (row.category) }
                @for share in &row.share { td { (percent(*share)) } }
                td { (latency(row.mean_us)) }
                td { (percent(row.signal_share)) }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LevelResult;

    /// The sentence about a level beside which the baseline runs 2 s of 3 s and waits the rest in two ways.
    fn sentence(log_s: f64, latch_s: f64, running_s: f64) -> String {
        let at = |level: &str, waited_s: [f64; 2], running_s: f64| LevelTime {
            level: level.to_owned(),
            elapsed_s: waited_s.iter().sum::<f64>() + running_s,
            waited_s: waited_s.to_vec(),
            running_s,
            ..LevelTime::default()
        };
        let time = TimeSpent {
            categories: ["Tran Log IO", "Buffer Latch"].map(str::to_owned).to_vec(),
            levels: vec![
                at("1", [0.6, 0.4], 2.0),
                at("4", [log_s, latch_s], running_s),
            ],
            ..TimeSpent::default()
        };
        let results = Results {
            levels: vec![
                LevelResult {
                    level: "1".to_owned(),
                    is_baseline: true,
                    ..LevelResult::default()
                },
                LevelResult::default(),
            ],
            ..Results::default()
        };
        let list = change_list(&results, &time);
        change_sentence(&results, &time, &list[0]).unwrap()
    }

    #[test]
    fn a_session_that_runs_less_because_it_waits_more_is_described_by_the_wait() {
        assert_eq!(
            sentence(0.765, 0.401, 1.834),
            "At 4 a session waits 0.165 s more in Tran Log IO than at the baseline, and spends 0.166 s less \
             running, or in what is not accounted for"
        );
        // Nothing makes up for what it runs less.
        assert_eq!(
            sentence(0.58, 0.4, 1.5),
            "At 4 a session spends 0.500 s less running, or in what is not accounted for, than at the \
             baseline; no wait changes as much"
        );
        assert_eq!(
            sentence(1.2, 0.4, 1.95),
            "At 4 a session waits 0.600 s more in Tran Log IO than at the baseline"
        );
    }

    #[test]
    fn shares_of_threads_that_overlap_are_of_the_time_of_all_threads() {
        let level = LevelTime {
            level: "1".to_owned(),
            elapsed_s: 10.0,
            waited_s: vec![9.0, 7.0],
            ..LevelTime::default()
        };
        let mut time = TimeSpent {
            categories: vec!["Backup IO".to_owned(), "Memory".to_owned()],
            levels: vec![level],
            ..TimeSpent::default()
        };
        let results = Results::default();
        assert_eq!(
            stack_finding(&results, &time),
            "At 1 56.2% of the time of all threads of a session is waiting in Backup IO"
        );
        let page = stack(&results, &time).into_string();
        assert!(page.contains("seconds of all threads per session"));
        assert!(page.contains("of all threads</th>"));
        // The bar ends at the time that its parts add up to.
        assert!(page.contains(">16.0 s<"), "{page}");
        time.levels[0].waited_s = vec![4.0, 3.0];
        time.levels[0].running_s = 3.0;
        let found = stack_finding(&results, &time);
        assert_eq!(
            found,
            "At 1 a session spends 40.0% of its time waiting in Backup IO"
        );
        assert!(!stack(&results, &time).into_string().contains("all threads"));
    }
}
