//! What is seen while an experiment runs.
//!
//! Three modes: one line that is written over (terminal), one line a run (logs), one JSON object an event
//! (tools). No verdict and no mean of a level is shown before the end: who peeks, stops when it suits.
//!
//! The caller has the clock: every event carries the seconds since the start, and the estimate of what is
//! left.

use super::plain;
use crate::report::words::{duration, figure, level_name};
use crate::results::{Experiment, Run};
use serde::Serialize;
use std::io::Write;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One line, written over. For a terminal.
    Line,
    /// One line a run. For logs.
    Plain,
    /// One JSON object an event, each on its own line. For tools.
    Json,
    /// Nothing.
    Quiet,
}

impl Mode {
    /// [`Mode::Line`] where standard error is a terminal that can be steered, else [`Mode::Plain`].
    #[must_use]
    pub fn of_stderr() -> Mode {
        use std::io::IsTerminal;
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stderr().is_terminal() && !dumb {
            Mode::Line
        } else {
            Mode::Plain
        }
    }
}

/// Where an experiment stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Block under way, from 1.
    pub block: u32,
    /// Blocks in all.
    pub blocks: u32,
    /// Run under way, from 1.
    pub run: u32,
    /// Runs in all.
    pub runs: u32,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Seconds left, by the medians of the cells that ran; `None` before anything is known.
    pub left_s: Option<f64>,
    /// Seconds left at worst.
    pub left_worst_s: Option<f64>,
}

/// Something within a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Moved {
    /// Key of the level.
    pub level: String,
    /// What is done: `setup`, `measure`, `teardown`.
    pub step: String,
    /// Part done, a fraction; `None` where it can't be known.
    pub share: Option<f64>,
    /// Rows (or whatever the experiment counts) a second, of the last second.
    pub rate: Option<f64>,
    /// Unit of the rate: `rows/s`.
    pub rate_unit: String,
    /// Bytes free on the tightest volume, in words, where it is watched.
    pub free: Option<String>,
}

