//! The noise panel's drawings: baseline against itself, runs in order, residuals against a normal law.

use super::Plot;
use crate::report::MOST_ROWS;
use crate::report::derive::normal_quantile;
use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, range};
use crate::report::words::{
    self, change, change_range, figure, measure, percent, run_name, to_f64,
};
use crate::results::{AaCheck, Control, Fill, Residual, Results, Run};
use maud::{Markup, Render, html};
use std::collections::BTreeMap;

/// Baseline under its two labels, block by block.
pub(in crate::report) fn control(results: &Results) -> Markup {
    let mut pairs: BTreeMap<u32, (Option<f64>, Option<f64>)> = BTreeMap::new();
    for run in results.runs.iter().filter(|run| run.status.is_good()) {
        match run.control {
            Control::A => pairs.entry(run.block).or_default().0 = run.response,
            Control::APrime => pairs.entry(run.block).or_default().1 = run.response,
            Control::None => {}
        }
    }
    let pairs: Vec<(u32, f64, f64)> = pairs
        .into_iter()
        .filter_map(|(block, (a, b))| Some((block, a?, b?)))
        .collect();
    let Some(aa) = results.noise.aa.as_ref().filter(|_| !pairs.is_empty()) else {
        return html! { p class="absent" { "The baseline did not run twice in a block: no A/A control." } };
    };
    let finding = format!(
        "The baseline against itself: {} ({}), {}",
        change(aa.ratio),
        change_range(aa.interval.low, aa.interval.high),
        if aa.passed && too_wide(results, aa) {
            "an interval too wide to prove anything".to_owned()
        } else if aa.passed && (aa.interval.low > 1.0 || aa.interval.high < 1.0) {
            let margin = words::round_percent(results.plan.delta);
            format!("a difference, but less than the margin of {margin}")
        } else if aa.passed {
            "as it should be".to_owned()
        } else {
            "so something other than the factor acts here".to_owned()
        }
    );
    let draw = |size: Size| draw_control(results, &pairs, size);
    let drawn = Figure {
        id: "control",
        finding: &finding,
        description: "The baseline ran twice in each block under two labels. Both ends of a line are the \
            same thing measured twice; lines that all lean one way would be a warning.",
        draw: &draw,
        legend: html! {},
        table: html! { table {
            caption { "Baseline twice a block, " (measure(&results.experiment.response)) }
            thead { tr {
                th scope="col" { "block" } th scope="col" { "A" } th scope="col" { "A\u{2032}" }
                th scope="col" { "A\u{2032} against A" }
            } }
            tbody { @for (block, a, b) in &pairs { tr {
                th scope="row" { (block) } td { (figure(*a)) } td { (figure(*b)) }
                td { (change(b / a)) }
            } } }
        } },
    };
    html! {
        (drawn.render())
        @if !aa.passed { (beside(results)) }
    }
}

/// What filled the time of each of the two, and what other programs had beside them: where to look for what
/// made them differ. Neither is a difference between levels.
fn beside(results: &Results) -> Markup {
    let labels = [(Control::A, "A"), (Control::APrime, "A\u{2032}")];
    let fills = results.attribution.fills.as_deref().unwrap_or_default();
    let filled = labels.map(|(control, label)| {
        let fill = fills.iter().find(|fill| fill.control == control);
        let none = || {
            format!(
                "no one category filled {} of every run",
                words::round_percent(Fill::LEAST)
            )
        };
        format!("{label}: {}", fill.map_or_else(none, words::fill))
    });
    let most = |control: Control| {
        let runs = results.runs.iter();
        let runs = runs.filter(|run| run.control == control && run.status.is_good());
        let cpus = results.environment.cpu_count;
        let shares = runs.filter_map(|run| run.others_share(cpus?));
        shares.reduce(f64::max)
    };
    html! {
        @if fills.iter().any(|fill| fill.control != Control::None) {
            p { "What filled the time of each. " (filled.join("; ")) "." }
        }
        @if let (Some(a), Some(b)) = (most(Control::A), most(Control::APrime)) {
            p {
                "Other programs had at most " (percent(a)) " of the processors in a run of A, "
                (percent(b)) " in one of A\u{2032}."
            }
        }
    }
}

/// Whether the control proves nothing: a difference as large as the margin would fit into its interval on
/// both sides.
fn too_wide(results: &Results, aa: &AaCheck) -> bool {
    let reach = (aa.interval.high / aa.interval.low).sqrt() - 1.0;
    reach > results.plan.delta
}

