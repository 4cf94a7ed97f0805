//! The parts of an invented experiment that are the same in all samples.

use crate::samples::Recipe;
use furrow_lab::environment::{Environment, VolumeFacts};
use furrow_lab::results::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

/// A value of the standard normal law, near enough.
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12)
        .map(|_| f64::from(rng.next_u32()) / f64::from(u32::MAX))
        .sum::<f64>()
        - 6.0
}

pub(crate) fn latency(rows: u64, seconds: f64) -> Latency {
    let mean_us = seconds * 16e6 / rows as f64;
    let at = |times: f64| (mean_us * times) as u64;
    Latency {
        operation: "commit".into(),
        count: rows,
        mean_us,
        p50_us: at(0.9),
        p90_us: at(1.5),
        p95_us: at(1.8),
        p99_us: at(3.4),
        p999_us: at(9.0),
        p9999_us: at(31.0),
        max_us: at(77.0),
        coordinated_omission_possible: true,
        histogram: None,
    }
}

pub(crate) fn waits(seconds: f64, rng: &mut ChaCha8Rng) -> Vec<WaitTotal> {
    let types = [
        ("PAGELATCH_EX", "Buffer Latch", 0.24),
        ("PAGELATCH_SH", "Buffer Latch", 0.12),
        ("WRITELOG", "Tran Log IO", 0.0),
        ("PAGEIOLATCH_EX", "Buffer IO", 0.03),
        ("LOGBUFFER", "Tran Log IO", 0.02),
        ("SOS_SCHEDULER_YIELD", "CPU", 0.018),
        ("LCK_M_IX", "Lock", 0.004),
        ("LATCH_EX", "Latch", 0.006),
        ("IO_COMPLETION", "Other Disk IO", 0.004),
        ("SLEEP_BPOOL_FLUSH", "Checkpoint", 0.003),
        ("PREEMPTIVE_OS_WRITEFILE", "Preemptive", 0.002),
        ("CMEMTHREAD", "Memory", 0.001),
        ("ASYNC_NETWORK_IO", "Network", 0.0005),
    ];
    let one = |(name, category, share): (&str, &str, f64), jitter: f64| {
        // The log is where the difference lies: what is above a constant goes there.
        let of_session = if name == "WRITELOG" {
            (seconds - 6.6).max(0.3)
        } else {
            8.4 * share
        };
        let total_us = (of_session * jitter * 16e6) as u64;
        WaitTotal {
            wait_type: name.into(),
            category: category.into(),
            benign: false,
            count: total_us / 700,
            total_us,
            max_us: 41_000,
            signal_us: total_us / 12,
        }
    };
    let mut list: Vec<WaitTotal> = types
        .into_iter()
        .map(|row| one(row, 1.0 + 0.04 * normal(rng)))
        .collect();
    list.push(WaitTotal {
        wait_type: "CHECKPOINT_QUEUE".into(),
        category: "Idle".into(),
        benign: true,
        count: 3,
        total_us: 900_000_000,
        ..WaitTotal::default()
    });
    list
}

pub(crate) fn file_io(recipe: &Recipe, files: u32, rows: u64) -> Vec<FileIo> {
    let weight = |n: u32| if n % 2 == 1 { recipe.uneven } else { 1.0 };
    let sum: f64 = (0..files).map(weight).sum();
    let mut list: Vec<FileIo> = (0..files)
        .map(|n| {
            let volume = if n % 2 == 0 { "/mnt/a" } else { "/mnt/b" };
            let bytes = (rows as f64 * 8192.0 * weight(n) / sum) as u64;
            FileIo {
                path: format!(
                    "{volume}/lab_{}.{}",
                    n + 1,
                    if n == 0 { "mdf" } else { "ndf" }
                ),
                file_id: if n == 0 { 1 } else { n + 2 },
                role: FileRole::Data,
                volume: volume.into(),
                reads: 12,
                bytes_read: 98_304,
                read_stall_us: 6000,
                writes: bytes / 131_072,
                bytes_written: bytes,
                write_stall_us: bytes / 131_072 * 2400,
                checkpoint_bytes: bytes / 10 * 7,
                size_bytes: bytes * 5 / 4,
            }
        })
        .collect();
    list.push(FileIo {
        path: "/mnt/a/lab_log.ldf".into(),
        file_id: 2,
        role: FileRole::Log,
        volume: "/mnt/a".into(),
        writes: 21_000,
        bytes_written: rows * 4300,
        write_stall_us: 21_000 * 390,
        ..FileIo::default()
    });
    list
}

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "datafiles".into(),
        question: "How many data files for this insert load?".into(),
        target: "embedded engine".into(),
        database: "fresh one each run, 1 GB".into(),
        workload:
            "16 connections insert 262,144 rows of CHAR(4100), one row a page, each row its own \
            durable commit."
                .into(),
        factor: Factor {
            singular: "data file".into(),
            plural: "data files".into(),
            option: "--files".into(),
        },
        response: Response {
            name: "elapsed time".into(),
            unit: "s".into(),
            better: Better::Lower,
        },
    }
}

