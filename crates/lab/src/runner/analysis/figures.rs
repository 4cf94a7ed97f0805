//! Figures beside the response, level by level: processor time, and whatever the experiment names.

use super::facts::{Facts, ratios};
use crate::results::{Averaging, Better, Figure, LevelFigure, Run};
use furrow_stats::special::t_quantile;
use furrow_stats::{geometric_mean, mean, std_dev};

/// The figures of a run: its own, after those that every run has.
fn of_run(run: &Run) -> Vec<Figure> {
    let cpu = run.cpu_s.map(|cpu| Figure::lower("CPU", "s/run", cpu));
    cpu.into_iter().chain(run.figures.iter().cloned()).collect()
}

fn figure_of(run: &Run, name: &str) -> Option<Figure> {
    let figure = of_run(run).into_iter().find(|f| f.name == name)?;
    figure.value.is_finite().then_some(figure)
}

fn value_of(run: &Run, name: &str) -> Option<f64> {
    figure_of(run, name).map(|figure| figure.value)
}

/// One mean for all levels: that of logarithms, where all runs have one and no sums are compared.
fn averaging(facts: &Facts<'_>, name: &str) -> Averaging {
    let cells = 0..facts.keys.len();
    let good: Vec<&Run> = cells.flat_map(|cell| facts.good(cell)).collect();
    let mut figures = good.iter().filter_map(|run| figure_of(run, name));
    match figures.all(|figure| figure.value > 0.0 && !figure.is_additive) {
        true => Averaging::GeometricMean,
        false => Averaging::Mean,
    }
}

/// The figures of a level, each under the name and unit of the first run that has it.
pub(super) fn of_level(facts: &Facts<'_>, cell: usize) -> Vec<LevelFigure> {
    let mut figures: Vec<LevelFigure> = Vec::new();
    for figure in facts.good(cell).iter().flat_map(|run| of_run(run)) {
        if figures.iter().any(|known| known.name == figure.name) {
            continue;
        }
        figures.push(one(facts, cell, figure.name, figure.unit, figure.better));
    }
    figures
}

fn one(
    facts: &Facts<'_>,
    cell: usize,
    name: String,
    unit: String,
    better: Option<Better>,
) -> LevelFigure {
    let runs = facts.good(cell);
    let values: Vec<f64> = runs.iter().filter_map(|run| value_of(run, &name)).collect();
    let averaging = averaging(facts, &name);
    let differences = match averaging {
        Averaging::GeometricMean => differences(facts, cell, &name),
        _ => Vec::new(),
    };
    let n = differences.len() as f64;
    let middle = (!differences.is_empty()).then(|| mean(&differences));
    let reach = (differences.len() > 1)
        .then(|| t_quantile(0.975, n - 1.0) * std_dev(&differences) / n.sqrt());
    LevelFigure {
        value: match averaging {
            Averaging::GeometricMean => geometric_mean(&values).unwrap_or(0.0),
            _ => mean(&values),
        },
        averaging,
        ratio: middle.map(f64::exp),
        interval: middle
            .zip(reach)
            .map(|(middle, reach)| ratios((middle - reach, middle + reach), 0.95)),
        name,
        unit,
        better,
    }
}

