//! The output while an experiment runs.
//!
//! Three modes: one line that is written over (terminal), one line a run (logs), one JSON object an event
//! (tools). No verdict, no mean of a level, not even a run's response is shown before the end: a reader who
//! sees them stops the experiment at a convenient moment.
//!
//! The runner reports its progress ([`crate::progress::Progress`]); the experiment may add the progress of
//! its load ([`Live`]). A sink that fails is not written to again: a closed terminal must not stop a night's
//! work.

use super::plain;
use crate::progress::{Phase, Progress};
use crate::report::words::{duration, figure, level_name};
use crate::results::{Control, Experiment};
use serde::Serialize;
use std::io::{IsTerminal, Write};

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
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stderr().is_terminal() && !dumb {
            Mode::Line
        } else {
            Mode::Plain
        }
    }
}

/// How far the load of the run under way has come.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Live {
    /// Part done, a fraction; `None` where it can't be known.
    pub share: Option<f64>,
    /// Rows (or whatever the experiment counts) a second, of late.
    pub rate: Option<f64>,
    /// Unit of the rate: `rows/s`.
    pub rate_unit: String,
    /// Bytes free on the tightest volume, where it is watched.
    pub free_bytes: Option<u64>,
}

/// Writes progress to a sink.
#[derive(Debug)]
pub struct ProgressView<W: Write> {
    sink: W,
    mode: Mode,
    width: usize,
    experiment: Experiment,
    last: Option<Progress>,
    /// Characters of the line on screen.
    on_screen: usize,
}

/// An event as a tool reads it.
#[derive(Default, Serialize)]
#[serde(default)]
struct JsonEvent<'a> {
    event: &'a str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    place: Option<JsonPlace<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    live: Option<&'a Live>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// The progress of the experiment.
#[derive(Serialize)]
struct JsonPlace<'a> {
    block: u32,
    blocks: u32,
    run: u32,
    runs: u32,
    settled: u32,
    attempt: u32,
    level: &'a str,
    elapsed_s: f64,
    left_s: f64,
    worst_left_s: f64,
    assumed: bool,
}

impl<'a> JsonPlace<'a> {
    fn of(progress: &'a Progress) -> JsonPlace<'a> {
        JsonPlace {
            block: progress.block,
            blocks: progress.blocks,
            run: progress.run,
            runs: progress.runs,
            settled: progress.settled,
            attempt: progress.attempt,
            level: &progress.level,
            elapsed_s: progress.elapsed_s,
            left_s: progress.left_s,
            worst_left_s: progress.worst_left_s,
            assumed: progress.assumed,
        }
    }
}

impl<W: Write> ProgressView<W> {
    /// A view on `experiment`, written to `sink` in lines no wider than `width`.
    pub fn new(sink: W, mode: Mode, width: usize, experiment: Experiment) -> ProgressView<W> {
        ProgressView {
            sink,
            mode,
            width: width.max(20),
            experiment,
            last: None,
            on_screen: 0,
        }
    }

    /// The runner moved on: what its callback is for.
    pub fn step(&mut self, progress: &Progress) {
        match (self.mode, &progress.phase) {
            (Mode::Quiet, _) => {}
            (Mode::Json, _) => self.json_step(progress),
            (_, Phase::End { took_s, failed }) => {
                // On a terminal only what went wrong leaves a line behind.
                if self.mode == Mode::Plain || failed.is_some() {
                    let text = self.ended(progress, *took_s, failed.as_deref());
                    self.line(&text);
                }
            }
            (Mode::Line, _) => self.over(&self.moving(progress, &Live::default())),
            (Mode::Plain, _) => {}
        }
        self.last = Some(progress.clone());
        let _ = self.sink.flush();
    }

    /// The load of the run under way has come so far. Once a second is often enough.
    pub fn live(&mut self, live: &Live) {
        let place = self.last.as_ref().map(JsonPlace::of);
        match (self.mode, &self.last) {
            (Mode::Line, Some(progress)) => self.over(&self.moving(progress, live)),
            (Mode::Json, _) => {
                let text = to_json(&JsonEvent {
                    event: "live",
                    place,
                    live: Some(live),
                    ..JsonEvent::default()
                });
                self.line(&text);
            }
            _ => {}
        }
        let _ = self.sink.flush();
    }

