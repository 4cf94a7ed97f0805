//! The additive model of a blocked experiment on the log scale.
//!
//! `ln(response) = arm + block + noise`. An *arm* is a column of the plan: every level once, and the
//! baseline a second time under its own label. A run that is missing leaves a hole in the table; the
//! fit is then by least squares over the runs that exist, which is exact, where filling the hole with
//! a mean would understate the noise.
//!
//! Where arms scatter differently beyond chance, a contrast has a variance of its own ([`TwoWay::contrast`]).

use super::StatsError;
use super::linear::Symmetric;
use super::special::t_quantile;
use super::spread::Spread;

/// Responses by arm and block, `None` where no run was finished.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    arms: usize,
    blocks: usize,
    cells: Vec<Option<f64>>,
}

impl Table {
    /// An empty table.
    pub fn new(arms: usize, blocks: usize) -> Table {
        Table {
            arms,
            blocks,
            cells: vec![None; arms * blocks],
        }
    }

    /// A table from rows of arms.
    pub fn from_rows(rows: &[Vec<f64>]) -> Table {
        let blocks = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut table = Table::new(rows.len(), blocks);
        for (arm, row) in rows.iter().enumerate() {
            for (block, &value) in row.iter().enumerate() {
                table.set(arm, block, value);
            }
        }
        table
    }

    /// Puts a response in its place.
    pub fn set(&mut self, arm: usize, block: usize, value: f64) {
        self.cells[arm * self.blocks + block] = Some(value);
    }

    /// Takes a response out.
    pub fn clear(&mut self, arm: usize, block: usize) {
        self.cells[arm * self.blocks + block] = None;
    }

    /// The response of a run.
    pub fn get(&self, arm: usize, block: usize) -> Option<f64> {
        self.cells[arm * self.blocks + block]
    }

    /// Number of arms.
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The responses of an arm, in order of blocks, without the holes.
    pub fn arm(&self, arm: usize) -> Vec<f64> {
        (0..self.blocks)
            .filter_map(|block| self.get(arm, block))
            .collect()
    }

    /// The table of natural logarithms.
    pub fn ln(&self) -> Result<Table, StatsError> {
        let mut logs = Table::new(self.arms, self.blocks);
        for arm in 0..self.arms {
            for block in 0..self.blocks {
                let Some(value) = self.get(arm, block) else {
                    continue;
                };
                if !(value.is_finite() && value > 0.0) {
                    return Err(StatsError::NotPositive { arm, block, value });
                }
                logs.set(arm, block, value.ln());
            }
        }
        Ok(logs)
    }
}

/// An estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value, on the scale of the model.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Degrees of freedom of the error.
    pub nu: f64,
}

impl Estimate {
    /// The 1 - `alpha` interval by Student's t, for this estimate alone.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        self.interval_with(t_quantile(1.0 - alpha / 2.0, self.nu))
    }

    /// The interval of `c` standard errors.
    pub fn interval_with(&self, c: f64) -> (f64, f64) {
        (self.value - c * self.se, self.value + c * self.se)
    }
}

/// The fitted additive model.
#[derive(Debug, Clone)]
pub struct TwoWay {
    arms: usize,
    blocks: usize,
    /// Arm means adjusted to the average block; `None` for an arm without runs.
    arm_effects: Vec<Option<f64>>,
    block_effects: Vec<f64>,
    residuals: Vec<Option<f64>>,
    /// Place of each arm among the fitted columns.
    columns: Vec<Option<usize>>,
    /// Place of each block among those that have runs; the first one has no column.
    block_columns: Vec<Option<usize>>,
    unscaled: Symmetric,
    rss: f64,
    nu: f64,
    spread: Spread,
}

