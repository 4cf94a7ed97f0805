//! A load of raw requests, and what was measured.
//!
//! The same [`Load`] runs on a model in virtual time ([`run_model`]) and on a real target
//! ([`run_target`]): random or sequential requests of one size within a file, a share of reads, and a fixed
//! number of requests under way (closed loop) or a fixed rate of arrivals (model only).
//!
//! In a closed loop the next request waits for an earlier one, so that a stall of the target also delays
//! the requests that would have been measured: latencies are those of a patient caller.

mod modelled;
mod real;

pub use modelled::run_model;
pub use real::{Window, run_target};

use crate::placement::Full;
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::raw::RawError;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Uniform random blocks.
    Random,
    /// One block after the other, from the beginning again at the end.
    Sequential,
}

/// When requests are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// So many requests are under way at any time.
    Depth(u32),
    /// Requests arrive at random times, so many a second on average, however long they take.
    PerSecond(f64),
}

/// A load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The order of offsets.
    pub pattern: Pattern,
    /// Reads of 100 requests.
    pub read_percent: u32,
    /// The size of a request.
    pub block_bytes: u64,
    /// When requests are submitted.
    pub arrival: Arrival,
    /// The size of the file; 0 for all of the target.
    pub file_bytes: u64,
    /// Of offsets, directions and arrivals.
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            pattern: Pattern::Random,
            read_percent: 100,
            block_bytes: crate::PAGE_BYTES,
            arrival: Arrival::Depth(32),
            file_bytes: 0,
            seed: 1,
        }
    }
}

/// Where a result comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Source {
    /// A model, in virtual time.
    Model {
        /// The array.
        array: String,
    },
    /// A real target.
    Measured {
        /// The file or device.
        target: String,
        /// How requests reached it: `io_uring, direct`.
        engine: String,
    },
}

/// Latencies in nanoseconds, three significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Latencies {
    pub mean_ns: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Where it comes from.
    pub source: Source,
    /// The load.
    pub load: Load,
    /// Requests that were measured.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// From the first to the last of them.
    pub elapsed_ns: u64,
    /// Latencies of all of them.
    pub latency: Latencies,
    /// What only a model counts.
    pub model: Option<ModelFigures>,
}

/// What only a model counts; warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// Requests that touched more than one stripe unit, percent.
    pub split_percent: f64,
    /// Operations of drives per request.
    pub operations_per_request: f64,
    /// Share of the time that a drive worked, mean over drives, percent.
    pub busy_percent: f64,
    /// Requests under way, mean over time.
    pub mean_in_flight: f64,
    /// A number derived from all completions in order.
    pub fingerprint: u64,
}

impl Measurement {
    /// Requests per second.
    pub fn iops(&self) -> f64 {
        self.requests as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// Millions of bytes per second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.elapsed_ns.max(1) as f64
    }

    /// Whether a model was used.
    pub fn is_modelled(&self) -> bool {
        matches!(self.source, Source::Model { .. })
    }
}

/// Why a load could not run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The load makes no sense.
    #[error("{0}")]
    Load(String),
    /// The file does not fit the modelled array.
    #[error(transparent)]
    Full(#[from] Full),
    /// The target failed.
    #[error(transparent)]
    Target(#[from] RawError),
}

impl Load {
    /// Refuses what makes no sense on a target of so many bytes; returns the bytes of the file.
    pub fn check(&self, target_bytes: u64) -> Result<u64, LoadError> {
        let refuse = |text: String| Err(LoadError::Load(text));
        let block = self.block_bytes;
        if !(512..=64 << 20).contains(&block) || !block.is_multiple_of(512) {
            return refuse(format!(
                "a block of {block} bytes cannot be used; write a multiple of 512 bytes up to 64M"
            ));
        }
        if self.read_percent > 100 {
            return refuse(format!(
                "{}% of reads cannot be; write a number from 0 to 100",
                self.read_percent
            ));
        }
        match self.arrival {
            Arrival::Depth(depth) if !(1..=1024).contains(&depth) => {
                return refuse(format!(
                    "a depth of {depth} cannot be used; write 1 to 1024"
                ));
            }
            Arrival::PerSecond(rate) if !(rate > 0.0 && rate < 1e9) => {
                return refuse(format!("{rate} arrivals a second cannot be used"));
            }
            _ => {}
        }
        let file = match self.file_bytes {
            0 => target_bytes,
            bytes => bytes.min(target_bytes),
        };
        if file < block {
            return refuse(format!(
                "the target has {file} bytes, less than a block of {block}; use a larger one"
            ));
        }
        Ok(file)
    }
}

/// Draws the requests of a load.
struct Draw {
    rng: SeededRng,
    pattern: Pattern,
    read_percent: u32,
    block_bytes: u64,
    blocks: u64,
    cursor: u64,
}

impl Draw {
    fn new(load: &Load, file_bytes: u64) -> Draw {
        Draw {
            rng: seeded(load.seed),
            pattern: load.pattern,
            read_percent: load.read_percent,
            block_bytes: load.block_bytes,
            blocks: (file_bytes / load.block_bytes).max(1),
            cursor: 0,
        }
    }

    /// Offset in the file, and whether it is a read.
    #[inline]
    fn next(&mut self) -> (u64, bool) {
        let block = match self.pattern {
            Pattern::Random => self.rng.random_range(0..self.blocks),
            Pattern::Sequential => {
                let block = self.cursor;
                self.cursor = (self.cursor + 1) % self.blocks;
                block
            }
        };
        let read = match self.read_percent {
            100 => true,
            0 => false,
            percent => self.rng.random_range(0..100) < percent,
        };
        (block * self.block_bytes, read)
    }
}

/// A histogram of latencies from a microsecond to an hour.
struct Recorder {
    histogram: Option<Histogram<u64>>,
    sum_ns: u128,
    count: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Recorder {
    fn new() -> Recorder {
        Recorder {
            // The bounds are constants that the library accepts.
            histogram: Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).ok(),
            sum_ns: 0,
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    #[inline]
    fn record(&mut self, ns: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns);
        }
        self.sum_ns += u128::from(ns);
        self.count += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    fn latencies(&self) -> Latencies {
        let quantile = |q| {
            let value = self
                .histogram
                .as_ref()
                .map_or(0, |h| h.value_at_quantile(q));
            value.clamp(self.min_ns.min(self.max_ns), self.max_ns)
        };
        Latencies {
            mean_ns: (self.sum_ns / u128::from(self.count.max(1))) as u64,
            min_ns: self.min_ns.min(self.max_ns),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: self.max_ns,
        }
    }
}

#[cfg(test)]
mod tests;
