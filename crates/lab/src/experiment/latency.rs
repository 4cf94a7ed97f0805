//! Latency histograms: recorded per run and stored whole, so that runs can be merged later.

use crate::results::Latency;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{CreationError, Histogram};

/// A histogram of microseconds, 1 us to one hour, three significant digits, growing where it must.
pub fn new_histogram() -> Result<Histogram<u64>, CreationError> {
    const HOUR_US: u64 = 3_600_000_000;
    let mut histogram = Histogram::new_with_bounds(1, HOUR_US, 3)?;
    histogram.auto(true);
    Ok(histogram)
}

/// The report's figures of a histogram of microseconds. `closed_loop` is true if sessions waited for each
/// answer, so that waiting in line before a request is missing from the figures.
pub fn latency_of(operation: &str, histogram: &Histogram<u64>, closed_loop: bool) -> Latency {
    let mut bytes = Vec::new();
    // Writing to memory fails for counts beyond the format only; the percentiles are valid without it.
    let whole = V2Serializer::new().serialize(histogram, &mut bytes).is_ok();
    let at = |quantile: f64| histogram.value_at_quantile(quantile);
    let is_empty = histogram.is_empty();
    Latency {
        operation: operation.to_string(),
        count: histogram.len(),
        mean_us: if is_empty { 0.0 } else { histogram.mean() },
        p50_us: at(0.5),
        p90_us: at(0.9),
        p95_us: at(0.95),
        p99_us: at(0.99),
        p999_us: at(0.999),
        p9999_us: at(0.9999),
        max_us: histogram.max(),
        coordinated_omission_possible: closed_loop,
        histogram: whole.then(|| STANDARD.encode(&bytes)),
    }
}

/// The whole histogram back, if it was stored and is readable.
pub fn histogram_of(latency: &Latency) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(latency.histogram.as_ref()?).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_journal_and_merges() {
        let mut histogram = new_histogram().unwrap();
        for us in 1..=10_000 {
            histogram.record(us).unwrap();
        }
        let latency = latency_of("commit", &histogram, true);
        assert_eq!((latency.count, latency.max_us / 10), (10_000, 1_000));
        assert!(latency.p50_us.abs_diff(5_000) <= 5 && latency.p99_us.abs_diff(9_900) <= 10);
        assert!((latency.mean_us - 5_000.5).abs() < 5.0);
        let mut back = histogram_of(&latency).unwrap();
        assert_eq!(
            back.value_at_quantile(0.9),
            histogram.value_at_quantile(0.9)
        );
        back.add(&histogram).unwrap();
        assert_eq!(back.len(), 20_000);
    }

    #[test]
    fn an_empty_histogram_has_finite_figures() {
        let latency = latency_of("commit", &new_histogram().unwrap(), false);
        assert_eq!(
            (latency.count, latency.mean_us, latency.p999_us),
            (0, 0.0, 0)
        );
        assert!(histogram_of(&latency).unwrap().is_empty());
        let broken = Latency {
            histogram: Some("!".to_string()),
            ..latency
        };
        assert!(histogram_of(&broken).is_none());
    }
}
