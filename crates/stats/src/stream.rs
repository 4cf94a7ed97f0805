//! Random numbers from a recorded seed.
//!
//! The key stream is ChaCha8, a fixed specification. The functions on top of it (bounded integers, normal
//! deviates, shuffles) are defined here, so that an upgrade of a library cannot change the order of a plan or
//! the digits of a report.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A seeded stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    key: ChaCha8Rng,
    spare_normal: Option<f64>,
}

impl Stream {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Stream {
        Stream {
            key: ChaCha8Rng::seed_from_u64(seed),
            spare_normal: None,
        }
    }

    /// An independent stream for one purpose: the same seed never feeds both the order of the runs and
    /// the bootstrap.
    pub fn named(seed: u64, purpose: &str) -> Stream {
        let mut key = ChaCha8Rng::seed_from_u64(seed);
        // FNV-1a: a stream number per purpose.
        let hash = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        key.set_stream(hash);
        Stream {
            key,
            spare_normal: None,
        }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.key.next_u64()
    }

    /// A number below `bound`, every one equally likely. `bound` must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0, "an empty range has no number");
        let bound = bound.max(1) as u64;
        // Reject the incomplete last stretch of the 64-bit range.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let bits = self.bits();
            if bits < limit {
                return (bits % bound) as usize;
            }
        }
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal deviate (polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare_normal = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Puts `items` into random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_frozen() {
        // These numbers are stored in journals: if they change, old plans can no longer be replayed.
        let mut stream = Stream::named(20_260_101, "order");
        let drawn: Vec<usize> = (0..12).map(|_| stream.below(10)).collect();
        assert_eq!(drawn, FROZEN);
        let mut other = Stream::named(20_260_101, "bootstrap");
        assert_ne!(drawn, (0..12).map(|_| other.below(10)).collect::<Vec<_>>());
    }

    const FROZEN: [usize; 12] = [3, 1, 7, 1, 2, 0, 0, 4, 8, 9, 6, 0];

    #[test]
    fn normal_deviates_have_mean_zero_and_variance_one() {
        let mut stream = Stream::new(7);
        let n = 40_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.03, "variance {variance}");
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut stream = Stream::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            stream.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(
            seen.values().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
    }
}
