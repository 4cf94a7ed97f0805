//! The answer as plain text: forty lines, for a terminal, a mail or a log.
//!
//! # Invariants
//! 1. The same sentence, figures and terms as on the page: both take them from `report::words`.
//! 2. No line is wider than requested. There are at most [`MAX_LINES`] of them, where the answer and the
//!    commands leave as many. No sentence is cut: what has no place is left out whole, and counted.
//! 3. ASCII only, so that it survives every terminal and mail; colour only on request, and never as the only
//!    carrier of a meaning.
//! 4. Text from outside can't steer the terminal: control characters are shown as `?`.
//! 5. Words of commands are not broken, however long they are. The path of the report is the exception to 2
//!    and 3: it is printed whole.
//!
//! # What can fail
//! Nothing.

mod progress;
mod table;

pub use progress::{Live, Mode, ProgressView};

use crate::report::derive::{Balance, LevelTime, Spread, TimeSpent, TypeTime};
use crate::report::words::{
    self, change, change_range, figure, is_shown_gain, latency, level_name, percent, round_percent,
};
use crate::results::{Badge, Confidence, LevelResult, Results};
use std::io::IsTerminal;
use std::path::Path;
use table::{Align, Table};

/// The longest summary, in lines.
pub const MAX_LINES: usize = 40;
/// Levels that the table has, however few lines are left.
const LEAST_LEVELS: usize = 3;
/// Levels that the table has at most.
const MOST_LEVELS: usize = 12;

/// How text is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns a line may take.
    pub width: usize,
    /// Whether escape sequences for colour may be used.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            width: 100,
            color: false,
        }
    }
}

impl Style {
    /// The style for standard output: colour on a terminal unless `NO_COLOR` is set or `TERM` is `dumb`,
    /// width from `COLUMNS`, else 100.
    #[must_use]
    pub fn of_stdout() -> Style {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        let color = std::io::stdout().is_terminal() && set("NO_COLOR").is_none() && !dumb;
        let columns = set("COLUMNS").and_then(|text| text.to_str()?.parse::<usize>().ok());
        Style {
            width: columns.unwrap_or(100).clamp(40, 200),
            color,
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The text, with a newline at the end of every line. `out_dir` is where report.html and its companions lie.
#[must_use]
pub fn summary(results: &Results, style: Style, out_dir: Option<&Path>) -> String {
    let mut lines = head(results, style);
    lines.push(String::new());
    let tail = tail(results, style, out_dir);
    let room = |lines: &[String]| MAX_LINES.saturating_sub(lines.len() + tail.len());
    lines.extend(levels(results, style, room(&lines)));
    lines.extend(fitting(middle(results, style), room(&lines)));
    lines.extend(tail);
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Plain text of one line: known signs in ASCII, everything that could steer a terminal shown as `?`.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{2212}' => '-',
            '\u{2032}' => '\'',
            '\n' | '\t' => ' ',
            c if c.is_ascii() && !c.is_ascii_control() => c,
            _ => '?',
        })
        .collect()
}

/// Breaks a text at blanks, and words that are longer than a line where the line ends. Nothing is left out.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let room = width.max(8);
    let words = plain(text);
    let pieces = words.split_whitespace().flat_map(|word| {
        let ends = (room..).step_by(room).take_while(|end| *end < word.len());
        let starts = std::iter::once(0).chain(ends);
        starts.map(move |start| word.get(start..word.len().min(start + room)).unwrap_or(""))
    });
    joined(pieces, room)
}

/// Words as lines of at most so many characters; a longer word has a line of its own.
fn joined<'a>(words: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= room => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As many parts as fit into so many lines, each whole; the last line says how many were left out.
fn fitting(parts: Vec<Vec<String>>, room: usize) -> Vec<String> {
    let all: usize = parts.iter().map(Vec::len).sum();
    let room = if all > room {
        room.saturating_sub(1)
    } else {
        room
    };
    let mut lines = Vec::new();
    let mut left_out = 0;
    for part in parts {
        match lines.len() + part.len() <= room {
            true => lines.extend(part),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        lines.push(format!("... and {left_out} more in report.html"));
    }
    lines
}

fn head(results: &Results, style: Style) -> Vec<String> {
    let answer = &results.answer;
    let code = match answer.badge {
        Badge::Conclusive => "1;34",
        Badge::Aborted => "1;7",
        _ => "1;33",
    };
    let word = answer.badge.word().to_uppercase();
    let question = &results.experiment.question;
    let mut lines = wrap(&format!("{word}: {question}"), style.width);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&word, &style.paint(code, &word), 1);
    }
    let sentence = wrap(&answer.sentence, style.width);
    lines.extend(sentence.iter().map(|line| style.paint("1", line)));
    lines
}

