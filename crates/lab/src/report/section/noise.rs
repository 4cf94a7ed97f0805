//! The noise panel: how far the figures can be trusted.

use super::fact_list;
use crate::report::chart::noise::{control, quantiles, run_order};
use crate::report::words::{self, change, figure, percent, run_name};
use crate::results::{Mde, Results};
use maud::{Markup, html};

fn mde(value: Option<Mde>) -> String {
    value.map_or_else(
        || "not calculated".to_owned(),
        |mde| {
            format!(
                "{} or {} (noise {}, {} blocks, {:.0}% power)",
                change(1.0 + mde.effect),
                change(1.0 - mde.effect_down),
                percent(mde.cv),
                mde.blocks,
                mde.power * 100.0
            )
        },
    )
}

/// Figures, three charts and the list of strange runs.
pub(in crate::report) fn panel(results: &Results) -> Markup {
    let noise = &results.noise;
    let cv = noise.cv.map_or("not calculated".to_owned(), |cv| {
        let (low, high) = (percent(cv.interval.low), percent(cv.interval.high));
        format!("{} ({low} to {high})", percent(cv.value))
    });
    let drift = noise.drift.map_or("not calculated".to_owned(), |drift| {
        words::drift(&drift, results.span_s())
    });
    let aa = noise.aa.as_ref().map_or("not run".to_owned(), |aa| {
        format!(
            "{:.3} ({:.3} to {:.3})",
            aa.ratio, aa.interval.low, aa.interval.high
        )
    });
    let neighbours = match (noise.lag1, noise.durbin_watson) {
        (None, None) => "not calculated".to_owned(),
        (lag, watson) => {
            let lag = lag.map_or("-".to_owned(), |lag| format!("{lag:+.2}"));
            let watson = watson.map_or("-".to_owned(), |watson| format!("{watson:.2}"));
            format!("{lag} (Durbin-Watson {watson})")
        }
    };
    // What could be found follows from the model that a control which did not pass has refused.
    let after = match &noise.aa {
        Some(aa) if !aa.passed => "not calculated: the baseline differs from itself".to_owned(),
        _ => mde(noise.mde_after),
    };
    html! {
        (fact_list(&[
            ("Scatter of one run (CV)", cv),
            ("Smallest effect the plan could see", mde(noise.mde_before)),
            ("Smallest effect these runs could see", after),
            ("A\u{2032} over A", aa),
            ("Drift", drift),
            ("Correlation of neighbouring runs", neighbours),
        ]))
        @if noise.lag1_p.is_some_and(|p| p < 0.05) {
            p class="warn" { "Neighbouring runs are alike: something slower than a run is at work." }
        }
        (control(results))
        (run_order(results))
        (quantiles(results))
        (outliers(results))
    }
}

fn outliers(results: &Results) -> Markup {
    let list = &results.noise.outliers;
    let run_of = |id: u32| results.runs.iter().find(|run| run.id == id);
    html! {
        h3 { "Strange runs" }
        @if results.noise.residuals.is_empty() {
            p { "Not looked for: there are too few runs." }
        } @else if list.is_empty() {
            p { "No run lies further than 3.5 scaled deviations from the model." }
        } @else {
            p class="small" { "Labelled, never left out: all figures on this page include them." }
            div class="scroll" tabindex="0" { table class="wordy" {
                thead { tr {
                    th scope="col" { "run" } th scope="col" { "level" } th scope="col" { "block" }
                    th scope="col" { "scaled deviations" } th scope="col" { "ratio with" }
                    th scope="col" { "ratio without" } th scope="col" { "what happened then" }
                } }
                tbody { @for outlier in list {
                    @let run = run_of(outlier.run);
                    @let ratio = run.and_then(|run| results.level(&run.level)).and_then(|level| level.ratio);
                    tr {
                        th scope="row" { (outlier.run) }
                        td class="words" {
                            (run.map_or("-".to_owned(), |run| run_name(&results.experiment, run)))
                        }
                        td { (run.map_or("-".to_owned(), |run| run.block.to_string())) }
                        td { (figure(outlier.score)) }
                        td { (ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"))) }
                        td { (outlier.ratio_without.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"))) }
                        td class="words" {
                            @if outlier.causes.is_empty() { "nothing known" }
                            @else { (outlier.causes.join("; ")) }
                        }
                    }
                } }
            } }
        }
    }
}
