//! The ranking of many configurations of which most have run once: the best of them, and how sure that is.
//!
//! A race runs every cell once and then only those that may still be the best. The measured values decide
//! what is left out, so plain means of the survivors are too good: a cell that was lucky in the first round
//! stays. Cells are therefore random effects, `log = block + cell + noise` with cells from one normal
//! distribution. Every statement is a posterior one, which the choice of what to run next leaves valid.
//!
//! The ratio of the two variances runs over a grid, weighted by its restricted likelihood; the noise and the
//! block effects are integrated out. All losses are logarithms: less is better.

use super::sample::{quantile_sorted, sorted};
use super::{StatsError, Stream, Table};

/// The ranking of the cells of a race.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Expected loss of each cell beyond the average one, drawn towards it; `None` without any run.
    pub means: Vec<Option<f64>>,
    /// Chance of each cell to be the best of all.
    pub best: Vec<f64>,
    /// The cell with the least expected loss.
    pub leader: usize,
    /// Chance that the leader is within the margin of the best.
    pub within: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Losses drawn from the posterior, by cell; none of a cell without any run.
    drawn: Vec<Vec<f64>>,
}

impl Standing {
    /// 95% interval of a cell's loss beyond that of another; `None` where one of them has not run.
    pub fn beyond(&self, cell: usize, other: usize) -> Option<(f64, f64)> {
        let (cell, other) = (self.drawn.get(cell)?, self.drawn.get(other)?);
        let beyond: Vec<f64> = cell.iter().zip(other).map(|(a, b)| a - b).collect();
        let beyond = sorted(&beyond);
        let end = |p| quantile_sorted(&beyond, p);
        (!beyond.is_empty()).then(|| (end(0.025), end(0.975)))
    }
}

/// Judges the cells (arms) of `losses` after two rounds (blocks) or more.
pub fn race(losses: &Table, margin: f64, draws: usize, seed: u64) -> Result<Standing, StatsError> {
    let data = Data::of(losses)?;
    let fits: Vec<Fit> = (0..GRID).filter_map(|i| Fit::of(&data, ratio(i))).collect();
    let top = fits
        .iter()
        .map(|fit| fit.log_weight)
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = fits
        .iter()
        .map(|fit| (fit.log_weight - top).exp())
        .collect();
    let total: f64 = weights.iter().sum();
    if fits.is_empty() || !total.is_finite() || total <= 0.0 {
        return Err(StatsError::NoFreedom);
    }
    let average = |of: &dyn Fn(&Fit) -> f64| {
        let sum: f64 = fits.iter().zip(&weights).map(|(fit, w)| w * of(fit)).sum();
        sum / total
    };
    let expected: Vec<f64> = (0..data.cells.len())
        .map(|cell| average(&|fit: &Fit| fit.mean(&data, cell, &fit.blocks)))
        .collect();
    let first = (0..expected.len()).min_by(|&a, &b| expected[a].total_cmp(&expected[b]));
    let leader = first.ok_or(StatsError::NoFreedom)?;
    let mut standing = Standing {
        means: vec![None; losses.arms()],
        best: vec![0.0; losses.arms()],
        leader: data.cells[leader].arm,
        within: 0.0,
        noise: average(&|fit| (fit.squares / data.nu).sqrt()),
        drawn: vec![Vec::new(); losses.arms()],
    };
    let mut stream = Stream::named(seed, "race");
    let drawn: Vec<Vec<f64>> = (0..draws)
        .map(|_| fits[pick(&weights, total * stream.unit())].draw(&data, &mut stream))
        .collect();
    for row in &drawn {
        let best = (0..row.len())
            .min_by(|&a, &b| row[a].total_cmp(&row[b]))
            .unwrap_or(0);
        standing.best[data.cells[best].arm] += 1.0 / draws as f64;
        if row[leader] <= row[best] + margin {
            standing.within += 1.0 / draws as f64;
        }
    }
    for (place, cell) in data.cells.iter().enumerate() {
        standing.means[cell.arm] = Some(expected[place]);
        standing.drawn[cell.arm] = drawn.iter().map(|row| row[place]).collect();
    }
    Ok(standing)
}

