//! The rate of a backup beside writers: as high as leaves them most of their commits.
//!
//! A commit waits for a write of the log, and that write waits behind what the backup reads and writes. So
//! the mean time of a log write says what the backup takes from writers. The tuner compares it with the time
//! that a log write takes while the backup pauses, which it measures every second, and lowers the rate
//! until the two differ by [`MOST_SLOWDOWN`] at most. Without writers nothing is paced.

/// How many times as long as alone a log write may take beside the backup. Sixteen writers that do nothing
/// but commit kept 61 to 66% of their commits with 2.2, 72 to 75% with 1.6, and 79 to 91% with 1.25.
const MOST_SLOWDOWN: f64 = 1.5;
/// Beside writers so much is read at once: a log write waits behind one read.
const PIECE_BYTES: usize = 64 << 10;
/// A mean is taken of so many log writes at least.
const LEAST_WRITES: u64 = 4;
/// So many are enough to end a window or a pause.
const ENOUGH_WRITES: u64 = 16;
/// Log writes are looked at for so long at least and at most.
const LEAST_WINDOW_US: u64 = 10_000;
const MOST_WINDOW_US: u64 = 250_000;
/// What is in flight when a pause begins ends within this time; log writes are measured after it.
const SETTLE_US: u64 = 5_000;
/// Log writes are measured for so long in a pause, if they are few.
const MOST_PAUSE_US: u64 = 50_000;
/// From one pause to the next.
const PAUSE_EVERY_US: u64 = 1_000_000;
/// The rate falls and rises by these factors at most from one window to the next.
const MOST_FALL: f64 = 0.5;
const MOST_RISE: f64 = 1.25;
/// The rate never falls below this share of the fastest window: a backup comes to its end.
const LEAST_SHARE: f64 = 0.1;

/// What a reader may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Read so many bytes now.
    Read(usize),
    /// Ask again at this time, in microseconds.
    AskAt(u64),
}

/// Writes of the log since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LogWrites {
    pub(super) count: u64,
    pub(super) stall_us: u64,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The backup reads.
    Reads,
    /// It pauses, and what is in flight comes to its end.
    Settles,
    /// It pauses, and log writes are measured.
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
    /// Bytes a second; `None` is as fast as the devices can.
    rate: Option<f64>,
    /// Bytes a second of the fastest window.
    fastest: f64,
    /// When the bytes that were given out are over.
    used_until_us: u64,
}

impl Tuner {
    pub(super) fn new(now_us: u64, writes: LogWrites) -> Tuner {
        Tuner {
            phase: Phase::Reads,
            since_us: now_us,
            before: writes,
            bytes: 0,
            alone_us: None,
            next_pause_us: now_us,
            rate: None,
            fastest: 0.0,
            used_until_us: 0,
        }
    }

    /// How many of so many bytes may be read now.
    pub(super) fn ask(&mut self, bytes: usize, now_us: u64, writes: LogWrites) -> Answer {
        self.look(now_us, writes);
        match self.phase {
            Phase::Settles => return Answer::AskAt(self.since_us + SETTLE_US),
            Phase::Measures => return Answer::AskAt(now_us + LEAST_WINDOW_US / 4),
            Phase::Reads if self.used_until_us > now_us => {
                return Answer::AskAt(self.used_until_us);
            }
            Phase::Reads => {}
        }
        let Some(rate) = self.rate else {
            self.bytes += bytes as u64;
            return Answer::Read(bytes);
        };
        let bytes = bytes.min(PIECE_BYTES);
        self.bytes += bytes as u64;
        let takes_us = (bytes as f64 / rate * 1e6) as u64;
        // A late reader may make up for as long as its bytes take.
        let begun = self.used_until_us.max(now_us.saturating_sub(takes_us));
        self.used_until_us = begun + takes_us;
        Answer::Read(bytes)
    }

    /// Ends the window or the phase, if it is time.
    fn look(&mut self, now_us: u64, writes: LogWrites) {
        let elapsed_us = now_us.saturating_sub(self.since_us);
        let seen = writes.since(self.before);
        match self.phase {
            Phase::Settles if elapsed_us >= SETTLE_US => {
                self.enter(Phase::Measures, now_us, writes);
            }
            Phase::Measures if seen.count >= 2 * ENOUGH_WRITES || elapsed_us >= MOST_PAUSE_US => {
                // Half of what is new: few writes scatter.
                self.alone_us = match (seen.mean_us(), self.alone_us) {
                    (Some(now_us), Some(known_us)) => Some((now_us + known_us) / 2.0),
                    (now_us, _) => now_us,
                };
                if self.alone_us.is_none() {
                    self.rate = None;
                }
                self.next_pause_us = now_us + PAUSE_EVERY_US;
                self.enter(Phase::Reads, now_us, writes);
            }
            Phase::Reads => self.end_window(elapsed_us, seen, (now_us, writes)),
            Phase::Settles | Phase::Measures => {}
        }
    }

