//! How fast a backup reads: at the rate of THROTTLE, at one that spares writers, or as fast as it can.

pub(super) use super::tuner::Flow;
use super::tuner::{Grant, PIECE_BYTES, Sample, Tuner};
use furrow_engine::WriterGauge;
use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;

/// How long a wait lasts before it looks whether the backup goes on.
const LOOK_US: u64 = 20_000;
/// Time that may be made up for: a device that paused is not followed by a burst.
const SLACK_US: u64 = 100_000;
/// At a stated rate a chunk takes so long, or is of [`PIECE_BYTES`]. Of chunks of 64 KB, 256 KB and 1 MB at
/// 20 MB/s the second cost writers least: a log write waits behind a large one, and each has its own cost.
const FIXED_CHUNK_US: u64 = 12_500;

/// Paces what a backup reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Throttle {
    /// As fast as leaves the writers of the database most of their commits.
    #[default]
    Writers,
    /// As fast as the devices can.
    Off,
    /// At so many megabytes a second.
    MbPerS(u32),
}

/// Gives bytes out, to several threads.
#[derive(Debug)]
pub(super) struct Pacer {
    begun: Moment,
    rate: Rate,
}

#[derive(Debug)]
enum Rate {
    Unlimited,
    Fixed(Mutex<Fixed>),
    Tuned(Mutex<Tuner>, WriterGauge),
}

#[derive(Debug)]
struct Fixed {
    bytes_per_s: u64,
    /// When the bytes that were given out are over.
    used_until_us: u64,
}

impl Fixed {
    fn new(bytes_per_s: u64) -> Fixed {
        Fixed {
            bytes_per_s: bytes_per_s.max(1),
            used_until_us: 0,
        }
    }

    /// Whether so many bytes may be read, now being `now_us`.
    fn grant(&mut self, bytes: usize, now_us: u64) -> Grant {
        let due = self.used_until_us.max(now_us.saturating_sub(SLACK_US));
        if due > now_us {
            return Grant::AskAt(due);
        }
        self.used_until_us = due + bytes as u64 * 1_000_000 / self.bytes_per_s;
        Grant::Read(bytes)
    }
}

impl Pacer {
    /// `writers` are those of a database that may have any.
    pub(super) fn new(throttle: Throttle, writers: Option<WriterGauge>) -> Pacer {
        let rate = match (throttle, writers) {
            (Throttle::MbPerS(mb_per_s), _) => {
                Rate::Fixed(Mutex::new(Fixed::new(u64::from(mb_per_s) << 20)))
            }
            (Throttle::Writers, Some(writers)) => {
                Rate::Tuned(Mutex::new(Tuner::new(writers.counts())), writers)
            }
            (Throttle::Writers, None) | (Throttle::Off, _) => Rate::Unlimited,
        };
        Pacer {
            begun: Moment::now(),
            rate,
        }
    }

    fn grant(&self, bytes: usize, flow: impl Fn() -> Flow) -> (Grant, u64) {
        let now_us = || self.begun.elapsed_us();
        match &self.rate {
            Rate::Unlimited => (Grant::Read(bytes), 0),
            Rate::Fixed(fixed) => {
                let now_us = now_us();
                (fixed.lock().grant(bytes, now_us), now_us)
            }
            Rate::Tuned(tuner, writers) => {
                // The sample is taken within the lock: one of before a pause must not end it.
                let mut tuner = tuner.lock();
                let sample = Sample {
                    now_us: now_us(),
                    counts: writers.counts(),
                    flow: flow(),
                };
                let log_used = || writers.log_used_percent();
                (tuner.grant(bytes, &sample, log_used), sample.now_us)
            }
        }
    }

    /// Waits until some of so many bytes of pages may be read, or until `ended`; how many.
    pub(super) fn take(
        &self,
        bytes: usize,
        flow: impl Fn() -> Flow,
        ended: impl Fn() -> bool,
    ) -> usize {
        let mut wait = None;
        loop {
            let (grant, now_us) = self.grant(bytes, &flow);
            let at = match grant {
                Grant::Read(some) => return some,
                Grant::AskAt(_) if ended() => return bytes,
                Grant::AskAt(at) => at,
            };
            wait.get_or_insert_with(|| task::wait(WaitType::BackupThrottle, Resource::None));
            let wait_us = at.saturating_sub(now_us).min(LOOK_US);
            sleep(Duration::from_micros(wait_us));
        }
    }

