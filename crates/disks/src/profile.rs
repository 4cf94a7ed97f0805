//! What a drive is: the figures of its data sheet.
//!
//! The profiles are typical figures of their class, not of one product. Seek times of the three disks are
//! those that the project's simulations of the published experiments use.

use std::fmt;

/// A rotating disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskProfile {
    /// Revolutions per minute.
    pub rpm: u32,
    /// Capacity.
    pub capacity_bytes: u64,
    /// Positions of the arm.
    pub cylinders: u32,
    /// Seek to the next cylinder, milliseconds.
    pub seek_min_ms: f64,
    /// Mean seek between two uniform random cylinders, milliseconds.
    pub seek_mean_ms: f64,
    /// Seek over the full stroke, milliseconds.
    pub seek_max_ms: f64,
    /// Additional time of a seek for a write, because the head must settle more exactly, milliseconds.
    pub write_settle_ms: f64,
    /// Media rate of the outermost zone, bytes per second.
    pub outer_rate: u64,
    /// Media rate of the innermost zone, bytes per second.
    pub inner_rate: u64,
    /// Rate between the drive's buffer and the controller, bytes per second.
    pub interface_rate: u64,
}

/// A flash drive.
#[derive(Debug, Clone, PartialEq)]
pub struct FlashProfile {
    /// Capacity.
    pub capacity_bytes: u64,
    /// Operations that it works on at once.
    pub channels: u32,
    /// Time of a read, without the transfer.
    pub read_ns: u64,
    /// Time until a write is accepted, without the transfer.
    pub write_ns: u64,
    /// Time that each command occupies the interface, in addition to the transfer of its bytes.
    pub command_ns: u64,
    /// Bytes per second of reads.
    pub read_rate: u64,
    /// Bytes per second of writes, sustained.
    pub write_rate: u64,
    /// The unit of writes: a write of a part of a unit reads the whole unit first.
    pub unit_bytes: u64,
}

/// Credits that a cloud volume spends when it exceeds its base rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Operations per second while credits last.
    pub iops: u64,
    /// Credits of a volume that was idle for long. Each operation above the base rate takes one credit.
    pub credits: u64,
}

/// A volume that is limited by caps: a cloud volume, or a throttle.
#[derive(Debug, Clone, PartialEq)]
pub struct CapProfile {
    /// Capacity.
    pub capacity_bytes: u64,
    /// Latency that every operation has.
    pub latency_ns: u64,
    /// Operations per second; the base rate where there are burst credits.
    pub iops: Option<u64>,
    /// Bytes that one operation of the cap covers; larger requests count as several.
    pub operation_bytes: u64,
    /// Bytes per second of reads.
    pub read_rate: Option<u64>,
    /// Bytes per second of writes.
    pub write_rate: Option<u64>,
    /// Bytes per second of reads and writes together.
    pub total_rate: Option<u64>,
    /// Burst credits.
    pub burst: Option<Burst>,
}

/// A drive of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Profile {
    /// A rotating disk.
    Disk(DiskProfile),
    /// A flash drive.
    Flash(FlashProfile),
    /// A volume that is limited by caps.
    Capped(CapProfile),
}

const GB: u64 = 1_000_000_000;
const MB: u64 = 1_000_000;

/// The names by which a specification selects a profile, and what they are.
pub const NAMES: &[(&str, &str)] = &[
    ("7k2", "disk of 7,200 rpm, 1 TB"),
    ("10k", "disk of 10,000 rpm, 600 GB"),
    ("15k", "disk of 15,000 rpm, 300 GB"),
    ("sata", "flash drive on SATA, 960 GB"),
    ("nvme", "flash drive on NVMe, 1.92 TB"),
    ("cloud", "cloud volume, 3,000 IOPS, 125 MB/s, 1 TB"),
    (
        "cloud-burst",
        "cloud volume, 300 IOPS and 5.4 million credits for 3,000 IOPS, 128 MB/s, 100 GB",
    ),
];

