//! The rate of a backup beside writers: as high as leaves them most of their commits.
//!
//! A commit waits for a write of the log, and that write waits behind what the backup reads and writes. So
//! the mean time of a log write says what the backup takes from writers. The tuner compares it with the time
//! that a log write takes while the backup pauses, which it measures every second, and lowers the rate until
//! the first is [`MOST_SLOWDOWN`] times the second at most. Without writers nothing is paced.
//!
//! The pause begins once the pipeline is empty: what packers and writers of stripes still have in their
//! buffers would be taken for the machine without the backup.

/// How many times as long as alone a log write may take beside the backup. Sixteen writers that do nothing
/// but commit kept 57 to 70% of their commits with 1.5, 59 to 69% with 1.3, and 62 to 75% with 1.15: what
/// they lose beyond that is not for want of the log's device.
const MOST_SLOWDOWN: f64 = 1.15;
/// Beside writers so much is read at once: a log write waits behind one read.
const PIECE_BYTES: usize = 64 << 10;
/// A piece grows to this where the devices do not reach the rate otherwise.
const MOST_PIECE_BYTES: usize = 4 << 20;
/// A rate that is reached to this share counts as reached.
const REACHED: f64 = 0.9;
/// A mean is taken of so many log writes at least.
const LEAST_WRITES: u64 = 3;
/// So many are enough to end a window or a pause.
const ENOUGH_WRITES: u64 = 32;
/// Log writes are looked at for so long at least and at most.
const LEAST_WINDOW_US: u64 = 40_000;
const MOST_WINDOW_US: u64 = 100_000;
/// A pause waits for so long at most for the pipeline to become empty.
const MOST_DRAIN_US: u64 = 2_000_000;
/// What the devices still have in hand then is over after this time.
const SETTLE_US: u64 = 3_000;
/// Log writes are measured for so long in a pause, if they are few.
const MOST_PAUSE_US: u64 = 50_000;
/// From one pause to the next.
const PAUSE_EVERY_US: u64 = 1_000_000;
/// From one question of a paused reader to the next.
const ASK_AGAIN_US: u64 = 2_000;
/// The rate falls and rises by these factors at most from one window to the next.
const MOST_FALL: f64 = 0.5;
const MOST_RISE: f64 = 1.25;
/// The rate never falls below this share of the fastest that the pipeline carried from one pause to the next:
/// a backup comes to its end.
const LEAST_SHARE: f64 = 0.1;

/// Writes of the log since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LogWrites {
    count: u64,
    stall_us: u64,
}

impl LogWrites {
    /// What was added since `earlier`.
    fn since(self, earlier: LogWrites) -> LogWrites {
        LogWrites {
            count: self.count.saturating_sub(earlier.count),
            stall_us: self.stall_us.saturating_sub(earlier.stall_us),
        }
    }

    /// Mean time of a write; `None` of too few.
    fn mean_us(self) -> Option<f64> {
        let enough = self.count >= LEAST_WRITES;
        enough.then(|| (self.stall_us as f64 / self.count as f64).max(1.0))
    }
}

/// What is behind the readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// Bytes of pages and log that are written to stripes.
    pub(super) written_bytes: u64,
    /// Whether all that was sent is written.
    pub(super) is_empty: bool,
}

/// What a reader sees when it asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Microseconds since the backup began.
    pub(super) now_us: u64,
    /// Number of log writes so far, and the microseconds that they took.
    pub(super) writes: (u64, u64),
    pub(super) flow: Flow,
}

impl Seen {
    fn log_writes(&self) -> LogWrites {
        let (count, stall_us) = self.writes;
        LogWrites { count, stall_us }
    }
}

/// What a reader may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Read so many bytes now.
    Read(usize),
    /// Ask again at this time, in microseconds.
    AskAt(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The backup reads.
    Reads,
    /// It pauses, and the pipeline becomes empty.
    Drains,
    /// The pipeline is empty, and the devices finish.
    Settles,
    /// Log writes are measured.
    Measures,
}

/// The control of one backup's rate. It has no clock: callers pass the time and the writes of the log.
#[derive(Debug)]
pub(super) struct Tuner {
    phase: Phase,
    /// When the phase or the window began, with the log's writes then.
    since_us: u64,
    before: LogWrites,
    /// Bytes that were given out in the window.
    bytes: u64,
    /// Mean time of a log write without the backup; `None` while there are no writers.
    alone_us: Option<f64>,
    next_pause_us: u64,
    /// When the last pause ended, and what had left the pipeline then.
    ran_from: (u64, u64),
    /// Bytes a second; `None` is as fast as the devices can.
    rate: Option<f64>,
    /// How much is read at once where there is a rate.
    piece: usize,
    /// The most bytes a second that the pipeline carried from one pause to the next.
    fastest: f64,
    /// When the bytes that were given out are over.
    used_until_us: u64,
}

impl Tuner {
    pub(super) fn new((count, stall_us): (u64, u64)) -> Tuner {
        Tuner {
            phase: Phase::Reads,
            since_us: 0,
            before: LogWrites { count, stall_us },
            bytes: 0,
            alone_us: None,
            next_pause_us: 0,
            ran_from: (0, 0),
            rate: None,
            piece: PIECE_BYTES,
            fastest: 0.0,
            used_until_us: 0,
        }
    }