    /// The same of bytes of the log, which are not held back for writers: they make more of it meanwhile.
    pub(super) fn take_log(&self, bytes: usize, ended: impl Fn() -> bool) -> usize {
        match &self.rate {
            Rate::Tuned(..) => bytes,
            Rate::Unlimited | Rate::Fixed(_) => self.take(bytes, Flow::default, ended),
        }
    }

    /// How much of so many bytes a chunk holds: what is read for it is written at once.
    pub(super) fn chunk_bytes(&self, most: usize) -> usize {
        match &self.rate {
            Rate::Fixed(fixed) => most.min(fixed_chunk(fixed.lock().bytes_per_s)),
            Rate::Unlimited | Rate::Tuned(..) => most,
        }
    }

    /// Whether writers are spared.
    pub(super) fn spares_writers(&self) -> bool {
        matches!(self.rate, Rate::Tuned(..))
    }
}

/// A number of extents.
fn fixed_chunk(bytes_per_s: u64) -> usize {
    let bytes = bytes_per_s.saturating_mul(FIXED_CHUNK_US) / 1_000_000;
    let pieces = usize::try_from(bytes).unwrap_or(usize::MAX) / PIECE_BYTES;
    pieces.max(1) * PIECE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_observe::Instruments;
    use furrow_observe::task::Task;

    #[test]
    fn bytes_are_given_out_at_the_rate_and_a_pause_is_not_made_up_for() {
        let mut fixed = Fixed::new(1 << 18);
        let quarter = 64 << 10;
        let read = Grant::Read(quarter);
        assert_eq!(fixed.grant(quarter, 0), read);
        assert_eq!(fixed.grant(quarter, 0), Grant::AskAt(250_000));
        assert_eq!(fixed.grant(quarter, 250_000), read);
        assert_eq!(fixed.grant(quarter, 400_000), Grant::AskAt(500_000));
        // Ten seconds later a tenth of a second is made up for.
        assert_eq!(fixed.grant(quarter, 10_000_000), read);
        assert_eq!(fixed.grant(quarter, 10_000_000), Grant::AskAt(10_150_000));
    }

    #[test]
    fn a_chunk_is_a_number_of_extents_and_as_large_as_the_rate_and_the_transfer_size_allow() {
        let kb = |mb_per_s: u32| {
            let pacer = Pacer::new(Throttle::MbPerS(mb_per_s), None);
            pacer.chunk_bytes(4 << 20) >> 10
        };
        let chunks = [1, 6, 20, 51, 100, 320, u32::MAX].map(kb);
        assert_eq!(chunks, [64, 64, 256, 640, 1_280, 4_096, 4_096]);
        assert_eq!(
            Pacer::new(Throttle::Off, None).chunk_bytes(1 << 20),
            1 << 20
        );
    }

    #[test]
    fn a_wait_ends_when_the_backup_does() {
        let pacer = Pacer::new(Throttle::MbPerS(1), None);
        assert_eq!(pacer.take(1 << 30, Flow::default, || false), 1 << 30);
        // Seventeen minutes are left of what was given out.
        assert_eq!(pacer.take(1, Flow::default, || true), 1);
        assert_eq!(pacer.take_log(1, || true), 1);
    }

    #[test]
    fn the_time_that_a_rate_costs_is_charged_to_one_wait_of_the_task() {
        let instruments = Instruments::new();
        let task = Task::new(&instruments, 51, "backup");
        let _entered = task::enter(&task);
        let charged = || instruments.waits.row(WaitType::BackupThrottle).count;
        let pacer = Pacer::new(Throttle::MbPerS(1), None);
        pacer.take(64 << 10, Flow::default, || false);
        assert_eq!(charged(), 0, "the first bytes are given out at once");
        // A sixteenth of a second, in which it looks several times.
        pacer.take(1, Flow::default, || false);
        assert_eq!(charged(), 1);
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        for throttle in [Throttle::Off, Throttle::Writers] {
            let pacer = Pacer::new(throttle, None);
            let never = || unreachable!("nothing waits");
            for _ in 0..100 {
                assert_eq!(
                    pacer.take(1 << 30, Flow::default, never),
                    1 << 30,
                    "{throttle:?}"
                );
            }
        }
    }
}
