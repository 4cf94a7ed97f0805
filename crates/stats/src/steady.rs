//! Where a series becomes steady.

use super::StatsError;

/// MSER-5: how many leading values to cut so that the mean of the rest has the smallest error.
///
/// The series is averaged in batches of five; the cut minimises the squared standard error of what is
/// left. `Ok(None)` when the best cut lies in the second half: the series never settled.
pub fn mser5(series: &[f64]) -> Result<Option<usize>, StatsError> {
    const BATCH: usize = 5;
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(super::mean).collect();
    let n = batches.len();
    if n < 4 {
        return Err(StatsError::TooFew {
            what: "MSER-5",
            needed: 4 * BATCH,
            got: series.len(),
        });
    }
    let score = |cut: usize| {
        let rest = &batches[cut..];
        let centre = super::mean(rest);
        let squares: f64 = rest.iter().map(|y| (y - centre).powi(2)).sum();
        squares / (rest.len() as f64).powi(2)
    };
    // The last few batches always look steady; they are not considered.
    let best = (0..n - 2)
        .min_by(|&a, &b| score(a).total_cmp(&score(b)))
        .unwrap_or(0);
    Ok((2 * best <= n).then_some(best * BATCH))
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::*;

    #[test]
    fn a_warm_up_is_cut_and_a_steady_series_is_not() {
        let mut stream = Stream::new(2);
        let mut noise = move || stream.normal();
        let kept = (0..100)
            .filter(|_| {
                let flat: Vec<f64> = (0..100).map(|_| 1000.0 + 10.0 * noise()).collect();
                mser5(&flat).unwrap().is_some_and(|cut| cut <= 30)
            })
            .count();
        assert!(kept >= 60, "{kept} of 100 steady series kept");
        let warming: Vec<f64> = (0..100)
            .map(|t| 1000.0 - 800.0 * (-f64::from(t) / 6.0).exp() + 10.0 * noise())
            .collect();
        let cut = mser5(&warming).unwrap().unwrap();
        assert!((15..=40).contains(&cut), "{cut}");
    }

    #[test]
    fn a_series_that_never_settles_is_called_so() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&ramp).unwrap(), None);
        assert!(mser5(&[1.0; 10]).is_err());
    }
}