fn draw_control(results: &Results, pairs: &[(u32, f64, f64)], size: Size) -> Svg {
    let height = 250.0;
    let mut svg = Svg::new(size.width, height);
    let plot = Plot {
        left: if size.narrow { 46.0 } else { 62.0 },
        right: size.width - 14.0,
        top: 26.0,
        bottom: height - 46.0,
    };
    let y = Scale::new(
        range(pairs.iter().flat_map(|(_, a, b)| [*a, *b]), 0.1),
        (plot.bottom, plot.top),
    );
    plot.value_axis(&mut svg, &y, super::plain_tick);
    plot.floor(&mut svg);
    let step = (plot.right - plot.left) / to_f64(pairs.len() as u64);
    let reach = (step * 0.22).min(26.0);
    for (index, (block, a, b)) in pairs.iter().enumerate() {
        let x = plot.left + step * (to_f64(index as u64) + 0.5);
        svg.line("pair", (x - reach, y.px(*a)), (x + reach, y.px(*b)));
        let shape = usize::try_from(block.saturating_sub(1)).unwrap_or(0);
        svg.mark(
            shape,
            (x - reach, y.px(*a)),
            4.6,
            "",
            &format!("block {block}, A: {}", figure(*a)),
        );
        let tip = format!("block {block}, A': {}", figure(*b));
        svg.mark(shape, (x + reach, y.px(*b)), 4.6, "hollow", &tip);
        svg.text(
            "tick",
            Anchor::Middle,
            x,
            plot.bottom + 17.0,
            &format!("{block}"),
        );
    }
    let middle = f64::midpoint(plot.left, plot.right);
    let title = "block; filled: A, hollow: A\u{2032}";
    svg.text(
        "axis-title",
        Anchor::Middle,
        middle,
        plot.bottom + 38.0,
        title,
    );
    let response = &results.experiment.response;
    let unit = measure(response);
    svg.text("axis-title", Anchor::Start, 0.0, 12.0, &unit);
    svg
}

/// One residual with its run.
struct Placed<'a> {
    run: &'a Run,
    residual: &'a Residual,
}

fn minutes(point: &Placed<'_>) -> f64 {
    point.run.started_s / 60.0
}

fn placed(results: &Results) -> Vec<Placed<'_>> {
    let run_of = |id: u32| results.runs.iter().find(|run| run.id == id);
    let residuals = results.noise.residuals.iter();
    residuals
        .filter_map(|residual| {
            Some(Placed {
                run: run_of(residual.run)?,
                residual,
            })
        })
        .collect()
}

/// Deviations of the runs in the order in which they ran, with the drift.
pub(in crate::report) fn run_order(results: &Results) -> Markup {
    let points = placed(results);
    if points.is_empty() {
        return html! { p class="absent" { "Too few runs for a picture of their order." } };
    }
    let finding = match results.noise.drift {
        None => "Runs in the order in which they ran".to_owned(),
        Some(drift) if results.plan.blocks_done < 5 => format!(
            "Too few blocks to show a drift: {}",
            words::drift(&drift, results.span_s())
        ),
        Some(drift) if drift.interval.contains(0.0) => {
            format!("No drift shown: {}", words::drift(&drift, results.span_s()))
        }
        Some(drift) => format!(
            "The machine drifted by {}; blocks take that out of the comparison",
            words::drift(&drift, results.span_s())
        ),
    };
    let draw = |size: Size| draw_order(results, &points, size);
    Figure {
        id: "order",
        finding: &finding,
        description: "Each run's deviation from the mean of its level, over the time it started at. The line \
            is the drift.",
        draw: &draw,
        legend: html! {},
        table: html! { table {
            caption { (super::rows_of("Deviation of each run from its level's mean", points.len())) }
            thead { tr {
                th scope="col" { "run" } th scope="col" { "minute" } th scope="col" { "block" }
                th scope="col" { "level" } th scope="col" { "deviation" }
                th scope="col" { "without its block's part" }
            } }
            tbody { @for point in points.iter().take(MOST_ROWS) { tr {
                th scope="row" { (point.run.id) }
                td { (format!("{:.1}", point.run.started_s / 60.0)) }
                td { (point.run.block) }
                td class="words" { (run_name(&results.experiment, point.run)) }
                td { (signed(point.residual.with_block)) }
                td { (signed(point.residual.value)) }
            } } }
        } },
    }
    .render()
}