    fn end_window(&mut self, elapsed_us: u64, seen: LogWrites, (now_us, writes): (u64, LogWrites)) {
        let enough = seen.count >= ENOUGH_WRITES && elapsed_us >= LEAST_WINDOW_US;
        if !enough && elapsed_us < MOST_WINDOW_US {
            return;
        }
        let actual = self.bytes as f64 * 1e6 / elapsed_us.max(1) as f64;
        self.fastest = self.fastest.max(actual);
        match (seen.mean_us(), self.alone_us) {
            (Some(beside_us), Some(alone_us)) => self.tune(beside_us / alone_us, actual),
            // No commit waits for the log.
            (None, _) => (self.rate, self.alone_us) = (None, None),
            (Some(_), None) => {}
        }
        let writers = seen.mean_us().is_some();
        let phase = match writers && now_us >= self.next_pause_us {
            true => Phase::Settles,
            false => Phase::Reads,
        };
        self.enter(phase, now_us, writes);
    }

    /// Sets the rate by how many times as long a log write took beside `actual` bytes a second.
    fn tune(&mut self, slowdown: f64, actual: f64) {
        let factor = (MOST_SLOWDOWN / slowdown).clamp(MOST_FALL, MOST_RISE);
        let from = match self.rate {
            // A rate that the devices do not reach says nothing.
            Some(rate) if factor < 1.0 => rate.min(actual),
            Some(rate) => rate.min(actual * MOST_RISE),
            None => actual,
        };
        let least = (self.fastest * LEAST_SHARE).max(1.0);
        self.rate = Some((from * factor).max(least));
        debug_assert!(self.rate >= Some(least), "a backup comes to its end");
    }

    fn enter(&mut self, phase: Phase, now_us: u64, writes: LogWrites) {
        self.phase = phase;
        self.since_us = now_us;
        self.before = writes;
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1_048_576.0;

    /// A device of 1000 MB/s whose log writes take `alone_us`, and ten times that while the backup reads;
    /// megabytes a second that it read in the last half of the time.
    fn backed_up_for(tuner: &mut Tuner, from_us: u64, for_us: u64, alone_us: Option<f64>) -> f64 {
        let (mut now, mut writes, mut bytes) = (from_us as f64, tuner.before, 0.0);
        let (mut count, mut stall) = (writes.count as f64, writes.stall_us as f64);
        let end = (from_us + for_us) as f64;
        while now < end {
            let (read, step) = match tuner.ask(1 << 20, now as u64, writes) {
                Answer::Read(read) => (read as f64, read as f64 / MB * 1000.0),
                Answer::AskAt(at) => (0.0, (at as f64 - now).clamp(1.0, 1000.0)),
            };
            if now >= end - for_us as f64 / 2.0 {
                bytes += read;
            }
            if let Some(alone_us) = alone_us {
                count += step / (alone_us * if read > 0.0 { 10.0 } else { 1.0 });
                stall += step;
            }
            now += step;
            writes = LogWrites {
                count: count as u64,
                stall_us: stall as u64,
            };
        }
        bytes / (for_us as f64 / 2.0) * 1e6 / MB
    }

    #[test]
    fn a_backup_without_writers_is_not_paced() {
        let mut tuner = Tuner::new(0, LogWrites::default());
        let rate = backed_up_for(&mut tuner, 0, 2_000_000, None);
        assert!(rate > 990.0, "{rate}");
    }

    #[test]
    fn a_log_write_beside_a_backup_takes_little_longer_than_alone() {
        let mut tuner = Tuner::new(0, LogWrites::default());
        backed_up_for(&mut tuner, 0, 2_000_000, Some(100.0));
        let before = tuner.before;
        let rate = backed_up_for(&mut tuner, 2_000_000, 4_000_000, Some(100.0));
        let seen = tuner.before.since(before);
        let mean = seen.stall_us as f64 / seen.count as f64;
        assert!(
            mean < 100.0 * MOST_SLOWDOWN * 1.1,
            "{mean} us at {rate} MB/s"
        );
        assert!(rate >= 1000.0 * LEAST_SHARE * 0.9, "{rate}");
    }

    #[test]
    fn a_backup_is_fast_again_once_the_writers_have_ended() {
        let mut tuner = Tuner::new(0, LogWrites::default());
        let beside = backed_up_for(&mut tuner, 0, 2_000_000, Some(100.0));
        let after = backed_up_for(&mut tuner, 2_000_000, 2_000_000, None);
        assert!(beside < 500.0 && after > 990.0, "{beside} {after}");
    }

    #[test]
    fn writers_that_need_not_wait_for_the_device_cost_the_backup_only_its_pauses() {
        let mut tuner = Tuner::new(0, LogWrites::default());
        let (mut now, mut read) = (0, 0);
        while now < 5_000_000 {
            // Each log write takes 100 us, whatever the backup does.
            let writes = LogWrites {
                count: now / 100,
                stall_us: now,
            };
            match tuner.ask(1 << 20, now, writes) {
                Answer::Read(bytes) => {
                    read += bytes;
                    now += (bytes as u64 * 1000) >> 20;
                }
                Answer::AskAt(at) => now = at.max(now + 1),
            }
        }
        let megabytes = read >> 20;
        assert!(megabytes > 4_500, "{megabytes} of 5000");
    }
}