/// Points of the grid of ratios of variances.
const GRID: usize = 25;

/// Variance between cells over variance of the noise, from 0.03 to 10,000 in equal steps of the logarithm.
fn ratio(step: usize) -> f64 {
    let (low, high) = (0.03_f64.ln(), 10_000_f64.ln());
    (low + (high - low) * step as f64 / (GRID - 1) as f64).exp()
}

fn pick(weights: &[f64], mut point: f64) -> usize {
    for (i, weight) in weights.iter().enumerate() {
        point -= weight;
        if point <= 0.0 {
            return i;
        }
    }
    weights.len() - 1
}

/// The runs of one cell.
struct Runs {
    arm: usize,
    /// Block (among those with runs) and loss.
    values: Vec<(usize, f64)>,
}

struct Data {
    cells: Vec<Runs>,
    blocks: usize,
    nu: f64,
}

impl Data {
    fn of(losses: &Table) -> Result<Data, StatsError> {
        let used: Vec<usize> = (0..losses.blocks())
            .filter(|&block| (0..losses.arms()).any(|arm| losses.get(arm, block).is_some()))
            .collect();
        let runs = |arm: usize| {
            let in_block =
                |(place, &block): (usize, &usize)| Some((place, losses.get(arm, block)?));
            let values: Vec<(usize, f64)> = used.iter().enumerate().filter_map(in_block).collect();
            (!values.is_empty()).then_some(Runs { arm, values })
        };
        let cells: Vec<Runs> = (0..losses.arms()).filter_map(runs).collect();
        let count: usize = cells.iter().map(|cell| cell.values.len()).sum();
        // One run a cell contains no information about the noise.
        if cells.len() < 2 || used.len() < 2 || count < cells.len() + used.len() {
            return Err(StatsError::TooFew {
                what: "the standing of a race",
                needed: 2,
                got: used.len().min(cells.len()),
            });
        }
        Ok(Data {
            nu: (count - used.len()) as f64,
            blocks: used.len(),
            cells,
        })
    }
}

/// The model at one ratio of variances.
struct Fit {
    ratio: f64,
    /// Estimated effect of each block.
    blocks: Vec<f64>,
    /// Factor of the covariance of these, before the noise: lower triangle of the inverse of its inverse.
    triangle: Vec<Vec<f64>>,
    /// Sum of squares of the noise.
    squares: f64,
    log_weight: f64,
}

impl Fit {
    fn of(data: &Data, ratio: f64) -> Option<Fit> {
        let size = data.blocks;
        let mut normal = vec![vec![0.0; size]; size];
        let mut right = vec![0.0; size];
        let (mut log_size, mut square) = (0.0, 0.0);
        for cell in &data.cells {
            let n = cell.values.len() as f64;
            let shared = ratio / (1.0 + ratio * n);
            let sum: f64 = cell.values.iter().map(|value| value.1).sum();
            log_size += (1.0 + ratio * n).ln();
            square += cell.values.iter().map(|v| v.1 * v.1).sum::<f64>() - shared * sum * sum;
            for &(block, value) in &cell.values {
                normal[block][block] += 1.0;
                right[block] += value - shared * sum;
                for &(other, _) in &cell.values {
                    normal[block][other] -= shared;
                }
            }
        }
        let triangle = cholesky(&normal)?;
        let blocks = back(&triangle, &forth(&triangle, &right));
        let explained: f64 = blocks.iter().zip(&right).map(|(a, b)| a * b).sum();
        let squares = (square - explained).max(1e-18);
        let log_det: f64 = (0..size).map(|i| 2.0 * triangle[i][i].ln()).sum();
        Some(Fit {
            log_weight: -0.5 * (log_size + log_det + data.nu * squares.ln()),
            ratio,
            blocks,
            triangle,
            squares,
        })
    }

