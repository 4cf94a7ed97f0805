//! The result of a search: the leader, how sure it is, and the ranking of every configuration.

use super::facts::Facts;
use super::levels::Judged;
use crate::report::words::{change, change_range, percent, round_percent};
use crate::results::{
    Answer, Badge, Bounds, Chart, Curve, Interval, Panel, Point, Section, SheetTable,
};
use crate::search::{ENOUGH, standing};
use furrow_stats::Standing;

/// A search with its standing.
pub(super) struct Outcome {
    standing: Standing,
    runs: u32,
    full: u32,
    contenders: usize,
}

/// The standing of a search; `None` for other designs, and where too little was run.
pub(super) fn find(facts: &Facts<'_>) -> Option<Outcome> {
    if !facts.plan.search {
        return None;
    }
    Some(Outcome {
        standing: standing(facts.history, &facts.contenders).ok()?,
        runs: facts.runs.len() as u32,
        full: facts.plan.full_factorial(),
        contenders: facts.contenders.iter().filter(|may_win| **may_win).count(),
    })
}

impl Outcome {
    /// The place among the cells of the one that won, or leads.
    pub(super) fn leader(&self) -> usize {
        self.standing.leader
    }

    /// Configurations that may be the answer: those with a good run, and those without one. A configuration
    /// that always fails is not among those that were compared.
    fn measured(&self) -> (usize, usize) {
        let measured = self.standing.means.iter().flatten().count();
        (measured, self.contenders - measured)
    }

    fn is_sure(&self) -> bool {
        self.standing.within >= ENOUGH
    }

    /// Puts the ratios to the baseline into the table of levels. Each interval holds for itself.
    pub(super) fn fill(&self, facts: &Facts<'_>, judged: &mut [Judged]) {
        let means = &self.standing.means;
        let baseline = means.get(facts.baseline).copied().flatten();
        for level in judged.iter_mut().filter(|j| j.cell != facts.baseline) {
            let mean = means.get(level.cell).copied().flatten();
            let beyond = self.standing.beyond(level.cell, facts.baseline);
            let (Some(mean), Some(baseline), Some(beyond)) = (mean, baseline, beyond) else {
                continue;
            };
            let (low, high) = turned(facts, beyond);
            level.result.ratio = Some(facts.loss(mean - baseline).exp());
            level.result.interval = Some(Interval {
                low,
                high,
                confidence: 0.95,
            });
        }
    }

    /// The answer. The leader is recommended where it is sure enough to be as good as the best.
    pub(super) fn answer(&self, facts: &Facts<'_>, judged: &[Judged]) -> Answer {
        let leader = self.leader();
        let key = &facts.keys[leader];
        let baseline = &facts.keys[facts.baseline];
        let level = judged.iter().find(|j| j.cell == leader).map(|j| &j.result);
        let against = level.and_then(|level| Some((level.ratio?, level.interval?)));
        let gain = against.map_or_else(String::new, |(ratio, interval)| {
            format!(
                ": {} against {baseline} ({})",
                change(ratio),
                change_range(interval.low, interval.high)
            )
        });
        let share = percent(self.standing.within);
        let margin = round_percent(facts.plan.delta);
        let (measured, missing) = self.measured();
        let missing = match missing {
            0 => String::new(),
            1 => "; 1 configuration was not measured".to_owned(),
            many => format!("; {many} configurations were not measured"),
        };
        let certain = format!(
            "the chance that it is within {margin} of the best of {measured} is {share}{missing}"
        );
        let cost = format!("{} runs instead of {}", self.runs, self.full);
        Answer {
            badge: match self.is_sure() {
                true => Badge::Conclusive,
                false => Badge::CannotTell,
            },
            sentence: match self.is_sure() {
                true => format!("{key}{gain}; {certain}; {cost}"),
                false => format!("the best so far is {key}{gain}; {certain}; {cost}"),
            },
            recommended: self.is_sure().then(|| key.clone()),
            ..Answer::default()
        }
    }

