//! THROTTLE: so many bytes a second are read, whatever the devices could do.

use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment, sleep};

/// How long a wait lasts before it looks whether the backup goes on.
const LOOK_US: u64 = 20_000;
/// Time that may be made up for: a device that paused is not followed by a burst.
const SLACK_US: u64 = 100_000;

/// Gives bytes out at a rate, to several threads.
#[derive(Debug)]
pub(super) struct Pacer {
    bytes_per_s: u64,
    begun: Moment,
    /// When the bytes that were given out are over, in microseconds since it began.
    used_until_us: Mutex<u64>,
}

impl Pacer {
    pub(super) fn new(mb_per_s: u32) -> Pacer {
        Pacer {
            bytes_per_s: (u64::from(mb_per_s) << 20).max(1),
            begun: Moment::now(),
            used_until_us: Mutex::new(0),
        }
    }

    /// The time at which so many bytes may be read, now being `now_us`.
    fn due_us(&self, bytes: usize, now_us: u64) -> u64 {
        let mut used_until = self.used_until_us.lock();
        let due = (*used_until).max(now_us.saturating_sub(SLACK_US));
        *used_until = due + bytes as u64 * 1_000_000 / self.bytes_per_s;
        debug_assert!(*used_until >= due);
        due
    }

    /// Waits until so many bytes may be read, or until `ended`.
    pub(super) fn take(&self, bytes: usize, ended: impl Fn() -> bool) {
        let due = self.due_us(bytes, self.begun.elapsed_us());
        loop {
            let now = self.begun.elapsed_us();
            if now >= due || ended() {
                return;
            }
            sleep(Duration::from_micros((due - now).min(LOOK_US)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_out_at_the_rate_and_a_pause_is_not_made_up_for() {
        let pacer = Pacer::new(1);
        let quarter = 256 << 10;
        assert_eq!(pacer.due_us(quarter, 0), 0);
        assert_eq!(pacer.due_us(quarter, 0), 250_000);
        assert_eq!(pacer.due_us(quarter, 100_000), 500_000);
        // Ten seconds later.
        assert_eq!(pacer.due_us(quarter, 10_000_000), 10_000_000 - SLACK_US);
        assert_eq!(pacer.due_us(quarter, 10_000_000), 10_150_000);
    }

    #[test]
    fn a_wait_ends_when_the_backup_does() {
        let pacer = Pacer::new(1);
        pacer.take(1 << 30, || false);
        let begun = Moment::now();
        pacer.take(1, || true);
        assert!(begun.elapsed_us() < 1_000_000);
    }
}
