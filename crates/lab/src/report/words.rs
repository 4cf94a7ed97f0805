//! Numbers as people write them. One place, so that page and terminal never disagree.

use crate::results::{
    Better, Control, Drift, Experiment, Fill, LevelResult, NOT_DUE, Response, Results, Run,
    THINKING, Verdict,
};

/// Three significant digits at least, thousands separated, no exponent: `12.3`, `1,234`, `0.0123`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    let places = match size {
        s if s == 0.0 || s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s if s >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{size:.places$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        "-"
    } else {
        ""
    };
    format!("{sign}{}{rest}", thousands(whole))
}

/// A count, thousands separated.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

fn thousands(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A fraction as percent: `5.1%`.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent.abs() >= 99.95 {
        format!("{percent:.0}%")
    } else {
        format!("{percent:.1}%")
    }
}

/// A fraction as percent without needless decimals, for margins and probabilities: `2%`, `2.5%`. A value that
/// would be rounded to nothing has two significant digits: `0.013%`.
pub fn round_percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent.abs() < 1.0 && percent.is_finite() {
        return format!("{}%", significant(percent, 2));
    }
    let text = format!("{percent:.1}");
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// A fraction as percent that reads back as the fraction, for the command line: without the digits that are
/// there only because no binary number is it.
pub fn typed_percent(fraction: f64) -> String {
    format!("{}%", significant(fraction * 100.0, 15))
}

/// The number with so many significant digits.
fn significant(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

/// From this ratio on a change is a factor.
const FACTOR: f64 = 10.0;

/// A ratio as a signed change: `-5.1%`, `+3.0%`, `0.0%`, with a real minus sign. A large one is a factor,
/// with a real multiplication sign: `x12.2`; none is `-100%`, as nothing positive falls by that much.
pub fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if ratio >= FACTOR {
        return format!("\u{d7}{}", figure(ratio));
    }
    if ratio > 0.0 && percent <= -99.95 {
        return "<\u{2212}99.9%".to_owned();
    }
    let text = if percent.abs() >= 99.95 {
        format!("{:.0}", percent.abs())
    } else {
        format!("{:.1}", percent.abs())
    };
    let sign = match percent {
        _ if text == "0.0" => "",
        p if p < 0.0 => "\u{2212}",
        _ => "+",
    };
    format!("{sign}{text}%")
}

/// An interval of ratios as signed changes: `-6.3 to -3.9%`.
pub fn change_range(low: f64, high: f64) -> String {
    let (low, high) = (change(low), change(high));
    match (low.strip_suffix('%'), high.ends_with('%')) {
        (Some(bare), true) => format!("{bare} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// Bytes, in units of 1,024 as SQL Server counts them.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KB", "MB", "GB", "TB", "PB"];
    let mut size = to_f64(value);
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let number = if unit == 0 {
        count(value)
    } else {
        figure(size)
    };
    format!("{number} {}", UNITS.get(unit).copied().unwrap_or("bytes"))
}

/// A span of time: `0.42 s`, `42 s`, `9 min 12 s`, `3 h 05 min`.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = round_u64(seconds);
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes} min {rest:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    }
}

/// A latency: `340 us`, `1.20 ms`, `3.40 s`.
pub fn latency(microseconds: f64) -> String {
    match microseconds {
        us if us < 999.5 => format!("{} us", figure(us)),
        us if us < 999_500.0 => format!("{} ms", figure(us / 1e3)),
        us => format!("{} s", figure(us / 1e6)),
    }
}

/// "1 data file", "4 data files"; a level that is a name, or that combines several factors, is printed as it
/// is.
pub fn level_name(experiment: &Experiment, level: &str) -> String {
    let factor = &experiment.factor;
    let noun = if level == "1" {
        &factor.singular
    } else {
        &factor.plural
    };
    if noun.is_empty() || level.parse::<f64>().is_err() {
        level.to_owned()
    } else {
        format!("{level} {noun}")
    }
}

/// The measured response, with its unit: "elapsed time (s)".
pub fn measure(response: &Response) -> String {
    let name = if response.name.is_empty() {
        "response"
    } else {
        &response.name
    };
    if response.unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({})", response.unit)
    }
}