/// One thing to show.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The run under way moved on; in plain mode not shown.
    Moved(&'a Moved),
    /// A run ended, well or badly.
    Ended(&'a Run),
    /// A sentence worth a line: a retry, a resumed journal, a guard's warning.
    Note(&'a str),
    /// The experiment ended.
    Finished,
}

/// Writes progress to a sink; a sink that fails is left alone, the experiment goes on.
#[derive(Debug)]
pub struct Progress<W: Write> {
    sink: W,
    mode: Mode,
    width: usize,
    experiment: Experiment,
    /// Characters of the line on screen.
    on_screen: usize,
}

/// An event as a tool reads it.
#[derive(Serialize)]
struct JsonEvent<'a> {
    event: &'a str,
    #[serde(flatten)]
    counts: &'a Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<&'a Moved>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_ended: Option<JsonRun<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// The part of a run that a tool needs at once; the rest is in the journal.
#[derive(Serialize)]
struct JsonRun<'a> {
    id: u32,
    level: &'a str,
    status: &'a str,
    reason: Option<&'a str>,
    response: Option<f64>,
    seconds: Option<f64>,
    rows_per_s: Option<f64>,
}

impl<W: Write> Progress<W> {
    /// Progress of `experiment` to `sink`, lines no wider than `width`.
    pub fn new(sink: W, mode: Mode, width: usize, experiment: Experiment) -> Progress<W> {
        Progress {
            sink,
            mode,
            width: width.max(20),
            experiment,
            on_screen: 0,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, counts: &Counts, event: &RunEvent<'_>) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Json => self.show_json(counts, event),
            Mode::Plain => self.show_plain(counts, event),
            Mode::Line => self.show_line(counts, event),
        }
        // A closed terminal or a full log must not stop a night's work.
        let _ = self.sink.flush();
    }

    /// The sink, for what comes after.
    pub fn into_sink(mut self) -> W {
        if self.mode == Mode::Line {
            self.clear();
        }
        self.sink
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.sink, "{text}");
    }

    fn clear(&mut self) {
        if self.on_screen > 0 {
            let _ = write!(self.sink, "\r{}\r", " ".repeat(self.on_screen));
            self.on_screen = 0;
        }
    }

    fn show_json(&mut self, counts: &Counts, event: &RunEvent<'_>) {
        let mut json = JsonEvent {
            event: "",
            counts,
            moved: None,
            run_ended: None,
            text: None,
        };
        match event {
            RunEvent::Moved(moved) => (json.event, json.moved) = ("moved", Some(*moved)),
            RunEvent::Note(text) => (json.event, json.text) = ("note", Some(*text)),
            RunEvent::Finished => json.event = "finished",
            RunEvent::Ended(run) => {
                json.event = "run-end";
                json.run_ended = Some(JsonRun {
                    id: run.id,
                    level: &run.level,
                    status: run.status.word(),
                    reason: run.status.reason(),
                    response: run.response,
                    seconds: run.seconds,
                    rows_per_s: run.rows_per_s,
                });
            }
        }
        if let Ok(text) = serde_json::to_string(&json) {
            self.line(&text);
        }
    }

    fn show_plain(&mut self, counts: &Counts, event: &RunEvent<'_>) {
        match event {
            RunEvent::Moved(_) => {}
            RunEvent::Ended(run) => {
                let text = self.ended(counts, run);
                self.line(&text);
            }
            RunEvent::Note(text) => self.line(&plain(text)),
            RunEvent::Finished => {
                let runs = counts.runs;
                self.line(&format!(
                    "finished: {runs} runs in {}",
                    duration(counts.elapsed_s)
                ));
            }
        }
    }

    fn show_line(&mut self, counts: &Counts, event: &RunEvent<'_>) {
        match event {
            RunEvent::Moved(moved) => {
                let mut text = self.moving(counts, moved);
                // Text is ASCII by now; a line that wraps could not be written over.
                text.truncate(self.width - 1);
                let pad = " ".repeat(self.on_screen.saturating_sub(text.len()));
                self.on_screen = text.len();
                let _ = write!(self.sink, "\r{text}{pad}");
            }
            // Runs that end well leave no line behind; what went wrong does.
            RunEvent::Ended(run) if run.status.reason().is_none() => {}
            _ => {
                self.clear();
                self.show_plain(counts, event);
            }
        }
    }

    fn moving(&self, counts: &Counts, moved: &Moved) -> String {
        let mut parts = vec![
            format!(
                "block {}/{} run {}/{}",
                counts.block, counts.blocks, counts.run, counts.runs
            ),
            format!(
                "{}: {}",
                level_name(&self.experiment, &moved.level),
                moved.step
            ),
        ];
        if let Some(last) = parts.last_mut() {
            if let Some(share) = moved.share {
                last.push_str(&format!(" {:.0}%", share.clamp(0.0, 1.0) * 100.0));
            }
            if let Some(rate) = moved.rate {
                last.push_str(&format!(" at {} {}", figure(rate), moved.rate_unit));
            }
        }
        parts.push(left(counts));
        parts.extend(moved.free.as_ref().map(|free| format!("{free} free")));
        plain(&parts.join(" | "))
    }

    fn ended(&self, counts: &Counts, run: &Run) -> String {
        let unit = &self.experiment.response.unit;
        let measured = run.response.map_or_else(
            || {
                format!(
                    "{}: {}",
                    run.status.word(),
                    run.status.reason().unwrap_or("no reason given")
                )
            },
            |response| {
                let rate = run
                    .rows_per_s
                    .map(|rate| format!(", {} rows/s", figure(rate)));
                let again = run
                    .status
                    .reason()
                    .map(|why| format!(", second attempt ({why})"));
                let (rate, again) = (rate.unwrap_or_default(), again.unwrap_or_default());
                format!("{} {unit}{rate}{again}", figure(response))
            },
        );
        plain(&format!(
            "block {}/{} run {}/{} {}: {measured}; {}",
            counts.block,
            counts.blocks,
            counts.run,
            counts.runs,
            level_name(&self.experiment, &run.level),
            left(counts)
        ))
    }
}