impl TwoWay {
    /// Fits `table`, whose values are already logarithms. Arms and blocks without any run are left out.
    pub fn fit(table: &Table) -> Result<TwoWay, StatsError> {
        let (arms, blocks) = (table.arms(), table.blocks());
        let columns = place(arms, |arm| !table.arm(arm).is_empty());
        let block_columns = place(blocks, |block| {
            (0..arms).any(|arm| table.get(arm, block).is_some())
        });
        let arm_count = columns.iter().flatten().count();
        let block_count = block_columns.iter().flatten().count();
        if arm_count < 2 || block_count < 2 {
            return Err(StatsError::TooFew {
                what: "a blocked comparison",
                needed: 2,
                got: arm_count.min(block_count),
            });
        }
        let (normal, right, n) = normal_equations(table, &columns, &block_columns);
        let unscaled = normal
            .inverse()
            .map_err(|column| StatsError::Disconnected {
                arm: columns.iter().position(|&c| c == Some(column)).unwrap_or(0),
            })?;
        let solution = unscaled.times(&right);
        let rank = arm_count + block_count - 1;
        if n <= rank {
            return Err(StatsError::NoFreedom);
        }
        let mut model = TwoWay {
            arms,
            blocks,
            arm_effects: vec![None; arms],
            block_effects: vec![0.0; blocks],
            residuals: vec![None; arms * blocks],
            columns,
            block_columns,
            unscaled,
            rss: 0.0,
            nu: (n - rank) as f64,
            spread: Spread::of(&[], 0.0),
        };
        model.settle(table, &solution);
        model.spread = model.spread_of_arms();
        Ok(model)
    }

    /// Moves block effects to mean zero and takes residuals.
    fn settle(&mut self, table: &Table, solution: &[f64]) {
        let first = self.columns.iter().flatten().count();
        let raw: Vec<Option<f64>> = self
            .block_columns
            .iter()
            .map(|&place| place.map(|p| if p == 0 { 0.0 } else { solution[first + p - 1] }))
            .collect();
        let present: Vec<f64> = raw.iter().flatten().copied().collect();
        let centre = super::mean(&present);
        for (block, effect) in raw.iter().enumerate() {
            self.block_effects[block] = effect.map_or(0.0, |e| e - centre);
        }
        for arm in 0..self.arms {
            self.arm_effects[arm] = self.columns[arm].map(|place| solution[place] + centre);
            for block in 0..self.blocks {
                let (Some(y), Some(effect)) = (table.get(arm, block), self.arm_effects[arm]) else {
                    continue;
                };
                let residual = y - effect - self.block_effects[block];
                self.residuals[arm * self.blocks + block] = Some(residual);
                self.rss += residual * residual;
            }
        }
    }

    /// A weighted sum of arms whose weights add up to 0. Its variance is the common one of the model where
    /// the arms scatter alike, else the variance of its own values in the blocks, drawn towards the common
    /// one.
    /// `None` when an arm has no runs.
    pub fn contrast(&self, weights: &[(usize, f64)]) -> Option<Estimate> {
        let common = self.common_contrast(weights)?;
        let squares: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
        if self.spread.prior.is_infinite() || common.se <= 0.0 || squares <= 0.0 {
            return Some(common);
        }
        let in_block = |block: usize| {
            let terms = weights
                .iter()
                .map(|&(arm, weight)| Some(weight * self.residual(arm, block)?));
            terms.sum::<Option<f64>>()
        };
        let values: Vec<f64> = (0..self.blocks).filter_map(in_block).collect();
        if values.len() < 3 {
            return Some(common);
        }
        let prior = self.spread.prior;
        let freedom = values.len() as f64 - 1.0;
        // The variance of one run that would make the values scatter as they do.
        let own = super::std_dev(&values).powi(2) / squares;
        let ratio = (prior + freedom * own / self.variance()) / (prior + freedom);
        Some(Estimate {
            se: common.se * ratio.sqrt(),
            nu: (prior + freedom).min(self.nu),
            ..common
        })
    }

    /// The same with the variance that all arms have in common.
    fn common_contrast(&self, weights: &[(usize, f64)]) -> Option<Estimate> {
        let mut value = 0.0;
        for &(arm, weight) in weights {
            value += weight * self.arm_effects[arm]?;
        }
        let variance = self.covariance(weights, weights)? * self.variance();
        Some(Estimate {
            value,
            se: variance.max(0.0).sqrt(),
            nu: self.nu,
        })
    }

    /// The covariance of two contrasts in units of the noise variance.
    pub fn covariance(&self, left: &[(usize, f64)], right: &[(usize, f64)]) -> Option<f64> {
        let mut sum = 0.0;
        for &(i, wi) in left {
            for &(j, wj) in right {
                sum += wi * wj * self.unscaled.at(self.columns[i]?, self.columns[j]?);
            }
        }
        Some(sum)
    }

