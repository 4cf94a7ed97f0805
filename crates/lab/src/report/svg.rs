//! A small writer of SVG: marks, text, scales.
//!
//! Colours never stand here: marks carry classes, the style sheet gives them colours for light, dark and
//! print. Coordinates are in CSS pixels of the size the drawing is shown at, so that text keeps its size on
//! a phone.

use maud::{Markup, PreEscaped, Render};
use std::fmt::Write as _;

/// How big a drawing is, and for which layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) narrow: bool,
}

/// The drawing shown on desks and in print.
pub(super) const WIDE: Size = Size {
    width: 920.0,
    narrow: false,
};
/// The drawing shown on phones.
pub(super) const NARROW: Size = Size {
    width: 356.0,
    narrow: true,
};

/// Where text is anchored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn word(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing in the making.
#[derive(Debug)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// A coordinate with a tenth of a pixel; what isn't finite is drawn at 0 rather than breaking the drawing.
fn at(value: f64) -> f64 {
    if value.is_finite() {
        (value * 10.0).round() / 10.0 + 0.0
    } else {
        0.0
    }
}

/// Text for element content and attribute values.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Svg {
        Svg {
            width,
            height,
            body: String::new(),
        }
    }

    fn put(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to a String can't fail.
        let _ = self.body.write_fmt(args);
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.put(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            at(from.0),
            at(from.1),
            at(to.0),
            at(to.1)
        ));
    }

    /// A rectangle between two corners in any order, with a tooltip when `tip` isn't empty.
    pub(super) fn rect(&mut self, class: &str, from: (f64, f64), to: (f64, f64), tip: &str) {
        let (x, y) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        self.put(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}">{}</rect>"#,
            at(x),
            at(y),
            at(width),
            at(height),
            tooltip(tip)
        ));
    }

    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let list: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", at(*x), at(*y)))
            .collect();
        self.put(format_args!(
            r#"<polyline class="{class}" points="{}"/>"#,
            list.join(" ")
        ));
    }

    pub(super) fn text(&mut self, class: &str, anchor: Anchor, x: f64, y: f64, text: &str) {
        self.put(format_args!(
            r#"<text class="{class}" text-anchor="{}" x="{}" y="{}">{}</text>"#,
            anchor.word(),
            at(x),
            at(y),
            escape(text)
        ));
    }

    /// Text that is read from below and ends at a place.
    pub(super) fn upright(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let (x, y) = (at(x), at(y));
        self.put(format_args!(
            r#"<text class="{class}" text-anchor="end" transform="rotate(-90 {x} {y})""#
        ));
        self.put(format_args!(r#" x="{x}" y="{y}">{}</text>"#, escape(text)));
    }

    /// One of eight shapes, about `r` pixels in radius, chosen by `index`; colour class `b<index>`.
    pub(super) fn mark(
        &mut self,
        index: usize,
        (x, y): (f64, f64),
        r: f64,
        extra: &str,
        tip: &str,
    ) {
        let index = index % 8;
        let tip = tooltip(tip);
        let class = format!("mark b{index} {extra}");
        let corners: &[(f64, f64)] = match index {
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            3 => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            4 => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            5 => &[
                (-0.55, -1.1),
                (0.55, -1.1),
                (1.1, 0.0),
                (0.55, 1.1),
                (-0.55, 1.1),
                (-1.1, 0.0),
            ],
            6 => &[(-1.2, 0.0), (0.8, 1.1), (0.8, -1.1)],
            7 => &[(1.2, 0.0), (-0.8, 1.1), (-0.8, -1.1)],
            _ => {
                let (x, y, r) = (at(x), at(y), at(r));
                self.put(format_args!(
                    r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}">{tip}</circle>"#
                ));
                return;
            }
        };
        let list: Vec<String> = corners
            .iter()
            .map(|(dx, dy)| format!("{},{}", at(x + dx * r), at(y + dy * r)))
            .collect();
        let list = list.join(" ");
        self.put(format_args!(
            r#"<polygon class="{class}" points="{list}">{tip}</polygon>"#
        ));
    }

    /// A ring that draws the eye to a mark.
    pub(super) fn ring(&mut self, (x, y): (f64, f64), r: f64) {
        self.put(format_args!(
            r#"<circle class="ring" cx="{}" cy="{}" r="{}"/>"#,
            at(x),
            at(y),
            at(r)
        ));
    }

    /// The element as a picture beside a text with the same meaning: hidden from readers of text.
    pub(super) fn decoration(self, class: &str) -> Markup {
        let (width, height) = (at(self.width), at(self.height));
        PreEscaped(format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" class="{}" aria-hidden="true" "#,
                r#"width="{}" height="{}" viewBox="0 0 {} {}">{}</svg>"#
            ),
            class, width, height, width, height, self.body
        ))
    }

    /// The finished element. `id` must be unique on the page.
    pub(super) fn finish(self, id: &str, class: &str, title: &str, description: &str) -> Markup {
        let (width, height) = (at(self.width), at(self.height));
        PreEscaped(format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" class="{class}" role="img" "#,
                r#"aria-labelledby="{id}-t {id}-d" viewBox="0 0 {width} {height}">"#,
                r#"<title id="{id}-t">{title}</title><desc id="{id}-d">{description}</desc>{body}</svg>"#
            ),
            class = class,
            id = id,
            width = width,
            height = height,
            title = escape(title),
            description = escape(description),
            body = self.body
        ))
    }
}