    /// A sentence in a line of its own: a resumed journal, a guard's warning, a deadline.
    pub fn note(&mut self, text: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Json => {
                let event = JsonEvent {
                    event: "note",
                    text: Some(text),
                    ..JsonEvent::default()
                };
                self.line(&to_json(&event));
            }
            Mode::Line | Mode::Plain => self.line(&plain(text)),
        }
        let _ = self.sink.flush();
    }

    /// Clears the line and gives the sink back.
    pub fn finish(mut self) -> W {
        self.clear();
        let _ = self.sink.flush();
        self.sink
    }

    fn line(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(self.sink, "{text}");
    }

    fn clear(&mut self) {
        if self.on_screen > 0 {
            let _ = write!(self.sink, "\r{}\r", " ".repeat(self.on_screen));
            self.on_screen = 0;
        }
    }

    /// Writes over the line on screen.
    fn over(&mut self, text: &str) {
        let mut text = plain(text);
        // A line that wraps could not be written over.
        text.truncate(self.width - 1);
        let pad = " ".repeat(self.on_screen.saturating_sub(text.len()));
        self.on_screen = text.len();
        let _ = write!(self.sink, "\r{text}{pad}");
    }

    fn json_step(&mut self, progress: &Progress) {
        let mut event = JsonEvent {
            place: Some(JsonPlace::of(progress)),
            ..JsonEvent::default()
        };
        match &progress.phase {
            Phase::Begin => event.event = "run-begin",
            Phase::Step(state) => {
                event.event = "step";
                event.state = Some(state.word());
            }
            Phase::End { took_s, failed } => {
                event.event = "run-end";
                event.took_s = Some(*took_s);
                event.failed = failed.as_deref();
            }
        }
        let text = to_json(&event);
        self.line(&text);
    }

    fn moving(&self, progress: &Progress, live: &Live) -> String {
        let state = match &progress.phase {
            Phase::Begin => "begin",
            Phase::Step(state) => state.word(),
            Phase::End { .. } => "done",
        };
        let mut doing = format!("{}: {state}", self.level(progress));
        if let Some(share) = live.share {
            doing.push_str(&format!(" {:.0}%", share.clamp(0.0, 1.0) * 100.0));
        }
        if let Some(rate) = live.rate {
            doing.push_str(&format!(" at {} {}", figure(rate), live.rate_unit));
        }
        let mut parts = vec![place(progress), doing, left(progress)];
        let free = live.free_bytes.map(crate::report::words::bytes);
        parts.extend(free.map(|free| format!("{free} free")));
        parts.join(" | ")
    }

    fn ended(&self, progress: &Progress, took_s: f64, failed: Option<&str>) -> String {
        let how = match failed {
            Some(why) => format!("failed after {}: {why}", duration(took_s)),
            None => {
                let rate = progress
                    .rate
                    .map(|rate| format!(", {} rows/s", figure(rate)));
                format!("done in {}{}", duration(took_s), rate.unwrap_or_default())
            }
        };
        let (place, level, left) = (place(progress), self.level(progress), left(progress));
        plain(&format!("{place}, {level}: {how}; {left}"))
    }

    fn level(&self, progress: &Progress) -> String {
        let name = level_name(&self.experiment, &progress.level);
        let again = if progress.attempt > 1 {
            ", second attempt"
        } else {
            ""
        };
        let label = if progress.control == Control::APrime {
            " (A')"
        } else {
            ""
        };
        format!("{name}{label}{again}")
    }
}

fn to_json(event: &JsonEvent<'_>) -> String {
    serde_json::to_string(event).unwrap_or_else(|_| "{\"event\":\"unreadable\"}".to_owned())
}

fn place(progress: &Progress) -> String {
    let block = match progress.block {
        0 => "warm-up".to_owned(),
        block => format!("block {block}/{}", progress.blocks),
    };
    format!("{block} run {}/{}", progress.run, progress.runs)
}

