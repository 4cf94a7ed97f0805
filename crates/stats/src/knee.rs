//! The knee: the level from which more does not help.
//!
//! The level with the least mean is a bad answer. Among levels that are equal in truth it is drawn by
//! lot, and it over-buys: with true times 100, 97, 94.5, 94, 95 the least mean picks the fourth level
//! where the third is as good. So the question is for the smallest level that is as good as the best:
//!
//! - **K1** (the rule): the smallest level whose upper 95% bound of (level - best) lies below the margin,
//!   with the best chosen again in each bootstrap draw, so that the winner's luck is paid for. The
//!   probability of each level is the share of draws in which it is the smallest one within the margin of
//!   that draw's best.
//! - **K2**: the smallest level within one standard error of the best mean.
//! - **K3**: the closest curve that falls and then rises, and a permutation test of any rise after the
//!   knee. Published curves do rise again, so a curve that only falls is not assumed.
//! - **K4**: two straight lines on log2 of the level, accepted only where the corrected information criterion
//!   is better by more than 4 than a constant, a line and the curve of K3.
//!
//! Everything here is a *loss* on the log scale: less is better. Callers turn throughput round first.

use super::linear::least_squares;
use super::sample::quantile_sorted;
use super::{StatsError, Stream, Table, TwoWay};

/// The ordered levels of a factor: for each level the arms that ran it (the baseline has two).
pub type Ladder = [Vec<usize>];

/// The results of the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    /// K1: index of the level; `None` when not even the best level's bound is below the margin.
    pub level: Option<usize>,
    /// Upper 95% bound of each level's distance to the best, on the log scale.
    pub upper: Vec<f64>,
    /// Probability of each level to be the knee.
    pub probability: Vec<f64>,
    /// K2.
    pub one_se: usize,
    /// The level with the least mean.
    pub least: usize,
    /// K3: the fitted log response of each level.
    pub unimodal: Vec<f64>,
    /// K3: chance of a rise after the knee (K1, else the turning point) as large as the one seen,
    /// were the levels from there on equal. `None` when fewer than two levels follow.
    pub rise_after_p: Option<f64>,
}

/// Applies K1 to K3. `logs` holds losses on the log scale, `model` is its fit.
pub fn find(
    logs: &Table,
    model: &TwoWay,
    ladder: &Ladder,
    margin: f64,
    draws: usize,
    seed: u64,
) -> Result<Knee, StatsError> {
    let means = level_means(model, ladder)?;
    let least = smallest(&means);
    let drawn = bootstrap(model, ladder, &means, draws, seed);
    let upper = drawn.upper_bounds();
    let level = upper.iter().position(|&bound| bound < margin);
    let (unimodal, turn) = unimodal_fit(&means, &weights(logs, ladder));
    let from = level.unwrap_or(turn);
    Ok(Knee {
        level,
        probability: drawn.knee_shares(margin),
        upper,
        one_se: one_se(model, ladder, &means),
        least,
        unimodal,
        rise_after_p: rise_after(logs, ladder, from, draws.min(2_000), seed),
    })
}

/// The smallest level whose mean is within `margin` of the least mean: the rule of a single draw.
pub fn within_margin(means: &[f64], margin: f64) -> usize {
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    means
        .iter()
        .position(|&mean| mean < least + margin)
        .unwrap_or(0)
}

/// The index of the least mean.
pub fn smallest(means: &[f64]) -> usize {
    (0..means.len())
        .min_by(|&a, &b| means[a].total_cmp(&means[b]))
        .unwrap_or(0)
}

fn level_means(model: &TwoWay, ladder: &Ladder) -> Result<Vec<f64>, StatsError> {
    if ladder.len() < 2 {
        return Err(StatsError::TooFew {
            what: "a knee",
            needed: 2,
            got: ladder.len(),
        });
    }
    ladder
        .iter()
        .map(|arms| {
            let present: Vec<f64> = arms
                .iter()
                .filter_map(|&arm| model.arm_effect(arm))
                .collect();
            match present.is_empty() {
                true => Err(StatsError::Disconnected {
                    arm: arms.first().copied().unwrap_or(0),
                }),
                false => Ok(super::mean(&present)),
            }
        })
        .collect()
}

fn weights(logs: &Table, ladder: &Ladder) -> Vec<f64> {
    ladder
        .iter()
        .map(|arms| arms.iter().map(|&arm| logs.arm(arm).len()).sum::<usize>() as f64)
        .collect()
}

fn one_se(model: &TwoWay, ladder: &Ladder, means: &[f64]) -> usize {
    let least = smallest(means);
    let runs = ladder[least]
        .iter()
        .flat_map(|&arm| (0..model.blocks()).filter_map(move |block| model.residual(arm, block)))
        .count();
    within_margin(means, model.cv() / (runs.max(1) as f64).sqrt() + 1e-15)
}