/// A residual as the change that it is: residuals are logarithms.
fn signed(log: f64) -> String {
    change(log.exp())
}

fn draw_order(results: &Results, points: &[Placed<'_>], size: Size) -> Svg {
    let height = 250.0;
    let mut svg = Svg::new(size.width, height);
    let plot = Plot {
        left: if size.narrow { 46.0 } else { 62.0 },
        right: size.width - 14.0,
        top: 26.0,
        bottom: height - 46.0,
    };
    let x = Scale::new(
        range(points.iter().map(minutes), 0.02),
        (plot.left, plot.right),
    );
    let values = points
        .iter()
        .map(|point| point.residual.with_block)
        .chain([0.0]);
    let y = Scale::new(range(values, 0.12), (plot.bottom, plot.top));
    plot.change_axis(&mut svg, &y);
    plot.floor(&mut svg);
    svg.line("axis", (plot.left, y.px(0.0)), (plot.right, y.px(0.0)));
    draw_drift(&mut svg, results, points, &x, &y);
    for point in points {
        let shape = usize::try_from(point.run.block.saturating_sub(1)).unwrap_or(0);
        let center = (x.px(minutes(point)), y.px(point.residual.with_block));
        let tip = format!(
            "run {}, {}: {}",
            point.run.id,
            run_name(&results.experiment, point.run),
            signed(point.residual.with_block)
        );
        let tip = if points.len() > MOST_ROWS { "" } else { &tip };
        svg.mark(shape, center, 4.2, "", tip);
        if results
            .noise
            .outliers
            .iter()
            .any(|outlier| outlier.run == point.run.id)
        {
            svg.ring(center, 8.5);
        }
    }
    let wanted = if size.narrow { 4 } else { 8 };
    plot.across_axis(
        &mut svg,
        &x,
        wanted,
        false,
        "minutes since the experiment began",
    );
    svg.text(
        "axis-title",
        Anchor::Start,
        0.0,
        12.0,
        "deviation from the level's mean",
    );
    svg
}

fn draw_drift(svg: &mut Svg, results: &Results, points: &[Placed<'_>], x: &Scale, y: &Scale) {
    if let Some(drift) = results.noise.drift {
        let n = to_f64(points.len() as u64);
        let center_x = points.iter().map(minutes).sum::<f64>() / n;
        let center_y = points
            .iter()
            .map(|point| point.residual.with_block)
            .sum::<f64>()
            / n;
        let line = |at: f64| center_y + drift.per_hour / 60.0 * (at - center_x);
        let (from, to) = range(points.iter().map(minutes), 0.0);
        svg.line(
            "fit",
            (x.px(from), y.px(line(from))),
            (x.px(to), y.px(line(to))),
        );
    }
}

/// Whether the residuals follow a normal law, and which run lies furthest out, in a sentence.
fn law(results: &Results) -> String {
    const ALPHA: f64 = 0.05;
    let noise = &results.noise;
    let scatter = noise.cv.map_or_else(String::new, |cv| {
        format!("; a run scatters by {}", percent(cv.value))
    });
    let Some(normality) = &noise.normality else {
        return format!("Residuals over the values of a normal law{scatter}");
    };
    let furthest = format!(
        "run {} lies {:.1} standard deviations out",
        normality.run,
        normality.studentized.abs()
    );
    let p = |p: f64| match p < 0.01 {
        true => "p < 0.01".to_owned(),
        false => format!("p = {p:.2}"),
    };
    let strange = match noise.outliers.len() {
        0 => String::new(),
        1 => "; the run below is strange all the same".to_owned(),
        runs => format!("; the {runs} runs below are strange all the same"),
    };
    match (normality.p < ALPHA, normality.run_p < ALPHA) {
        (true, true) => format!(
            "The residuals follow no normal law ({}), and {furthest}: the intervals are approximate",
            p(normality.p)
        ),
        (true, false) => format!(
            "The residuals follow no normal law ({}): the intervals are approximate",
            p(normality.p)
        ),
        (false, true) => format!(
            "{} of a normal law ({}): the intervals are approximate",
            furthest.replacen("run", "Run", 1),
            p(normality.run_p)
        ),
        (false, false) => format!(
            "No departure from a normal law is shown ({}){scatter}{strange}",
            p(normality.p)
        ),
    }
}

/// Residuals against what a normal law would give.
pub(in crate::report) fn quantiles(results: &Results) -> Markup {
    let mut values: Vec<f64> = results
        .noise
        .residuals
        .iter()
        .map(|residual| residual.value)
        .collect();
    if values.len() < 5 {
        return html! {};
    }
    values.sort_by(f64::total_cmp);
    let n = to_f64(values.len() as u64);
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(rank, value)| {
            (
                normal_quantile((to_f64(rank as u64) + 0.625) / (n + 0.25)),
                *value,
            )
        })
        .collect();
    let spread = (values.iter().map(|value| value * value).sum::<f64>() / (n - 1.0)).sqrt();
    let finding = law(results);
    let draw = |size: Size| draw_quantiles(&points, spread, size);
    Figure {
        id: "quantiles",
        finding: &finding,
        description: "Residuals sorted, over the values a normal law would give. The intervals suppose that \
            the points follow the line.",
        draw: &draw,
        legend: html! {},
        table: html! { table {
            caption { (super::rows_of("Residuals and normal quantiles", points.len())) }
            thead { tr { th scope="col" { "normal" } th scope="col" { "residual" } } }
            tbody { @for (normal, value) in points.iter().take(MOST_ROWS) {
                tr { td { (format!("{normal:.2}")) } td { (signed(*value)) } }
            } }
        } },
    }
    .render()
}

fn draw_quantiles(points: &[(f64, f64)], spread: f64, size: Size) -> Svg {
    let height = 250.0;
    let mut svg = Svg::new(size.width, height);
    let plot = Plot {
        left: if size.narrow { 46.0 } else { 62.0 },
        right: size.width - 14.0,
        top: 26.0,
        bottom: height - 46.0,
    };
    let x = Scale::new(
        range(points.iter().map(|point| point.0), 0.06),
        (plot.left, plot.right),
    );
    let ends = range(points.iter().map(|point| point.0), 0.0);
    let values = points
        .iter()
        .map(|point| point.1)
        .chain([ends.0 * spread, ends.1 * spread]);
    let y = Scale::new(range(values, 0.08), (plot.bottom, plot.top));
    plot.change_axis(&mut svg, &y);
    plot.floor(&mut svg);
    svg.line(
        "fit",
        (x.px(ends.0), y.px(ends.0 * spread)),
        (x.px(ends.1), y.px(ends.1 * spread)),
    );
    let tip = |value: f64| {
        if points.len() > MOST_ROWS {
            String::new()
        } else {
            signed(value)
        }
    };
    for (normal, value) in points {
        svg.mark(0, (x.px(*normal), y.px(*value)), 3.6, "", &tip(*value));
    }
    plot.across_axis(&mut svg, &x, 5, false, "normal law (standard deviations)");
    svg.text("axis-title", Anchor::Start, 0.0, 12.0, "residual");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Normality, Outlier};

    fn said(p: f64, run_p: f64, strange: usize) -> String {
        let mut results = Results::default();
        results.noise.normality = Some(Normality {
            w: 0.9,
            p,
            run: 17,
            studentized: -5.94,
            run_p,
        });
        results.noise.outliers = vec![Outlier::default(); strange];
        law(&results)
    }

    #[test]
    fn residuals_with_a_strange_run_are_not_called_normal() {
        assert_eq!(
            said(0.004, 0.002, 1),
            "The residuals follow no normal law (p < 0.01), and run 17 lies 5.9 standard deviations out: the \
             intervals are approximate"
        );
        assert_eq!(
            said(0.2, 0.03, 1),
            "Run 17 lies 5.9 standard deviations out of a normal law (p = 0.03): the intervals are \
             approximate"
        );
        assert_eq!(
            said(0.2, 0.4, 1),
            "No departure from a normal law is shown (p = 0.20); the run below is strange all the same"
        );
        assert_eq!(
            said(0.2, 0.4, 0),
            "No departure from a normal law is shown (p = 0.20)"
        );
        // An older result has no test.
        assert_eq!(
            law(&Results::default()),
            "Residuals over the values of a normal law"
        );
    }

    #[test]
    fn a_run_at_a_seventh_of_the_rate_has_not_lost_more_than_all_of_it() {
        assert_eq!(signed(-1.99), "\u{2212}86.3%");
        assert_eq!(signed(0.01), "+1.0%");
    }
}
