//! The rate of a backup beside writers: as high as leaves them most of their commits.
//!
//! A commit waits for a write of the log, that write waits behind what the backup reads and writes, and both
//! need processors. So the tuner stops the backup for a moment, at its begin and then about once a second,
//! and counts what writers do alone. Between the pauses it sets the rate by how many commits there are
//! ([`MOST_COMMIT_SLOWDOWN`]), or by how long a log write takes ([`MOST_WRITE_SLOWDOWN`]) where commits are
//! few. Without writers nothing is paced.
//!
//! A pause is measured once the pipeline is empty: what packers and writers of stripes still have in their
//! buffers would be taken for the machine without the backup.

use furrow_engine::WriterCounts;

const MIB: f64 = 1_048_576.0;

/// How many times as many commits there may be alone as beside the backup. Writers are to keep 70% over the
/// whole backup, its end included, which is not paced.
const MOST_COMMIT_SLOWDOWN: f64 = 1.3;
/// Commits are compared where so many are expected: fewer scatter.
const LEAST_COMMITS: f64 = 100.0;
/// How many times as long as alone a log write may take beside the backup, and where commits are compared.
/// Several sessions share a write, so that commits need not become fewer when it takes longer.
const MOST_WRITE_SLOWDOWN: f64 = 1.15;
const MOST_WRITE_SLOWDOWN_OF_MANY: f64 = 2.0;

/// Bytes a second to begin with beside writers.
const FIRST_RATE: f64 = 64.0 * MIB;
/// The rate never falls below this, nor below this share of the fastest that the pipeline carried from one
/// pause to the next: a backup comes to an end, and the log that it holds can be reused.
const LEAST_RATE: f64 = 8.0 * MIB;
const LEAST_SHARE: f64 = 0.05;
/// The rate falls and rises by these factors at most from one window to the next.
const MOST_FALL: f64 = 0.5;
const MOST_RISE: f64 = 1.25;
/// It rises by this factor until a window shows that it is too high, and while there are no writers.
const FIRST_RISE: f64 = 2.0;
/// A rate that is reached to this share counts as reached.
const REACHED: f64 = 0.9;

/// Beside writers so much is read at once: a log write waits behind one read.
pub(super) const PIECE_BYTES: usize = 64 << 10;
/// A piece grows to this where the devices do not reach the rate otherwise, but to no more than they are to
/// read in [`MOST_PIECE_US`].
const MOST_PIECE_BYTES: usize = 4 << 20;
const MOST_PIECE_US: f64 = 50_000.0;
/// A window takes so many pieces at least: the last one counts whole.
const WINDOW_PIECES: u64 = 4;

/// A mean is taken of so many log writes at least.
const LEAST_WRITES: u64 = 3;
/// Writers are looked at for so long at least: until the rate was found, and from then on.
const FIRST_WINDOW_US: u64 = 10_000;
const WINDOW_US: u64 = 40_000;
/// And for so long at most, if they write seldom.
const MOST_WINDOW_US: u64 = 1_000_000;
/// There are no writers where no log write ended or was under way for so long.
const QUIET_US: u64 = 20_000;
/// Before the first read less is enough.
const QUIET_FIRST_US: u64 = 5_000;

/// Writers are measured for so long in a pause, and for so long if they write seldom.
const PAUSE_US: u64 = 50_000;
const MOST_PAUSE_US: u64 = 200_000;
/// A pause waits for so long at most for the pipeline to become empty.
const MOST_DRAIN_US: u64 = 3_000_000;
/// What the devices still have in hand then is over after this time, or after that of a log write.
const SETTLE_US: u64 = 3_000;
/// From the end of a pause to the next, and where there were no writers in it. From the first pause to the
/// second it is less: a checkpoint has just been taken, and the devices may still be busy with it.
const PAUSE_EVERY_US: u64 = 1_000_000;
const FIRST_PAUSE_US: u64 = 250_000;
/// It becomes as much where the pipeline is never empty in time.
const SELDOM_PAUSE_US: u64 = 60_000_000;
const NEXT_TRY_US: u64 = 200_000;

/// A log that is used to this share of what it can grow to is held for no longer than needed: the backup is
/// not paced, until the log is used to less than the second.
const SHORT_PERCENT: f64 = 75.0;
const ENOUGH_PERCENT: f64 = 65.0;