/// Distances to the best of each draw, level by level.
struct Draws {
    levels: usize,
    means: Vec<f64>,
}

impl Draws {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.means.chunks_exact(self.levels)
    }

    fn upper_bounds(&self) -> Vec<f64> {
        let best: Vec<f64> = self
            .rows()
            .map(|row| row.iter().copied().fold(f64::INFINITY, f64::min))
            .collect();
        (0..self.levels)
            .map(|level| {
                let rows = self.rows().zip(&best);
                let mut excess: Vec<f64> = rows.map(|(row, best)| row[level] - best).collect();
                excess.sort_unstable_by(f64::total_cmp);
                quantile_sorted(&excess, 0.95)
            })
            .collect()
    }

    fn knee_shares(&self, margin: f64) -> Vec<f64> {
        let mut counts = vec![0_usize; self.levels];
        let mut total = 0;
        for row in self.rows() {
            counts[within_margin(row, margin)] += 1;
            total += 1;
        }
        counts
            .into_iter()
            .map(|count| count as f64 / f64::from(total.max(1)))
            .collect()
    }
}

/// Residual bootstrap within blocks. Residuals of a fitted table are smaller than the noise; they are
/// blown up by the root of runs over degrees of freedom. Residuals are exchanged between arms by the
/// scale of each arm.
fn bootstrap(model: &TwoWay, ladder: &Ladder, means: &[f64], draws: usize, seed: u64) -> Draws {
    let mut stream = Stream::named(seed, "knee");
    let pools: Vec<Vec<f64>> = (0..model.blocks())
        .map(|block| {
            (0..model.arms())
                .filter_map(|arm| Some(model.residual(arm, block)? / model.scale(arm)))
                .collect()
        })
        .collect();
    let runs = pools.iter().map(Vec::len).sum::<usize>() as f64;
    let swell = (runs / model.nu()).sqrt();
    // Where each level ran: one entry a run, naming the block and the scale of the arm.
    let places: Vec<Vec<(usize, f64)>> = ladder
        .iter()
        .map(|arms| {
            arms.iter()
                .flat_map(|&arm| {
                    (0..model.blocks())
                        .filter(move |&b| model.residual(arm, b).is_some())
                        .map(move |b| (b, model.scale(arm)))
                })
                .collect()
        })
        .collect();
    let mut drawn = Vec::with_capacity(draws * ladder.len());
    for _ in 0..draws {
        for (level, blocks) in places.iter().enumerate() {
            let sum: f64 = blocks
                .iter()
                .map(|&(b, scale)| scale * pools[b][stream.below(pools[b].len())])
                .sum();
            drawn.push(means[level] + swell * sum / blocks.len().max(1) as f64);
        }
    }
    Draws {
        levels: ladder.len(),
        means: drawn,
    }
}

/// The closest sequence that falls and then rises, by weighted least squares, and where it turns.
pub fn unimodal_fit(means: &[f64], weights: &[f64]) -> (Vec<f64>, usize) {
    let mut best = (Vec::new(), f64::INFINITY);
    for turn in 0..=means.len() {
        let falling: Vec<f64> = means[..turn].iter().map(|y| -y).collect();
        let mut fit: Vec<f64> = rising(&falling, &weights[..turn])
            .iter()
            .map(|y| -y)
            .collect();
        fit.extend(rising(&means[turn..], &weights[turn..]));
        let rss: f64 = fit
            .iter()
            .zip(means)
            .zip(weights)
            .map(|((f, y), w)| w * (f - y).powi(2))
            .sum();
        if rss < best.1 - 1e-15 {
            best = (fit, rss);
        }
    }
    let turn = smallest(&best.0);
    (best.0, turn)
}

