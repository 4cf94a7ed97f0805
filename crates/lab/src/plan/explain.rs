//! What a plan would do, how long it would take, and which effect it could detect; nothing is run.

use super::{PROMISED_POWER, Plan, PlannedRun};
use crate::report::words::{bytes, change, round_percent};
use crate::results::Control;
use furrow_stats::power::Design;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// What one run is expected to need.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forecast {
    /// Seconds from the first step of the set-up to the end of the tear-down.
    pub seconds: f64,
    /// Bytes of the run itself at its peak, by volume. Runs follow each other, so the peak of the plan is the
    /// largest.
    pub peak_bytes: Vec<(PathBuf, u64)>,
    /// Bytes of what is made once before the first run and is there in all of them, by volume.
    pub shared_bytes: Vec<(PathBuf, u64)>,
    /// Bytes written in all.
    pub bytes_written: u64,
    /// The statements or steps that would be run.
    pub steps: Vec<String>,
}

impl Forecast {
    /// What the run needs once everything that all runs share is there.
    #[must_use]
    pub fn once_prepared(self) -> Forecast {
        Forecast {
            shared_bytes: Vec::new(),
            ..self
        }
    }

    /// Everything that is there at the peak of the run.
    fn all_bytes(&self) -> impl Iterator<Item = &(PathBuf, u64)> {
        self.shared_bytes.iter().chain(&self.peak_bytes)
    }
}

/// Where the seconds of a forecast come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeModel {
    /// A rate that was assumed.
    Assumed,
    /// A pilot run of the baseline took `took` seconds and its forecast was `forecast` seconds; every
    /// forecast is scaled alike.
    Pilot {
        /// Seconds the pilot took.
        took: f64,
        /// Seconds that were forecast for it.
        forecast: f64,
    },
}

impl TimeModel {
    /// A forecast's seconds, corrected by the pilot.
    pub fn seconds(self, forecast: f64) -> f64 {
        match self {
            TimeModel::Pilot {
                took,
                forecast: expected,
            } if expected > 0.0 => forecast * took / expected,
            _ => forecast,
        }
    }

    fn words(self) -> &'static str {
        match self {
            TimeModel::Assumed => "times are assumed; the first block corrects them",
            TimeModel::Pilot { .. } => "times are scaled by a pilot run of the baseline",
        }
    }
}