    /// Expected effect of a cell, given the blocks' effects.
    fn mean(&self, data: &Data, cell: usize, blocks: &[f64]) -> f64 {
        let values = &data.cells[cell].values;
        let sum: f64 = values
            .iter()
            .map(|&(block, value)| value - blocks[block])
            .sum();
        self.ratio / (1.0 + self.ratio * values.len() as f64) * sum
    }

    /// Effects of all cells, drawn.
    fn draw(&self, data: &Data, stream: &mut Stream) -> Vec<f64> {
        let chi: f64 = (0..data.nu as usize).map(|_| stream.normal().powi(2)).sum();
        let noise = (self.squares / chi.max(1e-12)).sqrt();
        let normals: Vec<f64> = self.blocks.iter().map(|_| stream.normal()).collect();
        let moved = back(&self.triangle, &normals);
        let blocks: Vec<f64> = self
            .blocks
            .iter()
            .zip(&moved)
            .map(|(b, m)| b + noise * m)
            .collect();
        let cell = |i: usize| {
            let n = data.cells[i].values.len() as f64;
            let spread = noise * (self.ratio / (1.0 + self.ratio * n)).sqrt();
            self.mean(data, i, &blocks) + spread * stream.normal()
        };
        (0..data.cells.len()).map(cell).collect()
    }
}

/// The lower triangle `l` with `l l' = matrix`; `None` where the matrix has none.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut lower = vec![vec![0.0; size]; size];
    for i in 0..size {
        for j in 0..=i {
            let before: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - before;
            lower[i][j] = match i == j {
                true if rest <= 1e-12 => return None,
                true => rest.sqrt(),
                false => rest / lower[j][j],
            };
        }
    }
    Some(lower)
}

/// Solves `lower x = right`.
fn forth(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; right.len()];
    for i in 0..right.len() {
        let before: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (right[i] - before) / lower[i][i];
    }
    x
}

/// Solves `lower' x = right`.
fn back(lower: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let size = right.len();
    let mut x = vec![0.0; size];
    for i in (0..size).rev() {
        let after: f64 = (i + 1..size).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (right[i] - after) / lower[i][i];
    }
    x
}

/// How many cells a race keeps after a round: as many as the rest of the budget can run three times more, and
/// two at least.
fn cells_to_keep(running: usize, runs_left: usize) -> usize {
    running.min((runs_left / 3).max(2))
}

