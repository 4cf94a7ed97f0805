//! A rotating disk: seek, rotation, transfer.
//!
//! Time of an operation = seek(distance) + rotation until its first sector is under the head + transfer.
//!
//! - Seek is Lee and Katz's curve `a sqrt(x - 1) + b (x - 1) + c`, whose coefficients follow from the
//!   minimal, mean and maximal seek time. A negative coefficient becomes 0.
//! - The platter has an angle at every nanosecond, and every byte has an angle. Therefore a rewrite of bytes
//!   just read waits for the rest of a revolution, and a sequential stream does not wait.
//! - The media rate falls from the outermost to the innermost of 16 zones.
//! - A read that begins where the last read ended finds its bytes in the drive's read-ahead buffer.

use super::{Operation, transfer_ns};
use crate::profile::DiskProfile;

const ZONES: u64 = 16;

/// A disk with the position of its arm.
#[derive(Debug, Clone)]
pub struct Disk {
    revolution_ns: u64,
    cylinder_bytes: u64,
    zone_bytes: u64,
    /// Bytes of a track and the media rate, per zone.
    zones: Vec<(u64, u64)>,
    interface_rate: u64,
    /// Coefficients of the seek curve in nanoseconds.
    curve: (f64, f64, f64),
    settle_ns: u64,
    phase_ns: u64,
    arm: u64,
    /// End of the last read and the time at which the media delivered it; none after another operation.
    stream: Option<(u64, u64)>,
}

impl Disk {
    /// A disk at rest with the arm in the middle.
    pub fn new(profile: &DiskProfile, phase: u64) -> Disk {
        let revolution_ns = 60_000_000_000 / u64::from(profile.rpm.max(1));
        let zones = (0..ZONES).map(|zone| {
            let fall = profile.outer_rate.saturating_sub(profile.inner_rate);
            let rate = (profile.outer_rate - fall * zone / (ZONES - 1)).max(1);
            let track = (u128::from(rate) * u128::from(revolution_ns) / 1_000_000_000) as u64;
            (track.max(512), rate)
        });
        let cylinders = u64::from(profile.cylinders.max(2));
        Disk {
            revolution_ns,
            cylinder_bytes: (profile.capacity_bytes / cylinders).max(1),
            zone_bytes: profile.capacity_bytes.div_ceil(ZONES).max(1),
            zones: zones.collect(),
            interface_rate: profile.interface_rate,
            curve: seek_curve(profile),
            settle_ns: (profile.write_settle_ms * 1e6) as u64,
            phase_ns: phase % revolution_ns,
            arm: cylinders / 2,
            stream: None,
        }
    }

    /// The time of one revolution.
    pub fn revolution_ns(&self) -> u64 {
        self.revolution_ns
    }

    #[inline]
    pub(super) fn distance(&self, offset: u64) -> u64 {
        (offset / self.cylinder_bytes).abs_diff(self.arm)
    }

    /// The time of a seek over so many cylinders.
    #[inline]
    pub fn seek_ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        let (a, b, c) = self.curve;
        let steps = (distance - 1) as f64;
        (a * steps.sqrt() + b * steps + c) as u64
    }

    fn zone(&self, offset: u64) -> (u64, u64, u64) {
        let zone = (offset / self.zone_bytes).min(ZONES - 1);
        let (track, rate) = self.zones[zone as usize];
        (offset - zone * self.zone_bytes, track, rate)
    }

    /// How long the platter turns from its angle at `now` to the angle of `offset`.
    #[inline]
    fn rotation_ns(&self, now: u64, within: u64, track: u64) -> u64 {
        let wanted = within % track * self.revolution_ns / track;
        let angle = (now + self.phase_ns) % self.revolution_ns;
        let wait = (wanted + self.revolution_ns - angle) % self.revolution_ns;
        // Rounding must not turn a hit into a lost revolution.
        if self.revolution_ns - wait <= self.revolution_ns / 1000 {
            0
        } else {
            wait
        }
    }

    #[inline]
    pub(super) fn start(&mut self, now: u64, operation: Operation) -> u64 {
        let Operation {
            write,
            offset,
            bytes,
        } = operation;
        let (within, track, rate) = self.zone(offset);
        let transfer = transfer_ns(bytes, rate);
        if let (false, Some((end, delivered))) = (write, self.stream)
            && end == offset
        {
            let media = delivered + transfer;
            let done = media.max(now + transfer_ns(bytes, self.interface_rate));
            self.arm = (offset + bytes) / self.cylinder_bytes;
            self.stream = Some((offset + bytes, done));
            return done;
        }
        let distance = self.distance(offset);
        let settle = if write && distance > 0 {
            self.settle_ns
        } else {
            0
        };
        let on_track = now + self.seek_ns(distance) + settle;
        let done = on_track + self.rotation_ns(on_track, within, track) + transfer;
        self.arm = (offset + bytes) / self.cylinder_bytes;
        self.stream = (!write).then_some((offset + bytes, done));
        done
    }
}

