//! Two factors: a curve along one of them for each level of the others.
//!
//! The curves run along the factor that counts sessions, or else along the first one if its levels are
//! numbers; every level of the others is a curve. Along each curve its points are compared with its first; at
//! each point the curves are compared with the first curve. Where the curves run along sessions, the latter
//! comparisons are the answer: how many users there are is not chosen.
//!
//! A comparison with the baseline is one of the table of levels, and has the interval that it has there: with
//! two intervals, one could hold "no difference" and the other one not. The intervals of all others hold
//! together (Bonferroni on the additive model). Along sessions the universal scalability law is fitted to
//! each curve, with intervals over resampled blocks. Those intervals, and those of the means in the chart,
//! hold each for itself.

use super::facts::Facts;
use super::levels::Judged;
use crate::design::{Cell, Factor};
use crate::report::words::{change, change_range, figure};
use crate::results::{
    ALONG, Better, Bounds, Chart, Curve, Panel, Point, Run, SHOWN, Section, SheetTable, Verdict,
    has_think_times,
};
use furrow_stats::special::t_quantile;
use furrow_stats::{Stream, fit_usl, mean, quantile};

const ALPHA: f64 = 0.05;
/// Draws of blocks for the intervals of the scalability law.
const DRAWS: usize = 400;

/// A curve: its name, its levels of the factors of the load, and its cells from left to right with their
/// values.
struct Line {
    name: String,
    load: Vec<String>,
    cells: Vec<(f64, usize)>,
}

/// The place of the factor that the curves run along.
fn axis(factors: &[Factor]) -> usize {
    let counts_sessions = |factor: &Factor| factor.is_concurrency && factor.levels.len() > 1;
    factors.iter().position(counts_sessions).unwrap_or(0)
}

/// The curves of a plan with two factors or more; none where the levels along them are no numbers.
fn lines(facts: &Facts<'_>) -> Option<Vec<Line>> {
    let axis = axis(&facts.plan.factors);
    let mut others = facts.plan.factors.clone();
    if others.is_empty() {
        return None;
    }
    let along = others.remove(axis);
    let varied = others.iter().filter(|factor| factor.levels.len() > 1);
    // A single curve gets a section if its levels count sessions: the law is fitted to it.
    if along.levels.len() < 2 || (varied.count() == 0 && !along.is_concurrency) {
        return None;
    }
    let mut lines: Vec<Line> = Vec::new();
    for cell in facts.plan.cells() {
        let mut settings = cell.settings.clone();
        let value = settings.remove(axis).1.value?;
        let rest = Cell {
            index: cell.index,
            settings,
        };
        let name = match others.len() {
            0 => "all".to_owned(),
            _ => curve_name(&rest, &others),
        };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.cells.push((value, cell.index)),
            None => lines.push(Line {
                name,
                load: load_of(&rest, &others),
                cells: vec![(value, cell.index)],
            }),
        }
    }
    Some(lines)
}

/// The levels of the factors of the load.
fn load_of(rest: &Cell, factors: &[Factor]) -> Vec<String> {
    let all = rest.settings.iter().zip(factors);
    let of_load = all.filter(|(_, factor)| factor.is_load);
    of_load.map(|((_, level), _)| level.key.clone()).collect()
}

/// The name of a curve: the levels of its factors, with that of a factor before a bare number.
fn curve_name(rest: &Cell, factors: &[Factor]) -> String {
    let key = rest.key(factors);
    let mut varied = factors.iter().filter(|factor| factor.levels.len() > 1);
    match varied.next() {
        Some(factor) if key.parse::<f64>().is_ok() => format!("{} {key}", factor.name),
        _ => key,
    }
}

/// The curves of a plan, with their comparisons.
pub(super) struct Curves {
    lines: Vec<Line>,
    compared: Vec<Compared>,
    counts_sessions: bool,
}

impl Curves {
    /// `None` for plans without curves and where too little was measured.
    pub(super) fn of(facts: &Facts<'_>, judged: &[Judged]) -> Option<Curves> {
        let lines = lines(facts)?;
        facts.model.as_ref()?;
        let pairs = pairs(&lines);
        let others = pairs.iter().filter(|pair| !pair.has(facts.baseline));
        let others = others.count();
        let of = |pair: Pair| match pair.has(facts.baseline) {
            true => of_the_table(facts, pair, judged),
            false => compare(facts, pair, others),
        };
        Some(Curves {
            compared: pairs.into_iter().filter_map(of).collect(),
            counts_sessions: facts.plan.factors[axis(&facts.plan.factors)].is_concurrency,
            lines,
        })
    }

