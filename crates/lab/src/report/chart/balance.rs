//! How evenly the data files shared the writes: one cell a file, one row a level.

use crate::report::derive::{Balance, FileShare, Spread};
use crate::report::svg::{Anchor, Figure, Size, Svg, room_for, short};
use crate::report::words::{bytes, change, figure, latency, level_name, round_u64, to_f64};
use crate::results::Results;
use maud::{Markup, Render, html};

/// Files may differ by this much and still be called even.
const EVEN: f64 = 1.01;

/// The heat map, or a sentence when files were not counted.
pub(in crate::report) fn section(results: &Results) -> Markup {
    let balances = Balance::of(results);
    if balances.is_empty() {
        return html! { p class="absent" { "Traffic of single files was not measured." } };
    }
    let finding = finding(results, &balances);
    let draw = |size: Size| draw(&balances, size);
    Figure {
        id: "balance",
        finding: &finding,
        description: "One row a level, one cell a data file in the order of file ids: megabytes a second \
            written. Neutral cells hold an even share; blue ones less, orange ones more.",
        draw: &draw,
        legend: html! { p class="legend" {
            span class="key h0" { "20% less than an even share, or lower" }
            span class="key h3" { "even" }
            span class="key h6" { "20% more, or higher" }
            span { "numbers: MB/s written" }
        } },
        table: table(results, &balances),
    }
    .render()
}

fn finding(results: &Results, balances: &[Balance]) -> String {
    let one_file = || "No level has more than one data file to balance".to_owned();
    let Some(worst) = Balance::worst(balances) else {
        return one_file();
    };
    match worst.spread {
        Spread::OneFile => one_file(),
        Spread::NothingWritten => "Nothing was written to the data files".to_owned(),
        Spread::Idle(idle) => format!(
            "At {}, {idle} of {} data files got nothing",
            level_name(&results.experiment, &worst.level),
            worst.files.len()
        ),
        Spread::Ratio(spread) if spread <= EVEN => {
            let within = match (spread - 1.0) * 100.0 {
                p if p < 0.1 => "less than 0.1%".to_owned(),
                p => format!("{p:.1}%"),
            };
            format!(
                "Proportional fill kept the files even: most and least written differ by {within}"
            )
        }
        Spread::Ratio(spread) => format!(
            "At {} the most written file got {} times the least written one's bytes",
            level_name(&results.experiment, &worst.level),
            figure(spread)
        ),
    }
}

/// The class of a cell by its share: 0 is 20% below even, 3 is even, 6 is 20% above.
fn shade(of_even: f64) -> u64 {
    round_u64(((of_even - 1.0) / 0.2).clamp(-1.0, 1.0) * 3.0 + 3.0)
}

fn draw(balances: &[Balance], size: Size) -> Svg {
    let row = if size.narrow { 26.0 } else { 34.0 };
    let bounds = match size.narrow {
        true => (30.0, size.width * 0.36),
        false => (60.0, 200.0),
    };
    let left = room_for(balances.iter().map(|balance| &*balance.level), bounds);
    let log_width = if size.narrow { 44.0 } else { 74.0 };
    let gap = 14.0;
    let right = size.width - log_width - gap;
    let most = balances
        .iter()
        .map(|balance| balance.files.len())
        .max()
        .unwrap_or(1)
        .max(1);
    let cell = ((right - left) / to_f64(most as u64)).min(if size.narrow { 60.0 } else { 96.0 });
    let log_left = left + cell * to_f64(most as u64) + gap;
    let top = 22.0;
    let bottom = top + row * to_f64(balances.len() as u64);
    let mut svg = Svg::new(size.width, bottom + 24.0);
    let log_middle = log_left + log_width / 2.0;
    svg.text("tick", Anchor::Middle, log_middle, 14.0, "log");
    for (index, balance) in balances.iter().enumerate() {
        let y = top + row * to_f64(index as u64);
        svg.text(
            "level",
            Anchor::End,
            left - 8.0,
            y + row / 2.0 + 4.0,
            &short(&balance.level, left),
        );
        for (place, file) in balance.files.iter().enumerate() {
            let x = left + cell * to_f64(place as u64);
            let class = format!("cell h{}", shade(file.of_even));
            svg.rect(
                &class,
                (x + 1.0, y + 1.0),
                (x + cell - 1.0, y + row - 1.0),
                &tip(file, balance.is_shared()),
            );
            let text = figure_short(file.mb_per_s);
            if cell > 8.0 * to_f64(text.len() as u64) + 4.0 {
                let (x, y) = (x + cell / 2.0, y + row / 2.0 + 4.0);
                svg.text("cell-text", Anchor::Middle, x, y, &text);
            }
        }
        if let Some(log) = &balance.log {
            let to = (log_left + log_width, y + row - 1.0);
            svg.rect("cell log", (log_left, y + 1.0), to, &tip(log, false));
            let text = figure_short(log.mb_per_s);
            svg.text(
                "cell-text",
                Anchor::Middle,
                log_middle,
                y + row / 2.0 + 4.0,
                &text,
            );
        }
    }
    svg.text(
        "axis-title",
        Anchor::Start,
        left,
        bottom + 18.0,
        "data files by file id",
    );
    svg
}