/// Lee and Katz 1993: coefficients from minimal, mean and maximal seek, in nanoseconds.
fn seek_curve(profile: &DiskProfile) -> (f64, f64, f64) {
    let cylinders = f64::from(profile.cylinders.max(2));
    let (min, mean, max) = (
        profile.seek_min_ms,
        profile.seek_mean_ms,
        profile.seek_max_ms,
    );
    let a = (-10.0 * min + 15.0 * mean - 5.0 * max) / (3.0 * cylinders.sqrt());
    let b = (7.0 * min - 15.0 * mean + 8.0 * max) / (3.0 * cylinders);
    (a.max(0.0) * 1e6, b.max(0.0) * 1e6, min * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use furrow_io::random::{Rng, seeded};

    fn disk(name: &str) -> (Disk, DiskProfile) {
        match Profile::named(name) {
            Some(Profile::Disk(profile)) => (Disk::new(&profile, 0), profile),
            _ => panic!("{name} is no disk"),
        }
    }

    #[test]
    fn the_seek_curve_has_the_minimum_mean_and_maximum_of_the_data_sheet() {
        for name in ["7k2", "10k", "15k"] {
            let (disk, profile) = disk(name);
            let ms = |distance| disk.seek_ns(distance) as f64 / 1e6;
            assert!((ms(1) - profile.seek_min_ms).abs() < 0.001);
            let full = ms(u64::from(profile.cylinders) - 1);
            assert!((full / profile.seek_max_ms - 1.0).abs() < 0.01, "{full}");
            let mut rng = seeded(11);
            let mut cylinder = || rng.random_range(0..u64::from(profile.cylinders));
            let draws = 200_000;
            let sum: f64 = (0..draws)
                .map(|_| ms(cylinder().abs_diff(cylinder())))
                .sum();
            let mean = sum / f64::from(draws);
            assert!((mean / profile.seek_mean_ms - 1.0).abs() < 0.02, "{mean}");
        }
    }

    #[test]
    fn a_rewrite_of_what_was_read_waits_for_the_rest_of_a_revolution() {
        let (mut disk, _) = disk("15k");
        let read = Operation {
            write: false,
            offset: 1 << 30,
            bytes: 8192,
        };
        let first = disk.start(0, read);
        let second = disk.start(
            first,
            Operation {
                write: true,
                ..read
            },
        );
        let off = (second - first).abs_diff(disk.revolution_ns());
        assert!(off < 1_000, "{off} ns");
    }

    #[test]
    fn a_sequential_stream_runs_at_the_media_rate_and_the_inner_zone_is_slower() {
        let (mut disk, profile) = disk("7k2");
        let mut rate = |from: u64, write: bool| {
            let bytes = 65_536;
            let begin = disk.start(
                0,
                Operation {
                    write,
                    offset: from,
                    bytes,
                },
            );
            let mut now = begin;
            for k in 1..=200 {
                let offset = from + k * bytes;
                now = disk.start(
                    now,
                    Operation {
                        write,
                        offset,
                        bytes,
                    },
                );
            }
            (200 * bytes) as f64 * 1e9 / (now - begin) as f64
        };
        for write in [false, true] {
            let outer = rate(0, write) / profile.outer_rate as f64;
            let inner = rate(profile.capacity_bytes - (1 << 30), write);
            assert!((0.97..1.01).contains(&outer), "write {write}: {outer}");
            assert!((inner / profile.inner_rate as f64 - 1.0).abs() < 0.03);
        }
    }
}
