//! A volume that is limited by caps: each cap spaces operations, and a fixed latency is added.
//!
//! Every cap is a clock of its own: an operation starts no earlier than the clock and moves it by its cost.
//! The operation is done `latency` after the last of the clocks that it moved. Burst credits are gained at
//! the base rate, up to their limit. Every operation spends one and waits until there is one; the clock of
//! operations moves by the burst rate.

use super::{Operation, transfer_ns};
use crate::profile::CapProfile;

/// A capped volume with its clocks.
#[derive(Debug, Clone)]
pub struct Capped {
    profile: CapProfile,
    operations_free: u64,
    read_free: u64,
    write_free: u64,
    total_free: u64,
    credits: f64,
    credits_at: u64,
}

impl Capped {
    /// A volume that was idle for long.
    pub fn new(profile: &CapProfile) -> Capped {
        Capped {
            credits: profile.burst.map_or(0.0, |burst| burst.credits as f64),
            profile: profile.clone(),
            operations_free: 0,
            read_free: 0,
            write_free: 0,
            total_free: 0,
            credits_at: 0,
        }
    }

    /// When operations that come at `now` have passed the cap of operations, if there is one.
    fn pass_operations(&mut self, now: u64, operations: u64) -> Option<u64> {
        let base = self.profile.iops?.max(1);
        let mut begin = self.operations_free.max(now);
        let mut rate = base;
        if let Some(burst) = self.profile.burst {
            let gained = begin.saturating_sub(self.credits_at) as f64 * base as f64 / 1e9;
            let credits = (self.credits + gained).min(burst.credits as f64);
            let missing = (operations as f64 - credits).max(0.0);
            begin += (missing * 1e9 / base as f64) as u64;
            self.credits = (credits - operations as f64).max(0.0);
            self.credits_at = begin;
            rate = burst.iops.max(base);
        }
        self.operations_free = begin + operations.saturating_mul(1_000_000_000) / rate;
        Some(self.operations_free)
    }

    #[inline]
    pub(super) fn start(&mut self, now: u64, operation: Operation) -> u64 {
        let bytes = operation.bytes;
        let operations = bytes.div_ceil(self.profile.operation_bytes.max(1)).max(1);
        let pass = |clock: &mut u64, cost: u64| {
            *clock = (*clock).max(now) + cost;
            *clock
        };
        let mut last = now;
        if let Some(passed) = self.pass_operations(now, operations) {
            last = last.max(passed);
        }
        let (clock, rate) = if operation.write {
            (&mut self.write_free, self.profile.write_rate)
        } else {
            (&mut self.read_free, self.profile.read_rate)
        };
        if let Some(rate) = rate {
            last = last.max(pass(clock, transfer_ns(bytes, rate)));
        }
        if let Some(rate) = self.profile.total_rate {
            last = last.max(pass(&mut self.total_free, transfer_ns(bytes, rate)));
        }
        last + self.profile.latency_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn capped(name: &str) -> Capped {
        match Profile::named(name) {
            Some(Profile::Capped(profile)) => Capped::new(&profile),
            _ => panic!("{name} is not capped"),
        }
    }

    fn write(bytes: u64) -> Operation {
        Operation {
            write: true,
            offset: 0,
            bytes,
        }
    }

    #[test]
    fn a_stream_runs_at_the_lower_of_both_caps() {
        for (bytes, per_second) in [(8192, 3_000.0), (1 << 20, 125e6 / (1 << 20) as f64)] {
            let mut volume = capped("cloud");
            let last = (0..3_000).map(|_| volume.start(0, write(bytes))).last();
            let rate = 3_000.0 / (last.unwrap() as f64 / 1e9);
            assert!((rate / per_second - 1.0).abs() < 0.01, "{bytes}: {rate}");
        }
    }

    #[test]
    fn credits_are_spent_at_the_burst_rate_and_then_the_base_rate_is_left() {
        let mut volume = capped("cloud-burst");
        let (mut now, mut count) = (0_u64, 0_u64);
        let mut at_change = 0;
        while now < 3_000_000_000_000 {
            let next = volume.start(now, write(8192)) - 700_000;
            if next - now > 3_000_000 && at_change == 0 {
                at_change = count;
            }
            now = next;
            count += 1;
        }
        // Spent at 3,000 and gained at 300 a second: 5.4 million credits last 2,000 seconds.
        assert!((5_900_000..6_100_000).contains(&at_change), "{at_change}");
        assert!((count - at_change).abs_diff(300 * 1_000) < 10_000);
    }
}