/// The time left, with the worst case where it is worth saying.
fn left(counts: &Counts) -> String {
    match (counts.left_s, counts.left_worst_s) {
        (None, _) => "time left not yet known".to_owned(),
        (Some(left), Some(worst)) if worst > left * 1.1 => {
            format!("{} left, {} at worst", duration(left), duration(worst))
        }
        (Some(left), _) => format!("{} left", duration(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Factor, Response, RunStatus};

    fn experiment() -> Experiment {
        Experiment {
            factor: Factor {
                singular: "data file".into(),
                plural: "data files".into(),
                ..Factor::default()
            },
            response: Response {
                unit: "s".into(),
                ..Response::default()
            },
            ..Experiment::default()
        }
    }

    fn counts() -> Counts {
        Counts {
            block: 3,
            blocks: 6,
            run: 14,
            runs: 36,
            elapsed_s: 150.0,
            left_s: Some(231.0),
            left_worst_s: Some(300.0),
        }
    }

    fn moved() -> Moved {
        Moved {
            level: "4".into(),
            step: "measure".into(),
            share: Some(0.62),
            rate: Some(31_912.4),
            rate_unit: "rows/s".into(),
            free: Some("41 GB".into()),
        }
    }

    fn shown(mode: Mode, width: usize, events: &[RunEvent<'_>]) -> String {
        let mut progress = Progress::new(Vec::new(), mode, width, experiment());
        for event in events {
            progress.show(&counts(), event);
        }
        String::from_utf8(progress.into_sink()).unwrap()
    }

    fn run(status: RunStatus) -> Run {
        let response = status.is_good().then_some(8.214);
        Run {
            level: "4".into(),
            response,
            status,
            rows_per_s: Some(31_912.0),
            ..Run::default()
        }
    }

    #[test]
    fn the_line_is_written_over_and_never_wraps() {
        let text = shown(Mode::Line, 200, &[RunEvent::Moved(&moved())]);
        assert!(text.starts_with(
            "\rblock 3/6 run 14/36 | 4 data files: measure 62% at 31,912 rows/s | \
             3 min 51 s left, 5 min 00 s at worst | 41 GB free"
        ));
        let narrow = shown(Mode::Line, 40, &[RunEvent::Moved(&moved())]);
        assert!(narrow.split('\r').all(|line| line.len() < 40), "{narrow:?}");
        let failed = run(RunStatus::Failed("disk full".into()));
        let text = shown(
            Mode::Line,
            200,
            &[RunEvent::Moved(&moved()), RunEvent::Ended(&failed)],
        );
        assert!(
            text.ends_with(
                "4 data files: failed: disk full; 3 min 51 s left, 5 min 00 s at worst\n"
            )
        );
    }

    #[test]
    fn logs_get_one_line_a_run_and_nothing_that_steers_a_terminal() {
        let good = run(RunStatus::Done);
        let bad = run(RunStatus::Failed("bad\n\u{1b}[2Jname".into()));
        let events = [
            RunEvent::Moved(&moved()),
            RunEvent::Ended(&good),
            RunEvent::Ended(&bad),
            RunEvent::Finished,
        ];
        let text = shown(Mode::Plain, 80, &events);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "block 3/6 run 14/36 4 data files: 8.21 s, 31,912 rows/s; \
                 3 min 51 s left, 5 min 00 s at worst",
                "block 3/6 run 14/36 4 data files: failed: bad ?[2Jname; \
                 3 min 51 s left, 5 min 00 s at worst",
                "finished: 36 runs in 2 min 30 s",
            ]
        );
    }

    #[test]
    fn tools_get_one_object_an_event() {
        let good = run(RunStatus::Done);
        let events = [
            RunEvent::Moved(&moved()),
            RunEvent::Ended(&good),
            RunEvent::Note("x"),
            RunEvent::Finished,
        ];
        let text = shown(Mode::Json, 80, &events);
        let values: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let kinds: Vec<&str> = values
            .iter()
            .map(|value| value["event"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["moved", "run-end", "note", "finished"]);
        assert_eq!(values[1]["run_ended"]["response"], 8.214);
        assert_eq!(values[0]["run"], 14);
        assert_eq!(values[0]["moved"]["share"], 0.62);
    }
}
