//! Backups that were taken, and how they are asked for.

use furrow_backup::media::Codec;
use furrow_backup::{BackupRequest, Device, Parts, Throttle};
use furrow_io::random::{Rng, SeededRng};
use furrow_io::time::WallTime;
use furrow_types::Guid;
use std::path::PathBuf;

/// A kind of backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Full,
    CopyOnly,
    Differential,
    Files,
    Log,
}

/// A backup that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub(super) wanted: Wanted,
    pub(super) paths: Vec<PathBuf>,
    /// Transactions of each writer that were acknowledged before it began.
    pub(super) from: Vec<u64>,
    /// Transactions of each writer that were begun when it had ended.
    pub(super) to: Vec<u64>,
    /// When it began and ended.
    pub(super) span: (WallTime, WallTime),
    pub(super) set: Guid,
    pub(super) base: Guid,
}

/// A backup to some stripes of its own.
pub(super) fn request(rng: &mut SeededRng, (wanted, number): (Wanted, usize)) -> BackupRequest {
    let stripes = rng.random_range(1..=4);
    // Its number may come again, after a power loss.
    let id: u32 = rng.random();
    let device = |n| Device::Disk(PathBuf::from(format!("home/v1/b{number}_{id:08x}_{n}.bak")));
    BackupRequest {
        devices: (0..stripes).map(device).collect(),
        codec: [Codec::None, Codec::Lz4, Codec::Zstd(1)][rng.random_range(0..3)],
        key: None,
        // Half of them as a user's, which holds its reads back while others commit.
        throttle: if id.is_multiple_of(2) {
            Throttle::Writers
        } else {
            Throttle::Off
        },
        checksum: rng.random_bool(0.5),
        continue_after_error: false,
        buffer_count: None,
        transfer_bytes: 64 << 10,
        format: false,
        init: false,
        name: String::new(),
        description: String::new(),
        media_name: String::new(),
        media_description: String::new(),
        differential: wanted == Wanted::Differential,
        copy_only: wanted == Wanted::CopyOnly,
        parts: match wanted {
            Wanted::Files => Parts {
                filegroups: vec!["PRIMARY".to_owned()],
                ..Parts::default()
            },
            _ => Parts::default(),
        },
        user: "sa".to_owned(),
        server: "soak".to_owned(),
    }
}
