//! A load on a real file or block device.

use super::{Arrival, Draw, Load, LoadError, Measurement, Recorder, Source};
use furrow_io::random::seeded;
use furrow_io::raw::{RawLoad, RawOp, RawTarget};
use furrow_io::time::{Duration, Moment};
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a load runs on a real target, and where on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Time before the measurement.
    pub warm_up: Duration,
    /// Time of the measurement.
    pub measured: Duration,
    /// First byte of the target that is used: a partition that begins there.
    pub offset: u64,
}

/// Runs a load on a target until its time is over or `cancel` is set.
pub fn run_target(
    target: &RawTarget,
    load: &Load,
    window: &Window,
    cancel: &AtomicBool,
) -> Result<Measurement, LoadError> {
    let Arrival::Depth(depth) = load.arrival else {
        return Err(LoadError::Load(
            "a real target takes a depth, not a rate of arrivals".to_owned(),
        ));
    };
    target.check_aligned(window.offset)?;
    let file_bytes = load.check(target.bytes().saturating_sub(window.offset))?;
    let begun = Moment::now();
    let mut timed = Timed {
        draw: Draw {
            rng: seeded(load.seed),
            ..Draw::new(load, file_bytes)
        },
        offset: window.offset,
        warm: begun.after(window.warm_up),
        end: begun.after(window.warm_up + window.measured),
        cancel,
        recorder: Recorder::new(),
        reads: 0,
        last: begun,
    };
    let block = usize::try_from(load.block_bytes).unwrap_or(usize::MAX);
    target.run(block, depth as usize, &mut timed)?;
    if timed.recorder.count == 0 {
        return Err(LoadError::Load(
            "no request was done in the time of the measurement; give it more time".to_owned(),
        ));
    }
    Ok(Measurement {
        source: Source::Measured {
            target: target.path().display().to_string(),
            engine: target.engine().to_owned(),
        },
        load: load.clone(),
        requests: timed.recorder.count,
        reads: timed.reads,
        bytes: timed.recorder.count * load.block_bytes,
        elapsed_ns: timed.last.since_ns(timed.warm),
        latency: timed.recorder.latencies(),
        model: None,
    })
}

struct Timed<'a> {
    draw: Draw,
    offset: u64,
    warm: Moment,
    end: Moment,
    cancel: &'a AtomicBool,
    recorder: Recorder,
    reads: u64,
    /// When the last request that counts was done.
    last: Moment,
}

impl RawLoad for Timed<'_> {
    fn next(&mut self) -> Option<RawOp> {
        if Moment::now() >= self.end || self.cancel.load(Ordering::Relaxed) {
            return None;
        }
        let (offset, read) = self.draw.next();
        Some(RawOp {
            write: !read,
            offset: self.offset + offset,
        })
    }

    fn done(&mut self, op: RawOp, latency_ns: u64) {
        let now = Moment::now();
        if now < self.warm || now > self.end {
            return;
        }
        self.last = now;
        self.recorder.record(latency_ns);
        self.reads += u64::from(!op.write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Pattern;

    fn window(ms: u64) -> Window {
        Window {
            warm_up: Duration::from_millis(20),
            measured: Duration::from_millis(ms),
            offset: 0,
        }
    }

    #[test]
    fn a_file_is_measured_and_its_figures_agree_with_each_other() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let target = RawTarget::create(&dir.path().join("f"), 8 << 20).unwrap();
        let cancel = AtomicBool::new(false);
        for (read_percent, pattern) in [
            (100, Pattern::Random),
            (0, Pattern::Sequential),
            (80, Pattern::Random),
        ] {
            let load = Load {
                read_percent,
                pattern,
                arrival: Arrival::Depth(4),
                ..Load::default()
            };
            let found = run_target(&target, &load, &window(300), &cancel).unwrap();
            println!("{:.0} IOPS, {:?}", found.iops(), found.latency);
            assert!(!found.is_modelled());
            assert!(found.requests > 10 && found.latency.min_ns <= found.latency.p50_ns);
            // Little's law: depth = throughput x latency, as far as a short run on a busy machine has it.
            let little = found.iops() * found.latency.mean_ns as f64 / 1e9;
            assert!((2.0..6.0).contains(&little), "{little}");
            let reads = found.reads as f64 * 100.0 / found.requests as f64;
            assert!((reads - f64::from(read_percent)).abs() < 10.0, "{reads}");
        }
    }

    #[test]
    fn a_cancelled_measurement_ends_at_once() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let target = RawTarget::create(&dir.path().join("f"), 1 << 20).unwrap();
        let cancel = AtomicBool::new(true);
        let begun = Moment::now();
        let outcome = run_target(&target, &Load::default(), &window(60_000), &cancel);
        assert!(matches!(outcome, Err(LoadError::Load(_))));
        assert!(begun.elapsed_us() < 5_000_000);
    }
}
