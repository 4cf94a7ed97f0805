//! Latch and spinlock classes by level: the tables behind "is it allocation?".

use crate::report::words::{figure, to_f64};
use crate::results::{Results, Run};
use maud::{Markup, html};

/// Rows shown at most.
const MOST: usize = 12;

/// A class and its figure at each level, in an average run.
type Row = (String, Vec<Option<f64>>);

/// Means of `parts` by class over each level's good runs, in `unit`, heaviest first.
fn rows<'a>(
    results: &'a Results,
    unit: f64,
    parts: impl Fn(&'a Run) -> Vec<(&'a str, u64)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, level) in results.levels.iter().enumerate() {
        let runs: Vec<&Run> = results.good_runs(&level.level).collect();
        let share = unit / to_f64(runs.len().max(1) as u64);
        for (class, value) in runs.into_iter().flat_map(&parts) {
            let place = rows.iter().position(|(name, _)| name == class);
            let place = place.unwrap_or_else(|| {
                rows.push((class.to_owned(), vec![None; results.levels.len()]));
                rows.len() - 1
            });
            if let Some(cell) = rows.get_mut(place).and_then(|(_, cells)| cells.get_mut(at)) {
                *cell = Some(cell.unwrap_or(0.0) + to_f64(value) * share);
            }
        }
    }
    let weight = |row: &Row| row.1.iter().flatten().sum::<f64>();
    rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.0.cmp(&b.0)));
    rows
}

/// Both tables; nothing where nothing was counted.
pub(in crate::report) fn tables(results: &Results) -> Markup {
    let latches = rows(results, 1e-3, |run| {
        run.latches
            .iter()
            .map(|latch| (latch.class.as_str(), latch.total_us))
            .collect()
    });
    let spins = rows(results, 1.0, |run| {
        run.spinlocks
            .iter()
            .map(|spin| (spin.class.as_str(), spin.collisions))
            .collect()
    });
    html! {
        (table(results, "Latches", "Milliseconds waited in an average run, all sessions together", &latches))
        (table(results, "Spinlocks", "Collisions in an average run; 0 means never contended", &spins))
    }
}

fn table(results: &Results, heading: &str, caption: &str, rows: &[Row]) -> Markup {
    html! {
        @if !rows.is_empty() {
            h3 { (heading) }
            div class="scroll" tabindex="0" { table {
                caption { span { (caption) ", by " (results.experiment.factor.plural) } }
                thead { tr {
                    th scope="col" { "class" }
                    @for level in &results.levels { th scope="col" { (level.level) } }
                } }
                tbody { @for (class, cells) in rows.iter().take(MOST) { tr {
                    th scope="row" class="code" { (class) }
                    @for cell in cells { td { (cell.map_or("-".to_owned(), figure)) } }
                } } }
            } }
        }
    }
}