/// The verdict with its colour; none where the interval holds "no difference", or the badge takes it back.
fn verdict(results: &Results, level: &LevelResult, style: Style) -> String {
    let word = words::verdict(results, level);
    match is_shown_gain(results, level) {
        Some(true) => style.paint("32", &word),
        Some(false) => style.paint("31", &word),
        None => word,
    }
}

/// The table of levels; columns that don't fit the width are left out from the right, and levels that don't
/// fit the lines from the end.
fn levels(results: &Results, style: Style, room: usize) -> Vec<String> {
    let or_dash = |value: Option<f64>, text: fn(f64) -> String| value.map_or("-".to_owned(), text);
    let factor = &results.experiment.factor.plural;
    let unit = &results.experiment.response.unit;
    let mut table = Table::new(&[
        (&plain(factor), Align::Right),
        ("runs", Align::Right),
        (&plain(&format!("mean {unit}")), Align::Right),
        ("change", Align::Right),
        ("verdict", Align::Left),
        ("interval", Align::Right),
        ("median rows/s", Align::Right),
        ("median p99", Align::Right),
        ("CV", Align::Right),
    ]);
    // One line for the heads of the columns, one for the number of levels that are left out.
    let most = room.saturating_sub(2).clamp(LEAST_LEVELS, MOST_LEVELS);
    for level in results.levels.iter().take(most) {
        let interval = level.interval.map(|i| change_range(i.low, i.high));
        let (change, word) = if level.is_baseline {
            ("baseline".to_owned(), String::new())
        } else {
            (or_dash(level.ratio, change), verdict(results, level, style))
        };
        let runs = match level.failed {
            0 => level.n.to_string(),
            failed => format!("{} of {}", level.n, level.n + failed),
        };
        table.row(vec![
            plain(&level.level),
            runs,
            or_dash(level.mean, figure),
            plain(&change),
            word,
            plain(&interval.unwrap_or_default()),
            or_dash(level.rows_per_s, figure),
            or_dash(level.p99_us, latency),
            or_dash(level.cv, percent),
        ]);
    }
    let mut lines = table.render(style.width);
    if results.levels.len() > most {
        lines.push(format!(
            "... and {} more levels in report.html",
            results.levels.len() - most
        ));
    }
    lines
}

/// Warnings, waits, sections, balance, cause and noise.
fn middle(results: &Results, style: Style) -> Vec<Vec<String>> {
    let whole = |text: String| wrap(&text, style.width);
    let warnings = results.warnings.iter();
    let warnings = warnings.map(|warning| whole(format!("warning: {warning}")));
    let note = match results.answer.badge.has_verdict() {
        true => "",
        false => " (no verdict)",
    };
    let own = results.sections.iter().map(|section| {
        let heading = section.heading.to_lowercase();
        format!("{heading}{note}: {}", section.finding)
    });
    let facts = [balance(results), cause(results), noise(results)];
    std::iter::once(vec![String::new()])
        .chain(warnings)
        .chain([waits(results, style)])
        .chain(own.chain(facts).map(whole))
        .collect()
}

/// The five heaviest wait types and all waits, at the baseline and at the recommended or last level.
fn waits(results: &Results, style: Style) -> Vec<String> {
    let time = TimeSpent::of(results);
    let place = |key: &str| time.levels.iter().position(|level| level.level == key);
    let Some(last) = time.levels.len().checked_sub(1) else {
        return vec!["Waits were not measured.".to_owned()];
    };
    let base = results.baseline().and_then(|level| place(&level.level));
    let base = base.unwrap_or(0);
    let chosen = results.answer.recommended.as_deref().and_then(place);
    let other = chosen.filter(|at| *at != base).unwrap_or(last);
    // One column where no other level has a run.
    let mut shown = vec![base, other];
    shown.dedup();
    let names: Vec<String> = shown
        .iter()
        .filter_map(|at| time.levels.get(*at))
        .map(|level| plain(&level_name(&results.experiment, &level.level)))
        .collect();
    let mut heads = vec![("share of the time", Align::Left)];
    heads.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    heads.push(("mean, all", Align::Right));
    let mut table = Table::new(&heads);
    let mut row = |name: &str, waited_s: &dyn Fn(usize) -> f64, mean: String| {
        let mut cells = vec![plain(name)];
        for at in &shown {
            let all_s = time.levels.get(*at).map_or(0.0, LevelTime::of_threads_s);
            cells.push(percent(waited_s(*at) / all_s.max(f64::MIN_POSITIVE)));
        }
        cells.push(mean);
        table.row(cells);
    };
    let waited_s = |kind: &TypeTime, at: usize| kind.waited_s.get(at).copied().unwrap_or(0.0);
    for kind in time.types.iter().take(5) {
        row(
            &kind.wait_type,
            &|at| waited_s(kind, at),
            latency(kind.mean_us),
        );
    }
    let all_waits = |at: usize| time.types.iter().map(|kind| waited_s(kind, at)).sum();
    row("all waits", &all_waits, String::new());
    table.render(style.width)
}