    /// The mean of an arm, adjusted to the average block.
    pub fn arm_effect(&self, arm: usize) -> Option<f64> {
        self.arm_effects[arm]
    }

    /// The effects of the blocks, mean zero.
    pub fn block_effects(&self) -> &[f64] {
        &self.block_effects
    }

    /// What the model leaves unexplained of a run.
    pub fn residual(&self, arm: usize, block: usize) -> Option<f64> {
        self.residuals[arm * self.blocks + block]
    }

    /// The part of a run's own value in what the model fits to it: 1 where no other run has a say.
    pub fn leverage(&self, arm: usize, block: usize) -> Option<f64> {
        self.residual(arm, block)?;
        let column = self.columns[arm]?;
        let own = self.unscaled.at(column, column);
        let place = self.block_columns[block]?;
        if place == 0 {
            return Some(own);
        }
        let other = self.columns.iter().flatten().count() + place - 1;
        Some(own + 2.0 * self.unscaled.at(column, other) + self.unscaled.at(other, other))
    }

    /// The variance of the noise; its root is close to the CV of a run.
    pub fn variance(&self) -> f64 {
        self.rss / self.nu
    }

    /// The standard deviation of the noise on the log scale: the CV of a run.
    pub fn cv(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The standard deviation of an arm's runs over the common one: 1 where all arms scatter alike.
    pub fn scale(&self, arm: usize) -> f64 {
        self.spread.scales.get(arm).copied().unwrap_or(1.0)
    }

    fn spread_of_arms(&self) -> Spread {
        let of_arm = |arm: usize| {
            let residuals: Vec<f64> = (0..self.blocks)
                .filter_map(|block| self.residual(arm, block))
                .collect();
            (residuals.iter().map(|r| r * r).sum(), residuals.len())
        };
        let arms: Vec<(f64, usize)> = (0..self.arms).map(of_arm).collect();
        Spread::of(&arms, self.variance())
    }

    /// Degrees of freedom of the noise.
    pub fn nu(&self) -> f64 {
        self.nu
    }

    /// Number of arms of the table.
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// Number of blocks of the table.
    pub fn blocks(&self) -> usize {
        self.blocks
    }
}

fn place(count: usize, present: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut next = 0;
    (0..count)
        .map(|i| {
            present(i).then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}

/// Columns: every arm, then every block but the first.
fn normal_equations(
    table: &Table,
    arms: &[Option<usize>],
    blocks: &[Option<usize>],
) -> (Symmetric, Vec<f64>, usize) {
    let first = arms.iter().flatten().count();
    let size = first + blocks.iter().flatten().count() - 1;
    let mut normal = Symmetric::zero(size);
    let mut right = vec![0.0; size];
    let mut n = 0;
    for (arm, &arm_place) in arms.iter().enumerate() {
        for (block, &block_place) in blocks.iter().enumerate() {
            let (Some(y), Some(a), Some(b)) = (table.get(arm, block), arm_place, block_place)
            else {
                continue;
            };
            n += 1;
            normal.add(a, a, 1.0);
            right[a] += y;
            if b > 0 {
                let column = first + b - 1;
                normal.add(column, column, 1.0);
                normal.add(a, column, 1.0);
                normal.add(column, a, 1.0);
                right[column] += y;
            }
        }
    }
    (normal, right, n)
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::*;

    fn noisy_table(arms: usize, blocks: usize, seed: u64) -> Table {
        let mut stream = Stream::new(seed);
        let block_effects: Vec<f64> = (0..blocks).map(|_| 0.1 * stream.normal()).collect();
        let mut table = Table::new(arms, blocks);
        for arm in 0..arms {
            for (block, effect) in block_effects.iter().enumerate() {
                table.set(
                    arm,
                    block,
                    0.05 * arm as f64 + effect + 0.02 * stream.normal(),
                );
            }
        }
        table
    }

    #[test]
    fn a_full_table_gives_the_textbook_formulas() {
        let (k, b) = (5, 6);
        let table = noisy_table(k, b, 11);
        let model = TwoWay::fit(&table).unwrap();
        let cell = |i: usize, j: usize| table.get(i, j).unwrap();
        let row = |i: usize| (0..b).map(|j| cell(i, j)).sum::<f64>() / b as f64;
        let column = |j: usize| (0..k).map(|i| cell(i, j)).sum::<f64>() / k as f64;
        let grand = (0..k).map(row).sum::<f64>() / k as f64;
        let mut rss = 0.0;
        for i in 0..k {
            for j in 0..b {
                let e = cell(i, j) - row(i) - column(j) + grand;
                assert!((model.residual(i, j).unwrap() - e).abs() < 1e-10);
                rss += e * e;
            }
        }
        assert_eq!(model.nu(), 20.0);
        let leverage = (k + b - 1) as f64 / (k * b) as f64;
        for (arm, block) in [(0, 0), (2, 3)] {
            assert!((model.leverage(arm, block).unwrap() - leverage).abs() < 1e-10);
        }
        assert!((model.variance() - rss / 20.0).abs() < 1e-12);
        let contrast = model.common_contrast(&[(3, 1.0), (0, -1.0)]).unwrap();
        assert!((contrast.value - (row(3) - row(0))).abs() < 1e-10);
        assert!((contrast.se - model.cv() * (2.0 / b as f64).sqrt()).abs() < 1e-10);
        // The baseline under two labels: root of 1.5 / b.
        let twice = model
            .common_contrast(&[(3, 1.0), (0, -0.5), (1, -0.5)])
            .unwrap();
        assert!((twice.se - model.cv() * (1.5 / b as f64).sqrt()).abs() < 1e-10);
    }

    #[test]
    fn a_missing_run_is_met_by_least_squares_and_not_by_a_mean() {
        // Without noise the effects must come out exactly, although the hole lies in the slowest block, where
        // a plain mean of the arm would be biased.
        let mut table = Table::new(3, 4);
        for arm in 0..3 {
            for block in 0..4 {
                table.set(arm, block, 0.1 * arm as f64 + [0.0, 0.0, 0.0, 1.0][block]);
            }
        }
        table.clear(2, 3);
        table.set(1, 0, 0.1 + 1e-9);
        let model = TwoWay::fit(&table).unwrap();
        let contrast = model.contrast(&[(2, 1.0), (0, -1.0)]).unwrap();
        assert!((contrast.value - 0.2).abs() < 1e-8, "{}", contrast.value);
        assert_eq!(model.nu(), 5.0);
        // The arm with the hole is known less well.
        let full = model.contrast(&[(1, 1.0), (0, -1.0)]).unwrap();
        assert!(contrast.se > full.se);
    }

    #[test]
    fn an_arm_that_failed_throughout_is_left_out() {
        let mut table = noisy_table(4, 5, 2);
        for block in 0..5 {
            table.clear(2, block);
        }
        let model = TwoWay::fit(&table).unwrap();
        assert_eq!(model.nu(), 8.0);
        assert!(model.contrast(&[(2, 1.0), (0, -1.0)]).is_none());
        assert!(model.contrast(&[(3, 1.0), (0, -1.0)]).is_some());
    }

    #[test]
    fn arms_that_never_meet_in_a_block_are_refused() {
        let mut table = Table::new(4, 4);
        for block in 0..4 {
            for arm in 0..2 {
                table.set(arm + 2 * (block / 2), block, 1.0 + (arm * block) as f64);
            }
        }
        assert!(matches!(
            TwoWay::fit(&table),
            Err(StatsError::Disconnected { .. })
        ));
    }

    #[test]
    fn what_has_no_logarithm_or_no_freedom_is_an_error() {
        let table = Table::from_rows(&[vec![1.0, 2.0], vec![0.0, 3.0]]);
        assert!(matches!(
            table.ln(),
            Err(StatsError::NotPositive {
                arm: 1,
                block: 0,
                ..
            })
        ));
        let mut thin = Table::new(2, 2);
        thin.set(0, 0, 1.0);
        thin.set(1, 0, 1.0);
        thin.set(0, 1, 1.0);
        assert_eq!(TwoWay::fit(&thin).unwrap_err(), StatsError::NoFreedom);
        assert!(matches!(
            TwoWay::fit(&Table::from_rows(&[vec![1.0], vec![2.0]])),
            Err(StatsError::TooFew { .. })
        ));
    }
}
