//! How fast a backup reads: at the rate of THROTTLE, at one that spares writers, or as fast as it can.

pub(super) use super::tuner::Flow;
use super::tuner::{Answer, Seen, Tuner};
use furrow_engine::LogGauge;
use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment, sleep};

/// How long a wait lasts before it looks whether the backup goes on.
const LOOK_US: u64 = 20_000;
/// Time that may be made up for: a device that paused is not followed by a burst.
const SLACK_US: u64 = 100_000;

/// A log that is used to this share is held for no longer than needed: the backup is not paced.
const SHORT_PERCENT: f64 = 75.0;

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
    Tuned(Mutex<Tuner>, LogGauge),
}

#[derive(Debug)]
struct Fixed {
    bytes_per_s: u64,
    /// When the bytes that were given out are over.
    used_until_us: u64,
}

impl Fixed {
    /// Whether so many bytes may be read, now being `now_us`.
    fn ask(&mut self, bytes: usize, now_us: u64) -> Answer {
        let due = self.used_until_us.max(now_us.saturating_sub(SLACK_US));
        if due > now_us {
            return Answer::AskAt(due);
        }
        self.used_until_us = due + bytes as u64 * 1_000_000 / self.bytes_per_s;
        Answer::Read(bytes)
    }
}

impl Pacer {
    /// `log` is that of a database that may have writers.
    pub(super) fn new(throttle: Throttle, log: Option<LogGauge>) -> Pacer {
        let rate = match (throttle, log) {
            (Throttle::MbPerS(mb_per_s), _) => Rate::Fixed(Mutex::new(Fixed {
                bytes_per_s: (u64::from(mb_per_s) << 20).max(1),
                used_until_us: 0,
            })),
            (Throttle::Writers, Some(log)) => {
                Rate::Tuned(Mutex::new(Tuner::new(log.writes())), log)
            }
            (Throttle::Writers, None) | (Throttle::Off, _) => Rate::Unlimited,
        };
        Pacer {
            begun: Moment::now(),
            rate,
        }
    }

    fn ask(&self, bytes: usize, now_us: u64, flow: impl Fn() -> Flow) -> Answer {
        match &self.rate {
            Rate::Unlimited => Answer::Read(bytes),
            Rate::Fixed(fixed) => fixed.lock().ask(bytes, now_us),
            Rate::Tuned(tuner, log) => {
                let seen = Seen {
                    now_us,
                    writes: log.writes(),
                    flow: flow(),
                };
                let is_short = || log.used_percent() > SHORT_PERCENT;
                tuner.lock().ask(bytes, &seen, is_short)
            }
        }
    }

    /// Waits until some of so many bytes may be read, or until `ended`; how many.
    pub(super) fn take(
        &self,
        bytes: usize,
        flow: impl Fn() -> Flow,
        ended: impl Fn() -> bool,
    ) -> usize {
        loop {
            let now = self.begun.elapsed_us();
            match self.ask(bytes, now, &flow) {
                Answer::Read(some) => return some,
                Answer::AskAt(_) if ended() => return bytes,
                Answer::AskAt(at) => {
                    let wait_us = at.saturating_sub(now).min(LOOK_US);
                    sleep(Duration::from_micros(wait_us));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(pacer: &Pacer, bytes: usize, now_us: u64) -> Answer {
        pacer.ask(bytes, now_us, Flow::default)
    }

    #[test]
    fn bytes_are_given_out_at_the_rate_and_a_pause_is_not_made_up_for() {
        let pacer = Pacer::new(Throttle::MbPerS(1), None);
        let quarter = 256 << 10;
        let read = Answer::Read(quarter);
        assert_eq!(ask(&pacer, quarter, 0), read);
        assert_eq!(ask(&pacer, quarter, 0), Answer::AskAt(250_000));
        assert_eq!(ask(&pacer, quarter, 250_000), read);
        assert_eq!(ask(&pacer, quarter, 400_000), Answer::AskAt(500_000));
        // Ten seconds later a tenth of a second is made up for.
        assert_eq!(ask(&pacer, quarter, 10_000_000), read);
        assert_eq!(ask(&pacer, quarter, 10_000_000), Answer::AskAt(10_150_000));
    }

    #[test]
    fn a_wait_ends_when_the_backup_does() {
        let pacer = Pacer::new(Throttle::MbPerS(1), None);
        assert_eq!(pacer.take(1 << 30, Flow::default, || false), 1 << 30);
        assert_eq!(pacer.take(1, Flow::default, || true), 1);
        assert!(pacer.begun.elapsed_us() < 1_000_000);
    }

    #[test]
    fn without_a_limit_nothing_waits() {
        for throttle in [Throttle::Off, Throttle::Writers] {
            let pacer = Pacer::new(throttle, None);
            let read = Answer::Read(1 << 30);
            let unpaced = (0..100).all(|_| ask(&pacer, 1 << 30, 1) == read);
            assert!(unpaced, "{throttle:?}");
        }
    }
}