    /// How many of so many bytes may be read now. `log_is_short`: whether the log that the backup holds may
    /// run out.
    pub(super) fn ask(
        &mut self,
        bytes: usize,
        seen: &Seen,
        log_is_short: impl Fn() -> bool,
    ) -> Answer {
        let now_us = seen.now_us;
        self.look(seen, log_is_short);
        match self.phase {
            Phase::Drains | Phase::Settles | Phase::Measures => {
                return Answer::AskAt(now_us + ASK_AGAIN_US);
            }
            Phase::Reads if self.used_until_us > now_us => {
                return Answer::AskAt(self.used_until_us);
            }
            Phase::Reads => {}
        }
        let Some(rate) = self.rate else {
            self.bytes += bytes as u64;
            return Answer::Read(bytes);
        };
        let bytes = bytes.min(self.piece);
        self.bytes += bytes as u64;
        let takes_us = (bytes as f64 / rate * 1e6) as u64;
        // A late reader may make up for as long as its bytes take.
        let begun = self.used_until_us.max(now_us.saturating_sub(takes_us));
        self.used_until_us = begun + takes_us;
        Answer::Read(bytes)
    }

    /// Ends the window or the phase, if it is time.
    fn look(&mut self, seen: &Seen, log_is_short: impl Fn() -> bool) {
        let elapsed_us = seen.now_us.saturating_sub(self.since_us);
        let writes = seen.log_writes().since(self.before);
        match self.phase {
            Phase::Drains if seen.flow.is_empty || elapsed_us >= MOST_DRAIN_US => {
                let (from_us, from_bytes) = self.ran_from;
                let bytes = seen.flow.written_bytes.saturating_sub(from_bytes) as f64;
                let ran_us = seen.now_us.saturating_sub(from_us).max(1);
                self.fastest = self.fastest.max(bytes * 1e6 / ran_us as f64);
                self.enter(Phase::Settles, seen);
            }
            Phase::Settles if elapsed_us >= SETTLE_US => self.enter(Phase::Measures, seen),
            Phase::Measures if writes.count >= ENOUGH_WRITES || elapsed_us >= MOST_PAUSE_US => {
                // Half of what is new: few writes scatter.
                self.alone_us = match (writes.mean_us(), self.alone_us) {
                    (Some(new_us), Some(known_us)) => Some((new_us + known_us) / 2.0),
                    (new_us, _) => new_us,
                };
                if self.alone_us.is_none() {
                    self.rate = None;
                }
                self.next_pause_us = seen.now_us + PAUSE_EVERY_US;
                self.ran_from = (seen.now_us, seen.flow.written_bytes);
                self.enter(Phase::Reads, seen);
            }
            Phase::Reads => self.look_at_window(elapsed_us, writes, (seen, log_is_short)),
            Phase::Drains | Phase::Settles | Phase::Measures => {}
        }
    }

    fn look_at_window(
        &mut self,
        elapsed_us: u64,
        writes: LogWrites,
        (seen, log_is_short): (&Seen, impl Fn() -> bool),
    ) {
        let enough = writes.count >= ENOUGH_WRITES && elapsed_us >= LEAST_WINDOW_US;
        if !enough && elapsed_us < MOST_WINDOW_US {
            return;
        }
        let actual = self.bytes as f64 * 1e6 / elapsed_us.max(1) as f64;
        let mean_us = writes.mean_us().filter(|_| !log_is_short());
        match (mean_us, self.alone_us) {
            (Some(beside_us), Some(alone_us)) => self.tune(beside_us / alone_us, actual),
            // No commit waits for the log, or the log is needed.
            (None, _) => (self.rate, self.alone_us) = (None, None),
            (Some(_), None) => {}
        }
        let phase = match mean_us.is_some() && seen.now_us >= self.next_pause_us {
            true => Phase::Drains,
            false => Phase::Reads,
        };
        self.enter(phase, seen);
    }

    /// Sets the rate by how many times as long a log write took beside `actual` bytes a second.
    fn tune(&mut self, slowdown: f64, actual: f64) {
        let factor = (MOST_SLOWDOWN / slowdown).clamp(MOST_FALL, MOST_RISE);
        let reached = self.rate.is_none_or(|rate| actual >= rate * REACHED);
        self.piece = match factor < 1.0 {
            true => (self.piece / 2).max(PIECE_BYTES),
            false if reached => self.piece,
            false => (self.piece * 2).min(MOST_PIECE_BYTES),
        };
        let from = match self.rate {
            // A rate that the devices do not reach says nothing.
            Some(rate) if factor < 1.0 => rate.min(actual),
            Some(rate) if !reached => rate / factor,
            Some(rate) => rate,
            None => actual,
        };
        let least = (self.fastest * LEAST_SHARE).max(1.0);
        self.rate = Some((from * factor).max(least));
        debug_assert!(self.rate >= Some(least), "a backup comes to its end");
    }

    fn enter(&mut self, phase: Phase, seen: &Seen) {
        self.phase = phase;
        self.since_us = seen.now_us;
        self.before = seen.log_writes();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests;