fn figure_short(value: f64) -> String {
    if value >= 9.95 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn tip(file: &FileShare, is_shared: bool) -> String {
    let share = match is_shared {
        true => format!(", {} against an even share", change(file.of_even)),
        false => String::new(),
    };
    format!(
        "file {} {} on {}: {} MB/s{share}, mean write {}",
        file.file_id,
        file.name,
        if file.volume.is_empty() {
            "its volume"
        } else {
            &file.volume
        },
        figure(file.mb_per_s),
        file.write_us.map_or("not timed".to_owned(), latency)
    )
}

fn table(results: &Results, balances: &[Balance]) -> Markup {
    let files = || balances.iter().flat_map(|b| b.files.iter().chain(&b.log));
    let has_checkpoints = files().any(|file| file.checkpoint_bytes > 0.0);
    html! {
        table {
            caption {
                "An average run's traffic, file by file; mean times of one write and one read, where there \
                were enough for the milliseconds in which they are counted"
            }
            thead { tr {
                th scope="col" { (results.experiment.factor.plural) }
                th scope="col" { "file id" } th scope="col" { "name" } th scope="col" { "volume" }
                th scope="col" { "written" }
                @if has_checkpoints { th scope="col" { "by checkpoints" } }
                th scope="col" { "MB/s" } th scope="col" { "vs even share" }
                th scope="col" { "mean write" } th scope="col" { "mean read" }
            } }
            @for balance in balances {
                tbody {
                    @for file in &balance.files { (row(balance, file, (true, has_checkpoints))) }
                    @if let Some(log) = &balance.log { (row(balance, log, (false, has_checkpoints))) }
                }
            }
        }
    }
}

fn row(balance: &Balance, file: &FileShare, (is_data, has_checkpoints): (bool, bool)) -> Markup {
    html! {
        tr {
            th scope="row" { (balance.level) }
            td { (file.file_id) } td class="code" { (file.name) } td class="code" { (file.volume) }
            td { (bytes(round_u64(file.bytes_written))) }
            @if has_checkpoints { td { (bytes(round_u64(file.checkpoint_bytes))) } }
            td { (figure(file.mb_per_s)) }
            td {
                @if !is_data { "log" }
                @else if balance.is_shared() { (change(file.of_even)) }
                @else { "-" }
            }
            td { (file.write_us.map_or("-".to_owned(), latency)) }
            td { (file.read_us.map_or("-".to_owned(), latency)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{FileIo, LevelResult, Run};

    type Level<'a> = (&'a str, &'a [u64]);

    /// Results with the bytes that each data file of a level got.
    fn with(levels: &[Level<'_>]) -> Results {
        let mut results = Results::default();
        for (level, written) in levels {
            let file = |(place, bytes): (usize, &u64)| FileIo {
                file_id: place as u32 + 1,
                bytes_written: *bytes,
                ..FileIo::default()
            };
            results.levels.push(LevelResult {
                level: (*level).to_owned(),
                ..LevelResult::default()
            });
            results.runs.push(Run {
                level: (*level).to_owned(),
                response: Some(1.0),
                files: written.iter().enumerate().map(file).collect(),
                ..Run::default()
            });
        }
        results
    }

    /// The spreads of the levels, the line on the terminal and the title of the chart.
    fn said(levels: &[Level<'_>]) -> (Vec<Spread>, String, String) {
        let results = with(levels);
        let balances = Balance::of(&results);
        let spreads = balances.iter().map(|balance| balance.spread).collect();
        let chart = finding(&results, &balances);
        (spreads, crate::terminal::balance(&results), chart)
    }

    #[test]
    fn files_of_which_none_was_written_are_not_one_file() {
        // A scan writes nothing.
        let (spreads, line, chart) = said(&[("1", &[0]), ("2", &[0, 0])]);
        assert_eq!(spreads, [Spread::OneFile, Spread::NothingWritten]);
        assert_eq!(line, "balance: nothing was written to the data files");
        assert_eq!(chart, "Nothing was written to the data files");
        let (_, line, chart) = said(&[("1", &[100])]);
        assert_eq!(line, "balance: one data file, nothing to balance");
        assert_eq!(chart, "No level has more than one data file to balance");
    }

    #[test]
    fn what_was_not_counted_is_no_column_and_a_file_alone_has_no_share() {
        let mut results = with(&[("1", &[8192]), ("2", &[0, 0])]);
        let shown = |results: &Results| table(results, &Balance::of(results)).into_string();
        let page = shown(&results);
        assert!(
            !page.contains("by checkpoints") && !page.contains("0.0%"),
            "{page}"
        );
        if let Some(file) = results
            .runs
            .first_mut()
            .and_then(|run| run.files.first_mut())
        {
            // Two writes of less than the millisecond in which their time is counted.
            (file.writes, file.write_stall_us, file.checkpoint_bytes) = (2, 0, 4096);
        }
        let page = shown(&results);
        assert!(
            page.contains("by checkpoints") && page.contains("4.00 KB"),
            "{page}"
        );
        assert!(!page.contains("0 us"), "{page}");
    }

    #[test]
    fn a_file_that_got_nothing_is_the_worst_balance() {
        let (spreads, line, chart) = said(&[("2", &[100, 0]), ("4", &[100, 20, 100, 100])]);
        assert_eq!(spreads, [Spread::Idle(1), Spread::Ratio(5.0)]);
        assert_eq!(line, "balance: at 2, 1 of 2 data files got nothing");
        assert_eq!(chart, "At 2, 1 of 2 data files got nothing");
        let (_, line, chart) = said(&[("1", &[100]), ("2", &[100, 100])]);
        assert_eq!(line, "balance: files were written evenly at every level");
        let begin = "Proportional fill kept the files even";
        assert!(chart.starts_with(begin), "{chart}");
    }
}
