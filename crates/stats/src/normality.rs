//! Whether the residuals of the additive model look like those of a normal law, and which run lies furthest
//! out.
//!
//! The statistic is that of Shapiro and Francia: the squared correlation of the sorted residuals with normal
//! quantiles, which is how straight their quantile plot is. Residuals of a fit are neither independent nor as
//! many as the runs, so that its distribution is simulated: normal noise in the same places of the design,
//! fitted in the same way.

use super::special::{normal_quantile, t_cdf};
use super::{Stream, Table, TwoWay};

/// Simulated experiments.
const DRAWS: usize = 400;

/// The residuals against a normal law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normality {
    /// The statistic of Shapiro and Francia; 1 for a straight quantile plot.
    pub w: f64,
    /// How often normal noise gives no more.
    pub p: f64,
    /// The run that lies furthest out.
    pub furthest: Furthest,
}

/// The run with the largest studentized residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Furthest {
    /// Its arm.
    pub arm: usize,
    /// Its block.
    pub block: usize,
    /// Its residual over the standard error that it has by all other runs.
    pub studentized: f64,
    /// How often the furthest of so many runs lies as far out (Bonferroni).
    pub p: f64,
}

fn places(table: &Table) -> Vec<(usize, usize)> {
    let all = (0..table.arms()).flat_map(|arm| (0..table.blocks()).map(move |block| (arm, block)));
    all.filter(|&(arm, block)| table.get(arm, block).is_some())
        .collect()
}

/// The squared correlation of sorted values with the quantiles of a normal law; `None` where all are equal.
fn straightness(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let centre = super::mean(&values);
    let (mut products, mut squares, mut normal_squares) = (0.0, 0.0, 0.0);
    for (rank, value) in values.iter().enumerate() {
        let normal = normal_quantile((rank as f64 + 0.625) / (n + 0.25));
        products += normal * (value - centre);
        squares += (value - centre).powi(2);
        normal_squares += normal * normal;
    }
    (squares > 0.0).then(|| products * products / (squares * normal_squares))
}

/// The run whose residual is largest for where it is in the design.
fn furthest(model: &TwoWay, places: &[(usize, usize)]) -> Option<Furthest> {
    let studentized = |&(arm, block): &(usize, usize)| {
        let free = 1.0 - model.leverage(arm, block)?;
        let internal = model.residual(arm, block)? / (model.variance() * free).sqrt();
        let rest = model.nu() - internal * internal;
        // A run that no other one checks has no residual; one that has all of it is infinitely far out.
        (free > 1e-9).then(|| {
            (
                arm,
                block,
                internal * ((model.nu() - 1.0) / rest.max(1e-12)).sqrt(),
            )
        })
    };
    let all = places.iter().filter_map(studentized);
    let (arm, block, studentized) = all.max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
    let one = 2.0 * t_cdf(-studentized.abs(), model.nu() - 1.0);
    Some(Furthest {
        arm,
        block,
        studentized,
        p: (one * places.len() as f64).min(1.0),
    })
}

/// The residuals of the model of `table` against a normal law; `None` with fewer than five runs or three
/// degrees of freedom, and where there is no noise.
pub fn normality(table: &Table, model: &TwoWay, stream: &mut Stream) -> Option<Normality> {
    let places = places(table);
    if places.len() < 5 || model.nu() < 3.0 || model.variance() <= 1e-24 {
        return None;
    }
    let of = |model: &TwoWay| {
        let residuals = places
            .iter()
            .filter_map(|&(arm, block)| model.residual(arm, block));
        straightness(residuals.collect())
    };
    let w = of(model)?;
    let (mut draws, mut as_bent) = (1, 1);
    for _ in 0..DRAWS {
        let mut drawn = Table::new(table.arms(), table.blocks());
        for &(arm, block) in &places {
            drawn.set(arm, block, stream.normal());
        }
        if let Some(other) = TwoWay::fit(&drawn).ok().as_ref().and_then(of) {
            draws += 1;
            as_bent += usize::from(other <= w);
        }
    }
    Some(Normality {
        w,
        p: f64::from(as_bent as u32) / f64::from(draws as u32),
        furthest: furthest(model, &places)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(seed: u64, noise: impl Fn(&mut Stream) -> f64) -> (Table, Normality) {
        let mut stream = Stream::new(seed);
        let mut table = Table::new(7, 3);
        for block in 0..3 {
            for arm in 0..7 {
                table.set(arm, block, 0.1 * arm as f64 + noise(&mut stream));
            }
        }
        let model = TwoWay::fit(&table).unwrap();
        let normality = normality(&table, &model, &mut stream).unwrap();
        (table, normality)
    }

    #[test]
    fn normal_noise_is_rejected_in_one_experiment_of_twenty() {
        const SEEDS: u64 = 200;
        let all: Vec<Normality> = (0..SEEDS)
            .map(|seed| found(seed, Stream::normal).1)
            .collect();
        let bent = all.iter().filter(|found| found.p < 0.05).count();
        let far = all.iter().filter(|found| found.furthest.p < 0.05).count();
        assert!(
            (3..=19).contains(&bent) && (3..=19).contains(&far),
            "{bent}, {far} of {SEEDS}"
        );
    }

    #[test]
    fn one_wild_run_among_few_is_found_and_named() {
        // 21 runs that scatter by 10%, one of which has stalled: a twentieth of its rate.
        let (mut table, _) = found(5, |stream| 0.1 * stream.normal());
        table.set(0, 2, table.get(0, 2).unwrap() - 20.0_f64.ln());
        let model = TwoWay::fit(&table).unwrap();
        let found = normality(&table, &model, &mut Stream::new(1)).unwrap();
        let place = (found.furthest.arm, found.furthest.block);
        assert_eq!(place, (0, 2));
        assert!(
            found.furthest.studentized < -5.0 && found.furthest.p < 0.01,
            "{found:?}"
        );
        assert!(found.p < 0.05, "{found:?}");
    }

    #[test]
    fn the_studentized_residual_is_that_of_a_fit_without_the_run() {
        let (table, found) = found(9, Stream::normal);
        let (arm, block) = (found.furthest.arm, found.furthest.block);
        let whole = TwoWay::fit(&table).unwrap();
        let mut rest = table.clone();
        rest.clear(arm, block);
        let rest = TwoWay::fit(&rest).unwrap();
        let free = 1.0 - whole.leverage(arm, block).unwrap();
        let wanted = whole.residual(arm, block).unwrap() / (rest.variance() * free).sqrt();
        assert!(
            (found.furthest.studentized - wanted).abs() < 1e-9,
            "{found:?}, {wanted}"
        );
    }

    #[test]
    fn too_few_runs_and_none_that_scatter_are_not_judged() {
        let judged = |rows: &[Vec<f64>]| {
            let table = Table::from_rows(rows);
            let model = TwoWay::fit(&table).unwrap();
            normality(&table, &model, &mut Stream::new(1))
        };
        assert_eq!(judged(&[vec![1.0, 2.0, 2.5], vec![1.0, 1.5, 2.0]]), None);
        assert_eq!(judged(&[vec![1.0; 4], vec![2.0; 4]]), None);
    }
}