/// The time left, with the worst case if that is much longer.
fn left(progress: &Progress) -> String {
    let left = duration(progress.left_s);
    if progress.assumed {
        format!("about {left} left, by an assumed rate")
    } else if progress.worst_left_s > progress.left_s * 1.1 {
        format!("{left} left, {} at worst", duration(progress.worst_left_s))
    } else {
        format!("{left} left")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::State;
    use crate::results::Factor;

    fn at(phase: Phase) -> Progress {
        Progress {
            block: 3,
            blocks: 6,
            run: 14,
            runs: 36,
            settled: 13,
            attempt: 1,
            level: "4".into(),
            control: Control::None,
            phase,
            rate: Some(31_912.0),
            elapsed_s: 150.0,
            left_s: 231.0,
            worst_left_s: 300.0,
            assumed: false,
        }
    }

    fn end(failed: Option<&str>) -> Progress {
        at(Phase::End {
            took_s: 10.81,
            failed: failed.map(str::to_owned),
        })
    }

    fn view(mode: Mode, width: usize) -> ProgressView<Vec<u8>> {
        let factor = Factor {
            singular: "data file".into(),
            plural: "data files".into(),
            option: "--files".into(),
        };
        ProgressView::new(
            Vec::new(),
            mode,
            width,
            Experiment {
                factor,
                ..Experiment::default()
            },
        )
    }

    fn live() -> Live {
        Live {
            share: Some(0.62),
            rate: Some(31_912.4),
            rate_unit: "rows/s".into(),
            free_bytes: Some(41 << 30),
        }
    }

    fn text(view: ProgressView<Vec<u8>>) -> String {
        String::from_utf8(view.finish()).unwrap()
    }

    #[test]
    fn the_line_is_written_over_and_never_wraps() {
        let mut wide = view(Mode::Line, 200);
        wide.step(&at(Phase::Step(State::Measure)));
        wide.live(&live());
        wide.step(&end(None));
        let text_wide = text(wide);
        let second = text_wide.split('\r').nth(2).unwrap();
        assert_eq!(
            second,
            "block 3/6 run 14/36 | 4 data files: measure 62% at 31,912 rows/s | \
             3 min 51 s left, 5 min 00 s at worst | 41.0 GB free"
        );
        assert!(
            !text_wide.contains('\n'),
            "a run that ends well leaves no line"
        );
        let mut narrow = view(Mode::Line, 40);
        narrow.step(&at(Phase::Step(State::Measure)));
        narrow.live(&live());
        assert!(text(narrow).split('\r').all(|line| line.len() < 40));
    }

    #[test]
    fn what_went_wrong_stays_on_the_terminal() {
        let mut view = view(Mode::Line, 200);
        view.step(&at(Phase::Begin));
        view.step(&end(Some("disk full")));
        view.note("stopped after three failures");
        let text = text(view);
        let lines: Vec<&str> = text
            .lines()
            .map(|line| line.rsplit('\r').next().unwrap())
            .collect();
        assert_eq!(
            lines,
            [
                "block 3/6 run 14/36, 4 data files: failed after 11 s: disk full; \
                 3 min 51 s left, 5 min 00 s at worst",
                "stopped after three failures",
            ]
        );
    }

    #[test]
    fn logs_get_one_line_a_run_and_nothing_that_steers_a_terminal() {
        let mut view = view(Mode::Plain, 80);
        view.step(&at(Phase::Step(State::Setup)));
        view.live(&live());
        view.step(&Progress {
            assumed: true,
            ..end(None)
        });
        view.step(&Progress {
            block: 0,
            attempt: 2,
            ..end(Some("bad\n\u{1b}[2Jname"))
        });
        let text = text(view);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "block 3/6 run 14/36, 4 data files: done in 11 s, 31,912 rows/s; \
                 about 3 min 51 s left, by an assumed rate",
                "warm-up run 14/36, 4 data files, second attempt: failed after 11 s: bad ?[2Jname; \
                 3 min 51 s left, 5 min 00 s at worst",
            ]
        );
    }

    #[test]
    fn tools_get_one_object_an_event() {
        let mut view = view(Mode::Json, 80);
        view.step(&at(Phase::Begin));
        view.step(&at(Phase::Step(State::Measure)));
        view.live(&live());
        view.step(&end(Some("x")));
        view.note("n");
        let text = text(view);
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let values: Vec<serde_json::Value> = text.lines().map(read).collect();
        let kinds: Vec<&str> = values
            .iter()
            .map(|value| value["event"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["run-begin", "step", "live", "run-end", "note"]);
        assert_eq!(values[1]["state"], "measure");
        assert_eq!(
            (&values[2]["share"], &values[2]["run"]),
            (&0.62.into(), &14.into())
        );
        assert_eq!(
            (&values[3]["failed"], &values[3]["left_s"]),
            (&"x".into(), &231.0.into())
        );
        assert_eq!(values[4]["text"], "n");
    }

    #[test]
    fn quiet_is_quiet() {
        let mut view = view(Mode::Quiet, 80);
        view.step(&end(Some("x")));
        view.live(&live());
        view.note("n");
        assert_eq!(text(view), "");
    }
}