/// A name that has to fit into so many pixels; what is cut off ends in dots.
pub(super) fn short(text: &str, pixels: f64) -> String {
    let most = usize::try_from(super::words::round_u64(pixels / 7.5))
        .unwrap_or(0)
        .max(2);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['\u{2026}']).collect()
}

/// The width that names beside a chart take, between two bounds.
pub(super) fn room_for<'a>(names: impl Iterator<Item = &'a str>, (least, most): (f64, f64)) -> f64 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    (super::words::to_f64(longest as u64) * 7.5 + 12.0).clamp(least, most.max(least))
}

fn tooltip(tip: &str) -> String {
    if tip.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", escape(tip))
    }
}

/// A linear map from values to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    /// Values `from.0..from.1` to pixels `to.0..to.1`; a range without width gets one.
    pub(super) fn new(from: (f64, f64), to: (f64, f64)) -> Scale {
        let (low, high) = from;
        let from = if high - low > f64::EPSILON * high.abs().max(1e-12) {
            from
        } else {
            let pad = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low - pad, high + pad)
        };
        Scale { from, to }
    }

    pub(super) fn px(&self, value: f64) -> f64 {
        let share = (value - self.from.0) / (self.from.1 - self.from.0);
        self.to.0 + share * (self.to.1 - self.to.0)
    }

    /// Round values inside the range, about `wanted` of them.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let span = self.from.1 - self.from.0;
        let rough = span / super::words::to_f64(wanted.max(1) as u64);
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|m| m * power)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(power * 10.0);
        let mut ticks = Vec::new();
        let mut index = (self.from.0 / step - 1e-9).ceil();
        while index * step <= self.from.1 + step * 1e-9 && ticks.len() < 100 {
            ticks.push(index * step + 0.0);
            index += 1.0;
        }
        ticks
    }

    /// Ticks of a scale of logarithms, at ratios that are round as changes: steps of a percentage where these
    /// suffice, else factors of 2, 5 and 10.
    pub(super) fn ratio_ticks(&self, wanted: usize) -> Vec<f64> {
        let (low, high) = self.from;
        if high - low < 1.1 {
            let changes = Scale::new((low.exp_m1(), high.exp_m1()), (0.0, 1.0)).ticks(wanted);
            return changes.iter().map(|change| change.ln_1p()).collect();
        }
        let within = |steps: &[f64]| -> Vec<f64> {
            let powers = (-12..=12).map(|power| 10f64.powi(power));
            let all = powers.flat_map(|power| steps.iter().map(move |step| (step * power).ln()));
            all.filter(|tick| (low..=high).contains(tick)).collect()
        };
        let fine = within(&[1.0, 2.0, 5.0]);
        match fine.len() > 2 * wanted {
            true => within(&[1.0]),
            false => fine,
        }
    }
}

