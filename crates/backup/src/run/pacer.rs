//! How fast a backup reads: at the rate of THROTTLE, at one that spares writers, or as fast as it can.

pub(super) use super::tuner::Flow;
use super::tuner::{Grant, Sample, Tuner};
use furrow_engine::WriterGauge;
use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment, sleep};

/// How long a wait lasts before it looks whether the backup goes on.
const LOOK_US: u64 = 20_000;
/// Time that may be made up for: a device that paused is not followed by a burst.
const SLACK_US: u64 = 100_000;

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
            (Throttle::MbPerS(mb_per_s), _) => Rate::Fixed(Mutex::new(Fixed {
                bytes_per_s: (u64::from(mb_per_s) << 20).max(1),
                used_until_us: 0,
            })),
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
        loop {
            let (grant, now_us) = self.grant(bytes, &flow);
            match grant {
                Grant::Read(some) => return some,
                Grant::AskAt(_) if ended() => return bytes,
                Grant::AskAt(at) => {
                    let wait_us = at.saturating_sub(now_us).min(LOOK_US);
                    sleep(Duration::from_micros(wait_us));
                }
            }
        }
    }

    /// The same of bytes of the log, which are not held back for writers: they make more of it meanwhile.
    pub(super) fn take_log(&self, bytes: usize, ended: impl Fn() -> bool) -> usize {
        match &self.rate {
            Rate::Tuned(..) => bytes,
            Rate::Unlimited | Rate::Fixed(_) => self.take(bytes, Flow::default, ended),
        }
    }

    /// Whether writers are spared.
    pub(super) fn spares_writers(&self) -> bool {
        matches!(self.rate, Rate::Tuned(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_out_at_the_rate_and_a_pause_is_not_made_up_for() {
        let mut fixed = Fixed {
            bytes_per_s: 1 << 20,
            used_until_us: 0,
        };
        let quarter = 256 << 10;
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
    fn a_wait_ends_when_the_backup_does() {
        let pacer = Pacer::new(Throttle::MbPerS(1), None);
        assert_eq!(pacer.take(1 << 30, Flow::default, || false), 1 << 30);
        // Seventeen minutes are left of what was given out.
        assert_eq!(pacer.take(1, Flow::default, || true), 1);
        assert_eq!(pacer.take_log(1, || true), 1);
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