    /// What the answer compares, where the curves run along sessions: each curve with the first one of the
    /// same load at the same number of sessions.
    pub(super) fn rivals(&self, facts: &Facts<'_>) -> Option<Vec<&Compared>> {
        let all = self.compared.iter().filter(|c| !c.pair.is_along);
        let all = all.filter(|c| facts.may_win(c.pair.cells.0));
        (self.counts_sessions && self.lines.len() > 1).then(|| all.collect())
    }
}

/// The section of the curves.
pub(super) fn section(facts: &Facts<'_>, curves: &Curves) -> Section {
    let Curves {
        lines,
        compared,
        counts_sessions,
    } = curves;
    let others = compared.iter().filter(|c| !c.pair.has(facts.baseline));
    let others = others.count();
    let chart = chart(facts, lines, compared);
    let mut tables = vec![table(ALONG, compared, true)];
    if lines.len() > 1 {
        tables.push(table(
            "Between the curves, against the first one of the same load at the same point",
            compared,
            false,
        ));
    }
    let mut text =
        vec!["Comparisons with the baseline are those of the table of levels.".to_owned()];
    if others > 0 {
        text.push(
            "The intervals of all others hold together with 95% confidence (Bonferroni)."
                .to_owned(),
        );
    }
    text.push("The interval of each mean in the chart holds for itself.".to_owned());
    if *counts_sessions {
        match is_offered(facts) {
            true => text.push(
                "No scalability law is fitted: with a rate, keying and think times, or a latency as the \
                 response the throughput is \
                 what was offered, not what the sessions can do."
                    .to_owned(),
            ),
            false => match scalability(facts, lines) {
                Some(law) => {
                    text.push("Each interval of the scalability law holds for itself.".to_owned());
                    tables.push(law);
                }
                None => text.push("The scalability law fits the points of no curve.".to_owned()),
            },
        }
    }
    Section {
        heading: "Curves".to_owned(),
        finding: chart.finding.clone(),
        text,
        charts: vec![chart],
        tables,
    }
}

/// Two cells to be compared: (name, point, cell, other cell, whether both are on one curve).
pub(super) struct Pair {
    pub(super) curve: String,
    point: f64,
    pub(super) against: String,
    pub(super) cells: (usize, usize),
    is_along: bool,
}

impl Pair {
    fn has(&self, cell: usize) -> bool {
        self.cells.0 == cell || self.cells.1 == cell
    }

    /// The level at which it is, as it was typed.
    pub(super) fn at(&self) -> String {
        level(self.point)
    }
}

fn pairs(lines: &[Line]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for line in lines {
        let Some(&(start, first)) = line.cells.first() else {
            continue;
        };
        for &(point, cell) in &line.cells[1..] {
            pairs.push(Pair {
                curve: line.name.clone(),
                point,
                against: level(start),
                cells: (cell, first),
                is_along: true,
            });
        }
    }
    for (place, line) in lines.iter().enumerate() {
        let mut before = lines[..place].iter();
        let Some(base) = before.find(|base| base.load == line.load) else {
            continue;
        };
        for (&(point, cell), &(_, other)) in line.cells.iter().zip(&base.cells) {
            pairs.push(Pair {
                curve: line.name.clone(),
                point,
                against: base.name.clone(),
                cells: (cell, other),
                is_along: false,
            });
        }
    }
    pairs
}

/// The critical value of one of so many comparisons (Bonferroni).
fn critical(comparisons: usize, nu: f64) -> f64 {
    t_quantile(1.0 - ALPHA / (2.0 * comparisons.max(1) as f64), nu)
}

/// A comparison with its interval, as logarithms.
pub(super) struct Compared {
    pub(super) pair: Pair,
    pub(super) value: f64,
    pub(super) interval: (f64, f64),
    /// Whether a difference is shown.
    pub(super) is_shown: bool,
}

/// A comparison with the baseline, as the table of levels has it. Its verdict also takes back a difference
/// that the medians contradict.
fn of_the_table(facts: &Facts<'_>, pair: Pair, judged: &[Judged]) -> Option<Compared> {
    let (cell, other) = pair.cells;
    let is_turned = cell == facts.baseline;
    let level = &judged.get(if is_turned { other } else { cell })?.result;
    let (value, interval) = (level.ratio?.ln(), level.interval?);
    let (low, high) = (interval.low.ln(), interval.high.ln());
    let verdict = level.verdict;
    let (value, interval) = match is_turned {
        true => (-value, (-high, -low)),
        false => (value, (low, high)),
    };
    Some(Compared {
        value,
        interval,
        is_shown: excludes_0(interval) && verdict != Some(Verdict::CannotTell),
        pair,
    })
}

fn excludes_0(interval: (f64, f64)) -> bool {
    interval.0 > 0.0 || interval.1 < 0.0
}