/// Logarithms of the ratios to the baseline, block by block (a search has more rounds than its plan has
/// blocks); none for the baseline itself, and none at all where a value is not above 0.
fn differences(facts: &Facts<'_>, cell: usize, name: &str) -> Vec<f64> {
    if cell == facts.baseline {
        return Vec::new();
    }
    let (ours, base) = (facts.good(cell), facts.good(facts.baseline));
    let in_block = |runs: &[&Run], block: u32| -> Option<f64> {
        let of_block = runs.iter().filter(|run| run.block == block);
        let values: Vec<f64> = of_block.filter_map(|run| value_of(run, name)).collect();
        let whole = !values.is_empty() && values.iter().all(|&value| value > 0.0);
        whole.then(|| mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()))
    };
    (1..=facts.logs.blocks() as u32)
        .filter_map(|block| Some(in_block(&ours, block)? - in_block(&base, block)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Factor;
    use crate::journal::{Event, History, Line, Outcome};
    use crate::plan::{Plan, PlannedRun};
    use std::path::Path;

    /// The journal of the wanted runs, with the figures of each by the number of its level and its block.
    fn history(
        plan: Plan,
        is_wanted: impl Fn(&PlannedRun) -> bool,
        figures: impl Fn(u32, u32) -> Vec<Figure>,
    ) -> History {
        let runs = plan.runs();
        let event = Event::Plan {
            hash: plan.hash(),
            plan: Box::new(plan),
            program: String::new(),
            checks: Vec::new(),
        };
        let (seq, at_us) = (1, 0);
        let mut history = History::of(Path::new("/j"), &[Line { seq, at_us, event }]).unwrap();
        for planned in runs.iter().filter(|run| is_wanted(run)) {
            let (run, attempt, outcome) = (planned.id, 1, Outcome::Done);
            let record = Box::new(Run {
                id: planned.id,
                block: planned.block,
                level: planned.cell.key(&history.plan.factors),
                response: Some(10.0),
                figures: figures(planned.cell.index as u32 + 1, planned.block),
                ..Run::default()
            });
            let reason = String::new();
            for event in [
                Event::RunStart { run, attempt },
                Event::Metric {
                    run,
                    attempt,
                    record,
                },
                Event::RunEnd {
                    run,
                    attempt,
                    outcome,
                    reason,
                },
            ] {
                history.take(0, &event);
            }
        }
        history
    }

    #[test]
    fn a_figure_has_one_mean_at_all_levels_and_its_change_is_that_of_the_means() {
        let plan = Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2])], 1);
        let values = |level: u32, block: u32| {
            let wait = if level == 1 { 0.0 } else { f64::from(block) };
            vec![
                Figure::higher("rate", "MB/s", f64::from(10 * level * block)),
                Figure::lower("spilled", "MB", wait),
                Figure::lower("latch", "ms/s", f64::from(block)).additive(),
            ]
        };
        let history = history(plan, |run| run.block <= 3, values);
        let facts = Facts::of(&history);
        let (one, two) = (of_level(&facts, 0), of_level(&facts, 1));
        let kinds: Vec<Averaging> = one.iter().map(|figure| figure.averaging).collect();
        let means = [Averaging::GeometricMean, Averaging::Mean, Averaging::Mean];
        assert_eq!(kinds, means);
        assert_eq!(
            two[1].averaging,
            Averaging::Mean,
            "the other level has a zero"
        );
        let ratio = two[0].value / one[0].value;
        assert!((two[0].ratio.unwrap() - ratio).abs() < 1e-9 && (ratio - 2.0).abs() < 1e-9);
        assert!(
            (two[2].value - 2.0).abs() < 1e-9 && two[2].ratio.is_none(),
            "{two:?}"
        );
    }

    #[test]
    fn the_change_of_a_figure_counts_every_round_of_a_search() {
        let mut plan = Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2, 3, 4])], 1);
        (plan.search, plan.aa_control, plan.blocks) = (true, false, 1);
        // Twice as many at 2 as at 1.
        let flushes = |level: u32, block: u32| {
            let count = f64::from(block * level);
            vec![Figure::lower("flushes", "", count)]
        };
        let both = |run: &PlannedRun| run.cell.index < 2 && run.block <= 3;
        let history = history(plan, both, flushes);
        let facts = Facts::of(&history);
        assert_eq!(differences(&facts, 1, "flushes").len(), 3);
        let figure = of_level(&facts, 1).remove(0);
        assert!((figure.ratio.unwrap() - 2.0).abs() < 1e-9, "{figure:?}");
        assert!(figure.interval.is_some(), "{figure:?}");
    }
}