/// The range of some values, widened by `pad` of its width; `(0, 1)` when there are none.
pub(super) fn range(values: impl IntoIterator<Item = f64>, pad: f64) -> (f64, f64) {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for value in values.into_iter().filter(|value| value.is_finite()) {
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return (0.0, 1.0);
    }
    let pad = (high - low) * pad;
    (low - pad, high + pad)
}

/// A tick as text: as many decimals as the step needs.
pub(super) fn tick_text(value: f64, ticks: &[f64]) -> String {
    let step = match ticks {
        [first, second, ..] => (second - first).abs(),
        _ => value.abs().max(1.0),
    };
    let places = (0..6)
        .find(|places| {
            let scaled = step * 10f64.powi(*places);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0)
        })
        .unwrap_or(0);
    let places = usize::try_from(places).unwrap_or(0);
    let text = format!("{value:.places$}");
    if places == 0 && value.abs() >= 10_000.0 {
        super::words::figure(value)
    } else {
        text
    }
}

/// A chart: the finding as caption, both drawings, a legend, and the figures behind it.
pub(super) struct Figure<'a> {
    /// Unique on the page.
    pub(super) id: &'a str,
    /// What the chart shows, as a sentence.
    pub(super) finding: &'a str,
    /// How to read it.
    pub(super) description: &'a str,
    /// Draws it at a size.
    pub(super) draw: &'a dyn Fn(Size) -> Svg,
    /// What colours and shapes mean.
    pub(super) legend: Markup,
    /// The same as a table.
    pub(super) table: Markup,
}

impl Render for Figure<'_> {
    fn render(&self) -> Markup {
        maud::html! {
            figure id=(self.id) {
                figcaption { (self.finding) }
                (drawings(self.id, self.finding, self.description, self.draw))
                (self.legend)
                details class="behind" {
                    summary { "Figures behind this chart" }
                    div class="scroll" tabindex="0" { (self.table) }
                }
            }
        }
    }
}

/// Both drawings of a chart; the style sheet shows the one that fits. `id` must be unique on the page.
pub(super) fn drawings(id: &str, title: &str, about: &str, draw: &dyn Fn(Size) -> Svg) -> Markup {
    maud::html! {
        (draw(WIDE).finish(&format!("{id}-w"), "chart wide", title, about))
        (draw(NARROW).finish(&format!("{id}-n"), "chart narrow", title, about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = Scale::new((7.3, 9.1), (0.0, 1.0)).ticks(5);
        assert_eq!(
            ticks
                .iter()
                .map(|t| tick_text(*t, &ticks))
                .collect::<Vec<_>>(),
            ["7.5", "8.0", "8.5", "9.0"]
        );
        let flat = Scale::new((4.0, 4.0), (0.0, 10.0));
        assert!((flat.px(4.0) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_of_logarithms_are_round_changes() {
        let changes = |low: f64, high: f64| -> Vec<f64> {
            let ticks = Scale::new((low, high), (0.0, 1.0)).ratio_ticks(5);
            let percent = |tick: &f64| (100.0 * tick.exp_m1() * 1e6).round() / 1e6;
            ticks.iter().map(percent).collect()
        };
        assert_eq!(changes(-0.12, 0.11), [-10.0, -5.0, 0.0, 5.0, 10.0]);
        // A run at a twentieth of the rate: no tick is below -100%.
        assert_eq!(changes(-3.2, 1.0), [-95.0, -90.0, -80.0, -50.0, 0.0, 100.0]);
    }

    #[test]
    fn nothing_hostile_gets_into_markup() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("t", Anchor::Start, f64::NAN, 1.0, "<b>&\"\u{7}");
        let text = svg.finish("x", "c", "<script>", "d").into_string();
        assert!(text.contains("&lt;b&gt;&amp;&quot;\u{fffd}"));
        assert!(!text.contains("<script>"));
        assert!(!text.contains("NaN"));
    }
}