fn compare(facts: &Facts<'_>, pair: Pair, all: usize) -> Option<Compared> {
    let model = facts.model.as_ref()?;
    let mut weights = Vec::new();
    for (cell, sign) in [(pair.cells.0, 1.0), (pair.cells.1, -1.0)] {
        // A second label of the baseline that failed throughout takes nothing away.
        let mut arms = facts.arms_of(cell);
        arms.retain(|&arm| model.arm_effect(arm).is_some());
        if arms.is_empty() {
            return None;
        }
        let share = sign / arms.len() as f64;
        weights.extend(arms.into_iter().map(|arm| (arm, share)));
    }
    let estimate = model.contrast(&weights)?;
    let interval = estimate.interval_with(critical(all, estimate.nu));
    Some(Compared {
        value: estimate.value,
        interval,
        is_shown: excludes_0(interval),
        pair,
    })
}

/// A level as it was typed: `4`, not `4.00`.
fn level(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => figure(value),
    }
}

fn chart(facts: &Facts<'_>, lines: &[Line], compared: &[Compared]) -> Chart {
    let along = facts.plan.factors.get(axis(&facts.plan.factors));
    let name = along.map_or("", |factor| factor.name.as_str());
    let curve = |line: &Line| {
        let point = |&(x, cell): &(f64, usize)| {
            let result = super::levels::adjusted_mean(facts, cell, facts.good(cell).len());
            let (y, interval) = (result.0?, result.1);
            Some(Point {
                x,
                y,
                low: interval.map(|i| i.low),
                high: interval.map(|i| i.high),
            })
        };
        Curve {
            name: line.name.clone(),
            points: line.cells.iter().filter_map(point).collect(),
        }
    };
    let (along, between) = (
        compared
            .iter()
            .filter(|c| c.pair.is_along && c.is_shown)
            .count(),
        compared
            .iter()
            .filter(|c| !c.pair.is_along && c.is_shown)
            .count(),
    );
    let all = |along: bool| compared.iter().filter(|c| c.pair.is_along == along).count();
    // A single curve is compared with no other one.
    let between = match all(false) {
        0 => String::new(),
        all => {
            format!(", {between} of {all} from the same point of the first curve with their load")
        }
    };
    Chart {
        finding: format!(
            "{along} of {} points are shown to differ from the first point of their curve{between}",
            all(true)
        ),
        description: format!(
            "One curve for each level of the other factors: {name} to the right, the response upwards, with \
             the interval of each mean."
        ),
        x: name.to_owned(),
        y: format!("{}, {}", facts.plan.response.name, facts.plan.response.unit),
        bounds: Bounds::Interval,
        x_by_powers: lines
            .iter()
            .flat_map(|line| &line.cells)
            .all(|cell| cell.0 > 0.0),
        panels: vec![Panel {
            title: String::new(),
            curves: lines.iter().map(curve).collect(),
            marks: Vec::new(),
        }],
    }
}

fn table(caption: &str, compared: &[Compared], is_along: bool) -> SheetTable {
    let rows = compared.iter().filter(|c| c.pair.is_along == is_along);
    let row = |c: &Compared| {
        let (low, high) = (c.interval.0.exp(), c.interval.1.exp());
        vec![
            c.pair.curve.clone(),
            c.pair.at(),
            c.pair.against.clone(),
            change(c.value.exp()),
            change_range(low, high),
            if c.is_shown { SHOWN } else { "not shown" }.to_owned(),
        ]
    };
    SheetTable {
        caption: caption.to_owned(),
        columns: ["curve", "point", "against", "change", "interval", ""]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.map(row).collect(),
    }
}

/// Throughput of a run: the response where it is a rate, else rows a second.
fn throughput(facts: &Facts<'_>, run: &Run) -> Option<f64> {
    match facts.plan.response.better {
        Better::Higher => run.response,
        Better::Lower => run.rows_per_s,
    }
}

/// Whether the throughput of the runs is the rate at which work was due, or follows from how long sessions
/// think.
fn is_offered(facts: &Facts<'_>) -> bool {
    let is_latency = matches!(facts.plan.response.unit.as_str(), "ms" | "us");
    is_latency || has_think_times(&facts.plan.settings) || facts.runs.iter().any(Run::is_open)
}

/// The scalability law for each curve; `None` where it fits none.
fn scalability(facts: &Facts<'_>, lines: &[Line]) -> Option<SheetTable> {
    let blocks: Vec<u32> = (1..=facts.plan.blocks).collect();
    let fits = |line: &Line| fit_usl(&means(facts, line, &blocks)).is_ok();
    lines.iter().any(fits).then(|| SheetTable {
        caption: "Universal scalability law: contention and coherence, with intervals over resampled blocks"
            .to_owned(),
        columns: ["curve", "rate of one session", "contention", "coherence", "peak at"]
            .map(str::to_owned)
            .to_vec(),
        rows: lines.iter().map(|line| law(facts, line)).collect(),
    })
}