/// From one question of a paused reader to the next.
const ASK_AGAIN_US: u64 = 2_000;
/// No reader is sent away for longer.
const MOST_WAIT_US: u64 = 200_000;

/// What is behind the readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flow {
    /// Bytes of pages that are written to stripes.
    pub(super) written_bytes: u64,
    /// Whether no reader reads and all that was sent is written.
    pub(super) is_empty: bool,
}

/// The state of the backup and of its database when a reader asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// Microseconds since the backup began.
    pub(super) now_us: u64,
    pub(super) counts: WriterCounts,
    pub(super) flow: Flow,
}

/// What a reader may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
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
    /// Writers are measured.
    Measures,
}

/// What writers do without the backup.
#[derive(Debug, Clone, Copy)]
struct Alone {
    log_write_us: f64,
    commits_per_s: f64,
}

impl Alone {
    /// What is better counts at once: the device was busy before. What is worse may be chance.
    fn or_better(self, new: Alone) -> Alone {
        let mean = |known: f64, new: f64| (known + new) / 2.0;
        Alone {
            log_write_us: mean(self.log_write_us, new.log_write_us).min(new.log_write_us),
            commits_per_s: mean(self.commits_per_s, new.commits_per_s).max(new.commits_per_s),
        }
    }
}

/// What writers did in a window or a pause.
#[derive(Debug, Clone, Copy)]
struct Window {
    elapsed_us: u64,
    commits: u64,
    log_writes: u64,
    log_write_us: u64,
    /// For how long no log write has ended or was under way.
    quiet_us: u64,
}

impl Window {
    /// Mean time of a log write; where none has ended, one has taken the whole window.
    fn mean_us(&self) -> f64 {
        let mean = match self.log_writes {
            0 => self.elapsed_us as f64,
            writes => self.log_write_us as f64 / writes as f64,
        };
        mean.max(1.0)
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e6 / self.elapsed_us.max(1) as f64
    }

    /// By how much writers are slower than they may be; below 1 they are not.
    fn excess(&self, alone: &Alone) -> f64 {
        let of_writes = self.mean_us() / alone.log_write_us;
        let expected = alone.commits_per_s * self.elapsed_us as f64 / 1e6;
        if expected < LEAST_COMMITS {
            return of_writes / MOST_WRITE_SLOWDOWN;
        }
        let of_commits = expected / self.commits.max(1) as f64 / MOST_COMMIT_SLOWDOWN;
        of_commits.max(of_writes / MOST_WRITE_SLOWDOWN_OF_MANY)
    }
}

/// The control of one backup's rate. It has no clock: callers pass the time and the counts of writers.
#[derive(Debug)]
pub(super) struct Tuner {
    phase: Phase,
    /// When the phase or the window began, with the counts of writers then.
    since_us: u64,
    before: WriterCounts,
    /// When a log write was last seen, and how many had ended.
    wrote_at_us: u64,
    last_writes: u64,
    /// Bytes that were given out in the window.
    bytes: u64,
    /// `None` until writers were measured.
    alone: Option<Alone>,
    next_pause_us: u64,
    /// From the end of this pause to the next.
    pause_every_us: u64,
    /// Mean time of a log write in the last window.
    beside_us: f64,
    /// When the last pause ended, and what had left the pipeline then.
    ran_from: (u64, u64),
    /// Bytes a second; `None` is as fast as the devices can.
    rate: Option<f64>,
    /// Whether no window has shown yet that the rate is too high.
    rises: bool,
    /// Whether the log that the backup holds may run out.
    log_is_short: bool,
    /// How much is read at once where there is a rate.
    piece: usize,
    /// The most bytes a second that the pipeline carried from one pause to the next.
    fastest: f64,
    /// When the bytes that were given out are over.
    used_until_us: u64,
}

impl Tuner {
    /// Begins with a pause: the pipeline is empty, so that writers are measured at once.
    pub(super) fn new(counts: WriterCounts) -> Tuner {
        Tuner {
            phase: Phase::Measures,
            since_us: 0,
            before: counts,
            wrote_at_us: 0,
            last_writes: counts.log_writes,
            bytes: 0,
            alone: None,
            next_pause_us: 0,
            pause_every_us: FIRST_PAUSE_US,
            beside_us: 0.0,
            ran_from: (0, 0),
            rate: None,
            rises: true,
            log_is_short: false,
            piece: PIECE_BYTES,
            fastest: 0.0,
            used_until_us: 0,
        }
    }

