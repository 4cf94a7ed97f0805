//! Several tests of the same runs.

use super::model::{Table, TwoWay};
use super::{StatsError, Stream};

/// p-values adjusted by Holm's step-down, in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; count];
    let mut running = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        running = running.max((p_values[index] * (count - rank) as f64).min(1.0));
        adjusted[index] = running;
    }
    adjusted
}

/// Adjusted p-values of all pairs of arms by the largest |t| under `draws` permutations of the labels
/// within blocks (Westfall and Young, single step). Pairs in the order (0,1), (0,2), .., (1,2), ..
///
/// Valid when the runs of a block are exchangeable under the null. The observed order counts as one.
pub fn westfall_young(logs: &Table, draws: usize, seed: u64) -> Result<Vec<f64>, StatsError> {
    let observed = pair_statistics(logs)?;
    let mut stream = Stream::named(seed, "westfall-young");
    let mut at_least = vec![1_usize; observed.len()];
    let mut shuffled = logs.clone();
    for _ in 0..draws {
        for block in 0..logs.blocks() {
            let present: Vec<usize> = (0..logs.arms())
                .filter(|&arm| logs.get(arm, block).is_some())
                .collect();
            let mut values: Vec<f64> = present
                .iter()
                .filter_map(|&arm| logs.get(arm, block))
                .collect();
            stream.shuffle(&mut values);
            for (&arm, &value) in present.iter().zip(&values) {
                shuffled.set(arm, block, value);
            }
        }
        let largest = pair_statistics(&shuffled)?
            .into_iter()
            .fold(0.0_f64, f64::max);
        for (count, &t) in at_least.iter_mut().zip(&observed) {
            *count += usize::from(largest >= t - 1e-12);
        }
    }
    Ok(at_least
        .into_iter()
        .map(|count| count as f64 / (draws + 1) as f64)
        .collect())
}

fn pair_statistics(logs: &Table) -> Result<Vec<f64>, StatsError> {
    let model = TwoWay::fit(logs)?;
    let mut statistics = Vec::new();
    for left in 0..logs.arms() {
        for right in left + 1..logs.arms() {
            let t = model
                .contrast(&[(left, 1.0), (right, -1.0)])
                .filter(|e| e.se > 0.0)
                .map_or(0.0, |e| (e.value / e.se).abs());
            statistics.push(t);
        }
    }
    Ok(statistics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_steps_down_and_never_falls() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let want = [0.03, 0.06, 0.06, 0.02];
        for (got, want) in adjusted.iter().zip(want) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), vec![1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn permutations_find_the_arm_that_differs_and_no_other() {
        let mut stream = Stream::new(4);
        let mut logs = Table::new(4, 6);
        for block in 0..6 {
            for arm in 0..4 {
                let effect = if arm == 3 { 0.1 } else { 0.0 };
                logs.set(arm, block, effect + 0.01 * stream.normal());
            }
        }
        let p = westfall_young(&logs, 400, 1).unwrap();
        // Pairs: 01 02 03 12 13 23.
        for (pair, different) in [false, false, true, false, true, true]
            .into_iter()
            .enumerate()
        {
            assert_eq!(p[pair] < 0.05, different, "{p:?}");
        }
    }
}