fn law(facts: &Facts<'_>, line: &Line) -> Vec<String> {
    let blocks: Vec<u32> = (1..=facts.plan.blocks).collect();
    let points = means(facts, line, &blocks);
    let Ok(fit) = fit_usl(&points) else {
        let mut row = vec![line.name.clone()];
        row.extend(["-", "the law does not fit these points", "-", "-"].map(str::to_owned));
        return row;
    };
    let mut stream = Stream::named(facts.plan.seed, &format!("law {}", line.name));
    let draws: Vec<_> = (0..DRAWS)
        .filter_map(|_| {
            let drawn: Vec<u32> = blocks
                .iter()
                .map(|_| blocks[stream.below(blocks.len())])
                .collect();
            fit_usl(&means(facts, line, &drawn)).ok()
        })
        .collect();
    let with = |value: f64, of: &dyn Fn(&furrow_stats::Usl) -> f64| {
        let values: Vec<f64> = draws.iter().map(of).collect();
        // If the law fits few of the draws, their range would not be a valid interval.
        if values.len() < DRAWS / 2 {
            return format!("{} (no interval)", figure(value));
        }
        let (low, high) = (quantile(&values, 0.025), quantile(&values, 0.975));
        format!("{} ({} to {})", figure(value), figure(low), figure(high))
    };
    let peaks: Vec<Option<f64>> = draws.iter().map(|usl| usl.peak).collect();
    let largest = points.iter().map(|point| point.0).fold(0.0, f64::max);
    vec![
        line.name.clone(),
        with(fit.lambda, &|usl| usl.lambda),
        with(fit.sigma, &|usl| usl.sigma),
        with(fit.kappa, &|usl| usl.kappa),
        peak(fit.peak, &peaks, largest),
    ]
}

/// Where the throughput peaks, with its interval over the draws. A peak beyond the largest level that ran, or
/// none at all, is only known to lie beyond it.
fn peak(found: Option<f64>, draws: &[Option<f64>], largest: f64) -> String {
    let within = |peak: Option<f64>| peak.filter(|peak| *peak <= largest);
    let text = |peak: Option<f64>| match within(peak) {
        Some(peak) => figure(peak),
        None => format!("beyond {}", level(largest)),
    };
    if draws.len() < DRAWS / 2 {
        return format!("{} (no interval)", text(found));
    }
    let mut ends: Vec<f64> = draws
        .iter()
        .map(|draw| within(*draw).unwrap_or(f64::INFINITY))
        .collect();
    ends.sort_by(f64::total_cmp);
    let last = ends.len().saturating_sub(1);
    let low = ends.get(25 * last / 1000).copied();
    let high = ends.get((975 * last).div_ceil(1000)).copied();
    if within(found).is_none() && within(low).is_none() {
        return text(found);
    }
    format!("{} ({} to {})", text(found), text(low), text(high))
}

/// Mean throughput of each point over these blocks, one that was drawn twice counted twice.
fn means(facts: &Facts<'_>, line: &Line, blocks: &[u32]) -> Vec<(f64, f64)> {
    let point = |&(x, cell): &(f64, usize)| {
        let runs = facts.good(cell);
        let in_block = |block: &u32| {
            let values: Vec<f64> = runs
                .iter()
                .filter(|run| run.block == *block)
                .filter_map(|run| throughput(facts, run))
                .collect();
            (!values.is_empty()).then(|| mean(&values))
        };
        let values: Vec<f64> = blocks.iter().filter_map(in_block).collect();
        (!values.is_empty()).then(|| (x, mean(&values)))
    };
    line.cells.iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_printed_within_the_levels_that_ran() {
        let draws = |of: &dyn Fn(usize) -> Option<f64>| (0..DRAWS).map(of).collect::<Vec<_>>();
        let inside = draws(&|n| Some(20.0 + (n % 10) as f64));
        assert_eq!(peak(Some(24.0), &inside, 64.0), "24.0 (20.0 to 29.0)");
        // The interval of coherence reaches 0: some draws keep rising.
        let open = draws(&|n| (n % 4 > 0).then_some(20.0));
        assert_eq!(peak(Some(24.0), &open, 64.0), "24.0 (20.0 to beyond 64)");
        let far = draws(&|_| Some(5_000.0));
        assert_eq!(peak(Some(4_800.0), &far, 64.0), "beyond 64");
        assert_eq!(peak(None, &far, 64.0), "beyond 64");
        assert_eq!(peak(None, &open, 64.0), "beyond 64 (20.0 to beyond 64)");
        assert_eq!(peak(Some(24.0), &[], 64.0), "24.0 (no interval)");
    }
}