    /// How many of so many bytes may be read now. `log_used`: how full the log is, in percent.
    pub(super) fn grant(
        &mut self,
        bytes: usize,
        sample: &Sample,
        log_used: impl Fn() -> f64,
    ) -> Grant {
        let now_us = sample.now_us;
        self.update(sample, log_used);
        if self.phase != Phase::Reads {
            return Grant::AskAt(now_us + ASK_AGAIN_US);
        }
        let Some(rate) = self.rate else {
            self.bytes += bytes as u64;
            return Grant::Read(bytes);
        };
        if self.used_until_us > now_us {
            debug_assert!(
                self.used_until_us - now_us <= MOST_WAIT_US,
                "a piece takes no longer than the longest wait"
            );
            return Grant::AskAt(self.used_until_us);
        }
        let bytes = bytes.min(self.piece);
        self.bytes += bytes as u64;
        let takes_us = duration_us(bytes, rate);
        // A late reader may make up for as long as its bytes take.
        let begun = self.used_until_us.max(now_us.saturating_sub(takes_us));
        self.used_until_us = begun + takes_us;
        Grant::Read(bytes)
    }

    /// Ends the window or the phase, if it is time.
    fn update(&mut self, sample: &Sample, log_used: impl Fn() -> f64) {
        let now_us = sample.now_us;
        if sample.counts.pending > 0 || sample.counts.log_writes != self.last_writes {
            (self.wrote_at_us, self.last_writes) = (now_us, sample.counts.log_writes);
        }
        let window = self.window(sample);
        match self.phase {
            Phase::Reads if window.elapsed_us >= self.window_us() => {
                self.end_window(&window, sample, log_used);
            }
            Phase::Drains if sample.flow.is_empty => {
                let (from_us, from_bytes) = self.ran_from;
                let bytes = sample.flow.written_bytes.saturating_sub(from_bytes) as f64;
                let ran_us = now_us.saturating_sub(from_us).max(1);
                self.fastest = self.fastest.max(bytes * 1e6 / ran_us as f64);
                self.enter(Phase::Settles, sample);
            }
            // Packers or stripes are so slow that a pause would cost more than it shows.
            Phase::Drains if window.elapsed_us >= MOST_DRAIN_US => {
                self.pause_every_us = (self.pause_every_us * 2).min(SELDOM_PAUSE_US);
                self.go_on(self.pause_every_us, sample);
            }
            Phase::Settles if window.elapsed_us >= self.settle_us() => {
                self.enter(Phase::Measures, sample);
            }
            Phase::Measures => self.measure(&window, sample),
            Phase::Reads | Phase::Drains | Phase::Settles => {}
        }
    }

    fn window(&self, sample: &Sample) -> Window {
        let (now, before) = (&sample.counts, &self.before);
        Window {
            elapsed_us: sample.now_us.saturating_sub(self.since_us),
            commits: now.commits.saturating_sub(before.commits),
            log_writes: now.log_writes.saturating_sub(before.log_writes),
            log_write_us: now.log_write_us.saturating_sub(before.log_write_us),
            quiet_us: sample.now_us - self.wrote_at_us.max(self.since_us),
        }
    }

    fn settle_us(&self) -> u64 {
        (self.beside_us as u64).clamp(SETTLE_US, MOST_PAUSE_US)
    }

    /// Ends a pause once writers are measured, or do not write.
    fn measure(&mut self, window: &Window, sample: &Sample) {
        let is_first = self.next_pause_us == 0;
        let quiet_us = if is_first { QUIET_FIRST_US } else { QUIET_US };
        if window.log_writes == 0 && window.quiet_us >= quiet_us {
            self.alone = None;
            self.set_rate(None, sample.now_us);
            self.rises = true;
            return self.go_on(NEXT_TRY_US, sample);
        }
        let enough = window.elapsed_us >= PAUSE_US && window.log_writes >= LEAST_WRITES;
        if !enough && window.elapsed_us < MOST_PAUSE_US {
            return;
        }
        if window.log_writes > 0 {
            let new = Alone {
                log_write_us: window.mean_us(),
                commits_per_s: window.per_second(window.commits),
            };
            self.alone = Some(self.alone.map_or(new, |known| known.or_better(new)));
            if self.rate.is_none() {
                self.set_rate(Some(FIRST_RATE), sample.now_us);
                self.rises = true;
            }
        }
        self.go_on(self.pause_every_us, sample);
        self.pause_every_us = (self.pause_every_us * 2).min(PAUSE_EVERY_US);
    }

