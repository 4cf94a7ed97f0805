//! The answer as plain text: thirty lines at most, for a terminal, a mail or a log.
//!
//! # Invariants
//! 1. The same sentence, figures and terms as on the page: both take them from `report::words`.
//! 2. No line is wider than requested; there are at most [`MAX_LINES`] of them.
//! 3. ASCII only, so that it survives every terminal and mail; colour only on request, and never as the only
//!    carrier of a meaning.
//! 4. Text from outside can't steer the terminal: control characters are shown as `?`.
//! 5. The path of the report is the exception to 2 and 3: it is printed whole.
//!
//! # What can fail
//! Nothing.

mod progress;
mod table;

pub use progress::{Live, Mode, ProgressView};

use crate::report::derive::{Balance, Spread, TimeSpent};
use crate::report::words::{
    self, change, change_range, figure, is_shown_gain, latency, level_name, percent, round_percent,
};
use crate::results::{Badge, Confidence, LevelResult, Results};
use std::io::IsTerminal;
use std::path::Path;
use table::{Align, Table};

/// The longest summary, in lines.
pub const MAX_LINES: usize = 30;

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
    lines.extend(levels(results, style));
    let tail = tail(results, style, out_dir);
    lines.extend(middle(
        results,
        style,
        MAX_LINES.saturating_sub(lines.len() + tail.len()),
    ));
    lines.extend(tail);
    lines.truncate(MAX_LINES);
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

/// Breaks a text at blanks; words longer than a line are cut.
fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let room = width.saturating_sub(indent.len()).max(8);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in plain(text).split_whitespace() {
        let mut word = word.to_owned();
        if word.len() > room {
            word.truncate(room - 3);
            word.push_str("...");
        }
        if !line.is_empty() && line.len() + 1 + word.len() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
        .into_iter()
        .map(|line| format!("{indent}{line}"))
        .collect()
}

/// At most `most` lines of a text; what is cut off ends in dots.
fn wrap_most(text: &str, width: usize, indent: &str, most: usize) -> Vec<String> {
    let mut lines = wrap(text, width, indent);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.truncate(width.saturating_sub(3));
            last.push_str("...");
        }
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
    let mut lines = wrap_most(&format!("{word}: {question}"), style.width, "", 2);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&word, &style.paint(code, &word), 1);
    }
    let sentence = wrap_most(&answer.sentence, style.width, "", 3);
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

/// The table of levels; columns that don't fit the width are left out from the right.
fn levels(results: &Results, style: Style) -> Vec<String> {
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
    // More levels than lines: the summary states that and does not grow.
    let most = 12;
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

/// Waits, balance, cause and noise: as many lines as fit.
fn middle(results: &Results, style: Style, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for warning in &results.warnings {
        lines.extend(wrap_most(
            &format!("warning: {warning}"),
            style.width,
            "",
            2,
        ));
    }
    lines.extend(waits(results, style));
    let note = match results.answer.badge.has_verdict() {
        true => "",
        false => " (no verdict)",
    };
    let own = results.sections.iter().map(|section| {
        let heading = section.heading.to_lowercase();
        format!("{heading}{note}: {}", section.finding)
    });
    let facts = [balance(results), cause(results), noise(results)];
    for fact in own.chain(facts) {
        lines.extend(wrap_most(&fact, style.width, "", 2));
    }
    if let Some(next) = &results.answer.next_step {
        lines.extend(command("next: ", next, style.width));
    }
    if !results.limits.is_empty() {
        let count = results.limits.len();
        let text = format!("{count} limits of this answer are named in report.html");
        lines.extend(wrap_most(&text, style.width, "", 1));
    }
    lines.truncate(room);
    lines
}

/// The five heaviest wait types at the baseline and at the recommended or last level.
fn waits(results: &Results, style: Style) -> Vec<String> {
    let time = TimeSpent::of(results);
    let place = |key: &str| time.levels.iter().position(|level| level.level == key);
    let base = results
        .baseline()
        .and_then(|level| place(&level.level))
        .unwrap_or(0);
    let chosen = results.answer.recommended.as_deref().and_then(place);
    let other = chosen
        .filter(|at| *at != base)
        .or_else(|| time.levels.len().checked_sub(1));
    let (Some(other), Some(from)) = (other, time.levels.get(base)) else {
        return vec!["Waits were not measured.".to_owned()];
    };
    let to = time.levels.get(other).unwrap_or(from);
    let column = |level: &str| plain(&level_name(&results.experiment, level));
    let mut table = Table::new(&[
        ("share of waiting", Align::Left),
        (&column(&from.level), Align::Right),
        (&column(&to.level), Align::Right),
        ("mean wait", Align::Right),
    ]);
    for kind in time.types.iter().take(5) {
        let share = |at: usize| kind.share.get(at).copied().map_or("-".to_owned(), percent);
        table.row(vec![
            plain(&kind.wait_type),
            share(base),
            share(other),
            latency(kind.mean_us),
        ]);
    }
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
                "balance: the most written file got {} times the least written one",
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
    let mut lines = wrap_most(&format!("{label}{text}"), width.saturating_sub(2), "", 3);
    let last = lines.len().saturating_sub(1);
    for line in lines.iter_mut().take(last) {
        line.push_str(" \\");
    }
    lines
}

fn tail(results: &Results, style: Style, out_dir: Option<&Path>) -> Vec<String> {
    let delta = round_percent(results.plan.delta);
    let seed = results.plan.seed;
    let blocks = (results.plan.blocks_done, results.plan.blocks);
    let plan = format!(
        "{} of {} blocks, margin {delta}, seed {seed}",
        blocks.0, blocks.1
    );
    let mut lines = wrap_most(&plan, style.width, "", 1);
    lines.extend(command("again: ", &results.reproduce, style.width));
    if let Some(dir) = out_dir {
        let path = dir.join("report.html").display().to_string();
        lines.push(format!("report: {}", path.replace(char::is_control, "?")));
        let also = "beside it: results.json, runs.csv, journal.jsonl";
        lines.extend(wrap_most(also, style.width, "", 1));
    }
    lines
}
