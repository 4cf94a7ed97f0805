//! What was reached of what the machine can do. Only what was measured is drawn.

use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, short};
use crate::report::words::{figure, level_name, percent, to_f64};
use crate::results::{Ceiling, Results};
use maud::{Markup, Render, html};

/// The chart, or a sentence when no ceiling was measured.
pub(in crate::report) fn section(results: &Results) -> Markup {
    let measured: Vec<(&Ceiling, f64)> = results
        .ceilings
        .iter()
        .filter_map(|ceiling| Some((ceiling, ceiling.share()?)))
        .collect();
    let missing: Vec<&Ceiling> = results
        .ceilings
        .iter()
        .filter(|c| c.limit.is_none() || c.used.is_none())
        .collect();
    html! {
        @if measured.is_empty() {
            p class="absent" {
                "No ceiling was measured in this experiment: how close the runs came to what the devices "
                "and processors can do is not known."
            }
        } @else { (chart(results, &measured)) }
        @if !missing.is_empty() {
            p class="small" {
                "Not measured: "
                @for (index, ceiling) in missing.iter().enumerate() {
                    @if index > 0 { "; " }
                    (ceiling.name) @if !ceiling.note.is_empty() { " (" (ceiling.note) ")" }
                }
                "."
            }
        }
    }
}

fn chart(results: &Results, measured: &[(&Ceiling, f64)]) -> Markup {
    let tightest = measured.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let finding = tightest.map_or(String::new(), |(ceiling, share)| {
        let used = percent(*share);
        match *share {
            s if s > 1.0 => format!(
                "Used up: {}, {used} of what it did when it was measured; while the engine ran it did more",
                ceiling.name
            ),
            s if s >= Ceiling::LIMITING => {
                format!("Nearly used up: {}, {used} of what it can do", ceiling.name)
            }
            _ => format!(
                "Nothing measured is used up; closest is {} with {used}",
                ceiling.name
            ),
        }
    });
    let draw = |size: Size| draw(measured, size);
    Figure {
        id: "ceilings",
        finding: &finding,
        description: "One bar a resource: the share of its measured ceiling that the runs used. The line at \
            85% is where a resource counts as used up; a share above 100% means that the volume was slower \
            when it was measured.",
        draw: &draw,
        legend: html! {},
        table: html! { table {
            caption { "Use of each measured ceiling" }
            thead { tr {
                th scope="col" { "resource" } th scope="col" { "used" } th scope="col" { "ceiling" }
                th scope="col" { "share" } th scope="col" { "at" } th scope="col" { "measured how" }
            } }
            tbody { @for (ceiling, share) in measured { tr {
                th scope="row" { (ceiling.name) }
                td { (ceiling.used.map_or("-".to_owned(), figure)) " " (ceiling.unit) }
                td { (ceiling.limit.map_or("-".to_owned(), figure)) " " (ceiling.unit) }
                td { (percent(*share)) }
                td class="words" { (level_name(&results.experiment, &ceiling.level)) }
                td class="words" { (ceiling.note) }
            } } }
        } },
    }
    .render()
}

fn draw(measured: &[(&Ceiling, f64)], size: Size) -> Svg {
    let row = if size.narrow { 44.0 } else { 32.0 };
    let left = if size.narrow { 6.0 } else { 220.0 };
    let right = size.width - 60.0;
    let bottom = 6.0 + row * to_f64(measured.len() as u64);
    let mut svg = Svg::new(size.width, bottom + 24.0);
    let x = Scale::new((0.0, 1.0), (left, right));
    for (index, (ceiling, share)) in measured.iter().enumerate() {
        let top = 6.0 + row * to_f64(index as u64);
        let bar = top + if size.narrow { 20.0 } else { 7.0 };
        if size.narrow {
            svg.text(
                "row",
                Anchor::Start,
                left,
                top + 14.0,
                &short(&ceiling.name, right),
            );
        } else {
            svg.text(
                "row",
                Anchor::End,
                left - 12.0,
                top + 20.0,
                &short(&ceiling.name, left),
            );
        }
        svg.rect("track", (left, bar), (right, bar + 18.0), "");
        let tip = format!("{}: {}", ceiling.name, percent(*share));
        svg.rect(
            "bar k0",
            (left, bar),
            (x.px(share.clamp(0.0, 1.0)), bar + 18.0),
            &tip,
        );
        svg.text(
            "value",
            Anchor::Start,
            right + 8.0,
            bar + 13.0,
            &percent(*share),
        );
    }
    let limiting = x.px(Ceiling::LIMITING);
    svg.line("knee", (limiting, 2.0), (limiting, bottom));
    svg.text("tick", Anchor::Middle, limiting, bottom + 16.0, "85%");
    svg
}