/// Minutes as a reader likes them: `40 s`, `12 min`, `3 h 20 min`.
pub fn minutes(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..=99 => format!("{whole} s"),
        100..=5_999 => format!("{} min", (whole + 30) / 60),
        _ => {
            let minutes = (whole + 30) / 60;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

/// The plan in full: question, design, power, every run with bytes and minutes.
pub fn explain(
    plan: &Plan,
    time: TimeModel,
    assumed_cv: f64,
    forecast: impl Fn(&PlannedRun) -> Forecast,
) -> String {
    let runs = plan.likely_runs();
    let forecasts: Vec<Forecast> = runs.iter().map(&forecast).collect();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = head(plan, assumed_cv, &mut text);
    let _ = table(plan, time, &runs, &forecasts, &mut text);
    let _ = totals(time, &forecasts, &mut text);
    let _ = steps(&runs, &forecasts, &mut text);
    text.push_str("Nothing has been run.\n");
    text
}

fn head(plan: &Plan, cv: f64, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}: {}", plan.name, plan.question)?;
    writeln!(text, "plan {}, seed {}", &plan.hash()[..12], plan.seed)?;
    for factor in &plan.factors {
        let keys: Vec<&str> = factor
            .levels
            .iter()
            .map(|level| level.key.as_str())
            .collect();
        writeln!(text, "  {}: {}", factor.name, keys.join(", "))?;
    }
    let control = if plan.aa_control {
        ", the baseline twice in each (A and A')"
    } else {
        ""
    };
    writeln!(
        text,
        "  baseline {}; {} randomised blocks{control}",
        plan.baseline.join(" / "),
        plan.blocks
    )?;
    writeln!(
        text,
        "  {}; margin {}",
        plan.reset.words(),
        round_percent(plan.delta)
    )?;
    for (name, value) in &plan.settings {
        writeln!(text, "  {name} = {value}")?;
    }
    writeln!(text, "  {}", power_sentence(plan, cv))?;
    if plan.blocks < 5 {
        writeln!(
            text,
            "  {} blocks are a screening: good for a look, not for a verdict",
            plan.blocks
        )?;
    }
    Ok(())
}

/// The smallest effect this plan can see at an assumed noise, in a sentence for before the first run.
pub fn power_sentence(plan: &Plan, cv: f64) -> String {
    if plan.search {
        return format!(
            "a search: at most {} runs where a full factorial would take {}; \
             rounds after the first leave out what will hardly be the best",
            plan.most_runs(),
            plan.full_factorial()
        );
    }
    let design = Design {
        levels: plan.cells().len(),
        baseline_runs: if plan.aa_control { 2 } else { 1 },
    };
    let effect = design.detectable(cv, plan.blocks as usize, PROMISED_POWER);
    format!(
        "would find a difference of {} or {} 9 times in 10 when runs vary by {}%",
        change(effect.exp()),
        change((-effect).exp()),
        trim(100.0 * cv)
    )
}

fn trim(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn table(
    plan: &Plan,
    time: TimeModel,
    runs: &[PlannedRun],
    forecasts: &[Forecast],
    text: &mut String,
) -> std::fmt::Result {
    writeln!(
        text,
        "\n  run  block  place  level              peak      written   time"
    )?;
    for (run, forecast) in runs.iter().zip(forecasts) {
        let label = match run.control {
            Control::APrime => " (A')",
            Control::A => " (A)",
            Control::None if run.block == 0 => " (warm-up)",
            Control::None => "",
        };
        let level = format!("{}{label}", run.cell.key(&plan.factors));
        let peak: u64 = forecast.all_bytes().map(|(_, bytes)| bytes).sum();
        writeln!(
            text,
            "  {:>3}  {:>5}  {:>5}  {level:<15} {:>10} {:>11}   {}",
            run.id,
            run.block,
            run.position,
            bytes(peak),
            bytes(forecast.bytes_written),
            minutes(time.seconds(forecast.seconds)),
        )?;
    }
    Ok(())
}

fn totals(time: TimeModel, forecasts: &[Forecast], text: &mut String) -> std::fmt::Result {
    let seconds: f64 = forecasts.iter().map(|f| time.seconds(f.seconds)).sum();
    let written: u64 = forecasts.iter().map(|f| f.bytes_written).sum();
    writeln!(
        text,
        "\n  {} runs, about {} ({}), {} written",
        forecasts.len(),
        minutes(seconds),
        time.words(),
        bytes(written)
    )?;
    for (volume, peak) in peak_by_volume(forecasts) {
        writeln!(text, "  {}: {} at the peak", volume.display(), bytes(peak))?;
    }
    Ok(())
}

fn steps(runs: &[PlannedRun], forecasts: &[Forecast], text: &mut String) -> std::fmt::Result {
    let Some((run, forecast)) = runs
        .iter()
        .zip(forecasts)
        .find(|(_, f)| !f.steps.is_empty())
    else {
        return Ok(());
    };
    writeln!(text, "\n  Steps of a run (here run {}):", run.id)?;
    for step in &forecast.steps {
        writeln!(text, "    {step}")?;
    }
    Ok(())
}

/// The largest need of any run, by volume, with what all runs share.
pub(crate) fn peak_by_volume(forecasts: &[Forecast]) -> BTreeMap<PathBuf, u64> {
    let mut peaks = BTreeMap::new();
    for forecast in forecasts {
        let mut of_run: BTreeMap<&PathBuf, u64> = BTreeMap::new();
        for (volume, bytes) in forecast.all_bytes() {
            *of_run.entry(volume).or_insert(0) += bytes;
        }
        for (volume, bytes) in of_run {
            let peak = peaks.entry(volume.clone()).or_insert(0);
            *peak = bytes.max(*peak);
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::super::tests::datafiles;
    use super::*;

    fn forecast(run: &PlannedRun) -> Forecast {
        Forecast {
            seconds: 20.0 + run.cell.count("files").unwrap() as f64,
            peak_bytes: vec![
                (PathBuf::from("/a"), 1 << 30),
                (PathBuf::from("/a"), 1 << 20),
            ],
            shared_bytes: Vec::new(),
            bytes_written: 3 << 30,
            steps: vec!["CREATE DATABASE lab_x".to_string()],
        }
    }

    #[test]
    fn every_run_is_shown_with_bytes_and_minutes() {
        let text = explain(&datafiles(), TimeModel::Assumed, 0.02, forecast);
        assert!(text.contains("36 runs, about 15 min"), "{text}");
        assert!(text.contains("/a: 1.00 GB at the peak"), "{text}");
        assert!(
            text.contains("(A')") && text.contains("CREATE DATABASE lab_x"),
            "{text}"
        );
        assert!(text.contains("would find a difference of +"), "{text}");
        assert!(text.ends_with("Nothing has been run.\n"));
        assert_eq!(
            text.lines().filter(|line| line.contains("3.00 GB")).count(),
            36
        );
        assert!(!text.contains("screening"));
        let quick = Plan {
            blocks: 3,
            ..datafiles()
        };
        assert!(explain(&quick, TimeModel::Assumed, 0.02, forecast).contains("screening"));
    }

    #[test]
    fn a_pilot_scales_all_times() {
        let pilot = TimeModel::Pilot {
            took: 42.0,
            forecast: 21.0,
        };
        assert_eq!(pilot.seconds(30.0), 60.0);
        assert_eq!(
            TimeModel::Pilot {
                took: 1.0,
                forecast: 0.0
            }
            .seconds(30.0),
            30.0
        );
        let text = explain(&datafiles(), pilot, 0.02, forecast);
        assert!(text.contains("36 runs, about 30 min"), "{text}");
    }

    #[test]
    fn times_read_well() {
        let shown: Vec<String> = [0.4, 99.0, 100.0, 720.0, 12_000.0].map(minutes).to_vec();
        assert_eq!(shown, ["0 s", "99 s", "2 min", "12 min", "3 h 20 min"]);
    }
}