/// A moment as people read it: `2026-11-21 20:45:00 UTC`; anything else as it is.
pub fn moment(text: &str) -> String {
    match (
        text.get(..10),
        text.get(10..11),
        text.get(11..19),
        text.ends_with('Z'),
    ) {
        (Some(day), Some("T"), Some(time), true) => format!("{day} {time} UTC"),
        _ => text.to_owned(),
    }
}

/// A drift as the change over an hour, or over all runs where they took less.
pub fn drift(drift: &Drift, experiment_s: f64) -> String {
    let hours = experiment_s / 3600.0;
    let (span, words) = if hours < 1.0 {
        (hours, format!("in {}", duration(experiment_s)))
    } else {
        (1.0, "an hour".to_owned())
    };
    let ratio = |per_hour: f64| (per_hour * span).exp();
    let range = change_range(ratio(drift.interval.low), ratio(drift.interval.high));
    format!("{} {words} ({range})", change(ratio(drift.per_hour)))
}

/// A probability without decimals; what isn't certain is never called so.
pub fn chance(probability: f64) -> String {
    match probability * 100.0 {
        p if p > 0.0 && p < 1.0 => "<1%".to_owned(),
        p if p > 99.0 && p < 100.0 => ">99%".to_owned(),
        p => format!("{p:.0}%"),
    }
}

/// A text quoted for a shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Whether a ratio lies on the good side of 1.
pub fn is_gain(better: Better, ratio: f64) -> bool {
    match better {
        Better::Lower => ratio < 1.0,
        Better::Higher => ratio > 1.0,
    }
}

/// The verdict of a level as the tables print it, in brackets where the badge takes it back.
pub(crate) fn verdict(results: &Results, level: &LevelResult) -> String {
    match level.verdict {
        Some(verdict) if results.answer.badge.has_verdict() => verdict.word().to_owned(),
        Some(verdict) => format!("({})", verdict.word()),
        None if level.interval.is_some() => "-".to_owned(),
        None if level.n > 0 => "not compared".to_owned(),
        None => "not measured".to_owned(),
    }
}

/// Whether a verdict has the colour of a gain, or that of a loss; none where the interval includes "no
/// difference", or where the badge takes the verdict back.
pub(crate) fn is_shown_gain(results: &Results, level: &LevelResult) -> Option<bool> {
    let interval = level.interval.filter(|interval| !interval.contains(1.0));
    let shown = interval.filter(|_| results.answer.badge.has_verdict());
    let gain = is_gain(results.experiment.response.better, level.ratio?);
    match (shown?, level.verdict?, gain) {
        (_, Verdict::Better, true) => Some(true),
        (_, Verdict::Worse, false) => Some(false),
        _ => None,
    }
}

/// The runs that a description is of: `4 data files`, or `1 data file, A`.
pub(crate) fn fill_name(experiment: &Experiment, fill: &Fill) -> String {
    labelled(experiment, &fill.level, fill.control)
}

/// What a run is of: `4 data files`, or `1 data file, A` of a baseline that runs under two labels.
pub(crate) fn run_name(experiment: &Experiment, run: &Run) -> String {
    labelled(experiment, &run.level, run.control)
}

fn labelled(experiment: &Experiment, level: &str, control: Control) -> String {
    let label = match control {
        Control::None => "",
        Control::A => ", A",
        Control::APrime => ", A\u{2032}",
    };
    format!("{}{label}", level_name(experiment, level))
}

/// What filled the time of some runs: `Tran Log IO 71% (68 to 74% in 6 runs)`.
pub(crate) fn fill(fill: &Fill) -> String {
    let runs = match fill.runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let category = &fill.category;
    // More than the whole time is a matter of rounding.
    let is_sleep = [THINKING, NOT_DUE].contains(&category.as_str());
    let percent = |share: f64| format!("{:.0}", 100.0 * share.min(1.0));
    let range = match fill.runs {
        1 => runs,
        _ => format!("{} to {}% in {runs}", percent(fill.low), percent(fill.high)),
    };
    let name = match is_sleep {
        true => format!("nothing to do ({category})"),
        false => category.clone(),
    };
    format!("{name} {}% ({range})", percent(fill.share))
}

/// The nearest integer of a float that is not negative.
pub fn round_u64(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped; as saturates"
    )]
    let whole = value.max(0.0).round() as u64;
    whole
}