    /// Whether the leader is the baseline, is shown to differ from it, or cannot be compared with it.
    pub(super) fn is_worth_setting(&self, facts: &Facts<'_>, judged: &[Judged]) -> bool {
        let leader = judged.iter().find(|j| j.cell == self.leader());
        leader.is_some_and(|j| {
            j.result.ratio.is_none() || j.result.is_shown_to_differ(facts.plan.delta)
        })
    }

    /// The ranking of every configuration.
    pub(super) fn section(&self, facts: &Facts<'_>) -> Section {
        let order = self.order();
        let chart = self.chart(facts, &order);
        Section {
            heading: "Search".to_owned(),
            finding: format!(
                "{} runs instead of the {} of a full factorial; the leader is within {} of the best with {}",
                self.runs,
                self.full,
                round_percent(facts.plan.delta),
                percent(self.standing.within)
            ),
            text: vec![
                "Every configuration was due in the first round; each further round left out those that \
                 would hardly be the best. Estimates are drawn towards the average, the more the fewer runs \
                 they have, so that a lucky first run wins nothing. Each interval holds for itself, with 95%."
                    .to_owned(),
            ],
            charts: vec![chart],
            tables: vec![self.table(facts, &order)],
        }
    }

    /// Cells with runs, the best first.
    fn order(&self) -> Vec<(usize, f64)> {
        let means = self.standing.means.iter().enumerate();
        let mut order: Vec<(usize, f64)> = means
            .filter_map(|(cell, mean)| Some((cell, (*mean)?)))
            .collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        order
    }

    fn behind(&self, facts: &Facts<'_>, cell: usize) -> Option<(f64, f64)> {
        let behind = self.standing.beyond(cell, self.standing.leader)?;
        Some(turned(facts, behind))
    }

    fn chart(&self, facts: &Facts<'_>, order: &[(usize, f64)]) -> Chart {
        let best = order.first().map_or(0.0, |first| first.1);
        let point = |(place, &(cell, mean)): (usize, &(usize, f64))| {
            let (low, high) = self.behind(facts, cell)?;
            Some(Point {
                x: (place + 1) as f64,
                y: facts.loss(mean - best).exp(),
                low: Some(low),
                high: Some(high),
            })
        };
        Chart {
            finding: format!("{} leads", facts.keys[self.leader()]),
            description:
                "All configurations from the best to the worst: ratio of the response to that of \
                          the leader, with its interval."
                    .to_owned(),
            x: "place".to_owned(),
            y: format!("{} over that of the leader", facts.plan.response.name),
            bounds: Bounds::Interval,
            x_by_powers: false,
            panels: vec![Panel {
                title: String::new(),
                curves: vec![Curve {
                    name: "configurations".to_owned(),
                    points: order.iter().enumerate().filter_map(point).collect(),
                }],
                marks: Vec::new(),
            }],
        }
    }

    fn table(&self, facts: &Facts<'_>, order: &[(usize, f64)]) -> SheetTable {
        let best = order.first().map_or(0.0, |first| first.1);
        let row = |(place, &(cell, mean)): (usize, &(usize, f64))| {
            let dropped = facts.history.dropped.iter().find(|d| d.1 as usize == cell);
            let range = self.behind(facts, cell);
            vec![
                (place + 1).to_string(),
                facts.keys[cell].clone(),
                facts.logs.arm(cell).len().to_string(),
                change(facts.loss(mean - best).exp()),
                range.map_or_else(String::new, |(low, high)| change_range(low, high)),
                percent(self.standing.best.get(cell).copied().unwrap_or(0.0)),
                dropped.map_or_else(|| "-".to_owned(), |(round, _)| round.to_string()),
            ]
        };
        SheetTable {
            caption: "Configurations, the best first".to_owned(),
            columns: [
                "place",
                "configuration",
                "runs",
                "against the leader",
                "interval",
                "chance to be the best",
                "left out after round",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: order.iter().enumerate().map(row).collect(),
        }
    }
}

/// An interval of losses as ratios of the response.
fn turned(facts: &Facts<'_>, (low, high): (f64, f64)) -> (f64, f64) {
    let ends = (facts.loss(low).exp(), facts.loss(high).exp());
    (ends.0.min(ends.1), ends.0.max(ends.1))
}