    /// Ends a pause; the next one is due after so many microseconds.
    fn go_on(&mut self, pause_after_us: u64, sample: &Sample) {
        self.next_pause_us = sample.now_us + pause_after_us;
        self.ran_from = (sample.now_us, sample.flow.written_bytes);
        self.enter(Phase::Reads, sample);
    }

    /// The shortest window at this rate.
    fn window_us(&self) -> u64 {
        let least_us = if self.rises {
            FIRST_WINDOW_US
        } else {
            WINDOW_US
        };
        let piece_us = self.rate.map_or(0, |rate| duration_us(self.piece, rate));
        least_us.max(WINDOW_PIECES * piece_us)
    }

    /// Ends a window of reading, if it shows enough, and sets the rate by it.
    fn end_window(&mut self, window: &Window, sample: &Sample, log_used: impl Fn() -> f64) {
        let (now_us, actual) = (sample.now_us, window.per_second(self.bytes));
        let is_quiet = window.quiet_us >= QUIET_US;
        let is_long = window.log_writes >= LEAST_WRITES || window.elapsed_us >= MOST_WINDOW_US;
        if !is_quiet && !is_long {
            return;
        }
        let least = if self.log_is_short {
            ENOUGH_PERCENT
        } else {
            SHORT_PERCENT
        };
        self.log_is_short = log_used() > least;
        if self.log_is_short {
            self.set_rate(None, now_us);
        } else if is_quiet {
            let faster = self.rate.filter(|rate| actual >= rate * REACHED);
            self.set_rate(faster.map(|rate| rate * FIRST_RISE), now_us);
            self.rises = true;
        } else if let Some(alone) = &self.alone {
            self.beside_us = window.mean_us();
            let excess = window.excess(alone);
            if self.bytes > 0 {
                self.tune(excess, actual, now_us);
            }
        }
        let pauses = !is_quiet && !self.log_is_short && now_us >= self.next_pause_us;
        self.enter(if pauses { Phase::Drains } else { Phase::Reads }, sample);
    }

    /// Sets the rate by how much slower than they may be writers were beside `actual` bytes a second.
    fn tune(&mut self, excess: f64, actual: f64, now_us: u64) {
        self.rises &= excess < 1.0;
        let factor = match self.rises {
            true => FIRST_RISE,
            false => (1.0 / excess).clamp(MOST_FALL, MOST_RISE),
        };
        let reached = self.rate.is_none_or(|rate| actual >= rate * REACHED);
        let rate = match self.rate {
            Some(rate) if factor < 1.0 => rate.min(actual) * factor,
            Some(rate) if reached => rate * factor,
            // What the devices do not reach shows nothing.
            Some(rate) => rate,
            None => actual * factor.min(1.0),
        };
        let least = LEAST_RATE.max(self.fastest * LEAST_SHARE);
        let is_least = rate <= least;
        self.piece = match (factor < 1.0 && !is_least, reached) {
            (true, _) => self.piece / 2,
            (false, true) => self.piece,
            (false, false) => self.piece * 2,
        };
        let rate = rate.max(least);
        self.set_rate(Some(rate), now_us);
    }

    fn set_rate(&mut self, rate: Option<f64>, now_us: u64) {
        self.rate = rate;
        let Some(rate) = rate else {
            self.used_until_us = 0;
            return;
        };
        let most = (rate * MOST_PIECE_US / 1e6) as usize;
        let most = most.clamp(PIECE_BYTES, MOST_PIECE_BYTES);
        // A piece is a number of extents, whatever it was halved from.
        self.piece = self.piece.clamp(PIECE_BYTES, most) / PIECE_BYTES * PIECE_BYTES;
        self.used_until_us = self
            .used_until_us
            .min(now_us + duration_us(self.piece, rate));
    }

    fn enter(&mut self, phase: Phase, sample: &Sample) {
        self.phase = phase;
        self.since_us = sample.now_us;
        self.before = sample.counts;
        self.bytes = 0;
    }
}

/// How long so many bytes take at a rate.
fn duration_us(bytes: usize, rate: f64) -> u64 {
    (bytes as f64 / rate * 1e6) as u64
}

#[cfg(test)]
mod tests;