/// Pool adjacent violators: the closest sequence that never falls.
fn rising(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (&value, &weight) in values.iter().zip(weights) {
        let mut pool = (value, weight, 1);
        while let Some(&before) = pools.last() {
            if before.0 <= pool.0 {
                break;
            }
            let weight = before.1 + pool.1;
            let value = (before.0 * before.1 + pool.0 * pool.1) / weight;
            pool = (value, weight, before.2 + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    pools
        .into_iter()
        .flat_map(|(value, _, count)| std::iter::repeat_n(value, count))
        .collect()
}

/// Permutation test: are the levels from `from` on equal, against a rise somewhere among them?
/// Labels are permuted within blocks; the statistic is how much a rising curve explains.
fn rise_after(logs: &Table, ladder: &Ladder, from: usize, draws: usize, seed: u64) -> Option<f64> {
    let tail = ladder.get(from..).filter(|tail| tail.len() >= 2)?;
    // One value a level and block: the mean of its arms there. Blocks with a hole are left out.
    let mut rows: Vec<Vec<f64>> = (0..logs.blocks())
        .filter_map(|block| {
            tail.iter()
                .map(|arms| {
                    let runs: Vec<f64> = arms
                        .iter()
                        .filter_map(|&arm| logs.get(arm, block))
                        .collect();
                    (!runs.is_empty()).then(|| super::mean(&runs))
                })
                .collect()
        })
        .collect();
    if rows.len() < 2 {
        return None;
    }
    let observed = explained_by_rise(&rows);
    let mut stream = Stream::named(seed, "rise");
    let mut at_least = 1;
    for _ in 0..draws {
        for row in &mut rows {
            stream.shuffle(row);
        }
        at_least += usize::from(explained_by_rise(&rows) >= observed - 1e-15);
    }
    Some(at_least as f64 / (draws + 1) as f64)
}

fn explained_by_rise(rows: &[Vec<f64>]) -> f64 {
    let levels = rows[0].len();
    let count = rows.len() as f64;
    let means: Vec<f64> = (0..levels)
        .map(|l| rows.iter().map(|row| row[l]).sum::<f64>() / count)
        .collect();
    let centre = super::mean(&means);
    rising(&means, &vec![1.0; levels])
        .iter()
        .map(|fit| (fit - centre).powi(2))
        .sum()
}

/// K4: the break between two straight lines on log2 of the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segmented {
    /// The level at the break, on the factor's own scale.
    pub level: f64,
    /// Slope before, per doubling.
    pub before: f64,
    /// Slope after, per doubling.
    pub after: f64,
    /// By how much the criterion beats the best simpler curve.
    pub gain: f64,
}

/// Fits two lines to (level, loss) pairs, one pair a run; `None` unless they beat a constant, a line
/// and the unimodal curve by more than 4 in AICc.
pub fn segmented(levels: &[f64], runs: &[(usize, f64)]) -> Option<Segmented> {
    if levels.len() < 4 || levels.iter().any(|&level| level <= 0.0) {
        return None;
    }
    let x: Vec<f64> = levels.iter().map(|level| level.log2()).collect();
    let y: Vec<f64> = runs.iter().map(|run| run.1).collect();
    let fit = |columns: &dyn Fn(f64) -> Vec<f64>| {
        let rows: Vec<Vec<f64>> = runs.iter().map(|run| columns(x[run.0])).collect();
        least_squares(&rows, &y)
    };
    let n = y.len() as f64;
    let (_, constant, _) = fit(&|_| vec![1.0])?;
    let (_, line, _) = fit(&|x| vec![1.0, x])?;
    let simpler = aicc(n, constant, 2.0)
        .min(aicc(n, line, 3.0))
        .min(unimodal_aicc(&x, runs)?);
    let (first, last) = (x[1], x[x.len() - 2]);
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    for step in 0..=200 {
        let at = first + (last - first) * f64::from(step) / 200.0;
        let Some((c, rss, _)) = fit(&|x| vec![1.0, x.min(at), (x - at).max(0.0)]) else {
            continue;
        };
        if best.as_ref().is_none_or(|(_, least, _)| rss < *least) {
            best = Some((at, rss, c));
        }
    }
    let (at, rss, c) = best?;
    let gain = simpler - aicc(n, rss, 5.0);
    (gain > 4.0).then(|| Segmented {
        level: at.exp2(),
        before: c[1],
        after: c[2],
        gain,
    })
}

fn aicc(n: f64, rss: f64, parameters: f64) -> f64 {
    let room = n - parameters - 1.0;
    if room <= 0.0 {
        return f64::INFINITY;
    }
    n * (rss.max(1e-300) / n).ln() + 2.0 * parameters + 2.0 * parameters * (parameters + 1.0) / room
}

fn unimodal_aicc(x: &[f64], runs: &[(usize, f64)]) -> Option<f64> {
    let mut means = Vec::with_capacity(x.len());
    let mut weights = Vec::with_capacity(x.len());
    for level in 0..x.len() {
        let of: Vec<f64> = runs
            .iter()
            .filter(|run| run.0 == level)
            .map(|run| run.1)
            .collect();
        if of.is_empty() {
            return None;
        }
        means.push(super::mean(&of));
        weights.push(of.len() as f64);
    }
    let (fit, _) = unimodal_fit(&means, &weights);
    let rss = runs.iter().map(|run| (run.1 - fit[run.0]).powi(2)).sum();
    let mut steps = fit;
    steps.dedup();
    Some(aicc(runs.len() as f64, rss, steps.len() as f64 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: [f64; 5] = [1.0, 0.97, 0.945, 0.94, 0.95];

    fn ladder() -> Vec<Vec<usize>> {
        vec![vec![0, 5], vec![1], vec![2], vec![3], vec![4]]
    }

    fn draw(truth: [f64; 5], cv: f64, blocks: usize, seed: u64) -> (Table, TwoWay) {
        let mut stream = Stream::new(seed);
        let mut logs = Table::new(6, blocks);
        for block in 0..blocks {
            let shift = 0.1 * stream.normal();
            for arm in 0..6 {
                logs.set(
                    arm,
                    block,
                    truth[arm % 5].ln() + shift + cv * stream.normal(),
                );
            }
        }
        let model = TwoWay::fit(&logs).unwrap();
        (logs, model)
    }

    #[test]
    fn quiet_runs_name_the_smallest_level_that_is_as_good() {
        let (logs, model) = draw(TRUTH, 0.005, 6, 1);
        let knee = find(&logs, &model, &ladder(), 0.02_f64.ln_1p(), 2_000, 7).unwrap();
        assert_eq!(knee.level, Some(2));
        assert!(knee.probability[2] > 0.95, "{:?}", knee.probability);
        assert!((knee.probability.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(knee.upper[0] > 0.04 && knee.upper[3] < 0.02);
        assert_eq!(knee.unimodal.len(), 5);
    }

    #[test]
    fn loud_runs_name_none() {
        let (logs, model) = draw(TRUTH, 0.08, 5, 2);
        let knee = find(&logs, &model, &ladder(), 0.02_f64.ln_1p(), 2_000, 7).unwrap();
        assert_eq!(knee.level, None);
        assert!(knee.probability.iter().all(|&p| p < 0.95));
    }

    #[test]
    fn a_flat_curve_has_its_knee_at_the_first_level() {
        let (logs, model) = draw([1.0; 5], 0.005, 6, 3);
        let knee = find(&logs, &model, &ladder(), 0.02_f64.ln_1p(), 2_000, 7).unwrap();
        assert_eq!(knee.level, Some(0));
    }

    #[test]
    fn a_rise_after_the_knee_is_tested() {
        let (logs, model) = draw([1.0, 0.97, 0.94, 0.97, 1.01], 0.01, 6, 4);
        let knee = find(&logs, &model, &ladder(), 0.02_f64.ln_1p(), 2_000, 7).unwrap();
        assert_eq!(knee.level, Some(2));
        assert!(knee.rise_after_p.unwrap() < 0.01, "{:?}", knee.rise_after_p);
        let (logs, model) = draw([1.0, 0.97, 0.94, 0.94, 0.94], 0.01, 6, 5);
        let knee = find(&logs, &model, &ladder(), 0.02_f64.ln_1p(), 2_000, 7).unwrap();
        assert!(knee.rise_after_p.unwrap() > 0.05, "{:?}", knee.rise_after_p);
    }

    #[test]
    fn the_unimodal_fit_pools_what_violates_it() {
        let ones = [1.0; 5];
        let (fit, turn) = unimodal_fit(&[5.0, 3.0, 4.0, 2.0, 6.0], &ones);
        assert_eq!(fit, [5.0, 3.5, 3.5, 2.0, 6.0]);
        assert_eq!(turn, 3);
        let (fit, turn) = unimodal_fit(&[1.0, 2.0, 3.0], &ones[..3]);
        assert_eq!((fit, turn), (vec![1.0, 2.0, 3.0], 0));
        // Weights decide where a pool comes to lie.
        let (fit, _) = unimodal_fit(&[2.0, 3.0, 1.0], &[1.0, 3.0, 1.0]);
        assert!((fit[0] - 2.75).abs() < 1e-12 && fit[2] == 1.0, "{fit:?}");
    }

    #[test]
    fn two_lines_are_believed_only_where_they_earn_it() {
        let levels: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let mut stream = Stream::new(9);
        let mut runs = |curve: &dyn Fn(f64) -> f64, noise: f64| -> Vec<(usize, f64)> {
            (0..36)
                .map(|i| (i % 6, curve(levels[i % 6].log2()) + noise * stream.normal()))
                .collect()
        };
        let broken = runs(&|x: f64| -0.05 * x.min(3.0), 0.002);
        let lines = segmented(&levels, &broken);
        assert!(
            lines.is_none_or(|l| (l.level - 8.0).abs() < 1.5),
            "{lines:?}"
        );
        let steep = runs(
            &|x: f64| -0.05 * x.min(2.5) - 0.01 * (x - 2.5).max(0.0),
            0.01,
        );
        if let Some(lines) = segmented(&levels, &steep) {
            assert!(lines.before < -0.03 && lines.after > -0.03, "{lines:?}");
        }
        assert_eq!(segmented(&levels, &runs(&|_| 0.0, 0.01)), None);
    }
}