/// A count as a float, for arithmetic that ends on a chart.
pub fn to_f64(value: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "charts need 53 bits at most")]
    let float = value as f64;
    float
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Interval;

    #[test]
    fn what_filled_the_time_has_the_range_of_its_runs() {
        let said = |category: &str, low, share, high, runs| {
            fill(&Fill {
                category: category.to_owned(),
                share,
                low,
                high,
                runs,
                ..Fill::default()
            })
        };
        assert_eq!(
            said("Tran Log IO", 0.68, 0.71, 0.744, 6),
            "Tran Log IO 71% (68 to 74% in 6 runs)"
        );
        assert_eq!(
            said("Tran Log IO", 0.7, 0.7, 0.7, 1),
            "Tran Log IO 70% (1 run)"
        );
        assert_eq!(
            said(THINKING, 0.95, 0.97, 1.0001, 2),
            "nothing to do (keying and thinking) 97% (95 to 100% in 2 runs)"
        );
        let run = |control| Run {
            level: "1".to_owned(),
            control,
            ..Run::default()
        };
        let name = |control| run_name(&Experiment::default(), &run(control));
        // The two labels of a baseline differ.
        assert_eq!(name(Control::None), "1");
        assert_eq!(
            [name(Control::A), name(Control::APrime)],
            ["1, A", "1, A\u{2032}"]
        );
        let label = |control| Fill {
            level: "1".to_owned(),
            control,
            ..Fill::default()
        };
        let experiment = Experiment::default();
        assert_eq!(fill_name(&experiment, &label(Control::None)), "1");
        assert_eq!(
            fill_name(&experiment, &label(Control::APrime)),
            "1, A\u{2032}"
        );
    }

    #[test]
    fn numbers_read_well_at_every_size() {
        let cases = [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (0.5, "0.500"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (1234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-5.25, "-5.25"),
            (-0.00001, "0.0000"),
            (f64::NAN, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text, "{value}");
        }
        assert_eq!(change(0.949), "\u{2212}5.1%");
        assert_eq!(change(1.0001), "0.0%");
        assert_eq!(change(2.5), "+150%");
        assert_eq!(change_range(0.937, 0.961), "\u{2212}6.3 to \u{2212}3.9%");
        assert_eq!(round_percent(0.02), "2%");
        assert_eq!(round_percent(0.025), "2.5%");
        assert_eq!(round_percent(0.0), "0%");
        let tiny = 0.0001 / 100.0;
        assert_eq!(round_percent(tiny), "0.0001%");
        assert_eq!(round_percent(0.000_127), "0.013%");
        assert_eq!(typed_percent(tiny), "0.0001%");
        assert_eq!(typed_percent(0.07), "7%");
        assert_eq!(typed_percent(0.012_345_678), "1.2345678%");
        assert_eq!(bytes(1 << 30), "1.00 GB");
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(duration(0.42), "0.4 s");
        assert_eq!(duration(552.0), "9 min 12 s");
        assert_eq!(duration(11_100.0), "3 h 05 min");
        let slope = |low, per_hour, high| Drift {
            per_hour,
            interval: Interval {
                low,
                high,
                confidence: 0.95,
            },
        };
        assert_eq!(
            drift(&slope(-0.02, 0.01, 0.04), 7200.0),
            "+1.0% an hour (\u{2212}2.0 to +4.1%)"
        );
        // One minute is too short to extrapolate to an hour.
        assert_eq!(
            drift(&slope(-300.0, -30.0, 240.0), 60.0),
            "\u{2212}39.3% in 1 min 00 s (\u{2212}99.3% to \u{d7}54.6)"
        );
        assert_eq!(change_range(0.00001, 0.5), "<\u{2212}99.9 to \u{2212}50.0%");
        assert_eq!(change(12.19), "\u{d7}12.2");
        assert_eq!(latency(340.0), "340 us");
        assert_eq!(latency(1200.0), "1.20 ms");
        assert_eq!(latency(3_400_000.0), "3.40 s");
        assert_eq!(
            moment("2026-11-21T20:45:00.123456Z"),
            "2026-11-21 20:45:00 UTC"
        );
        assert_eq!(moment("yesterday"), "yesterday");
        assert_eq!(
            [0.0, 0.004, 0.5, 0.996, 1.0].map(chance),
            ["0%", "<1%", "50%", ">99%", "100%"]
        );
    }
}