impl Profile {
    /// The profile of a name in [`NAMES`]; `7200`, `10000` and `15000` are accepted too.
    pub fn named(name: &str) -> Option<Profile> {
        Some(match name {
            "7k2" | "7.2k" | "7200" => disk(7_200, GB * 1_000, (0.8, 8.5, 16.0), 1.0, (95, 65)),
            "10k" | "10000" => disk(10_000, GB * 600, (0.3, 4.5, 9.0), 0.5, (105, 75)),
            "15k" | "15000" => disk(15_000, GB * 300, (0.2, 3.5, 7.4), 0.4, (125, 95)),
            "sata" => Profile::Flash(FlashProfile {
                capacity_bytes: GB * 960,
                channels: 32,
                read_ns: 90_000,
                write_ns: 60_000,
                command_ns: 3_000,
                read_rate: MB * 540,
                write_rate: MB * 480,
                unit_bytes: 4096,
            }),
            "nvme" => Profile::Flash(FlashProfile {
                capacity_bytes: GB * 1_920,
                channels: 128,
                read_ns: 80_000,
                write_ns: 20_000,
                command_ns: 1_000,
                read_rate: MB * 3_200,
                write_rate: MB * 2_000,
                unit_bytes: 4096,
            }),
            "cloud" => cloud(GB * 1_000, 3_000, 125, None),
            "cloud-burst" => {
                let burst = Burst {
                    iops: 3_000,
                    credits: 5_400_000,
                };
                cloud(GB * 100, 300, 128, Some(burst))
            }
            _ => return None,
        })
    }

    /// Capacity of one drive.
    pub fn capacity_bytes(&self) -> u64 {
        match self {
            Profile::Disk(disk) => disk.capacity_bytes,
            Profile::Flash(flash) => flash.capacity_bytes,
            Profile::Capped(cap) => cap.capacity_bytes,
        }
    }
}

fn disk(
    rpm: u32,
    capacity_bytes: u64,
    (seek_min_ms, seek_mean_ms, seek_max_ms): (f64, f64, f64),
    write_settle_ms: f64,
    (outer, inner): (u64, u64),
) -> Profile {
    Profile::Disk(DiskProfile {
        rpm,
        capacity_bytes,
        cylinders: 50_000,
        seek_min_ms,
        seek_mean_ms,
        seek_max_ms,
        write_settle_ms,
        outer_rate: MB * outer,
        inner_rate: MB * inner,
        interface_rate: MB * 300,
    })
}

fn cloud(capacity_bytes: u64, iops: u64, megabytes: u64, burst: Option<Burst>) -> Profile {
    Profile::Capped(CapProfile {
        capacity_bytes,
        latency_ns: 700_000,
        iops: Some(iops),
        operation_bytes: 256 << 10,
        read_rate: None,
        write_rate: None,
        total_rate: Some(MB * megabytes),
        burst,
    })
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Profile::Disk(disk) => write!(f, "disk of {} rpm", disk.rpm),
            Profile::Flash(flash) => write!(f, "flash drive of {} channels", flash.channels),
            Profile::Capped(cap) => {
                f.write_str("volume capped at")?;
                let parts = [
                    cap.iops.map(|iops| format!(" {iops} IOPS")),
                    cap.total_rate
                        .map(|rate| format!(" {:.1} MB/s", rate as f64 / 1e6)),
                    cap.read_rate
                        .map(|rate| format!(" {:.1} MB/s of reads", rate as f64 / 1e6)),
                    cap.write_rate
                        .map(|rate| format!(" {:.1} MB/s of writes", rate as f64 / 1e6)),
                    (cap.latency_ns > 0)
                        .then(|| format!(" {:.3} ms latency", cap.latency_ns as f64 / 1e6)),
                ];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                f.write_str(&parts.join(","))
            }
        }
    }
}