pub(crate) fn plan(recipe: &Recipe, order: Vec<PlannedRun>) -> PlanInfo {
    PlanInfo {
        hash: "5f1d0c9a44be7731aa9002d1f6c3b8e0".into(),
        seed: recipe.seed,
        design: "randomised complete blocks".into(),
        blocks: recipe.blocks,
        blocks_done: recipe.blocks,
        levels: recipe
            .shape
            .iter()
            .map(|(level, _)| (*level).to_owned())
            .collect(),
        baseline: recipe.shape[0].0.into(),
        aa_control: true,
        delta: 0.02,
        confidence: 0.95,
        order,
        reset_policy: "fresh database each run".into(),
        settings: vec![
            ("connections".into(), "16".into()),
            ("total".into(), "1 GB".into()),
            ("pool".into(), "256 MB".into()),
            ("rows-per-commit".into(), "1".into()),
        ],
        checks: vec![
            "1.38 GB needed on /mnt/a, 41.2 GB free".into(),
            "no other database was open".into(),
        ],
        stopped_because: "all blocks done".into(),
    }
}

pub(crate) fn environment() -> Environment {
    let volume = |path: &str, device: &str| VolumeFacts {
        path: path.into(),
        file_system: Some("ext4".into()),
        mount_options: Some("rw,relatime,discard,errors=remount-ro".into()),
        device: Some(device.into()),
        rotational: Some(false),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        total_bytes: Some(512 << 30),
        free_bytes: Some(41 << 30),
        io_mode: Some("direct".into()),
        alignment: Some(format!("{device}: partition that begins at byte 32256")),
        alignment_warnings: vec!["the partition begins at byte 32256, which fits no page".into()],
    };
    Environment {
        host: Some("bench-01".into()),
        cpu_model: Some("AMD EPYC 7763 64-Core Processor".into()),
        cpu_count: Some(8),
        memory_bytes: Some(32 << 30),
        memory_free_bytes: Some(30 << 30),
        os: Some("Linux 6.1.0".into()),
        hypervisor: None,
        governor: Some("performance".into()),
        steal_percent: Some(0.2),
        io_engine: Some("io_uring".into()),
        volumes: vec![
            volume("/mnt/a", "nvme0n1 (Samsung PM9A3)"),
            volume("/mnt/b", "nvme1n1"),
        ],
        engine_version: Some("furrow 0.1.0".into()),
        engine_commit: Some("6994cbd".into()),
        compiler: Some("rustc 1.90.0".into()),
        build_profile: Some("release".into()),
        settings: Vec::new(),
    }
}

pub(crate) fn limits() -> Vec<String> {
    [
        "One machine was measured, and one size of database: 1 GB.",
        "All sessions ran inside the process: a client over a network adds waits of its own.",
        "The load inserts on an ascending key; random keys spread their writes by themselves.",
        "Both volumes may share one device underneath; the lab can't see that.",
    ]
    .map(String::from)
    .to_vec()
}

pub(crate) fn published() -> Published {
    let point = |level: &str, ratio: f64, stated: bool| PublishedPoint {
        level: level.into(),
        ratio,
        stated,
    };
    Published {
        source: "Paul Randal, benchmarking multiple data files (2009)".into(),
        setting: "160 GB on two RAID-10 arrays of 15k disks, 16 connections, mean of five runs."
            .into(),
        points: vec![
            point("1", 1.0, true),
            point("2", 0.98, false),
            point("4", 0.96, false),
            point("8", 0.94, true),
            point("16", 0.97, false),
        ],
        approximate: true,
        comparisons: vec![
            (
                "Time falls from 1 to 8 files".into(),
                "falls from 1 to 8".into(),
                Some(true),
            ),
            (
                "16 files are slower than 8".into(),
                "slower".into(),
                Some(true),
            ),
            (
                "Waits hardly change from 1 to 8 files".into(),
                "Tran Log IO falls".into(),
                Some(false),
            ),
            (
                "2 files on one array: 3% slower".into(),
                "not run".into(),
                None,
            ),
        ],
    }
}