pub(crate) fn balance(results: &Results) -> String {
    let balances = Balance::of(results);
    let Some(worst) = Balance::worst(&balances) else {
        return "balance: traffic of files was not measured".to_owned();
    };
    match worst.spread {
        Spread::OneFile => "balance: one data file, nothing to balance".to_owned(),
        Spread::NothingWritten => "balance: nothing was written to the data files".to_owned(),
        Spread::Ratio(ratio) if ratio < 1.01 => {
            "balance: files were written evenly at every level".to_owned()
        }
        Spread::Ratio(ratio) => {
            format!(
                "balance: at {} the most written file got {} times the least written one",
                level_name(&results.experiment, &worst.level),
                figure(ratio)
            )
        }
        Spread::Idle(idle) => format!(
            "balance: at {}, {idle} of {} data files got nothing",
            level_name(&results.experiment, &worst.level),
            worst.files.len()
        ),
    }
}

fn cause(results: &Results) -> String {
    let why = &results.attribution;
    let reason = match (results.answer.badge.has_verdict(), &why.fills) {
        (false, _) => Some("these runs give no verdict"),
        (true, Some(_)) if !why.summary.is_empty() => Some(&*why.summary),
        (true, Some(_)) => Some("no level was compared with the baseline"),
        (true, None) => None,
    };
    if let Some(reason) = reason {
        let fills = why.fills.iter().flatten();
        let of_baseline = fills.filter(|fill| fill.level == results.plan.baseline);
        let times = of_baseline.map(|fill| {
            let name = words::fill_name(&results.experiment, fill);
            format!("; time at {name}: {}", words::fill(fill))
        });
        return format!(
            "why: not sought, because {reason}{}",
            times.collect::<String>()
        );
    }
    match why.confidence {
        Confidence::Unknown => "why: not known".to_owned(),
        sure if why.share.is_none() && why.summary.is_empty() => {
            format!("the time goes into: {} ({})", why.resource, sure.word())
        }
        sure => format!("why: {} ({})", why.resource, sure.word()),
    }
}

fn noise(results: &Results) -> String {
    let noise = &results.noise;
    let mut parts = Vec::new();
    parts.extend(
        noise
            .cv
            .map(|cv| format!("a run scatters by {}", percent(cv.value))),
    );
    parts.extend(noise.aa.as_ref().map(|aa| {
        let range = change_range(aa.interval.low, aa.interval.high);
        let word = if aa.passed {
            ""
        } else {
            ", which should hold 0"
        };
        format!("A/A {} ({range}{word})", change(aa.ratio))
    }));
    // What could be found follows from a model that a control has refused which did not pass.
    let model_holds = noise.aa.as_ref().is_none_or(|aa| aa.passed);
    parts.extend(noise.mde_after.filter(|_| model_holds).map(|mde| {
        let (up, down) = (change(1.0 + mde.effect), change(1.0 - mde.effect_down));
        format!("{:.0}% power for {up} or {down}", 100.0 * mde.power)
    }));
    parts.extend(match noise.outliers.len() {
        0 => None,
        1 => Some("1 strange run".to_owned()),
        count => Some(format!("{count} strange runs")),
    });
    if parts.is_empty() {
        return "noise: not calculated".to_owned();
    }
    format!("noise: {}", parts.join("; "))
}

/// A command that can be copied as it is printed, over several lines too.
fn command(label: &str, text: &str, width: usize) -> Vec<String> {
    let words = plain(&format!("{label}{text}"));
    let mut lines = joined(words.split_whitespace(), width.saturating_sub(2));
    let last = lines.len().saturating_sub(1);
    for line in lines.iter_mut().take(last) {
        line.push_str(" \\");
    }
    lines
}

/// What the summary always has: how to go on, the plan, the command, and where the files are.
fn tail(results: &Results, style: Style, out_dir: Option<&Path>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(next) = &results.answer.next_step {
        lines.extend(command("next: ", next, style.width));
    }
    if !results.limits.is_empty() {
        let count = results.limits.len();
        let text = format!("{count} limits of this answer are named in report.html");
        lines.extend(wrap(&text, style.width));
    }
    let delta = round_percent(results.plan.delta);
    let seed = results.plan.seed;
    let blocks = (results.plan.blocks_done, results.plan.blocks);
    let plan = format!(
        "{} of {} blocks, margin {delta}, seed {seed}",
        blocks.0, blocks.1
    );
    lines.extend(wrap(&plan, style.width));
    lines.extend(command("again: ", &results.reproduce, style.width));
    if let Some(dir) = out_dir {
        let path = dir.join("report.html").display().to_string();
        lines.push(format!("report: {}", path.replace(char::is_control, "?")));
        let also = "beside it: results.json, runs.csv, journal.jsonl";
        lines.extend(wrap(also, style.width));
    }
    lines
}
