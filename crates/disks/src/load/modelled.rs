//! A load on a model, in virtual time: no thread, no clock.

use super::{Arrival, Draw, Load, LoadError, Measurement, ModelFigures, Recorder, Source};
use crate::array::{Array, Completion, Direction, Request};
use crate::placement::{Extents, Placement};
use crate::spec::ModelSpec;
use furrow_io::random::{Rng, SeededRng, seeded};
use twox_hash::XxHash3_64;

/// Requests that are not measured: a tenth of those that are, so that queues and arms are in their usual
/// state when the measurement begins.
const WARM_UP_SHARE: u64 = 10;

/// Runs a load until `requests` were measured.
pub fn run_model(model: &ModelSpec, load: &Load, requests: u64) -> Result<Measurement, LoadError> {
    let array = Array::new(&model.array, model.seed);
    let partition = array
        .capacity_bytes()
        .saturating_sub(model.partition_offset);
    // The gap before a new file must not make it too large for the partition.
    let usable = partition.saturating_sub(32 * model.unit_bytes);
    let file_bytes = load.check(usable)?;
    let mut placement = Placement::new(
        array.capacity_bytes(),
        model.partition_offset,
        model.unit_bytes,
        model.seed,
    );
    let mut file = Extents::default();
    placement.extend(&mut file, file_bytes)?;
    let mut run = Run {
        array,
        file,
        draw: Draw::new(load, file_bytes),
        parts: Vec::new(),
        free: Vec::new(),
        recorder: Recorder::new(),
        reads: 0,
        fingerprint: 0,
        warm_up: requests / WARM_UP_SHARE,
        completed: 0,
        first_ns: 0,
        last_ns: 0,
        in_flight: 0,
        request_ns: 0,
        changed_ns: 0,
        block_bytes: load.block_bytes,
    };
    let total = requests + run.warm_up;
    match load.arrival {
        Arrival::Depth(depth) => run.closed(u64::from(depth), total),
        Arrival::PerSecond(rate) => run.open(rate, total, seeded(load.seed ^ 0x5EED)),
    }
    Ok(run.measurement(model, load))
}

/// A request of the load, which may lie on several extents.
#[derive(Clone, Copy)]
struct Part {
    left: u32,
    read: bool,
    submitted_ns: u64,
}

struct Run {
    array: Array,
    file: Extents,
    draw: Draw,
    parts: Vec<Part>,
    free: Vec<usize>,
    recorder: Recorder,
    reads: u64,
    fingerprint: u64,
    warm_up: u64,
    completed: u64,
    first_ns: u64,
    last_ns: u64,
    in_flight: u64,
    /// Requests under way, integrated over time.
    request_ns: u128,
    changed_ns: u64,
    block_bytes: u64,
}

impl Run {
    fn closed(&mut self, depth: u64, total: u64) {
        for _ in 0..depth.min(total) {
            self.submit(0);
        }
        let mut submitted = depth.min(total);
        while self.completed < total {
            let Some(done) = self.array.next_completion() else {
                break;
            };
            if self.finish(done) && submitted < total {
                self.submit(done.finished_ns);
                submitted += 1;
            }
        }
    }

    fn open(&mut self, per_second: f64, total: u64, mut arrivals: SeededRng) {
        let mut gap = || {
            let uniform: f64 = arrivals.random::<f64>().max(1e-12);
            (-uniform.ln() * 1e9 / per_second) as u64
        };
        let mut next = gap();
        let mut submitted = 0;
        while self.completed < total {
            let until = if submitted < total { next } else { u64::MAX };
            if self.array.next_event_ns().is_some_and(|at| at <= until) {
                self.array.step();
                let done: Vec<Completion> = self.array.take_done().collect();
                for each in done {
                    self.finish(each);
                }
            } else if submitted < total {
                self.submit(next);
                submitted += 1;
                next += gap();
            } else {
                break;
            }
        }
    }

    fn turn_clock(&mut self, now: u64) {
        let span = u128::from(now - self.changed_ns);
        self.request_ns += span * u128::from(self.in_flight);
        self.changed_ns = now;
    }

    fn submit(&mut self, at: u64) {
        let (offset, read) = self.draw.next();
        self.turn_clock(at);
        self.in_flight += 1;
        let part = Part {
            left: 0,
            read,
            submitted_ns: at,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.parts[slot] = part;
                slot
            }
            None => {
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        let direction = if read {
            Direction::Read
        } else {
            Direction::Write
        };
        let (array, parts) = (&mut self.array, &mut self.parts);
        self.file.map(offset, self.block_bytes, |offset, bytes| {
            parts[slot].left += 1;
            let request = Request {
                direction,
                offset,
                bytes,
            };
            array.submit(at, slot as u64, request);
        });
    }

    /// Whether the completion ended a request of the load.
    fn finish(&mut self, done: Completion) -> bool {
        let slot = done.tag as usize;
        let part = &mut self.parts[slot];
        part.left -= 1;
        if part.left > 0 {
            return false;
        }
        let part = *part;
        self.free.push(slot);
        self.turn_clock(done.finished_ns);
        self.in_flight -= 1;
        self.completed += 1;
        for word in [done.tag, done.finished_ns] {
            self.fingerprint = XxHash3_64::oneshot_with_seed(self.fingerprint, &word.to_le_bytes());
        }
        if self.completed == self.warm_up {
            self.first_ns = done.finished_ns;
        }
        if self.completed > self.warm_up {
            self.recorder.record(done.finished_ns - part.submitted_ns);
            self.reads += u64::from(part.read);
            self.last_ns = done.finished_ns;
        }
        true
    }

    fn measurement(&self, model: &ModelSpec, load: &Load) -> Measurement {
        let totals = self.array.totals();
        let now = self.array.now_ns().max(1) as f64;
        let drives = f64::from(model.array.raid.drives());
        let slots = crate::device::Device::new(&model.array.profile, 0).slots();
        let requests = totals.requests.max(1) as f64;
        Measurement {
            source: Source::Model {
                array: model.describe(),
            },
            load: load.clone(),
            requests: self.recorder.count,
            reads: self.reads,
            bytes: self.recorder.count * load.block_bytes,
            elapsed_ns: self.last_ns.saturating_sub(self.first_ns),
            latency: self.recorder.latencies(),
            model: Some(ModelFigures {
                split_percent: totals.split as f64 * 100.0 / requests,
                operations_per_request: totals.operations as f64 / requests,
                busy_percent: if slots == usize::MAX {
                    0.0
                } else {
                    totals.busy_ns as f64 * 100.0 / (now * drives * slots as f64)
                },
                mean_in_flight: self.request_ns as f64 / now,
                fingerprint: self.fingerprint,
            }),
        }
    }
}
