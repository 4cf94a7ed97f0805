//! Figures beside the response, level by level: processor time, and whatever the experiment names.

use super::facts::{Facts, ratios};
use crate::results::{Better, Figure, LevelFigure, Run};
use furrow_stats::special::t_quantile;
use furrow_stats::{mean, median, std_dev};

/// The figures of a run: its own, after those that every run has.
fn of_run(run: &Run) -> Vec<Figure> {
    let cpu = run.cpu_s.map(|cpu| Figure::lower("CPU", "s/run", cpu));
    cpu.into_iter().chain(run.figures.iter().cloned()).collect()
}

fn value_of(run: &Run, name: &str) -> Option<f64> {
    let figure = of_run(run).into_iter().find(|f| f.name == name)?;
    figure.value.is_finite().then_some(figure.value)
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
    let differences = differences(facts, cell, &name);
    let n = differences.len() as f64;
    let middle = (!differences.is_empty()).then(|| mean(&differences));
    let reach = (differences.len() > 1)
        .then(|| t_quantile(0.975, n - 1.0) * std_dev(&differences) / n.sqrt());
    LevelFigure {
        value: if values.is_empty() {
            0.0
        } else {
            median(&values)
        },
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
    use crate::plan::Plan;
    use std::path::Path;

    #[test]
    fn the_change_of_a_figure_counts_every_round_of_a_search() {
        let mut plan = Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2, 3, 4])], 1);
        (plan.search, plan.aa_control, plan.blocks) = (true, false, 1);
        let runs = plan.runs();
        let event = Event::Plan {
            hash: plan.hash(),
            plan: Box::new(plan),
            program: String::new(),
            checks: Vec::new(),
        };
        let (seq, at_us) = (1, 0);
        let mut history = History::of(Path::new("/j"), &[Line { seq, at_us, event }]).unwrap();
        let both = |run: &&crate::plan::PlannedRun| run.cell.index < 2 && run.block <= 3;
        for planned in runs.iter().filter(both) {
            let level = planned.cell.key(&history.plan.factors);
            let (run, attempt, outcome) = (planned.id, 1, Outcome::Done);
            // Twice as many at 2 as at 1.
            let flushes = Figure::lower(
                "flushes",
                "",
                f64::from(planned.block * (1 + planned.arm as u32)),
            );
            let record = Box::new(Run {
                id: planned.id,
                block: planned.block,
                level,
                response: Some(10.0),
                figures: vec![flushes],
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
        let facts = Facts::of(&history);
        assert_eq!(differences(&facts, 1, "flushes").len(), 3);
        let figure = of_level(&facts, 1).remove(0);
        assert!((figure.ratio.unwrap() - 2.0).abs() < 1e-9, "{figure:?}");
        assert!(figure.interval.is_some(), "{figure:?}");
    }
}