/// The cells to leave out after a round, given those that still run: all but the most likely to be the best,
/// and those that hardly can be. `losses` is what was measured.
pub fn cells_to_drop(
    losses: &Table,
    running: &[usize],
    runs_left: usize,
    standing: Option<&Standing>,
) -> Vec<usize> {
    /// A cell with less chance than this to be the best is left out though it could be run.
    const NO_CHANCE: f64 = 0.002;
    let mut order: Vec<usize> = running.to_vec();
    let first_loss = |cell: usize| super::mean(&losses.arm(cell));
    let has_run = |cell: usize| !losses.arm(cell).is_empty();
    let rank = |cell: usize| match standing.and_then(|s| s.means[cell]) {
        Some(mean) => mean,
        None if has_run(cell) => first_loss(cell),
        None => f64::INFINITY,
    };
    order.sort_by(|&a, &b| rank(a).total_cmp(&rank(b)));
    let keep = cells_to_keep(order.len(), runs_left);
    order
        .into_iter()
        .enumerate()
        .filter(|&(place, cell)| {
            let hopeless = standing.is_some_and(|s| s.best[cell] < NO_CHANCE);
            place >= keep || !has_run(cell) || (hopeless && place > 1)
        })
        .map(|(_, cell)| cell)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A race over cells with these true losses; gives the winner, its promise and the runs.
    fn run(truth: &[f64], cv: f64, blocks: usize, stream: &mut Stream) -> (usize, f64, usize) {
        let budget = truth.len() * blocks / 3;
        let mut table = Table::new(truth.len(), 4 * blocks);
        let mut running: Vec<usize> = (0..truth.len()).collect();
        let (mut runs, mut round) = (0, 0);
        let mut last = None;
        while round < 4 * blocks && runs + running.len() <= budget {
            let shift = 0.03 * stream.normal();
            for &cell in &running {
                table.set(cell, round, truth[cell] + shift + cv * stream.normal());
            }
            runs += running.len();
            round += 1;
            last = race(&table, 0.02_f64.ln_1p(), 400, 7).ok();
            if last.as_ref().is_some_and(|s| s.within >= 0.95) {
                break;
            }
            let out = cells_to_drop(&table, &running, budget - runs, last.as_ref());
            running.retain(|cell| !out.contains(cell));
        }
        let last = last.unwrap();
        (last.leader, last.within, runs)
    }

    #[test]
    fn the_winner_of_a_third_of_the_runs_is_within_the_margin_as_often_as_promised() {
        let mut stream = Stream::new(31);
        // (cells, spread between cells, noise)
        for (cells, spread, cv) in [
            (24, 0.1, 0.02),
            (24, 0.03, 0.02),
            (60, 0.2, 0.03),
            (12, 0.1, 0.01),
        ] {
            const RACES: usize = 100;
            let (mut good, mut promised, mut most) = (0, 0.0, 0);
            for _ in 0..RACES {
                let truth: Vec<f64> = (0..cells).map(|_| spread * stream.normal()).collect();
                let (winner, within, runs) = run(&truth, cv, 6, &mut stream);
                let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
                good += usize::from(truth[winner] <= best + 0.02_f64.ln_1p());
                promised += within / RACES as f64;
                most = most.max(runs);
            }
            println!("{cells} cells, {spread}, {cv}: {good}, promised {promised:.3}, {most} runs");
            assert!(good >= 90, "{good} of {RACES} with {cells} cells");
            assert!(
                (good as f64 / RACES as f64 - promised).abs() < 0.08,
                "{good}: {promised}"
            );
            assert!(most <= cells * 2);
        }
    }

    #[test]
    fn one_round_ranks_and_says_nothing_of_the_noise() {
        let mut table = Table::new(5, 4);
        for cell in 0..4 {
            table.set(cell, 0, [0.3, 0.1, 0.2, 0.0][cell]);
        }
        assert!(race(&table, 0.02, 100, 1).is_err());
        // The fifth cell failed; two of the others remain.
        assert_eq!(cells_to_drop(&table, &[0, 1, 2, 3, 4], 6, None), [2, 0, 4]);
        assert_eq!(
            (
                cells_to_keep(20, 30),
                cells_to_keep(20, 4),
                cells_to_keep(1, 90)
            ),
            (10, 2, 1)
        );
    }

    #[test]
    fn the_standing_is_the_same_for_the_same_runs() {
        let mut stream = Stream::new(2);
        let mut table = Table::new(6, 3);
        for cell in 0..6 {
            for block in 0..3 {
                table.set(cell, block, 0.05 * cell as f64 + 0.005 * stream.normal());
            }
        }
        let standing = race(&table, 0.02, 500, 9).unwrap();
        assert_eq!(standing, race(&table, 0.02, 500, 9).unwrap());
        assert_eq!(standing.leader, 0);
        assert!(
            standing.within > 0.99 && standing.best[0] > 0.99,
            "{standing:?}"
        );
        let (low, high) = standing.beyond(5, 0).unwrap();
        assert!(low < 0.25 && high > 0.25 && low > 0.2, "{low} to {high}");
        assert!((standing.noise - 0.005).abs() < 0.003);
    }
}
